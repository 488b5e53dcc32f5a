//! `make`: two hyphens part branches from what make gets.

use super::Context;
use super::client::Start;
use super::exit::Failure;
use super::run::{RunFlags, start};
use super::values;
use branchyard_model::{BranchName, RepoName};
use branchyard_runs::RunBody;

/// Run make in a branch's workspace, or in those of several
///
/// Prepares the workspace if there is none, brings it up to date, runs make there and shows
/// its output as it comes. Ends with make's own exit code. Ctrl-C cancels the run.
///
/// Two hyphens part the branches from what make gets: everything before them is branches and
/// options of branchyard, everything after them goes to make as it is. Without them there is
/// one branch, or one glob, and plain words after it go to make.
///
/// Several branches, or a glob, are a group: a run on each, side by side. In a glob * stays
/// within a segment of a name and ** crosses them. A line says how each ended (piped: branch,
/// state, exit code, run, milliseconds, first error, with tabs between); on a terminal the failures
/// are told at the end, with their first errors. Ends with 0 if all succeeded, else as the first that failed. Ctrl-C
/// cancels them all.
#[derive(Debug, clap::Args)]
#[command(override_usage = "\
branchyard make [OPTIONS] <REPO> <BRANCH> [ARGS...]
       branchyard make [OPTIONS] <REPO> <BRANCHES...> -- [ARGS...]")]
#[command(after_long_help = "\
Examples:
  branchyard make app main
  branchyard make app main test                        one branch; make gets: test
  branchyard make app feature/login -- -j8 test V=1    one branch; make gets: -j8 test V=1
  branchyard make app 'release/*' main -- -j8 test     a group: each of them gets: -j8 test
  branchyard make app '**' --output                    all branches, and what they print
  branchyard make app main --stale --timeout 10m --env CFLAGS=-O0 -- all
  branchyard make app main --coalesce -- test          join who builds the same already
  branchyard follow \"$(branchyard make app main --detach)\"")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// The branch, as git shows it (main, feature/login), or a glob for several (release/*)
    #[arg(value_parser = values::branch_or_glob)]
    branch: String,
    /// With `--`: more branches and globs. Without: targets and variables for make
    #[arg(value_name = "BRANCHES")]
    words: Vec<String>,
    /// Targets, variables and options for make
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
    /// Of several branches: show what they print, each line after the name of its branch
    #[arg(long)]
    output: bool,
    #[command(flatten)]
    flags: RunFlags,
    /// Whether the line ends in `--`, which clap does not tell.
    #[arg(skip)]
    ends_in_hyphens: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    start(context, &args.request(), args.output, args.flags.detach).await
}

impl Args {
    fn request(&self) -> Start {
        let (branch, branches, words) = self.wanted();
        let what = RunBody {
            branches,
            output: self.output,
            ..RunBody::default()
        };
        let place = (&self.repo, branch.as_ref());
        self.flags.request(place, "make", words, what)
    }

    /// The one branch, or else branches and globs; and what make gets.
    fn wanted(&self) -> (Option<BranchName>, Vec<String>, &[String]) {
        let (branches, args) = self.parted();
        match (&branches[..], BranchName::parse(&self.branch)) {
            ([_], Ok(branch)) => (Some(branch), Vec::new(), args),
            _ => (None, branches, args),
        }
    }

    /// Takes note of how the line ended, and says what is wrong with its branches.
    pub(super) fn settle(&mut self, ends_in_hyphens: bool) -> Result<(), String> {
        self.ends_in_hyphens = ends_in_hyphens;
        for branch in self.parted().0 {
            values::branch_or_glob(&branch).map_err(|why| {
                format!(
                    "{branch:?} is no branch: {why}\n\nWhat stands before -- is branches, and what \
                     follows it goes to make"
                )
            })?;
        }
        if self.output && self.wanted().0.is_some() {
            return Err("--output is for several branches; one is always shown".to_owned());
        }
        Ok(())
    }

    fn parted(&self) -> (Vec<String>, &[String]) {
        let first = [self.branch.clone()];
        if self.args.is_empty() && !self.ends_in_hyphens {
            return (first.to_vec(), &self.words);
        }
        let branches = first.iter().chain(&self.words).cloned();
        (branches.collect(), &self.args)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{parse, refusal};
    use super::super::{ClientCommand, Command};
    use super::*;
    use serde_json::json;

    fn request_of(words: &[&str]) -> Start {
        match parse(&[&["make", "app"], words].concat()).command {
            Command::Client(ClientCommand::Make(args)) => args.request(),
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

    type Wanted = (Option<BranchName>, Vec<String>, Vec<String>);

    fn wanted(words: &[&str]) -> Wanted {
        let words = [&["make", "app"], words].concat();
        match parse(&words).command {
            Command::Client(ClientCommand::Make(args)) => {
                let (branch, branches, words) = args.wanted();
                (branch, branches, words.to_vec())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn two_hyphens_part_branches_from_what_make_gets() {
        let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let one = |branch: &str, args: &[&str]| -> Wanted {
            let branch = BranchName::parse(branch).unwrap();
            (Some(branch), Vec::new(), strings(args))
        };
        let many = |branches: &[&str], args: &[&str]| -> Wanted {
            (None, strings(branches), strings(args))
        };
        for (words, meant) in [
            (&["main"][..], one("main", &[])),
            (&["main", "test", "V=1"], one("main", &["test", "V=1"])),
            (&["main", "--"], one("main", &[])),
            (
                &["main", "--stale", "--", "-j8", "--clean"],
                one("main", &["-j8", "--clean"]),
            ),
            (&["main", "--", "test", "--"], one("main", &["test", "--"])),
            (
                &["main", "next", "--", "test"],
                many(&["main", "next"], &["test"]),
            ),
            (&["main", "next", "--"], many(&["main", "next"], &[])),
            (&["release/*"], many(&["release/*"], &[])),
            (&["release/*", "test"], many(&["release/*"], &["test"])),
            (
                &["main", "v[12]", "--", "test"],
                many(&["main", "v[12]"], &["test"]),
            ),
            // What git allows in a name is a name.
            (&["a{b}"], one("a{b}", &[])),
        ] {
            assert_eq!(wanted(words), meant, "{words:?}");
        }
        let refused = |words| refusal(words).to_string();
        assert!(refused(&["make", "app", "main", "-j8"]).contains("-- -j"));
        let target = refused(&["make", "app", "main", "-s", "--", "test"]);
        assert!(target.contains("-s"), "{target}");
        let branch = refused(&["make", "app", "main", "V=a b", "--", "-j8"]);
        assert!(branch.contains("goes to make"), "{branch}");
        assert!(branch.contains("Usage: branchyard make "), "{branch}");
        let output = refused(&["make", "app", "main", "--output"]);
        assert!(output.contains("several branches"), "{output}");
    }
}
