//! `audit`: who did what, the latest first; or all of it, to be kept elsewhere.

use clap::ValueEnum;

use super::Context;
use super::client::Query;
use super::exit::Failure;
use super::render::{Cell, Tone};
use super::values;
use branchyard::app::audit::{AuditOutcome, AuditRecord};
use branchyard_model::{BranchName, RepoName};

const PATH: &str = "/api/audit";

/// Show who did what, the latest first
///
/// Every call that changed something is there, with who made it, where, and what came of it; and
/// everybody whom the daemon refused. Needs the right admin. Piped, each line is id, time,
/// principal, address, face, action, repository, branch, outcome, code, count and run, with tabs
/// between.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard audit
  branchyard audit --repo app --branch main --since 1d
  branchyard audit --outcome refused --limit 100
  branchyard audit --export ndjson --since 1d > audit.ndjson")]
pub(crate) struct Args {
    /// Only what this principal did, such as session or token:ci
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only this action, such as make, git.push or branch.remove
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Only what was done in this repository
    #[arg(long, value_name = "REPO", value_parser = values::repo)]
    repo: Option<RepoName>,
    /// Only what was done on this branch
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    branch: Option<BranchName>,
    /// Only what made or touched this run, group, salvage or token
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Only what came to this end
    #[arg(long, value_parser = ["allowed", "refused", "failed", "unknown"])]
    outcome: Option<String>,
    /// Only since then, such as 2h or 2026-11-15T08:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    since: Option<String>,
    /// Only before then, written as --since is
    #[arg(long, value_name = "WHEN", value_parser = values::since)]
    until: Option<String>,
    /// Only records with a greater id, for whoever has all up to it
    #[arg(long, value_name = "ID")]
    after: Option<i64>,
    /// Only records with a smaller id: the next page
    #[arg(long, value_name = "ID")]
    before: Option<i64>,
    /// How many at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        conflicts_with = "export"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print all of them, the oldest first, each as a line of JSON
    #[arg(long, value_enum, value_name = "FORMAT")]
    export: Option<ExportFormat>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Ndjson,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    if args.export.is_some() {
        return export(context, &filters(args).after(PATH)).await;
    }
    let query = filters(args).with("limit", Some(args.limit));
    let path = query.with("before", args.before).after(PATH);
    let answer = context.client.get(&path).await?;
    context.page(&answer, "no records", TITLES, row, |next: i64| {
        next_page(args, next)
    })
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

fn filters(args: &Args) -> Query {
    Query::default()
        .with("principal", args.principal.as_ref())
        .with("action", args.action.as_ref())
        .with("repo", args.repo.as_ref())
        .with("branch", args.branch.as_ref())
        .with("run", args.run.as_ref())
        .with("outcome", args.outcome.as_ref())
        .with("since", args.since.as_ref())
        .with("until", args.until.as_ref())
        .with("after", args.after)
}

/// The same command again, for what comes after.
fn next_page(args: &Args, next: i64) -> String {
    let query = filters(args).with("limit", Some(args.limit));
    query.with("before", Some(next)).command(&["audit"])
}

const TITLES: &str = "ID, WHEN, WHO, FROM, VIA, ACTION, REPO, BRANCH, OUTCOME, CODE, COUNT, RUN; \
                      RUN, VIA, COUNT, FROM, ID, CODE, REPO";

fn row(AuditRecord { id, call, end }: AuditRecord) -> Vec<Cell> {
    let tone = match end.outcome {
        AuditOutcome::Allowed => Tone::Good,
        AuditOutcome::Failed => Tone::Warn,
        AuditOutcome::Refused => Tone::Bad,
        AuditOutcome::Unknown => Tone::Faint,
    };
    let many = match end.count {
        1 => String::new(),
        count => format!("{count} times"),
    };
    vec![
        Cell::number(Some(id)),
        Cell::moment(Some(call.at)),
        Cell::maybe(call.principal),
        Cell::maybe(call.peer),
        Cell::word(call.via),
        Cell::text(call.action),
        Cell::maybe(call.repo),
        call.branch.map(Cell::branch).unwrap_or_default(),
        Cell::word(end.outcome).tone(tone),
        Cell::maybe(end.code),
        Cell::number(Some(end.count)).shown_as(many),
        call.run.map(Cell::id).unwrap_or_default(),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::render::Listing;
    use super::super::tests::parse;
    use super::super::{ClientCommand, Command};
    use super::*;
    use branchyard::http::Listed;

    #[test]
    fn a_record_is_one_line_and_the_next_page_the_same_command_with_a_place() {
        let page: Listed<AuditRecord, i64> = serde_json::from_str(
            r#"{"items":[{"id":7,"at":"2024-05-06T07:08:09Z","principal":null,"peer":"10.0.0.1","via":"http",
                "action":"make","repo":"app","branch":"feature/x","run":null,"request":null,"outcome":"refused",
                "status":401,"code":"unauthorized","count":12,"detail":"d"}],"next":7}"#,
        )
        .unwrap();
        assert_eq!(
            Listing::of(TITLES, page.items, row).plain(),
            "7\t2024-05-06T07:08:09Z\t\t10.0.0.1\thttp\tmake\tapp\tfeature/x\trefused\tunauthorized\t12\t\n"
        );
        let words = "audit --action git.push --repo app --since 2h";
        let cli = parse(&words.split(' ').collect::<Vec<_>>());
        let Command::Client(ClientCommand::Audit(args)) = cli.command else {
            panic!("not audit");
        };
        assert_eq!(
            next_page(&args, 7),
            "branchyard audit --action git.push --repo app --since 2h --limit 20 --before 7"
        );
    }
}
