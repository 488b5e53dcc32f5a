//! `branches`, `prepare` and `rm`: the workspaces of a repository.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use super::args::{BranchesArgs, PrepareArgs, RmArgs};
use super::client::{Answer, branch_path, encode, repo_path};
use super::exit::{self, Failure};
use super::progress::patiently;
use super::render::{Cell, Listing, Tone, short_commit};
use super::stream::Holder;

#[derive(Deserialize)]
struct BranchesPage {
    items: Vec<Workspace>,
    #[serde(default)]
    unavailable: Vec<Unavailable>,
    #[serde(default)]
    notice: Option<String>,
}

/// A workspace that does not answer or is damaged.
#[derive(Deserialize)]
struct Unavailable {
    branch: String,
    reason: String,
}

/// A page as it came, and after which branch the next one begins.
#[derive(Deserialize)]
struct Part {
    items: Vec<Value>,
    #[serde(default)]
    unavailable: Vec<Value>,
    #[serde(default)]
    next: Option<String>,
}

/// A workspace, or with no path a branch that only the remote has.
#[derive(Deserialize)]
struct Workspace {
    branch: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    commit: Option<String>,
    #[serde(default)]
    dirty: Option<bool>,
    /// Whether there are untracked files, or how many.
    #[serde(default)]
    untracked: Value,
    #[serde(default)]
    ahead: Option<u64>,
    #[serde(default)]
    behind: Option<u64>,
    #[serde(default)]
    gone_upstream: bool,
    #[serde(default)]
    pins: Vec<String>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    last_used: Option<Timestamp>,
    #[serde(default)]
    holder: Option<Holder>,
}

/// A workspace that was made ready, and what was left undone on the way.
#[derive(Deserialize)]
struct Prepared {
    #[serde(flatten)]
    workspace: Workspace,
    #[serde(default)]
    warnings: Vec<Warning>,
}

#[derive(Deserialize)]
struct Warning {
    message: String,
}

/// All pages of the list, as one.
async fn all(context: &Context, args: &BranchesArgs) -> Result<Answer, Failure> {
    let mut query = if args.remote { "?remote=true" } else { "" }.to_owned();
    let (mut items, mut unavailable) = (Vec::new(), Vec::new());
    loop {
        let path = repo_path(&args.repo, &format!("/branches{query}"));
        let answer = context.client.get_slowly(&path).await?;
        let page: Part = answer.parse()?;
        if page.next.is_none() && items.is_empty() {
            return Ok(answer);
        }
        items.extend(page.items);
        unavailable.extend(page.unavailable);
        let Some(last) = page.next else {
            let mut body = json!({"items": items, "next": null});
            if !unavailable.is_empty() {
                body["unavailable"] = unavailable.into();
            }
            let body = body.to_string();
            return Ok(Answer { body: body.into() });
        };
        query = format!("?remote={}&after={}", args.remote, encode(&last));
    }
}

pub(super) async fn list(context: &Context, args: &BranchesArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let answer = patiently(console, "asking the remote", all(context, args)).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let page: BranchesPage = answer.parse()?;
    for missing in &page.unavailable {
        console.warning(&format!("{}: {}", missing.branch, missing.reason));
    }
    let notice = page.notice.clone();
    let listing = listing(page);
    if let Some(notice) = &notice {
        console.warning(notice);
    }
    if listing.is_empty() && notice.is_none() {
        console.note("no workspaces; --remote lists the branches that could have one");
    } else if !listing.is_empty() {
        console.print_listing(&listing)?;
    }
    Ok(exit::OK)
}

pub(super) async fn prepare(context: &Context, args: &PrepareArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let path = branch_path(&args.repo, &args.branch, "");
    let body = match &args.from {
        Some(from) => json!({"from": from}),
        None => json!({}),
    };
    let message = format!("preparing {} of {}", args.branch, args.repo);
    let answer = patiently(console, &message, context.client.put(&path, &body)).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let prepared: Prepared = answer.parse()?;
    for warning in &prepared.warnings {
        console.warning(&warning.message);
    }
    let workspace = prepared.workspace;
    if console.stderr_is_terminal() {
        let commit = workspace.commit.as_deref().unwrap_or("no commit");
        console.note(&format!(
            "{} is ready at {}",
            args.branch,
            short_commit(commit)
        ));
    }
    console.print_line(&workspace.path.unwrap_or_default())?;
    Ok(exit::OK)
}

