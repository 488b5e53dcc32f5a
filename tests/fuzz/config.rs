//! The configuration file: any text is a configuration, or is refused at a place in it, and whatever is
//! said of it, a secret that stands beside is not shown.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use branchyard_config::{Config, ConfigError, Environment, Flags, Sources};
use tempfile::TempDir;

use crate::dice::Dice;
use crate::fuzzer::{LONG, SHORT, Target, time};

const TARGET: Target = Target {
    name: "config",
    words: WORDS,
    make,
};

#[rustfmt::skip]
const WORDS: &[&str] = &[
    "[repos.a]\n", "[[repos]]\n", "[git]\n", "[limits]\n", "[timeouts]\n", "[mcp]\n",
    "env = { A = \"b\" }\n", "url = ", "\"", "'", "\"\"\"", "'''", "\\u0000", "\\", "=", ".", ",",
    "\n", "\r\n", "#", "{", "}", "[", "]", "true", "-1", "0", "1e999", "9223372036854775808", "nan",
    "1979-05-27", "\"0s\"", "\"1GiB\"", "\"10m\"", "\"https://u:p@h/a\"", "\"/a\"", "\"~\"", "\"\"",
    "key_file = ", "tasks = { lint = [\"x\"] }\n", "é", "\u{feff}", "\u{202e}", "\0",
];

/// A secret as people put it into the file, rightly or by mistake.
const SECRET: &str = "S3CRETS3CRETS3CRET";
const WITH_SECRET: &[&str] = &[
    "[repos.fuzzed]\nurl = \"https://u:S3CRETS3CRETS3CRET@host/x\"\n",
    "[repos.fuzzed]\nurl = \"u:S3CRETS3CRETS3CRET@host:x\"\n",
    "[repos.fuzzed]\nurl = \"/a\"\nenv = { TOKEN = \"S3CRETS3CRETS3CRET\", B = 5 }\n",
    "[repos.fuzzed]\nurl = \"/a\"\nenv = \"S3CRETS3CRETS3CRET\"\n",
    "[repos.fuzzed.env]\nTOKEN = S3CRETS3CRETS3CRET\n",
    "[repos.fuzzed.env]\nTOKEN = \"S3CRETS3CRETS3CRET\"\nB = [1]\n",
    "[git.credentials.\"git.example.org\"]\ntoken = \"S3CRETS3CRETS3CRET\"\n",
    "[repos]\nfuzzed = \"https://u:S3CRETS3CRETS3CRET@host/x\"\n",
];

/// Every line of the example that sets something, whether it is commented out there or not.
static EXAMPLE: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let lines = include_str!("../../workspaces.example.toml").lines();
    let set = lines.map(|line| line.strip_prefix('#').unwrap_or(line));
    set.filter(|line| !line.is_empty() && !line.starts_with(' '))
        .collect()
});

#[test]
fn fuzz_config() {
    run(time(SHORT));
}

#[test]
#[ignore = "ten minutes: make soak"]
fn soak_fuzz_config() {
    run(time(LONG));
}

fn run(time: std::time::Duration) {
    let dir = TempDir::new().unwrap();
    TARGET.run(time, |input| {
        let text = String::from_utf8_lossy(input);
        let outcome = load(dir.path(), &text);
        let secret = WITH_SECRET[input.len() % WITH_SECRET.len()];
        let (shown, _) = load(dir.path(), &format!("{text}\n{secret}"));
        assert!(!shown.contains(SECRET), "{shown}");
        outcome.1
    });
}

/// Some of the example's lines, in its order, with other values for some of the keys.
fn make(dice: &mut Dice) -> Vec<u8> {
    let few = dice.below(12) + 1;
    let mut text = String::new();
    for line in EXAMPLE.iter() {
        if !line.starts_with('[') && !dice.one_in(few) {
            continue;
        }
        match line.split_once(" = ") {
            Some((key, _)) if dice.one_in(8) => {
                text.push_str(&format!("{key} = {}\n", dice.pick(WORDS)));
            }
            _ => text.push_str(&format!("{line}\n")),
        }
    }
    text.into_bytes()
}

/// What is shown of a configuration, or of the reason why it is none; and the kind of that.
fn load(dir: &Path, text: &str) -> (String, String) {
    let file = dir.join("yard.toml");
    fs::write(&file, text).unwrap();
    let env = [
        ("HOME", "/home/me"),
        ("PATH", "/bin"),
        ("BRANCHYARD_SESSION_KEY", SECRET),
    ];
    let loaded = Config::load(Sources {
        file: Some(file.clone()),
        env: Environment::from_iter(env),
        flags: Flags::default(),
    });
    match loaded {
        Ok(config) => {
            assert!(config.workspaces.is_absolute());
            (
                format!("{config:?}"),
                format!("{} repos", config.repos.len().min(4)),
            )
        }
        Err(error) => (format!("{error}\n{error:?}"), kind_of(&error, &file, text)),
    }
}

/// The error without what it quotes.
fn kind_of(error: &ConfigError, file: &Path, text: &str) -> String {
    let message = error.to_string();
    let place = match error {
        ConfigError::InFile(place) => {
            let line = text
                .split('\n')
                .nth(place.line - 1)
                .expect("a line of the file");
            assert!(place.column <= line.chars().count() + 1, "{message}");
            let start = format!("{}:{}:{}: ", file.display(), place.line, place.column);
            assert!(message.starts_with(&start), "{message}");
            place.message.clone()
        }
        // A file or key that is named there, by its own name.
        _ => {
            assert!(message.contains([':', '.']), "{message}");
            message
        }
    };
    let unquoted: String = place.split(['"', '`', '\'']).step_by(2).collect();
    unquoted
        .chars()
        .filter(|c| !c.is_ascii_digit())
        .take(80)
        .collect()
}
