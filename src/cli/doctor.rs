//! `doctor`: is everything there that builds and the daemon need? The only file of the command that
//! starts programs, and only to ask them for their version.

mod sandbox;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use serde_json::json;

use super::client::{Answer, Client};
use super::endpoint::{Endpoint, Lookup};
use super::exit::{self, Failure};
use super::render::{Cell, Console, Listing, Tone, human_size};
use branchyard::app::Load;
use branchyard::http::{Alive, Amiss, Listed};
use branchyard_git::{OLDEST, git_version};
use branchyard_workspace::{Finding, Mended};

const DISK: &str = "disk";
const ON_DISK: &str = "on disk";
const DISK_LOW: u64 = 5 << 30;
const DISK_FULL: u64 = 256 << 20;

/// Check that this machine and the daemon are in order
///
/// Looks for git, make and a C compiler, finds the daemon, asks it whether it is well and
/// whether it takes the key and what it finds amiss on disk, and measures free disk. Exits with 1 if
/// something fails.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard doctor
  branchyard doctor --fix
  branchyard doctor --json")]
pub(crate) struct Args {
    /// Have the daemon mend what it finds amiss; nothing of anybody's is deleted
    #[arg(long)]
    fix: bool,
}

pub(super) async fn run(console: &Console, lookup: &Lookup, args: &Args) -> Result<u8, Failure> {
    let mut checks = vec![git(), make(), compiler(), curl()];
    let endpoint = lookup.find();
    checks.push(found(&endpoint));
    let mut workspaces = lookup.default_workspaces();
    if let Ok(endpoint) = endpoint {
        workspaces = endpoint.workspaces.clone().or(workspaces);
        let client = Client::to(endpoint, lookup.clone())?;
        checks.extend(daemon(&client, args.fix).await);
    }
    let has_disk = checks.iter().any(|check| check.name == DISK);
    if !has_disk {
        checks.push(disk(workspaces.as_deref()));
    }

    let is_well = checks
        .iter()
        .all(|check| check.status != DaemonStatus::Fail);
    if console.json {
        console.print_json(&Answer::ours(&json!({"ok": is_well, "checks": checks})))?;
    } else {
        console.print_listing(Listing::of(TITLES, &checks, row))?;
        if console.stdout_is_terminal {
            tell_in_full(console, &checks);
        }
    }
    Ok(if is_well { exit::OK } else { exit::LOCAL })
}

