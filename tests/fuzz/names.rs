//! Names, ids, cursors, hosts and URLs: what passes is safe wherever it goes, and is the same when it
//! comes back.

use std::collections::HashMap;
use std::process::Command;

use branchyard_config::{GitConfig, HostName, Protocol, RepoUrl, TaskName, UrlPolicy, WebHost};
use branchyard_journal::Cursor;
use branchyard_model::{
    BranchName, CommitId, DirName, GroupId, Problem, RepoName, RunId, SalvageId, TagName,
};

use crate::dice::Dice;
use crate::fuzzer::{LONG, SHORT, Target, time};

const TARGET: Target = Target {
    name: "names",
    words: WORDS,
    make,
};

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "main", "feature/", "refs/heads/", "HEAD", "FETCH_HEAD", "@{", "@", "..", "/", "//", ".lock",
    ".", "-", "--", "~", "^", ":", "\\", " ", "?", "*", "[", "0123456789abcdef",
    "0123456789abcdef0123456789abcdef01234567", "01890a5d-ac96-774b-bcce-b302099a8057", "https://",
    "ssh://", "git@", "file:///", "ext::", "http://", "git://", "localhost", "127.0.0.1", "127.1",
    "0x7f000001", "2130706433", "0177.0.0.1", "[::1]", "[::ffff:7f00:1]", "::1", "169.254.169.254",
    "10.0.0.1", "host", ":443", ":22/", "user:pw@", "%2e", "%00", "16", "16.4", ".0",
    "18446744073709551615", "4294967296", "\u{202e}", "\u{200b}", "\u{e9}", "e\u{301}", "K",
    "\u{ff0e}",
];

#[test]
fn fuzz_names() {
    run(time(SHORT));
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_fuzz_names() {
    run(time(LONG));
}

fn make(dice: &mut Dice) -> Vec<u8> {
    let text = dice.several(6, |dice| match dice.below(3) {
        0 => dice.letter().to_string(),
        _ => dice.pick(WORDS).to_owned(),
    });
    text.into_bytes()
}

fn run(time: std::time::Duration) {
    let policies = Policies::new();
    let mut homes = HashMap::new();
    TARGET.run(time, |input| {
        let text = String::from_utf8_lossy(input);
        (
            branch(&text, &mut homes),
            repo(&text),
            ids(&text),
            host(&text),
            policies.url(&text),
            cursor(&text),
            TaskName::parse(&text).is_ok_and(|name| {
                assert_eq!(name.as_str(), text);
                assert!(!text.starts_with('-') && !text.contains(['/', '\0', '\n']));
                true
            }),
        )
    });
}

/// A refusal names its field and the way out, and shows nothing that a terminal acts on.
fn rule_of(problem: &Problem) -> String {
    assert!(
        problem.field.is_some() && problem.help.is_some(),
        "{problem:?}"
    );
    assert!(!problem.detail.contains(char::is_control), "{problem:?}");
    // What it quotes is different each time.
    let rule = problem.detail.rsplit('"').next();
    rule.unwrap_or_default().to_owned()
}

fn branch(text: &str, homes: &mut HashMap<DirName, String>) -> Result<bool, String> {
    let tag = TagName::parse(text);
    let branch = BranchName::parse(text).map_err(|problem| {
        assert!(tag.is_err());
        rule_of(&problem)
    })?;
    assert_eq!(branch.as_str(), text);
    assert_eq!(tag.unwrap().full(), format!("refs/tags/{text}"));
    for name in [branch.local_ref(), branch.remote_ref()] {
        assert!(git2::Reference::is_valid_name(&name), "{name:?}");
    }
    let safe = |c: char| !c.is_control() && !c.is_whitespace() && !"~^:?*[\\".contains(c);
    assert!(text.chars().all(safe) && !text.starts_with(['-', '/', '.']));
    let json = serde_json::to_string(&branch).unwrap();
    assert_eq!(serde_json::from_str::<BranchName>(&json).unwrap(), branch);

    let dir = branch.dir();
    is_a_directory(&dir);
    let owner = homes.entry(dir).or_insert_with(|| text.to_owned());
    assert_eq!(owner, text, "two names share a directory");
    // A process is dear: some of the names, by their hash.
    if branch.dir().as_str().ends_with(['0', '7']) && text.len().is_multiple_of(5) {
        let asked = Command::new("git")
            .args(["check-ref-format", &branch.local_ref()])
            .status();
        assert!(asked.unwrap().success(), "git refuses {text:?}");
    }
    Ok(text.is_ascii())
}

fn is_a_directory(dir: &DirName) {
    let name = dir.as_str();
    assert!(!name.is_empty() && name.len() <= 63 && !name.starts_with(['.', '-']));
    assert!(
        name.bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
    );
    assert_eq!(DirName::parse(name).as_ref(), Some(dir));
}

fn repo(text: &str) -> Result<(), String> {
    let repo = RepoName::parse(text).map_err(|problem| rule_of(&problem))?;
    assert_eq!(repo.as_str(), text);
    is_a_directory(&repo.dir());
    Ok(())
}

fn ids(text: &str) -> [bool; 4] {
    let run = RunId::parse(text).is_ok_and(|id| {
        assert_eq!(id.short().len(), 12);
        let _ = id.made_at();
        id.to_string() == text
    });
    // There is one spelling of an id, and so one directory.
    assert_eq!(run, RunId::parse(text).is_ok());
    assert_eq!(
        run,
        GroupId::parse(text).is_ok_and(|id| id.to_string() == text)
    );
    let salvage = SalvageId::parse(text).is_ok();
    let commit = CommitId::parse(text).is_ok_and(|id| {
        let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        assert!(id.as_str().len() == 40 && id.as_str().bytes().all(hex));
        true
    });
    [run, salvage, commit, text.is_empty()]
}

fn host(text: &str) -> Result<(bool, bool), &'static str> {
    if let Some(web) = WebHost::read("https", text) {
        assert_eq!(WebHost::read("https", &web.address()), Some(web));
    }
    let host = HostName::parse(text)?;
    let again = HostName::parse(&host.to_string());
    assert_eq!(again.as_ref(), Ok(&host), "{text:?}");
    let loopback = host.address().is_some_and(|ip| ip.is_loopback());
    assert!(!loopback || host.is_internal());
    Ok((host.is_internal(), host.address().is_some()))
}

