//! Looking at branches.

use git2::Oid;
use jiff::Timestamp;

use super::{Action, Branches, Item, Request, Surroundings, Upstream, no_such_branch};
use crate::status::missing_from;
use crate::verbs::commit::subject;
use crate::verbs::pattern::Pattern;
use crate::verbs::person::text;
use crate::verbs::room::page_of;
use crate::verbs::{Verbosity, revision};
use crate::{Error, Repository, commit_id, read_ref};
use branchyard_model::BranchName;

/// The branches that the request asks for.
pub fn list(
    repo: &Repository,
    request: &Request,
    around: &Surroundings,
) -> Result<Branches, Error> {
    let prefix = match request.remote {
        true => "refs/remotes/origin/",
        false => "refs/heads/",
    };
    let wanted = |field: &str, revision: &Option<String>| {
        let revision = revision.as_deref();
        let commit = revision.map(|revision| revision::commit(repo, field, revision));
        commit
            .map(|commit| Ok::<_, Error>(commit?.id()))
            .transpose()
    };
    let into = match wanted("merged", &request.merged)? {
        None => wanted("unmerged", &request.unmerged)?,
        merged => merged,
    };
    let contains = wanted("contains", &request.contains)?;
    let lacks = wanted("not_contains", &request.not_contains)?;
    let pattern = Pattern::new(request.pattern.as_ref())?;
    let mut found = Vec::new();
    for reference in repo.git2().references_glob(&format!("{prefix}*"))? {
        let reference = reference?;
        let name = text(reference.name_bytes());
        let (Some(name), Some(tip)) = (name.strip_prefix(prefix), reference.target()) else {
            continue;
        };
        if name == "HEAD" || !pattern.matches(name) {
            continue;
        }
        let has = |commit: Oid| is_merged(repo, commit, tip);
        if !contains.map_or(Ok(true), has)? || lacks.map_or(Ok(false), has)? {
            continue;
        }
        let merged = into.map(|into| is_merged(repo, tip, into)).transpose()?;
        if merged.is_none_or(|merged| merged == request.merged.is_some()) {
            found.push((name.to_owned(), tip, merged));
        }
    }
    found.sort();
    let (page, total, next) = page_of(found, request.skip, request.count);
    let items = page.into_iter().map(|(name, tip, merged)| {
        let item = item(repo, &name, tip, around, request.verbosity)?;
        Ok(Item { merged, ..item })
    });
    Ok(Branches {
        branches: Some(items.collect::<Result<_, Error>>()?),
        total: Some(total),
        next,
        ..Branches::of(Action::List)
    })
}

fn is_merged(repo: &Repository, tip: Oid, into: Oid) -> Result<bool, Error> {
    Ok(tip == into || repo.git2().graph_descendant_of(into, tip)?)
}

fn item(
    repo: &Repository,
    name: &str,
    tip: Oid,
    around: &Surroundings,
    verbosity: Verbosity,
) -> Result<Item, Error> {
    let is_brief = verbosity == Verbosity::Minimal;
    let commit = repo.git2().find_commit(tip)?;
    let branch = BranchName::parse(name).ok();
    let upstream = match &branch {
        Some(branch) if !is_brief => upstream(repo, branch, tip)?,
        _ => None,
    };
    let author = || text(commit.author().name_bytes());
    Ok(Item {
        current: branch.as_ref() == Some(&around.current),
        workspace: branch.is_some_and(|branch| around.workspaces.contains(&branch)),
        name: name.to_owned(),
        id: commit_id(crate::ObjectId::of(tip))?,
        subject: (!is_brief).then(|| subject(&commit)),
        author: (verbosity == Verbosity::Full).then(author),
        committed_at: (!is_brief)
            .then(|| Timestamp::from_second(commit.time().seconds()).ok())
            .flatten(),
        upstream,
        merged: None,
    })
}

fn upstream(repo: &Repository, branch: &BranchName, tip: Oid) -> Result<Option<Upstream>, Error> {
    let Some(remote) = read_ref(repo, &branch.remote_ref())? else {
        return Ok(None);
    };
    let (ahead, behind) = repo.git2().graph_ahead_behind(tip, remote.git2())?;
    Ok(Some(Upstream {
        name: format!("origin/{branch}"),
        ahead,
        behind,
    }))
}

/// One branch that is here.
pub fn show(
    repo: &Repository,
    branch: &BranchName,
    around: &Surroundings,
    verbosity: Verbosity,
) -> Result<Item, Error> {
    match read_ref(repo, &branch.local_ref())? {
        Some(tip) => item(repo, branch.as_str(), tip.git2(), around, verbosity),
        None => Err(no_such_branch(branch).into()),
    }
}

/// How many commits the remote has of this branch alone, as last fetched.
pub fn only_there(repo: &Repository, branch: &BranchName) -> Result<usize, Error> {
    let Some(tip) = read_ref(repo, &branch.remote_ref())? else {
        return Ok(0);
    };
    missing_elsewhere(repo, tip.git2(), &["refs/remotes/*"], &branch.remote_ref())
}

/// How many commits of the branch neither the remote, as last fetched, nor another branch here has.
pub fn unmerged(repo: &Repository, branch: &BranchName) -> Result<usize, Error> {
    let Some(tip) = read_ref(repo, &branch.local_ref())? else {
        return Err(no_such_branch(branch).into());
    };
    let others = ["refs/remotes/*", "refs/heads/*"];
    missing_elsewhere(repo, tip.git2(), &others, &branch.local_ref())
}

/// How many commits of `tip` none of the refs has that match `others`, `own` aside.
fn missing_elsewhere(
    repo: &Repository,
    tip: Oid,
    others: &[&str],
    own: &str,
) -> Result<usize, Error> {
    let mut known = Vec::new();
    for pattern in others {
        for reference in repo.git2().references_glob(pattern)? {
            let reference = reference?;
            let is_own = reference.name_bytes() == own.as_bytes();
            known.extend(reference.target().filter(|_| !is_own));
        }
    }
    missing_from(repo, tip, &known)
}