/// A table has no room for what is wrong and for what to do about it.
fn tell_in_full(console: &Console, checks: &[Check]) {
    let is_amiss = |check: &&Check| check.status != DaemonStatus::Ok || check.mend.is_some();
    for check in checks.iter().filter(is_amiss) {
        let mend = check.mend.iter().map(|mend| format!("\n  {mend}"));
        let mend: String = mend.collect();
        console.note(&format!("{}: {}{mend}", check.name, check.detail));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum DaemonStatus {
    Ok,
    Warn,
    Fail,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: DaemonStatus,
    detail: String,
    /// What to do about it; nothing where all is well.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

impl Check {
    fn new(name: &'static str, status: DaemonStatus, detail: String, mend: Option<String>) -> Self {
        Self {
            name,
            status,
            detail,
            mend,
        }
    }

    fn ok(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, DaemonStatus::Ok, detail.into(), None)
    }

    fn warn(name: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(name, DaemonStatus::Warn, detail.into(), Some(mend.into()))
    }

    fn fail(name: &'static str, detail: impl Into<String>, mend: impl Into<String>) -> Self {
        Self::new(name, DaemonStatus::Fail, detail.into(), Some(mend.into()))
    }

    fn of_failure(name: &'static str, failure: Failure) -> Self {
        let mend = failure.help.unwrap_or_default();
        Self::fail(name, failure.detail, mend)
    }
}

fn git() -> Check {
    let mend = format!("install git {OLDEST} or later");
    let Some(answer) = version_of("git") else {
        return Check::fail("git", "not found", mend);
    };
    match git_version(&answer) {
        Some(version) if version >= OLDEST => Check::ok("git", answer),
        Some(_) => Check::fail("git", format!("{answer} is too old"), mend),
        None => Check::warn("git", format!("unknown version: {answer}"), mend),
    }
}

fn make() -> Check {
    match version_of("make") {
        Some(answer) => Check::ok("make", answer),
        None => Check::fail("make", "not found", "install make"),
    }
}

fn compiler() -> Check {
    let missing = "none of cc, gcc and clang found";
    let mend = "install one if your builds compile C";
    match ["cc", "gcc", "clang"].into_iter().find_map(version_of) {
        Some(answer) => Check::ok("C compiler", answer),
        None => Check::warn("C compiler", missing, mend),
    }
}

fn curl() -> Check {
    let mend = "optional: install curl to call the API by hand";
    match version_of("curl") {
        // Its first line goes on with every library it was built with.
        Some(answer) => Check::ok("curl", answer.split(" (").next().unwrap_or_default()),
        None => Check::warn("curl", "not found", mend),
    }
}

fn found(endpoint: &Result<Endpoint, Failure>) -> Check {
    match endpoint {
        Ok(endpoint) => Check::ok(
            "endpoint",
            format!("{} from {}", endpoint.url, endpoint.source),
        ),
        Err(failure) => Check::of_failure("endpoint", failure.clone()),
    }
}

async fn daemon(client: &Client, fix: bool) -> Vec<Check> {
    let health = match client.get("/healthz").await {
        Ok(answer) => health(&answer),
        Err(error) => return vec![Check::of_failure("daemon", error.into())],
    };
    if let Err(error) = client.get("/api/repos").await {
        let mut failure = Failure::from(error);
        if client.endpoint().authorization.is_none() {
            failure.detail = format!("no key at hand: {failure}");
        }
        return vec![health, Check::of_failure("key", failure)];
    }
    let mut checks = vec![health, Check::ok("key", "accepted")];
    checks.extend(sandbox::look(client).await);
    checks.extend(room(client).await);
    checks.extend(on_disk(client, fix).await);
    checks
}

/// How much is free where the daemon keeps its workspaces, which this command may not be able to look at.
async fn room(client: &Client) -> Option<Check> {
    let answer = client.get("/api/machine").await.ok()?;
    let free = answer.parse::<Load>().ok()?.disk.free?;
    let place = client.endpoint().workspaces.as_ref();
    let place = place.map_or_else(
        || "the daemon's".to_owned(),
        |dir| dir.display().to_string(),
    );
    Some(disk_check(free, &place))
}

/// What the daemon finds amiss in its workspaces, or has just mended.
async fn on_disk(client: &Client, fix: bool) -> Vec<Check> {
    match amiss(client, fix).await {
        Ok(found) if found.is_empty() => vec![Check::ok(ON_DISK, "all as it should be")],
        Ok(found) => found.into_iter().map(amiss_check).collect(),
        Err(failure) => vec![Check::of_failure(ON_DISK, failure)],
    }
}

async fn amiss(client: &Client, fix: bool) -> Result<Vec<Mended>, Failure> {
    if fix {
        let answer = client.post("/api/findings/mend", &json!({})).await?;
        return Ok(answer.parse::<Listed<Mended>>()?.items);
    }
    let found: Amiss = client.get("/api/findings").await?.parse()?;
    let now = found.now.items.into_iter();
    let now = now.map(|finding| Mended {
        finding,
        done: None,
    });
    Ok(now.chain(found.mended_at_start).collect())
}

fn amiss_check(amiss: Mended) -> Check {
    let Finding {
        code,
        detail,
        path,
        mend,
        ..
    } = amiss.finding;
    let found = format!("{code}: {detail} ({})", path.display());
    match (amiss.done, mend) {
        (Some(done), _) => Check::ok(ON_DISK, format!("{found}: {done}")),
        (None, Some(mend)) => Check::warn(ON_DISK, found, format!("--fix: {mend}")),
        (None, None) => Check::warn(ON_DISK, found, "left alone; look at it"),
    }
}

fn health(answer: &Answer) -> Check {
    let ours = env!("CARGO_PKG_VERSION");
    match answer.parse::<Alive>() {
        Ok(health) if health.status != "ok" => Check::fail(
            "daemon",
            format!("version {} says it is {:?}", health.version, health.status),
            "read its log",
        ),
        Ok(health) if health.version != ours => Check::warn(
            "daemon",
            format!("version {}, and this command is {ours}", health.version),
            "start the daemon anew after an update",
        ),
        Ok(health) => Check::ok("daemon", format!("version {}", health.version)),
        Err(_) => Check::fail(
            "daemon",
            "what answers there is no branchyard daemon",
            "check the address: --url, BRANCHYARD_URL",
        ),
    }
}

fn disk(workspaces: Option<&Path>) -> Check {
    let Some((dir, free)) = workspaces.and_then(free_space) else {
        return Check::warn(DISK, "cannot tell how much is free", "look with `df`");
    };
    disk_check(free, &dir.display().to_string())
}

fn disk_check(free: u64, place: &str) -> Check {
    let detail = format!("{} free in {place}", human_size(free));
    match free {
        0..DISK_FULL => Check::fail(DISK, detail, "make room, or move the workspaces"),
        DISK_FULL..DISK_LOW => Check::warn(DISK, detail, "make room soon"),
        _ => Check::ok(DISK, detail),
    }
}

/// Free bytes where the directory is, or will be.
fn free_space(dir: &Path) -> Option<(PathBuf, u64)> {
    let exists = dir.ancestors().find(|dir| dir.is_dir())?;
    let disk = rustix::fs::statvfs(exists).ok()?;
    Some((dir.to_owned(), disk.f_bavail.saturating_mul(disk.f_frsize)))
}

/// The first line of what a program says about itself.
fn version_of(program: &str) -> Option<String> {
    let output = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next()?.trim();
    (output.status.success() && !line.is_empty()).then(|| line.to_owned())
}

const TITLES: &str = "CHECK, STATUS, FOUND, MEND";

fn row(check: &Check) -> Vec<Cell> {
    let tone = match check.status {
        DaemonStatus::Ok => Tone::Good,
        DaemonStatus::Warn => Tone::Warn,
        DaemonStatus::Fail => Tone::Bad,
    };
    vec![
        Cell::text(check.name),
        Cell::word(check.status).tone(tone),
        Cell::sentence(Some(&check.detail)),
        // People read all of it below the table.
        Cell::maybe(check.mend.as_ref()).shown_as(""),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_of_another_version_or_none_at_all_is_noticed() {
        let status = |body: &str| {
            health(&Answer {
                body: body.as_bytes().to_vec(),
            })
            .status
        };
        let ours = format!(
            r#"{{"status":"ok","version":"{}"}}"#,
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(status(&ours), DaemonStatus::Ok);
        assert_eq!(
            status(r#"{"status":"ok","version":"0.0.1"}"#),
            DaemonStatus::Warn
        );
        assert_eq!(
            status(r#"{"status":"draining","version":"0.1.0"}"#),
            DaemonStatus::Fail
        );
        assert_eq!(status("<html>"), DaemonStatus::Fail);
    }

    #[test]
    fn free_space_is_known_before_the_directory_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let (_, free) = free_space(&dir.path().join("not/yet")).unwrap();
        assert!(free > 0);
    }

    #[test]
    fn what_failed_says_how_to_mend_it() {
        let checks = [
            Check::ok("git", "git version 2.39.5"),
            Check::of_failure(
                "endpoint",
                Failure::daemon("no daemon found").help("start one"),
            ),
        ];
        assert_eq!(
            Listing::of(TITLES, &checks, row).plain(),
            "git\tok\tgit version 2.39.5\t\nendpoint\tfail\tno daemon found\tstart one\n"
        );
    }
}
