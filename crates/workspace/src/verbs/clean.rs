//! Removing what is not tracked, on request; what somebody could miss of it is saved first.

use std::path::Path;
use std::sync::Arc;

use branchyard_git::Repository;

use crate::salvage::{SalvageScope, tell};
use crate::work::Look;
use crate::{Error, Reporter, Workspace, reset, salvage, verbs, work};
use branchyard_git::verbs::clean::{self, Cleaned, Request, Sweep};
use branchyard_git::verbs::{Kept, Named, confirm_needed};
use branchyard_model::{Salvage, SalvageReason};
use branchyard_runtime::disk::Moment;

/// What would go. Blocks.
pub fn would_clean(
    workspace: &Workspace,
    repo: &Repository,
    request: &Request,
) -> Result<Cleaned, Error> {
    let found = to_sweep(workspace, repo, request)?;
    Ok(Cleaned::new(found, request.verbosity, false, None))
}

/// Removes it. the caller holds the files exclusively.
pub async fn clean_up(
    workspace: &Arc<Workspace>,
    request: Request,
    by: &str,
    report: &Reporter,
) -> Result<Cleaned, Error> {
    let (verbosity, by) = (request.verbosity, by.to_owned());
    let (found, saved) = workspace
        .with_repository(move |this, repo| {
            let looked_at = Moment::now();
            let found = to_sweep(this, repo, &request)?;
            if !request.confirm {
                let names = found.entries.iter().map(|entry| entry.path.clone());
                let names: Vec<_> = names.collect();
                return Err(confirm_needed("a clean", &names).into());
            }
            let saved = keep_swept(this, repo, &found, &by)?;
            for path in &found.paths {
                reset::discard(this, path, looked_at)?;
            }
            Ok((found, saved))
        })
        .await?;
    tell(report, saved.as_ref());
    let kept = saved.as_ref().map(Kept::from);
    Ok(Cleaned::new(found, verbosity, true, kept))
}

fn to_sweep(workspace: &Workspace, repo: &Repository, request: &Request) -> Result<Sweep, Error> {
    let named = Named::new(verbs::inside(workspace, "paths", &request.paths)?);
    Ok(clean::sweep(repo, request, &named)?)
}

fn keep_swept(
    workspace: &Workspace,
    repo: &Repository,
    found: &Sweep,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    // Either may be the directory that the other is in.
    let goes = |path: &Path| {
        let touches = |swept: &Path| path.starts_with(swept) || swept.starts_with(path);
        found.paths.iter().any(|swept| touches(swept))
    };
    let somebodys = belongings.files.iter().chain(&belongings.repositories);
    let worked = belongings.submodules.iter();
    let is_work = somebodys.into_iter().any(|found| goes(&found.path))
        || worked.into_iter().any(|worked| goes(&worked.path));
    let shown = belongings.output.iter().filter(|output| !output.ignored);
    let is_shown = shown.into_iter().any(|output| goes(&output.item.path));
    if !is_work && !is_shown {
        return Ok(None);
    }
    let (scope, reason) = (SalvageScope::All, SalvageReason::Clean);
    salvage::save(workspace, repo, &belongings, scope, reason, by).map(Some)
}
