//! The body of a request for a run, and the address that it goes to.

use serde_json::{Map, Value, json};

use super::args::RunFlags;
use super::client::{Start, encode};
use branchyard_model::{BranchName, RepoName};

/// What kind of run, on what.
pub(super) type What = Map<String, Value>;

/// A request for a run on one branch.
pub(super) fn on_branch(
    (repo, branch): (&RepoName, &BranchName),
    verb: &str,
    what: What,
    args: &[String],
    flags: &RunFlags,
) -> Start {
    let (repo, branch) = (encode(repo.as_str()), encode(branch.as_str()));
    Start {
        path: format!("/stream/repos/{repo}/branches/{branch}/{verb}"),
        body: body(flags, args, what),
        key: flags.idempotency_key.clone(),
    }
}

/// A request for a run on each of many branches, and whether their output is wanted too.
pub(super) fn on_branches(
    (repo, branches, output): (&RepoName, &[String], bool),
    action: &str,
    mut what: What,
    args: &[String],
    flags: &RunFlags,
) -> Start {
    what.insert("branches".to_owned(), json!(branches));
    if output {
        what.insert("output".to_owned(), json!(true));
    }
    Start {
        path: format!("/stream/repos/{}/{action}", encode(repo.as_str())),
        body: body(flags, args, what),
        key: flags.idempotency_key.clone(),
    }
}

/// Only what was said: the defaults are the daemon's.
fn body(flags: &RunFlags, args: &[String], what: What) -> Value {
    let mut body = what;
    let mut set = |field: &str, value: Value| body.insert(field.to_owned(), value);
    if !args.is_empty() {
        set("args", json!(args));
    }
    if !flags.env.is_empty() {
        let env: Map<String, Value> = flags
            .env
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        set("env", Value::Object(env));
    }
    if let Some(timeout) = &flags.timeout {
        set("timeout", json!(timeout));
    }
    if let Some(commit) = &flags.commit {
        set("sync", json!("commit"));
        set("commit", json!(commit.as_str()));
    } else if let Some(sync) = flags.sync {
        set("sync", json!(sync.as_str()));
    }
    for (field, is_set) in [
        ("clean", flags.clean),
        ("cold", flags.cold),
        ("stale", flags.stale),
        ("coalesce", flags.coalesce),
        ("supersede", flags.supersede),
        ("reuse", flags.reuse),
        ("detach", flags.detach),
    ] {
        if is_set {
            set(field, json!(true));
        }
    }
    Value::Object(body)
}

#[cfg(test)]
mod tests {
    use super::super::args::{Cli, ClientCommand, Command, Wanted};
    use super::*;

    fn request_of(words: &[&str]) -> Start {
        let words = ["branchyard", "make", "app"].iter().chain(words);
        match Cli::read(words.map(Into::into).collect()).unwrap().command {
            Command::Client(ClientCommand::Make(args)) => match args.wanted() {
                Wanted::One(branch, words) => {
                    let place = (args.repo(), &branch);
                    on_branch(place, "make", What::new(), &words, args.flags())
                }
                Wanted::Many(branches, words) => {
                    let place = (args.repo(), &branches[..], args.output());
                    on_branches(place, "make", What::new(), &words, args.flags())
                }
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_body_holds_what_was_said_and_nothing_else() {
        assert_eq!(request_of(&["main"]).body, json!({}));
        let sha = "0123456789abcdef0123456789abcdef01234567";
        let words = format!(
            "main --commit {sha} --timeout 10m --env A=1 --env A=2 --env B= --clean --stale \
             --coalesce --reuse -- -j8 all"
        );
        let words: Vec<&str> = words.split_whitespace().collect();
        assert_eq!(
            request_of(&words).body,
            json!({
                "args": ["-j8", "all"], "env": {"A": "2", "B": ""}, "timeout": "10m",
                "sync": "commit", "commit": sha, "clean": true, "stale": true, "coalesce": true,
                "reuse": true,
            })
        );
        let words = [
            "main",
            "--sync",
            "reset",
            "--supersede",
            "--detach",
            "--idempotency-key",
            "k",
        ];
        let start = request_of(&words);
        assert_eq!(
            start.body,
            json!({"sync": "reset", "supersede": true, "detach": true})
        );
        assert_eq!(start.key.as_deref(), Some("k"));
    }

    #[test]
    fn a_branch_with_a_slash_is_one_segment() {
        let path = request_of(&["feature/login"]).path;
        assert_eq!(path, "/stream/repos/app/branches/feature%2Flogin/make");
    }

    #[test]
    fn many_branches_are_one_request() {
        let start = request_of(&["release/*", "main", "--output", "--", "test"]);
        assert_eq!(start.path, "/stream/repos/app/make");
        assert_eq!(
            start.body,
            json!({"branches": ["release/*", "main"], "args": ["test"], "output": true})
        );
    }
}
