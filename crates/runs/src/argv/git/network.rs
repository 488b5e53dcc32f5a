//! Verbs that talk to the remote. They reach `origin` and nothing else, and each workspace pushes
//! and pulls only its own branch: the remote and the refs are always spelled out in full, so
//! neither configuration nor a tag of the same name has a say.

use super::GitAccess::{Network, Pull};
use super::verb::{Parsed, Verb, forbidden};
use branchyard_model::{BranchName, Problem};

const ORIGIN: &str = "origin";
/// The repository itself, to pull from.
const HERE: &str = ".";

/// Submodules have remotes and configuration of their own.
const NOT_INTO_SUBMODULES: &[&str] = &["--no-recurse-submodules"];

pub(super) const VERBS: &[Verb] = &[
    Verb::new("fetch", Network, &[FETCH])
        .always(NOT_INTO_SUBMODULES)
        .forbids(
            "\
                -p --prune -P --prune-tags -f --force --all --multiple --refmap -u --update-head-ok \
                --depth --unshallow",
            "`fetch origin` brings everything; the yard itself drops what is gone upstream",
        ),
    Verb::new("pull", Pull, &[PULL])
        .always(NOT_INTO_SUBMODULES)
        .forbids(
            "-p --prune -f --force --all --autostash --set-upstream",
            "use `pull`, `pull --ff-only` or `pull --rebase`",
        ),
    Verb::new("push", Network, &[PUSH])
        .forbids(
            "\
                -f --force --force-with-lease --force-if-includes --mirror -d --delete --all --branches \
                --tags --follow-tags --prune --repo",
            PUSH_HELP,
        )
        .check(drop_upstream),
];

const PUSH_HELP: &str = "`push origin HEAD` pushes the workspace's own branch, and only forward; merge or rebase onto origin's first where it has moved";

/// Replaces what was said about remote and refs by their full names, if it is allowed at all.
pub(super) fn pin_to_origin(
    verb: &str,
    parsed: &mut Parsed,
    branch: &BranchName,
) -> Result<(), Problem> {
    // To these verbs `--` means nothing: what stands behind it is a remote or a ref as well.
    let words: Vec<_> = parsed.operands().cloned().collect();
    (parsed.before, parsed.after) = (vec![ORIGIN.to_owned()], None);
    let refs = match words.split_first() {
        None => &[],
        Some((remote, refs)) if remote == ORIGIN => refs,
        Some(_) => {
            return Err(forbidden(
                "args",
                format!("git {verb} reaches no remote but origin"),
                "leave the remote out, or say origin",
            ));
        }
    };
    match verb {
        "fetch" if refs.is_empty() => {}
        "fetch" => {
            return Err(forbidden(
                "args",
                "git fetch takes no refs here",
                "`fetch origin` brings every branch; see it as origin/<branch>",
            ));
        }
        "pull" => {
            if !refs.iter().all(|name| is_own(name, branch)) || refs.len() > 1 {
                return Err(forbidden(
                    "args",
                    "git pull takes only the workspace's own branch",
                    "to bring in another branch: `fetch origin`, then `merge origin/<branch>`",
                ));
            }
            // The yard has fetched it by then: what works on files is given no way to the remote.
            parsed.before = vec![HERE.to_owned(), branch.remote_ref()];
        }
        _ if refs.is_empty() => parsed.before.push(own_refspec(&branch.local_ref(), branch)),
        _ => {
            for refspec in refs {
                let pushed = push_refspec(refspec, branch).ok_or_else(|| {
                    forbidden(
                        "args",
                        "git push takes only the workspace's own branch",
                        PUSH_HELP,
                    )
                })?;
                parsed.before.push(pushed);
            }
        }
    }
    Ok(())
}

/// `<src>[:<dst>]` where both sides are the workspace's own branch. A leading `+` (force) and an
/// empty source (delete) are not.
fn push_refspec(refspec: &str, branch: &BranchName) -> Option<String> {
    let (from, to) = refspec
        .split_once(':')
        .unwrap_or((refspec, branch.as_str()));
    if refspec.starts_with('+') || !is_own(to, branch) {
        return None;
    }
    match from {
        "HEAD" | "@" => Some(own_refspec("HEAD", branch)),
        from if is_own(from, branch) => Some(own_refspec(&branch.local_ref(), branch)),
        _ => None,
    }
}

fn own_refspec(from: &str, branch: &BranchName) -> String {
    format!("{from}:{}", branch.local_ref())
}

fn is_own(name: &str, branch: &BranchName) -> bool {
    name == branch.as_str() || name == branch.local_ref()
}

/// A workspace's upstream is set when it is made; git would write it again, into the configuration
/// that all workspaces share. So the wish is granted by leaving it out.
fn drop_upstream(parsed: &mut Parsed) -> Result<(), Problem> {
    parsed
        .options
        .retain(|option| !matches!(option.as_str(), "-u" | "--set-upstream"));
    Ok(())
}

const FETCH: &str = "\
    -t --tags -n --no-tags -q --quiet -v --verbose --progress --no-progress --dry-run --atomic \
    --porcelain";

const PULL: &str = "\
    --ff --ff-only --no-ff --rebase[=true|false|merges] --no-rebase --commit --no-commit \
    --no-edit --stat --no-stat -q --quiet -v --verbose --progress --no-progress";

const PUSH: &str = "\
    -u --set-upstream -n --dry-run --porcelain -q --quiet -v --verbose --progress \
    --no-progress --atomic";
