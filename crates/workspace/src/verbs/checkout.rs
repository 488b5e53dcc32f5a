//! Bringing files back; what they replace is saved first.

use std::path::PathBuf;
use std::sync::Arc;

use branchyard_git::Repository;

use super::in_gits_words;
use crate::salvage::{SalvageScope, tell};
use crate::work::Look;
use crate::{Error, Reporter, Workspace, reset, salvage, verbs, work};
use branchyard_git as git;
use branchyard_git::verbs::checkout::{self, CheckedOut, Request, Source};
use branchyard_git::verbs::{Kept, Named, Verbosity, confirm_needed, few, revision};
use branchyard_model::{Salvage, SalvageReason};
use branchyard_runtime::disk::Moment;

/// Makes files what the index or a commit has. the caller holds the files exclusively.
pub async fn check_out(
    workspace: &Arc<Workspace>,
    request: Request,
    by: &str,
    report: &Reporter,
) -> Result<CheckedOut, Error> {
    let (verbosity, by) = (request.verbosity, by.to_owned());
    let plan =
        workspace.with_repository(move |this, repo| plan_checkout(this, repo, &request, &by));
    let (source, files, saved) = plan.await?;
    tell(report, saved.as_ref());
    if !files.is_empty() {
        let (git, dir) = (workspace.repo().git(), workspace.path());
        let done = checkout::checkout(git, dir, source, &files).await;
        done.map_err(in_gits_words)?;
    }
    let names = files.iter().map(|file| file.to_string_lossy().into_owned());
    Ok(CheckedOut {
        count: files.len(),
        files: (verbosity > Verbosity::Minimal).then(|| names.collect()),
        kept: saved.as_ref().map(Kept::from),
    })
}

/// What brings which files back, and what was saved of those that they replace.
fn plan_checkout(
    workspace: &Workspace,
    repo: &Repository,
    request: &Request,
    by: &str,
) -> Result<(Source, Vec<PathBuf>, Option<Salvage>), Error> {
    let from = request.from.as_deref();
    let from = from.map(|revision| revision::commit_id(repo, "from", revision));
    let from = from.transpose()?;
    let source = match (from, request.side) {
        (_, Some(side)) => Source::Side(side),
        (from, None) if request.staged => {
            Source::Staging(from.map_or_else(|| Ok(git::head(repo)?.commit), Ok::<_, git::Error>)?)
        }
        (Some(commit), None) => Source::Commit(commit),
        (None, None) => Source::Index,
    };
    let named = Named::new(verbs::inside(workspace, "paths", &request.paths)?);
    let files = checkout::changing(repo, source, &named)?;
    let saved = match source {
        Source::Staging(_) => {
            verbs::reset::keep_staged(workspace, repo, &Named::new(files.clone()), by)?
        }
        _ => {
            let written = checkout::written(repo, source, &files)?;
            keep_overwritten(workspace, repo, &written, request.confirm, by)?
        }
    };
    Ok((source, files, saved))
}

fn keep_overwritten(
    workspace: &Workspace,
    repo: &Repository,
    files: &[PathBuf],
    confirm: bool,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    let looked_at = Moment::now();
    let lost = checkout::overwritten(repo, files)?;
    if !lost.is_empty() && !confirm {
        let lost = lost.iter().map(|file| format!("changes to {file}"));
        let lost: Vec<_> = lost.collect();
        return Err(confirm_needed("a checkout over files with changes", &lost).into());
    }
    let save = || {
        let belongings = work::belongings(workspace, repo, Look::Whole)?;
        let work = vec![format!("changes to {}", few(&lost))];
        // What a build made may be among what is overwritten.
        let (scope, reason) = (SalvageScope::All, SalvageReason::Checkout);
        salvage::salvage(workspace, work, &belongings, scope, reason, by)
    };
    let saved = (!lost.is_empty()).then(save).transpose()?;
    // Before git puts others in their place: what was written since is kept. Nor does git put a file where a directory
    // stands.
    reset::set_aside(workspace, files, looked_at)?;
    Ok(saved)
}
