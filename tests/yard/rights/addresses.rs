//! Every address.

use std::collections::{BTreeMap, HashMap};

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::About::{AllBranches, Branch, Nothing, Repo, WholeYard};
use super::{About, Holder, Place, There, Verdict, cast, saved};
use crate::support::Yard;
use branchyard::app::verbs::VerbFamily;

/// An address, the right that it needs, and what it is about.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    About,
    &'static str,
);

const BRANCH: &str = "/api/repos/{repo}/branches/{branch}";

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("GET",    "/readyz",                                        "ops",       Nothing,     ""),
    ("GET",    "/metrics",                                       "ops",       Nothing,     ""),
    ("GET",    "/api/machine",                                   "repo:read", Nothing,     ""),
    ("GET",    "/api/repos",                                     "repo:read", Nothing,     ""),
    ("POST",   "/api/repos",                                     "admin",     Repo,        r#"{"name":"{repo}","url":"/x"}"#),
    ("GET",    "/api/repos/{repo}",                              "repo:read", Repo,        ""),
    ("DELETE", "/api/repos/{repo}",                              "admin",     AllBranches, ""),
    ("POST",   "/api/repos/{repo}/clone",                        "ops",       AllBranches, ""),
    ("POST",   "/api/repos/{repo}/maintain",                     "ops",       AllBranches, ""),
    ("GET",    "/api/findings",                                  "ops",       WholeYard,   ""),
    ("POST",   "/api/findings/mend",                             "admin",     WholeYard,   ""),
    ("GET",    "/api/repos/{repo}/branches",                     "repo:read", Repo,        ""),
    ("GET",    "/api/repos/{repo}/branches/{branch}",            "repo:read", Branch,      ""),
    ("PUT",    "/api/repos/{repo}/branches/{branch}",            "git:write", Branch,      ""),
    ("DELETE", "/api/repos/{repo}/branches/{branch}",            "git:write", Branch,      ""),
    ("PUT",    "/api/repos/{repo}/branches/{branch}/pin",        "git:write", Branch,      ""),
    ("DELETE", "/api/repos/{repo}/branches/{branch}/pin",        "git:write", Branch,      ""),
    ("GET",    "/api/repos/{repo}/branches/{branch}/env",        "repo:read", Branch,      ""),
    ("GET",    "/api/repos/{repo}/branches/{branch}/activity",   "repo:read", Branch,      ""),
    ("GET",    "/api/repos/{repo}/branches/{branch}/make_targets", "repo:read", Branch,      ""),
    ("POST",   "/api/repos/{repo}/branches/{branch}/ls",         "repo:read", Branch,      ""),
    ("GET",    "/api/repos/{repo}/branches/{branch}/raw/{*path}", "repo:read", Branch,      ""),
    ("POST",   "/api/repos/{repo}/branches/{branch}/read_file",  "repo:read", Branch,      r#"{"path":"name.txt"}"#),
    ("POST",   "/api/repos/{repo}/branches/{branch}/grep",       "repo:read", Branch,      r#"{"pattern":"x"}"#),
    ("POST",   "/api/repos/{repo}/branches/{branch}/git/quick",  "git:read",  Branch,      r#"{"operation":"status"}"#),
    ("POST",   "/api/git/clone",                                 "git:write", Branch,      r#"{"repo":"{repo}","agent_id":"{agent}","task_id":"t"}"#),
    ("POST",   "/api/git/init",                                  "admin",     Branch,      r#"{"repo":"{repo}","default_branch":"{branch}"}"#),
    ("GET",    "/api/salvage",                                   "git:read",  Nothing,     ""),
    ("GET",    "/api/salvage/{salvage}",                         "git:read",  Branch,      ""),
    ("GET",    "/api/salvage/{salvage}/file?path=note.txt",      "git:read",  Branch,      ""),
    ("POST",   "/api/salvage/{salvage}/restore",                 "git:write", Branch,      r#"{"force":true}"#),
    ("DELETE", "/api/salvage/{salvage}",                         "ops",       Branch,      ""),
    ("POST",   "/stream/repos/{repo}/branches/{branch}/make",    "build:run", Branch,      ""),
    ("POST",   "/stream/repos/{repo}/branches/{branch}/git",     "git:read",  Branch,      r#"{"operation":"status"}"#),
    ("POST",   "/stream/repos/{repo}/branches/{branch}/task",    "build:run", Branch,      r#"{"task":"none"}"#),
    ("POST",   "/stream/repos/{repo}/branches/{branch}/test",    "build:run", Branch,      r#"{"task":"none"}"#),
    ("POST",   "/stream/repos/{repo}/branches/{branch}/exec",    "code:run",  Branch,      r#"{"argv":["true"]}"#),
    ("POST",   "/stream/repos/{repo}/branches/{branch}/install_dependencies", "code:run", Branch, r#"{"packages":["-x"]}"#),
    ("POST",   "/stream/repos/{repo}/make",                      "build:run", Branch,      r#"{"branches":["{branch}"]}"#),
    ("POST",   "/stream/repos/{repo}/task",                      "build:run", Branch,      r#"{"branches":["{branch}"],"task":"none"}"#),
    ("GET",    "/stream/events",                                 "repo:read", Nothing,     ""),
    ("GET",    "/stream/groups/{group}",                         "repo:read", Branch,      ""),
    ("POST",   "/stream/runs/{run}/rerun",                       "build:run", Branch,      ""),
    ("GET",    "/stream/runs/{run}",                             "repo:read", Branch,      ""),
    ("GET",    "/api/runs",                                      "repo:read", Nothing,     ""),
    ("GET",    "/api/runs/{run}",                                "repo:read", Branch,      ""),
    ("GET",    "/api/runs/{run}/log",                            "repo:read", Branch,      ""),
    ("GET",    "/api/runs/{run}/diagnostics",                    "repo:read", Branch,      ""),
    ("GET",    "/api/runs/{run}/tests",                          "repo:read", Branch,      ""),
    ("POST",   "/api/runs/{run}/cancel",                         "build:run", Branch,      ""),
    ("GET",    "/api/groups/{group}",                            "repo:read", Branch,      ""),
    ("POST",   "/api/groups/{group}/cancel",                     "build:run", Branch,      ""),
    ("POST",   "/api/repos/{repo}/bisect",                       "build:run", Branch,      r#"{"branch":"{branch}","good":"none","task":"none"}"#),
    ("GET",    "/api/repos/{repo}/pipelines",                    "repo:read", Repo,        ""),
    ("GET",    "/api/repos/{repo}/tests",                        "repo:read", Repo,        ""),
    ("POST",   "/api/repos/{repo}/pipelines",                    "build:run", Branch,      r#"{"branch":"{branch}","file":"none.yml"}"#),
    ("POST",   "/api/repos/{repo}/pipelines/check",              "repo:read", Branch,      r#"{"branch":"{branch}","file":"none.yml"}"#),
    ("GET",    "/api/repos/{repo}/artifacts/{name}?branch={branch}", "repo:read", Branch,  ""),
    ("GET",    "/api/pipelines/{pipeline}",                      "repo:read", Branch,      ""),
    ("GET",    "/stream/pipelines/{pipeline}",                   "repo:read", Branch,      ""),
    ("GET",    "/api/pipelines/{pipeline}/jobs/{job}/summary",   "repo:read", Branch,      ""),
    ("GET",    "/api/pipelines/{pipeline}/artifacts",            "repo:read", Branch,      ""),
    ("GET",    "/api/pipelines/{pipeline}/artifacts/{name}",     "repo:read", Branch,      ""),
    ("GET",    "/api/pipelines/{pipeline}/artifacts/{name}/files/{*path}", "repo:read", Branch, ""),
    ("GET",    "/api/pipelines/{pipeline}/artifacts/{name}/archive", "repo:read", Branch,  ""),
    ("GET",    "/api/pipelines/{pipeline}/jobs/{job}/tests",     "repo:read", Branch,      ""),
    ("POST",   "/api/pipelines/{pipeline}/jobs/{job}/ls",        "repo:read", Branch,      "{}"),
    ("POST",   "/api/pipelines/{pipeline}/jobs/{job}/read_file", "repo:read", Branch,      r#"{"path":"none"}"#),
    ("POST",   "/api/pipelines/{pipeline}/jobs/{job}/grep",      "repo:read", Branch,      r#"{"pattern":"none"}"#),
    ("GET",    "/api/runs/{run}/artifacts",                      "repo:read", Branch,      ""),
    ("GET",    "/api/runs/{run}/artifacts/{name}",               "repo:read", Branch,      ""),
    ("GET",    "/api/runs/{run}/artifacts/{name}/files/{*path}", "repo:read", Branch,      ""),
    ("GET",    "/api/runs/{run}/artifacts/{name}/archive",       "repo:read", Branch,      ""),
    ("POST",   "/api/pipelines/{pipeline}/cancel",               "build:run", Branch,      ""),
    ("POST",   "/api/pipelines/{pipeline}/retry",                "build:run", Branch,      ""),
    ("GET",    "/api/repos/{repo}/deliveries",                   "repo:read", AllBranches, ""),
    ("POST",   "/api/repos/{repo}/deliveries/{delivery}/redeliver", "ops",    AllBranches, ""),
    ("GET",    "/api/audit",                                     "admin",     Nothing,     ""),
    ("GET",    "/api/reap",                                      "ops",       WholeYard,   ""),
    ("POST",   "/api/reap?dry_run=true",                         "ops",       WholeYard,   ""),
];

/// Git verbs that only look.
pub(super) const LOOKS: [&str; 12] = [
    "status",
    "diff",
    "show",
    "log",
    "blame",
    "reflog",
    "changelog",
    "describe",
    "merge_preview",
    "worktree",
    "remote",
    "check_installed_packages",
];

/// Git verbs of which some actions only look; those that change something ask for more.
const LOOKS_TOO: [&str; 3] = ["branch", "tag", "stash"];

/// The rows of the git verbs.
fn verbs() -> Vec<(Method, String, String, About, String)> {
    let all = branchyard::app::verbs::verbs().iter();
    all.map(|verb| {
        let name = verb.entry().name;
        let is_git = verb.family() == VerbFamily::Git;
        let (right, body) = if name == "code_env" {
            ("repo:read", r#"{"action":"list"}"#)
        } else if !is_git && LOOKS.contains(&name) {
            ("repo:read", "")
        } else if !is_git {
            ("code:run", "")
        } else if LOOKS.contains(&name) {
            ("git:read", "")
        } else if LOOKS_TOO.contains(&name) {
            ("git:read", r#"{"action":"list"}"#)
        } else {
            ("git:write", "")
        };
        let path = format!("{BRANCH}/{}", verb.address());
        (
            Method::POST,
            path,
            right.to_owned(),
            Branch,
            body.to_owned(),
        )
    })
    .collect()
}

fn rows() -> Vec<(Method, String, String, About, String)> {
    let rows = ROWS.iter().map(|(method, path, right, about, body)| {
        (
            method.parse().unwrap(),
            (*path).to_owned(),
            (*right).to_owned(),
            *about,
            (*body).to_owned(),
        )
    });
    rows.chain(verbs()).collect()
}

#[test]
fn every_address_says_what_it_needs_and_stands_in_the_matrix() {
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, path, right, ..) in rows() {
        let path = path.split('?').next().unwrap().to_owned();
        known.entry(path).or_default().push(right);
    }
    let (mut open, mut personal) = (Vec::new(), Vec::new());
    let mut declared: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for address in branchyard::http::addresses() {
        match address.access {
            branchyard::http::Access::Open => open.push(address.path),
            branchyard::http::Access::Known => personal.push(address.path),
            branchyard::http::Access::Needs(right) => declared
                .entry(address.path)
                .or_default()
                .push(right.as_str().to_owned()),
        }
    }
    for rights in known.values_mut().chain(declared.values_mut()) {
        rights.sort();
    }
    assert_eq!(declared, known);
    assert_eq!(open, OPEN);
    assert_eq!(personal, PERSONAL);
}

/// What anybody may see.
const OPEN: &[&str] = &[
    "/healthz",
    "/openapi.json",
    "/hooks/{repo}",
    "/badges/{repo}",
    "/api/session",
    "/open/{ticket}",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/{*path}",
    "/",
    "/api.html",
    "/icon.svg",
    "/js/{*file}",
    "/style/{*file}",
];
/// What needs a credential and is about its holder.
const PERSONAL: &[&str] = &[
    "/api/whoami",
    "/api/tokens",
    "/api/tokens",
    "/api/tokens/{token}",
    "/api/tokens/{token}",
    "/api/session",
    "/api/session",
    "/api/session/ticket",
    "/mcp",
    "/mcp",
    "/mcp",
];

#[tokio::test]
async fn every_role_gets_exactly_what_its_scopes_and_bounds_allow() {
    let (mut yard, holders) = cast().await;
    let mut there = HashMap::new();
    for place in Place::ALL {
        there.insert(place, There::at(&yard, place).await);
    }
    let mut wrong = Vec::new();
    for holder in &holders {
        for row in rows() {
            for &place in holder.places() {
                let (method, path, right, about, body) = &row;
                let expected = holder.expected(Some(right), *about, place);
                let there = there.get_mut(&place).unwrap();
                let path = there.fill(path, place);
                let body = there.fill(body, place);
                let response = ask(&yard, holder, method.clone(), &path, &body).await;
                let (verdict, told) = verdict(response).await;
                if verdict != expected {
                    let (role, bounded) = (holder.role, holder.is_bounded);
                    wrong.push(format!(
                        "{role} (bounded: {bounded}) {method} {path} at {place:?}: {verdict:?} \
                         instead of {expected:?}: {told}"
                    ));
                }
                // The next one is to find one as well.
                if expected == Verdict::Allowed
                    && path.ends_with(&there.salvage)
                    && *method == Method::DELETE
                {
                    there.salvage = saved(&yard, place).await;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    yard.stop().await;
}

async fn ask(yard: &Yard, holder: &Holder, method: Method, path: &str, body: &str) -> Response {
    let mut request = yard
        .client
        .request(method.clone(), format!("{}{path}", yard.url))
        .bearer_auth(&holder.token)
        .header("prefer", "respond-async");
    if !body.is_empty() {
        request = request.json(&serde_json::from_str::<Value>(body).unwrap());
    } else if method != Method::GET && method != Method::DELETE {
        request = request.json(&json!({}));
    }
    request.send().await.unwrap()
}

/// What an answer means, and what it said.
async fn verdict(response: Response) -> (Verdict, String) {
    let status = response.status().as_u16();
    // It has no end.
    if status == 200 && response.url().path() == "/stream/events" {
        return (Verdict::Allowed, String::new());
    }
    let text = response.text().await.unwrap();
    let problem: Value = serde_json::from_str(&text).unwrap_or_default();
    let verdict = match (status, problem["code"].as_str().unwrap_or_default()) {
        (401 | 429 | 500.., _) => panic!("{status}: {text}"),
        (403, "missing_right") => Verdict::MissingRight,
        (403, "out_of_bounds") => Verdict::OutOfBounds,
        (
            404,
            "out_of_bounds" | "run_not_found" | "group_not_found" | "pipeline_not_found"
            | "salvage_not_found" | "branch_not_found",
        ) => Verdict::Unseen,
        _ => Verdict::Allowed,
    };
    (verdict, text)
}