fn cursor(text: &str) -> Result<bool, String> {
    let cursor = Cursor::parse(text).map_err(|problem| rule_of(&problem))?;
    assert!(cursor.frame >= Cursor::START.frame);
    assert_eq!(Cursor::parse(&cursor.to_string()), Ok(cursor));
    Ok(cursor.within > 0)
}

/// What a careful operator allows, and what a careless one does.
struct Policies {
    usual: GitConfig,
    open: GitConfig,
}

impl Policies {
    fn new() -> Self {
        let allow_protocols = vec![
            Protocol::Https,
            Protocol::Ssh,
            Protocol::Http,
            Protocol::Git,
        ];
        let open = GitConfig {
            allow_local: true,
            allow_protocols,
            ..GitConfig::default()
        };
        let usual = GitConfig::default();
        Self { usual, open }
    }

    fn url(&self, text: &str) -> (Result<bool, String>, bool) {
        let usual = RepoUrl::parse(text, &UrlPolicy::caller(&self.usual));
        let open = RepoUrl::parse(text, &UrlPolicy::caller(&self.open));
        let operator = RepoUrl::parse(text, &UrlPolicy::operator(&self.open));
        assert!(usual.is_err() || open.is_ok(), "{text:?}");
        assert!(open.is_err() || operator.is_ok(), "{text:?}");
        if let Ok(url) = &operator {
            assert_eq!(url.as_str(), text);
            assert!(
                !text.starts_with('-') && !text.contains(char::is_control),
                "{text:?}"
            );
            // What git takes for the name of a helper is made of the letters that a scheme has.
            let in_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
            let helper = text.trim_start_matches(in_scheme).starts_with("::");
            assert!(!helper || url.is_local(), "a helper of git's: {text:?}");
        }
        if let Ok(url) = &open
            && !url.is_local()
        {
            reaches_no_inner_host(text);
        }
        let rule = open
            .map(|url| url.is_local())
            .map_err(|problem| rule_of(&problem));
        (rule, usual.is_ok())
    }
}

/// As others read it: a URL, or `user@host:path`.
fn reaches_no_inner_host(text: &str) {
    let host = if text.contains("://") {
        let url = url::Url::parse(text).unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(url.password(), None);
        url.host_str().expect("a host").to_owned()
    } else {
        let user = text
            .find(['@', ':', '['])
            .filter(|at| text[*at..].starts_with('@'));
        let text = &text[user.map_or(0, |at| at + 1)..];
        let host = match text.find("]:") {
            Some(close) if text.starts_with('[') => &text[..=close],
            _ => text.split_once(':').expect("a colon after the host").0,
        };
        host.to_owned()
    };
    assert!(!host.starts_with('-'), "{text:?}");
    let host = HostName::parse(&host).unwrap_or_else(|rule| panic!("{text:?}: {rule}"));
    assert!(!host.is_internal(), "{text:?}");
}
