//! `repos`: list, register and forget repositories.

use serde::Deserialize;
use serde_json::json;

use super::Context;
use super::args::RepoAction;
use super::client::{Answer, repo_path};
use super::exit::{self, Failure};
use super::render::{Cell, Listing, Tone};
use branchyard_model::{BranchName, RepoName};

#[derive(Deserialize)]
struct ReposPage {
    items: Vec<ListedRepo>,
}

#[derive(Deserialize)]
struct ListedRepo {
    name: String,
    url: String,
    #[serde(default)]
    default_branch: Option<String>,
    #[serde(default)]
    source: String,
    #[serde(default)]
    cloned: bool,
    #[serde(default)]
    workspaces: u64,
}

pub(super) async fn repos(context: &Context, action: Option<RepoAction>) -> Result<u8, Failure> {
    match action {
        None | Some(RepoAction::List) => list(context).await,
        Some(RepoAction::Add {
            name,
            url,
            default_branch,
        }) => add(context, &name, &url, default_branch.as_ref()).await,
        Some(RepoAction::Rm { name }) => remove(context, &name).await,
    }
}

async fn list(context: &Context) -> Result<u8, Failure> {
    let console = &context.console;
    let answer = context.client.get("/api/repos").await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let listing = listing(answer.parse()?);
    if listing.is_empty() {
        console.note("no repositories; add one with `branchyard repos add NAME URL`");
    } else {
        console.print_listing(&listing)?;
    }
    Ok(exit::OK)
}

async fn add(
    context: &Context,
    name: &RepoName,
    url: &str,
    default_branch: Option<&BranchName>,
) -> Result<u8, Failure> {
    let mut body = json!({"name": name, "url": url});
    if let Some(branch) = default_branch {
        body["default_branch"] = json!(branch);
    }
    let answer = context.client.post("/api/repos", &body).await?;
    if context.console.json() {
        context.console.print_json(&answer)?;
    } else {
        context.console.note(&format!("registered {name}"));
    }
    Ok(exit::OK)
}

async fn remove(context: &Context, name: &RepoName) -> Result<u8, Failure> {
    context.client.delete(&repo_path(name, "")).await?;
    if context.console.json() {
        let done = json!({"name": name, "removed": true});
        context.console.print_json(&Answer::ours(&done))?;
    } else {
        context.console.note(&format!("forgot {name}"));
    }
    Ok(exit::OK)
}

fn listing(page: ReposPage) -> Listing {
    let mut listing = Listing::new(&["NAME", "URL", "DEFAULT", "SOURCE", "CLONED", "WORKSPACES"]);
    for repo in page.items {
        let cloned = if repo.cloned { "yes" } else { "no" };
        listing.row(vec![
            Cell::text(repo.name),
            Cell::text(repo.url),
            Cell::text(repo.default_branch.unwrap_or_default()),
            Cell::text(repo.source).tone(Tone::Faint),
            Cell::text(cloned),
            Cell::number(repo.workspaces.to_string()),
        ]);
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_one_line() {
        let page = serde_json::from_str(
            r#"{"items":[{"name":"app","url":"https://example.org/app","default_branch":null,
                "source":"config","cloned":true,"workspaces":3}],"next":null}"#,
        )
        .unwrap();
        assert_eq!(
            listing(page).plain(),
            "app\thttps://example.org/app\t\tconfig\tyes\t3\n"
        );
    }
}
