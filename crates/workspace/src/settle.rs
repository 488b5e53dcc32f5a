//! Has the submodules of a workspace be those of its commit. What somebody did in one stays where it is.

mod place;
mod set;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::conflict;
use crate::repos::{FoundSubmodule, FoundSubmodules};
use crate::submodules::{Settled, SubmodulesLook, UNNAMED, empty, forget, named};
use crate::work::{self, Belongings, Look};
use crate::{Error, Report, Reporter, Workspace, fits, unfilled};
use branchyard_git::{self as git, DetachedWorktree, LookedSubmodule, Submodule};
use branchyard_model::{CommitId, ErrorKind, Phase, Problem, Warning};
use branchyard_runtime::disk::Moment;
use place::somebodys;
pub(super) use place::{discard_in_the_way, discard_with_work, make_way};
pub(crate) use set::set;

/// What is to be done in a workspace.
#[derive(Debug, Default)]
struct SettlePlan {
    /// To be put at these commits, each after the one that it is in.
    moves: Vec<(Submodule, FoundSubmodule)>,
    /// All that are filled then.
    filled: Vec<DetachedWorktree>,
    /// Those that the commit has not, or has from elsewhere.
    gone: Vec<Submodule>,
    /// Those that cannot follow, and why.
    stay: Vec<(PathBuf, String)>,
    /// Those that a person moved to where they belong.
    moved_by_others: Vec<(Submodule, CommitId)>,
    /// Those of which no line says where they are from.
    unnamed: Vec<PathBuf>,
}

/// Whether nothing is left to do for the submodules at this commit, as far as can be told at once.
pub(super) fn is_settled(workspace: &Workspace, commit: &CommitId) -> bool {
    let rule = workspace.repo().submodules();
    let Some(settled) = Settled::load(workspace) else {
        let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
        let filled = workspace.worktree().admin().join("modules");
        return !is_there(workspace.path().join(".gitmodules")) && !is_there(filled);
    };
    let is_fine = |own: &Submodule| own.is_linked() && !own.is_half_moved() && own.has_store();
    settled.commit == *commit
        && settled.decided_by == rule.decided_by()
        && Submodule::all(workspace.worktree()).is_ok_and(|all| all.iter().all(is_fine))
}

/// What becomes of a workspace whose submodules cannot all follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stragglers {
    /// That is told.
    Told,
    /// It is not what was asked for.
    Refused,
}

/// Has them follow the commit of the workspace, and LFS files be there. The caller holds its files exclusively.
pub(super) async fn settle(
    workspace: &Arc<Workspace>,
    stragglers: Stragglers,
    report: &Reporter,
) -> Result<(), Error> {
    settle_submodules(workspace, stragglers, report).await?;
    unfilled::fill(workspace, report).await
}

async fn settle_submodules(
    workspace: &Arc<Workspace>,
    stragglers: Stragglers,
    report: &Reporter,
) -> Result<(), Error> {
    let head = workspace.with_repository(|_, repo| Ok(git::read_ref(repo, "HEAD")?));
    let Some(head) = head.await? else {
        return Ok(());
    };
    let commit = git::commit_id(head)?;
    if is_settled(workspace, &commit) {
        return Ok(());
    }
    let repo = workspace.repo();
    let found = repo.submodules().bring(repo.store(), &commit).await?;
    workspace.blocking(forget_empty).await?;
    let deepest = found.filled.iter().map(|to| to.path.components().count());
    let mut rounds = 0..=deepest.max().unwrap_or_default();
    loop {
        let (looked_at, of) = (Moment::now(), found.clone());
        let plan = workspace.blocking(move |this| plan(this, &of)).await?;
        let moved = plan.moved_by_others.clone();
        workspace.blocking(move |_| adopt(&moved)).await?;
        let is_busy = !plan.moves.is_empty() || !plan.gone.is_empty();
        if !is_busy || rounds.next().is_none() {
            return finish(workspace, commit, (&found, &plan), stragglers, report);
        }
        if let Some(run) = workspace.helpers().first() {
            // It could put a link on the way to where files are written.
            let detail = format!(
                "submodules do not follow while run {run} is at work here, in the background"
            );
            if stragglers == Stragglers::Refused {
                return Err(conflict("workspace_in_use", detail)
                    .field("branch")
                    .help("cancel that run, and ask again when it has ended")
                    .into());
            }
            report(Report::Warning(Warning::new("left_alone", detail)));
            return Ok(());
        }
        report(Report::Phase(Phase::Checkout, None));
        let gone = plan.gone.clone();
        let discard = move |this: &Workspace| discard_in_the_way(this, &gone, looked_at);
        workspace.blocking(discard).await?;
        for (submodule, to) in plan.outermost() {
            let beside = (&*plan.filled, looked_at);
            put_at(workspace, submodule, to, beside).await?;
        }
        if !plan.is_deep() {
            return finish(workspace, commit, (&found, &plan), stragglers, report);
        }
    }
}

