//! Reads of a workspace: env, ls, read_file, grep, git/quick. Each answer says which commit it is about.

use axum::Json;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::extract::{At, Body, BranchAt};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, reads};
use crate::app::{
    About, AuthorizedApp, EnvironmentReport, GitOutput, MakeTargets, QuickRequest, inspect,
    make_targets,
};
use branchyard_model::{BranchName, Problem, RepoName, Scope};
use branchyard_runs::argv::Args;
use branchyard_workspace::{FileText, GrepRequest, ListRequest, Listing, Matches, ReadRequest};

pub(super) fn routes() -> Vec<Route> {
    let at = |what| format!("/api/repos/{{repo}}/branches/{{branch}}/{what}");
    vec![
        reads(
            "showEnvironment",
            "Machine, tools and environment of a build",
        )
        .gives("What a build there finds.")
        .get(at("env"), Needs(Scope::RepoRead), env),
        reads("listFiles", "List files")
            .gives("The entries of the directory, or the one file.")
            .post(at("ls"), Needs(Scope::RepoRead), ls),
        reads("readFile", "Read lines of a file")
            .gives("The lines.")
            .post(at("read_file"), Needs(Scope::RepoRead), read_file),
        reads("searchFiles", "Search files")
            .gives("The lines that match.")
            .post(at("grep"), Needs(Scope::RepoRead), grep),
        reads("listMakeTargets", "List the targets of the Makefile")
            .says("Those that stand in it with their names; make is not run for it.")
            .gives("Their names, in the order of the Makefile.")
            .get(at("make_targets"), Needs(Scope::RepoRead), targets),
        reads("gitQuick", "A short git answer")
            .says("One of `status`, `log`, `branch`, `diff` and `show`, within 30 seconds.")
            .gives("What git printed.")
            .post(at("git/quick"), Needs(Scope::GitRead), git_quick),
    ]
}

type Answer<T> = HttpResult<Json<Said<T>>>;

/// An answer and what it is about.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Answer")]
pub struct Said<T> {
    pub repo: RepoName,
    pub branch: BranchName,
    #[serde(flatten)]
    pub about: About,
    #[serde(flatten)]
    pub answer: T,
}

fn said<T>(repo: RepoName, branch: BranchName, (about, answer): (About, T)) -> Json<Said<T>> {
    Json(Said {
        repo,
        branch,
        about,
        answer,
    })
}

async fn env(app: AuthorizedApp, At((repo, branch)): BranchAt) -> Answer<EnvironmentReport> {
    let answer = inspect::environment(&app, &repo, &branch).await?;
    Ok(said(repo, branch, answer))
}

async fn targets(app: AuthorizedApp, At((repo, branch)): BranchAt) -> Answer<MakeTargets> {
    let answer = make_targets::make_targets(&app, &repo, &branch).await?;
    Ok(said(repo, branch, answer))
}

/// What `ls` takes: fields, or the arguments of the command that people know.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ListRequest")]
pub(super) struct LsBody {
    /// Relative to the workspace; the workspace itself if left out.
    #[serde(default)]
    path: Option<String>,
    /// Also what is below.
    #[serde(default)]
    recursive: bool,
    /// Also names that start with a dot; `.git` never.
    #[serde(default)]
    all: bool,
    /// Such as `"-la src"`, in place of the fields above.
    #[serde(default)]
    args: Option<Args>,
}

async fn ls(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    Body(body): Body<LsBody>,
) -> Answer<Listing> {
    let answer = inspect::ls(&app, &repo, &branch, list_request(body)?).await?;
    Ok(said(repo, branch, answer))
}

pub(super) fn list_request(body: LsBody) -> Result<ListRequest, Problem> {
    let Some(args) = body.args else {
        return Ok(ListRequest {
            path: body.path.unwrap_or_default(),
            recursive: body.recursive,
            all: body.all,
        });
    };
    if body.path.is_some() || body.recursive || body.all {
        let detail = "give either args or path, recursive and all";
        return Err(Problem::unprocessable("args", detail));
    }
    let mut request = ListRequest::default();
    let mut paths = Vec::new();
    for word in args.into_words()? {
        match word.strip_prefix('-') {
            None | Some("") => paths.push(word),
            Some(flags) => {
                for flag in flags.chars() {
                    match flag {
                        'a' | 'A' => request.all = true,
                        'R' => request.recursive = true,
                        // How it looks on a terminal has no meaning here.
                        'l' | '1' | 'h' | 'F' => {}
                        other => {
                            return Err(Problem::bad("args", format!("ls does not take -{other}"))
                                .help("it takes -a, -A, -R, -l, -1, -h, -F and one path"));
                        }
                    }
                }
            }
        }
    }
    if paths.len() > 1 {
        return Err(Problem::bad("args", "ls takes one path"));
    }
    request.path = paths.pop().unwrap_or_default();
    Ok(request)
}

async fn read_file(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    Body(request): Body<ReadRequest>,
) -> Answer<FileText> {
    let (about, part) = inspect::read_file(&app, &repo, &branch, request).await?;
    Ok(said(repo, branch, (about, FileText::from(part))))
}

async fn grep(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    Body(request): Body<GrepRequest>,
) -> Answer<Matches> {
    let answer = inspect::grep(&app, &repo, &branch, request).await?;
    Ok(said(repo, branch, answer))
}

async fn git_quick(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    Body(request): Body<QuickRequest>,
) -> Answer<GitOutput> {
    let answer = inspect::git_quick(&app, &repo, &branch, request).await?;
    Ok(said(repo, branch, answer))
}
