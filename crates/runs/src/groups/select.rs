//! Which branches a group is for: names and globs, against what the remote has.

use std::sync::Arc;
use std::time::Instant;

use branchyard_model::{BranchName, ErrorKind, Globs, NamedRef, Problem, Stars};
use branchyard_workspace::Workspaces;
use branchyard_workspace::repos::Repo;
use branchyard_workspace::repos::remote;

/// More than anybody means.
const MAX_MEMBERS: usize = 1000;

enum BranchPattern {
    Name(BranchName),
    Glob(Globs),
}

/// The branches that `texts` name: names in their order, the matches of a glob sorted in its place,
/// none twice, and those alone of which `sees` holds. A name or glob that finds nothing is refused: it would be missed in silence.
pub(super) async fn select(
    repo: &Arc<Repo>,
    workspaces: &Workspaces,
    texts: &[String],
    sees: impl Fn(&BranchName) -> bool,
) -> Result<Vec<BranchName>, Problem> {
    if texts.is_empty() {
        return Err(Problem::unprocessable("branches", "branches is empty")
            .help("name branches or globs, such as [\"main\", \"release/*\"]"));
    }
    if texts.len() > MAX_MEMBERS {
        let detail = format!("{MAX_MEMBERS} names and globs are the most at once");
        return Err(Problem::unprocessable("branches", detail));
    }
    let patterns = texts
        .iter()
        .map(|text| parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    let heads = remote::remote_heads(repo, Vec::new()).await;
    let heads = heads.map_err(|error| error.problem())?;
    let mut on_remote: Vec<_> = heads
        .keys()
        .filter_map(|name| BranchName::parse(name.strip_prefix("refs/heads/")?).ok())
        .filter(&sees)
        .collect();
    on_remote.sort();
    let mut selected = Vec::new();
    for (text, pattern) in texts.iter().zip(patterns) {
        let found: Vec<_> = match pattern {
            BranchPattern::Name(name) => {
                let known = on_remote.contains(&name)
                    || sees(&name)
                        && (workspaces.on_disk(repo).contains(&name)
                            || is_named_ref(repo, &name).await?);
                known.then_some(name).into_iter().collect()
            }
            BranchPattern::Glob(glob) => {
                let matches = |branch: &&BranchName| glob.matches(branch.as_str());
                on_remote.iter().filter(matches).cloned().collect()
            }
        };
        if found.is_empty() {
            return Err(nothing(text));
        }
        for branch in found {
            if !selected.contains(&branch) {
                selected.push(branch);
            }
        }
    }
    if selected.len() > MAX_MEMBERS {
        let detail = format!(
            "{} branches match, and {MAX_MEMBERS} is the most at once",
            selected.len()
        );
        return Err(Problem::unprocessable("branches", detail));
    }
    Ok(selected)
}

/// Whether it is a tag, a request or a commit that the remote has.
async fn is_named_ref(repo: &Arc<Repo>, name: &BranchName) -> Result<bool, Problem> {
    if NamedRef::of(name).is_none() {
        return Ok(false);
    }
    let asked = remote::ask(repo, name, Instant::now()).await;
    Ok(asked.map_err(|error| error.problem())?.head.is_some())
}

fn parse(text: &str) -> Result<BranchPattern, Problem> {
    if !text.contains(['*', '?', '[', '{']) {
        let name = BranchName::parse(text).map_err(|problem| problem.field("branches"))?;
        return Ok(BranchPattern::Name(name));
    }
    let glob = Globs::one(text, Stars::WithinSegment).map_err(|rule| {
        let detail = format!("this is no glob of branches: {rule}");
        Problem::unprocessable("branches", detail)
    })?;
    Ok(BranchPattern::Glob(glob))
}

fn nothing(text: &str) -> Problem {
    let detail = format!("no branch is named or matched by {text:?}");
    Problem::new(ErrorKind::NotFound, "branch_not_found", detail)
        .field("branches")
        .help("in a glob * stays within a segment and ** crosses them; GET …/branches?remote=true lists what there is")
}