fn adopt(moved: &[(Submodule, CommitId)]) -> Result<(), Error> {
    for (submodule, commit) in moved {
        submodule.adopt(commit)?;
    }
    Ok(())
}

/// Takes note that they do not follow yet, and removes directories that were left empty for submodules that are gone.
fn forget_empty(workspace: &Workspace) -> Result<(), Error> {
    let left_empty = Settled::load(workspace).map(|settled| settled.left_empty);
    let links = git::submodules(&workspace.worktree().open()?)?;
    for (path, _) in left_empty.unwrap_or_default() {
        let submodule = Submodule::new(workspace.worktree(), &path, "");
        let is_free = submodule.is_free();
        let is_free = is_free.map_err(Error::io("look for the place of a submodule"))?;
        if is_free && !links.contains(&path) {
            submodule.prune();
        }
    }
    forget(workspace)
}

/// The submodules that could not follow to `commit`, and why, as far as those of that commit are known. Blocks.
pub(super) fn stragglers(
    workspace: &Workspace,
    commit: &CommitId,
) -> Result<Vec<(PathBuf, String)>, Error> {
    match workspace.repo().submodules().known(commit) {
        Some(found) => Ok(plan(workspace, &found)?.stay),
        None => Ok(Vec::new()),
    }
}

async fn put_at(
    workspace: &Arc<Workspace>,
    submodule: &Submodule,
    to: &FoundSubmodule,
    beside: (&[DetachedWorktree], Moment),
) -> Result<(), Error> {
    let (worktree, found) = (submodule.worktree().clone(), to.clone());
    let check = move |this: &Workspace| {
        found.store.guard()?;
        worktree.check(&found.commit)?;
        fits::check_detached(this.repo(), &worktree, &found.commit)
    };
    workspace.blocking(check).await?;
    let (git, used) = (workspace.repo().git(), workspace.yard().ticks.now());
    Ok(submodule.put_at(git, &to.commit, beside, used).await?)
}

fn plan(workspace: &Workspace, found: &FoundSubmodules) -> Result<SettlePlan, Error> {
    let worktree = workspace.worktree();
    let repo = worktree.open()?;
    let looked = SubmodulesLook::of(workspace)?;
    let belongings = match looked.iter().next() {
        Some(_) => work::belongings(workspace, &repo, Look::Whole)?,
        None => Belongings::default(),
    };
    let mut plan = SettlePlan::default();
    for to in &found.filled {
        let submodule = Submodule::new(worktree, &to.path, to.store.url());
        if plan.is_below_one_that_stays(&to.path) {
            continue;
        }
        let here = looked.at(&to.path);
        let is_there = submodule.is_linked()
            && here.is_some_and(|here| here.submodule().url() == submodule.url())
            && submodule.is_at(&to.commit)
            && !submodule.is_half_moved();
        let stays = match here {
            Some(here) if is_there => {
                if here.work().is_none() && submodule.commit().as_ref() != Some(&to.commit) {
                    let moved = (submodule.clone(), to.commit.clone());
                    plan.moved_by_others.push(moved);
                }
                None
            }
            Some(here) => stays(here, &submodule, &to.commit, &belongings)?,
            None => {
                let has_room = submodule.has_room_for(&to.commit)?;
                (!has_room).then(|| "something else is in its place".to_owned())
            }
        };
        if let Some(why) = stays {
            plan.stay.push((to.path.clone(), why));
            continue;
        }
        plan.filled.push(submodule.worktree().clone());
        if !is_there {
            plan.moves.push((submodule, to.clone()));
        }
    }
    for here in looked.iter() {
        let path = here.submodule().path();
        if found.filled.iter().any(|to| to.path == path) || plan.is_below_one_that_stays(path) {
            continue;
        }
        let work = here.work().map(str::to_owned);
        match work.or_else(|| somebodys(&belongings, path)) {
            Some(why) => plan.stay.push((path.to_owned(), why)),
            None => plan.gone.push(here.submodule().clone()),
        }
    }
    if workspace.repo().submodules().rule().is_wanted() {
        let named = found.filled.iter().map(|to| &to.path);
        let named = named.chain(found.left_empty.iter().map(|(path, _)| path));
        let named: HashSet<_> = named.collect();
        let links = git::submodules(&repo)?.into_iter();
        plan.unnamed = links.filter(|path| !named.contains(path)).collect();
        plan.unnamed.sort();
    }
    Ok(plan)
}

