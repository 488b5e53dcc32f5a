//! What a caller may say to `git`: a verb from a table and, for each verb, whole options from a
//! table of its own. No option that reads or writes a file of the caller's choice, or that runs a
//! program, is in any table; nor is one that touches what all workspaces of a repository share.
//!
//! Two answers say no. 400 is for what is unknown or hostile; 403 `git_forbidden` for what git
//! could well do and the yard does not let it, with the safe way in `help`.
//!
//! The argv that comes out is canonical: options first, each in a word of its own with its value
//! attached, then revisions and paths. So git cannot read a word otherwise than it was read here.

mod apart;
mod network;
mod options;
mod reads;
mod refused;
#[cfg(test)]
mod tests;
mod verb;
mod writes;

use self::verb::{Parsed, Verb};
use super::words::refusal;
use branchyard_model::{BranchName, Problem};

/// The verbs of [`git_quick`].
const QUICK: &[&str] = &["status", "log", "branch", "diff", "show"];

/// A git command that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitCall {
    /// Exactly what is executed after `git` and the wrapper's own options: the verb comes first.
    pub args: Vec<String>,
    pub access: GitAccess,
    /// What git would follow through a symbolic link to a directory: to be resolved beneath the
    /// workspace when the run starts. It need not exist, and may be a revision.
    pub beneath: Vec<String>,
}

impl GitCall {
    /// Whether it would change the remote.
    pub fn pushes(&self) -> bool {
        let is_push = self.args.first().is_some_and(|verb| verb == "push");
        let dry = self
            .args
            .iter()
            .any(|word| word == "-n" || word == "--dry-run");
        is_push && !dry
    }
}

/// What a git command needs: a look, the workspace's lock, or that and the remote. No command gets both the
/// workspace's files and what opens the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitAccess {
    Read,
    Write,
    /// As `Write`, after the branch was fetched for it.
    Pull,
    /// `fetch` and `push`.
    Network,
}

/// Checks any git command for the workspace of `branch`.
pub fn git(operation: &str, args: Vec<String>, branch: &BranchName) -> Result<GitCall, Problem> {
    let Some(verb) = verbs().find(|verb| verb.name == operation) else {
        return Err(refused::verb(operation, &args));
    };
    let mut parsed = options::parse(verb, args)?;
    (verb.check)(&mut parsed)?;
    if matches!(verb.access, GitAccess::Pull | GitAccess::Network) {
        network::pin_to_origin(verb.name, &mut parsed, branch)?;
    }
    finish(verb, parsed)
}

/// Every operation with each of its options, as the tables have them (see [`options`]): for what has to be tried
/// with all of them.
pub fn git_options() -> impl Iterator<Item = (&'static str, &'static str)> {
    verbs().flat_map(|verb| verb.words().map(|option| (verb.name, option)))
}

/// All verbs, of all tables.
fn verbs() -> impl Iterator<Item = &'static Verb> {
    [reads::VERBS, writes::VERBS, network::VERBS]
        .into_iter()
        .flatten()
}

/// Checks a git command that only looks: one of `status`, `log`, `branch`, `diff` and `show`.
pub fn git_quick(operation: &str, args: Vec<String>) -> Result<GitCall, Problem> {
    let mut quick = verbs().filter(|verb| QUICK.contains(&verb.name));
    let Some(verb) = quick.find(|verb| verb.name == operation) else {
        let detail = format!("the operation is one of {}", QUICK.join(", "));
        return Err(Problem::bad("operation", detail)
            .help("other git commands go through the streamed git call"));
    };
    let mut parsed = options::parse(verb, args)?;
    (verb.check)(&mut parsed)?;
    finish(verb, parsed)
}

fn finish(verb: &Verb, mut parsed: Parsed) -> Result<GitCall, Problem> {
    apart::keep_apart(verb.name, &mut parsed)?;
    parsed
        .operands()
        .try_for_each(|word| revision_or_path(word))?;
    let beneath = match verb.name {
        // These go through a link to a directory; the other verbs that are given paths do not.
        "blame" | "mv" | "rm" => parsed.operands().map(|path| from_here(path)).collect(),
        _ => Vec::new(),
    };
    let mut args = vec![verb.name.to_owned()];
    args.extend(verb.always.iter().map(|word| (*word).to_owned()));
    args.extend(parsed.options);
    args.extend(parsed.before);
    if let Some(paths) = parsed.after {
        args.push("--".to_owned());
        args.extend(paths.iter().map(|path| from_here(path)));
    }
    Ok(GitCall {
        args,
        access: verb.access,
        beneath,
    })
}

/// A revision or a path; git itself finds out which, so one rule holds for both. A path that leaves
/// the tree turns `git diff` into a comparison of any two files on the machine.
fn revision_or_path(word: &str) -> Result<(), Problem> {
    // After a leading ':' come the magic words of a pathspec, with a path behind them.
    let separators: &[char] = match word.starts_with(':') {
        true => &['/', ':', '(', ')', ',', '!', '^'],
        false => &['/', ':'],
    };
    let rule = if word.is_empty() {
        "it is empty"
    } else if word.starts_with('/') {
        "the path is absolute; give it from the top of the workspace"
    } else if word.split(separators).any(|part| part == "..") {
        "the path has '..' in it; give it from the top of the workspace"
    } else if word.contains(char::is_control) {
        "it holds a control character"
    } else {
        return Ok(());
    };
    Err(refusal(word, rule))
}

/// A path behind `--` that starts with a dash, in a form that no parser takes for an option.
fn from_here(path: &str) -> String {
    if path.starts_with('-') {
        return format!("./{path}");
    }
    path.to_owned()
}
