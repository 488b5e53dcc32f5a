//! `repos`: list, register and forget repositories.

use clap::Subcommand;
use serde_json::json;

use super::Context;
use super::client::{Answer, repo_path};
use super::exit::Failure;
use super::render::{Cell, Tone};
use super::values;
use branchyard::app::RepoSummary;
use branchyard::http::Listed;
use branchyard_model::{BranchName, RepoName};

/// List, register and forget repositories
///
/// Without an action, lists them. A warning on stderr says of which of them pushes are not heard of.
/// Registering clones nothing; the first use does.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard repos
  branchyard repos add app https://example.org/app.git --default-branch main
  branchyard repos rm app")]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<RepoAction>,
}

#[derive(Debug, Subcommand)]
enum RepoAction {
    /// List the repositories
    List,
    /// Register a repository
    Add {
        /// A name of your choice: letters, digits, '.', '_' and '-'
        #[arg(value_parser = values::repo)]
        name: RepoName,
        // Its own id: `url` is the global flag's.
        /// Where git finds it
        #[arg(id = "remote_url", value_name = "URL")]
        url: String,
        /// The branch that counts as the default one
        #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
        default_branch: Option<BranchName>,
    },
    /// Forget a repository that was registered
    Rm {
        /// The repository's name
        #[arg(value_parser = values::repo)]
        name: RepoName,
    },
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let client = &context.client;
    match &args.action {
        None | Some(RepoAction::List) => {
            let answer = client.get("/api/repos").await?;
            let none = "no repositories; add one with `branchyard repos add NAME URL`";
            let code = context.list(&answer, none, TITLES, row)?;
            if !context.console.json {
                warn_of_trouble(context, &answer)?;
            }
            Ok(code)
        }
        Some(RepoAction::Add {
            name,
            url,
            default_branch,
        }) => {
            let body = json!({"name": name, "url": url, "default_branch": default_branch});
            let answer = client.post("/api/repos", &body).await?;
            context.done(&answer, &format!("registered {name}"))
        }
        Some(RepoAction::Rm { name }) => {
            client.delete(&repo_path(name, "")).await?;
            let done = Answer::ours(&json!({"name": name, "removed": true}));
            context.done(&done, &format!("forgot {name}"))
        }
    }
}

const TITLES: &str = "NAME, URL, DEFAULT, SOURCE, CLONED, WORKSPACES; SOURCE, CLONED, DEFAULT";

fn row(repo: RepoSummary) -> Vec<Cell> {
    vec![
        Cell::text(repo.name),
        Cell::path(repo.url),
        Cell::text(repo.default_branch.unwrap_or_default()),
        Cell::word(repo.source).tone(Tone::Faint),
        Cell::text(if repo.cloned { "yes" } else { "no" }),
        Cell::number(Some(repo.workspaces)),
    ]
}

/// Says of which repositories something new may not have started what it should.
fn warn_of_trouble(context: &Context, answer: &Answer) -> Result<(), Failure> {
    let page: Listed<RepoSummary> = answer.parse()?;
    for repo in page.items {
        if let Some(problem) = repo.watch.and_then(|watch| watch.problem) {
            let warning = format!("{} starts nothing by itself yet: {problem}", repo.name);
            context.console.warning(&warning);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::render::Listing;
    use super::super::tests::parse;
    use super::super::{ClientCommand, Command};
    use super::*;

    #[test]
    fn a_repository_is_one_line() {
        let repos: Vec<RepoSummary> = serde_json::from_str(
            r#"[{"name":"app","url":"https://example.org/app","default_branch":null,
                "source":"config","cloned":true,"workspaces":3,"tasks":[]}]"#,
        )
        .unwrap();
        assert_eq!(
            Listing::of(TITLES, repos, row).plain(),
            "app\thttps://example.org/app\t\tconfig\tyes\t3\n"
        );
    }

    #[test]
    fn no_action_is_needed() {
        let Command::Client(ClientCommand::Repos(args)) = parse(&["repos"]).command else {
            panic!("not repos");
        };
        assert!(args.action.is_none());
    }
}