/// Why a submodule that is filled cannot follow.
fn stays(
    here: &LookedSubmodule,
    to: &Submodule,
    commit: &CommitId,
    belongings: &Belongings,
) -> Result<Option<String>, Error> {
    if let Some(work) = here.work() {
        return Ok(Some(work.to_owned()));
    }
    if here.submodule().is_half_moved() {
        return Ok(None);
    }
    let looking = || Error::io("look for the place of a submodule");
    if !to.is_linked() && to.is_deleted().map_err(looking())? {
        return Ok(Some("its directory was deleted".to_owned()));
    }
    if here.submodule().url() != to.url() {
        return Ok(somebodys(belongings, to.path()));
    }
    if let Some(path) = here.in_the_way_of(commit)? {
        return Ok(Some(format!("{} is in the way", path.display())));
    }
    match to.is_linked() && !to.can_be_moved_to(commit)? {
        true => Ok(somebodys(belongings, to.path())),
        false => Ok(None),
    }
}

impl SettlePlan {
    /// The moves of those that are in no other one that is moved.
    fn outermost(&self) -> impl Iterator<Item = &(Submodule, FoundSubmodule)> {
        let is_inner = |path: &Path| {
            let mut others = self.moves.iter().map(|(other, _)| other.path());
            others.any(|other| other != path && path.starts_with(other))
        };
        let moves = self.moves.iter();
        moves.filter(move |(submodule, _)| !is_inner(submodule.path()))
    }

    /// Whether some are in others: what is there is known once those are moved.
    fn is_deep(&self) -> bool {
        let filled: Vec<_> = self.filled.iter().map(DetachedWorktree::path).collect();
        let mut inner = filled.iter();
        inner.any(|inner| {
            let mut outer = filled.iter();
            outer.any(|outer| inner != outer && inner.starts_with(outer))
        })
    }

    fn is_below_one_that_stays(&self, path: &Path) -> bool {
        let mut stay = self.stay.iter();
        stay.any(|(above, _)| path.starts_with(above))
    }
}

/// Writes down what was done, and tells what was not.
fn finish(
    workspace: &Arc<Workspace>,
    commit: CommitId,
    (found, plan): (&FoundSubmodules, &SettlePlan),
    stragglers: Stragglers,
    report: &Reporter,
) -> Result<(), Error> {
    let submodules = workspace.repo().submodules();
    let mut left_empty = found.left_empty.clone();
    let unnamed = plan.unnamed.iter().cloned();
    left_empty.extend(unnamed.map(|path| (path, UNNAMED.to_owned())));
    if submodules.rule().is_required() && !left_empty.is_empty() {
        let message = empty(&left_empty);
        return Err(Problem::new(ErrorKind::Conflict, "submodule_refused", message).into());
    }
    if plan.stay.is_empty() {
        let settled = Settled {
            commit,
            decided_by: submodules.decided_by(),
            left_empty,
        };
        return settled.save(workspace);
    }
    let detail = format!("submodules are left alone: {}", named(&plan.stay));
    if stragglers == Stragglers::Refused {
        return Err(conflict("workspace_has_work", detail)
            .field("sync")
            .help("commit and push the work in them, or `sync: reset` saves it and goes on")
            .into());
    }
    report(Report::Warning(Warning::new("left_alone", detail)));
    Ok(())
}
