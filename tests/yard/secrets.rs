//! Secrets of builds: given to the runs and branches that the operator named, and seen by nobody. They are
//! looked for in every answer, in all that is on disk and in the daemon's log at debug level.

mod content;
mod given;
mod outlive;
mod refused;
mod submodules;
mod variables;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use tokio::process::Command;

use crate::support::{Options, PROGRAM, Yard, each_file};

/// With characters that every encoding turns into others.
const NPM: &str = "npm+S3cret/of=\"yard\"17";
const RENEWED: &str = "renewed-S3cret-of-the-yard";
const KEY: &str = "-----BEGIN YARD KEY-----\n\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n\
    MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n\
    -----END YARD KEY-----\n";

/// Says by its digest what it was given, and then prints it in all ways that a build does by mistake.
const PRINTS: &str = "\
printf %s \"$NPM_TOKEN\" | sha256sum
printf %s \"$DEPLOY_KEY\" | sha256sum
echo \"whole $NPM_TOKEN whole\"
echo \"on stderr $NPM_TOKEN\" >&2
half=${NPM_TOKEN%???????????}
printf 'split %s' \"$half\"
echo between >&2
sleep 0.3
echo \"${NPM_TOKEN#\"$half\"} split\"
echo \"$DEPLOY_KEY\"
echo \"$DEPLOY_KEY\" | sed 's/^/> /'
echo \"coloured $NPM_TOKEN\" | grep --color=always S3cret
printf 'npm:%s' \"$NPM_TOKEN\" | base64 -w0; echo
echo \"main.c:1:2: error: $NPM_TOKEN is no token\" >&2
exit 3
";

const MAKEFILE: &str = "\
show:
\t@echo \"token=[$${NPM_TOKEN-unset}] key=[$${DEPLOY_KEY-unset}]\"
";

/// A yard whose task `publish` is given two secrets, and `make` one of them.
fn yard() -> Yard {
    let mut yard = Yard::asleep(Options::default());
    keep_key(&yard, KEY, 0o600);
    yard.origin.write("publish.sh", PRINTS);
    yard.origin.write("Makefile", MAKEFILE);
    yard.origin.commit("prints");
    yard.origin.push("main");
    yard.origin.push("release/1");
    yard.origin.push("feature/x");
    yard.configure(options(&yard, "\"main\", \"release/*\""));
    yard
}

fn options(yard: &Yard, branches: &str) -> Options {
    let key = yard.dir.path().join("deploy-key");
    Options {
        top: "log = \"debug\"".to_owned(),
        tables: format!(
            "[secrets.npm]\nenv = \"NPM\"\nbranches = [{branches}]\n\
             [secrets.deploy-key]\nfile = {key:?}\nbranches = [\"main\"]\n"
        ),
        repo: "tasks = { publish = [\"sh\", \"publish.sh\"], hold = [\"sh\", \"hold.sh\"] }\n\
               [repos.demo.secrets]\n\
               publish = { NPM_TOKEN = \"npm\", DEPLOY_KEY = \"deploy-key\" }\n\
               hold = { NPM_TOKEN = \"npm\" }\n\
               make = { NPM_TOKEN = \"npm\" }\n"
            .to_owned(),
        ..Options::default()
    }
}

fn keep_key(yard: &Yard, key: &str, mode: u32) {
    let file = yard.dir.path().join("deploy-key");
    std::fs::write(&file, key).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn digest(secret: &str) -> String {
    let digest = Sha256::digest(secret.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every guise of the secrets, to be looked for.
static GUISES: LazyLock<AhoCorasick> = LazyLock::new(|| AhoCorasick::new(guises()).unwrap());

fn guises() -> Vec<String> {
    let pair = STANDARD.encode(format!("npm:{NPM}"));
    let in_json = serde_json::Value::from(NPM).to_string();
    let mut guises = vec![
        NPM.to_owned(),
        pair.trim_end_matches('=').to_owned(),
        STANDARD.encode(NPM).trim_end_matches('=').to_owned(),
        in_json.trim_matches('"').to_owned(),
        crate::support::encode(NPM),
        RENEWED.to_owned(),
        KEY.trim().to_owned(),
    ];
    let lines = KEY.lines().filter(|line| !line.starts_with("-----"));
    guises.extend(lines.map(str::to_owned));
    guises
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    let found = GUISES.find(bytes).map(|found| &bytes[found.range()]);
    let found = found.map(String::from_utf8_lossy);
    assert!(found.is_none(), "{found:?} is in {what}");
}

/// Looks at every file of the yard; how many there were.
fn assert_clean_below(dir: &Path) -> usize {
    each_file(dir, &mut |path, bytes| {
        assert_clean(&path.display().to_string(), bytes);
    })
}

/// The `branchyard` command beside the yard's daemon; what it said is looked through.
async fn command(yard: &Yard, args: &[&str]) -> (Option<i32>, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(PROGRAM)
        .args(args)
        .env_clear()
        .env("PATH", env!("PATH"))
        .env("HOME", yard.dir.path())
        .env("BRANCHYARD_URL", &yard.url)
        .env(
            "BRANCHYARD_KEY_FILE",
            yard.workspaces.join(".branchyard/auth.header"),
        )
        .env("NPM", NPM)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let said = [stdout, stderr].concat();
    assert_clean(&format!("{args:?}"), &said);
    (status.code(), String::from_utf8(said).unwrap())
}
