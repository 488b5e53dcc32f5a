//! `audit`: who did what, the latest first; or all of it, to be kept elsewhere.

use jiff::Timestamp;
use serde::Deserialize;

use super::Context;
use super::args::AuditArgs;
use super::client::Query;
use super::exit::{self, Failure};
use super::render::{Cell, Listing, Tone};
use super::runs::command_line;

const PATH: &str = "/api/audit";

#[derive(Deserialize)]
struct AuditPage {
    items: Vec<AuditRow>,
    /// Where the next page begins.
    #[serde(default)]
    next: Option<i64>,
}

/// A record, as far as a list shows it.
#[derive(Deserialize)]
struct AuditRow {
    id: i64,
    at: Timestamp,
    #[serde(default)]
    principal: Option<String>,
    #[serde(default)]
    peer: Option<String>,
    via: String,
    action: String,
    #[serde(default)]
    repo: Option<String>,
    #[serde(default)]
    branch: Option<String>,
    #[serde(default)]
    run: Option<String>,
    outcome: String,
    #[serde(default)]
    code: Option<String>,
    count: u64,
}

pub(super) async fn audit(context: &Context, args: &AuditArgs) -> Result<u8, Failure> {
    let mut query = Query::default();
    for (name, value) in filters(args) {
        query.add(name, &value);
    }
    if args.export.is_some() {
        return export(context, &query.after(PATH)).await;
    }
    query.add("limit", &args.limit.to_string());
    query.add_some("before", args.before.map(|id| id.to_string()).as_deref());
    let console = &context.console;
    let answer = context.client.get(&query.after(PATH)).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let page: AuditPage = answer.parse()?;
    let next = page.next;
    let listing = listing(page.items);
    if listing.is_empty() {
        console.note("no records");
    } else {
        console.print_listing(&listing)?;
    }
    if let Some(next) = next {
        console.note(&format!("there are more: `{}`", next_page(args, next)));
    }
    Ok(exit::OK)
}

/// Exactly the daemon's lines. One that breaks off can be gone on with after the last id.
async fn export(context: &Context, path: &str) -> Result<u8, Failure> {
    let response = context.client.lines(path).await?;
    let broke_off = |cause| {
        Failure::daemon(format!("the export broke off: {cause}"))
            .help("go on with --after and the last id that came")
    };
    context.print_as_it_comes(response, broke_off).await
}

/// What was asked for, by the daemon's names, which are those of the flags.
fn filters(args: &AuditArgs) -> Vec<(&'static str, String)> {
    let some = [
        ("principal", args.principal.clone()),
        ("action", args.action.clone()),
        (
            "repo",
            args.repo.as_ref().map(|repo| repo.as_str().to_owned()),
        ),
        (
            "branch",
            args.branch.as_ref().map(|name| name.as_str().to_owned()),
        ),
        ("run", args.run.clone()),
        ("outcome", args.outcome.clone()),
        ("since", args.since.clone()),
        ("until", args.until.clone()),
        ("after", args.after.map(|id| id.to_string())),
    ];
    some.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// The same command again, for what comes after.
fn next_page(args: &AuditArgs, next: i64) -> String {
    let mut words = vec!["branchyard".to_owned(), "audit".to_owned()];
    for (name, value) in filters(args) {
        words.extend([format!("--{name}"), value]);
    }
    words.extend(["--limit".to_owned(), args.limit.to_string()]);
    words.extend(["--before".to_owned(), next.to_string()]);
    command_line(&words)
}

fn listing(items: Vec<AuditRow>) -> Listing {
    let mut listing = Listing::new(&[
        "ID", "WHEN", "WHO", "FROM", "VIA", "ACTION", "REPO", "BRANCH", "OUTCOME", "CODE", "COUNT",
        "RUN",
    ]);
    for item in items {
        let tone = match item.outcome.as_str() {
            "allowed" => Tone::Good,
            "failed" => Tone::Warn,
            "refused" => Tone::Bad,
            _ => Tone::Faint,
        };
        let many = match item.count {
            1 => String::new(),
            count => format!("{count} times"),
        };
        let text = |value: Option<String>| Cell::text(value.unwrap_or_default());
        listing.row(vec![
            Cell::number(item.id.to_string()),
            Cell::moment(Some(item.at)),
            text(item.principal),
            text(item.peer),
            Cell::text(item.via),
            Cell::text(item.action),
            text(item.repo),
            text(item.branch),
            Cell::text(item.outcome).tone(tone),
            text(item.code),
            Cell::number(item.count.to_string()).shown_as(many),
            Cell::whole(item.run.unwrap_or_default()),
        ]);
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, ClientCommand, Command};
    use super::*;

    #[test]
    fn a_record_is_one_line_and_the_next_page_the_same_command_with_a_place() {
        let page: AuditPage = serde_json::from_str(
            r#"{"items":[{"id":7,"at":"2024-05-06T07:08:09Z","principal":null,"peer":"10.0.0.1","via":"http",
                "action":"make","repo":"app","branch":"feature/x","run":null,"request":null,"outcome":"refused",
                "status":401,"code":"unauthorized","count":12,"detail":"d"}],"next":7}"#,
        )
        .unwrap();
        assert_eq!(
            listing(page.items).plain(),
            "7\t2024-05-06T07:08:09Z\t\t10.0.0.1\thttp\tmake\tapp\tfeature/x\trefused\tunauthorized\t12\t\n"
        );
        let words = "branchyard audit --action git.push --repo app --since 2h";
        let cli = Cli::read(words.split(' ').map(Into::into).collect()).unwrap();
        let Command::Client(ClientCommand::Audit(args)) = cli.command else {
            panic!("not audit");
        };
        assert_eq!(
            next_page(&args, 7),
            "branchyard audit --action git.push --repo app --since 2h --limit 20 --before 7"
        );
    }
}