pub(super) async fn remove(context: &Context, args: &RmArgs) -> Result<u8, Failure> {
    let query = if args.force { "?force=true" } else { "" };
    let path = branch_path(&args.repo, &args.branch, query);
    let message = format!("removing {} of {}", args.branch, args.repo);
    let answer = patiently(&context.console, &message, context.client.delete(&path)).await?;
    // Where there was nothing to save, the daemon has nothing to say.
    let saved: Value = match answer.body.is_empty() {
        true => Value::Null,
        false => answer.parse()?,
    };
    let salvage = &saved["salvage"];
    if context.console.json() {
        let done = json!({
            "repo": args.repo, "branch": args.branch, "removed": true, "salvage": salvage,
        });
        context.console.print_json(&Answer::ours(&done))?;
    } else {
        if let Some(id) = salvage["id"].as_str() {
            context.console.warning(&format!(
                "what was in it is saved; `branchyard salvage restore {id}` brings it back"
            ));
        }
        context.console.note(&format!(
            "removed the workspace of {} of {}",
            args.branch, args.repo
        ));
    }
    Ok(exit::OK)
}

fn listing(page: BranchesPage) -> Listing {
    let mut listing = Listing::new(&[
        "BRANCH",
        "COMMIT",
        "STATE",
        "AHEAD",
        "BEHIND",
        "SIZE",
        "USED",
        "HELD BY",
        "PINNED BY",
        "PATH",
    ]);
    for workspace in page.items {
        let (state, tone) = state(&workspace);
        let count = |count: Option<u64>| count.map(|n| n.to_string()).unwrap_or_default();
        listing.row(vec![
            Cell::whole(workspace.branch),
            Cell::commit(workspace.commit.as_deref()),
            Cell::text(state).tone(tone),
            Cell::number(count(workspace.ahead)),
            Cell::number(count(workspace.behind)),
            Cell::size(workspace.size),
            Cell::moment(workspace.last_used),
            Cell::text(
                workspace
                    .holder
                    .map(|holder| holder.what)
                    .unwrap_or_default(),
            ),
            Cell::text(workspace.pins.join(", ")),
            Cell::path(workspace.path.unwrap_or_default()).tone(Tone::Faint),
        ]);
    }
    listing
}

/// What a glance should tell: `dirty,untracked`, `clean`, `remote`.
fn state(workspace: &Workspace) -> (String, Tone) {
    let mut words = Vec::new();
    if workspace.dirty == Some(true) {
        words.push("dirty");
    }
    let untracked = &workspace.untracked;
    if untracked.as_bool() == Some(true) || untracked.as_u64().is_some_and(|count| count > 0) {
        words.push("untracked");
    }
    if workspace.gone_upstream {
        words.push("gone upstream");
    }
    match (words.is_empty(), workspace.path.is_some()) {
        (true, true) => ("clean".to_owned(), Tone::Good),
        (true, false) => ("remote".to_owned(), Tone::Faint),
        (false, _) => (words.join(","), Tone::Warn),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspaces_and_remote_branches_are_told_apart() {
        let page = serde_json::from_str(
            r#"{"items":[
                {"repo":"app","branch":"main","path":"/w/app/main","commit":"1a2b3c4d5e","tree":"t","dirty":true,
                 "untracked":2,"ahead":1,"behind":0,"fetched_at":null,"gone_upstream":false,"pins":["unpushed commits"],
                 "size":2048,"last_used":"2024-05-06T07:08:09Z",
                 "holder":{"what":"make test","run_id":null,"who":"ci","since":"2024-05-06T07:08:09Z"}},
                {"repo":"app","branch":"next","path":null,"commit":"ffff","untracked":false,"pins":[],"size":null}
            ],"next":null}"#,
        )
        .unwrap();
        assert_eq!(
            listing(page).plain(),
            "main\t1a2b3c4d5e\tdirty,untracked\t1\t0\t2048\t2024-05-06T07:08:09Z\tmake test\tunpushed commits\t/w/app/main\n\
             next\tffff\tremote\t\t\t\t\t\t\t\n"
        );
    }
}
