//! Copying the operator's files into a workspace, before its first run and whenever they differ from the operator's.

use std::sync::Arc;

use jiff::Timestamp;

use super::plan::{CopyPlan, FileToCopy, is_done, plan};
use crate::{Error, FilesGuard, Report, Reporter, Workspace, build_output};
use branchyard_config::crash_point;
use branchyard_git::verbs::conflicts::{NewFile, Working};
use branchyard_model::Warning;

/// Where a copy is written before it takes its place.
const SPARE: &str = "branchyard-include";

/// Sees to it that the workspace has the files that its branch asks for. The caller holds its lock, and shares its files
/// again afterwards.
pub async fn bring(
    workspace: &Arc<Workspace>,
    files: FilesGuard,
) -> Result<(FilesGuard, Option<Warning>), Error> {
    let found = workspace.blocking(plan).await?;
    if is_done(&found) {
        return Ok((files, found.warning));
    }
    drop(files);
    let this = workspace.clone();
    let warning = workspace
        .uninterrupted(async move {
            let _files = this.files().lock().await;
            this.blocking(bring_now).await
        })
        .await?;
    Ok((workspace.share_files().await, warning))
}

/// The same for a workspace that is being made, whose files the caller holds. It can be used without these files, as to
/// mend the list of them.
pub(crate) async fn bring_into_new(workspace: &Arc<Workspace>, report: &Reporter) {
    if workspace.repo().config().include.is_none() {
        return;
    }
    let warning = match workspace.blocking(bring_now).await {
        Ok(warning) => warning,
        Err(error) => {
            let problem = error.problem();
            tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "files of the operator are not copied");
            Some(Warning::new(&problem.code, problem.detail))
        }
    };
    if let Some(warning) = warning {
        report(Report::Warning(warning));
    }
}

fn bring_now(workspace: &Workspace) -> Result<Option<Warning>, Error> {
    let plan = plan(workspace)?;
    if is_done(&plan) {
        return Ok(plan.warning);
    }
    let admin = workspace.worktree().admin();
    // Before they are there: no copy is ever taken for anything else.
    plan.after
        .save(admin)
        .map_err(Error::io("note which files the operator supplies"))?;
    crash_point("include-noted");
    let files = Working::open(workspace.path())?;
    for path in &plan.remove {
        files.remove(path)?;
    }
    if !plan.place.is_empty() {
        let failed = || Error::io("note a copy of the operator's files");
        build_output::note_begin(admin).map_err(failed())?;
        let placed = place(workspace, &files, &plan);
        build_output::note_end(admin, Timestamp::now()).map_err(failed())?;
        placed?;
    }
    Ok(plan.warning)
}

fn place(workspace: &Workspace, files: &Working, plan: &CopyPlan) -> Result<(), Error> {
    let spare = workspace.worktree().admin().join(SPARE);
    for FileToCopy {
        path,
        content,
        mode,
        replaces,
    } in &plan.place
    {
        let file = NewFile {
            content,
            mode: Some(*mode),
            executable: None,
            replaces: *replaces,
        };
        let placed = files
            .make_parents(path)
            .and_then(|()| files.place(path, &file, &spare));
        // What it took the place of is there.
        let _ = std::fs::remove_file(&spare);
        // Where another program was quicker, its file stays; the next run looks again.
        placed.map_err(Error::io("copy a file of the operator's"))?;
    }
    Ok(())
}
