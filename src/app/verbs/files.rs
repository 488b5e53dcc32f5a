//! What is done to single files of a workspace.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::verb::Check;
use super::{Verb, any, run_verb};
use branchyard_git::verbs::{Render, VerbEntry};
use branchyard_runs::check_disk;
use branchyard_workspace::files::{
    Editor, apply_patch, delete_file, edit_file, move_file, write_file,
};
use branchyard_workspace::{Error, Files};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        edits(
            write_file::VERB,
            write_file::Request::check,
            |request| (Files::Edited, request.after_run),
            |request| request.content.len(),
            write_file::write_file,
        ),
        edits(
            edit_file::VERB,
            edit_file::Request::check,
            |request| match request.dry_run {
                true => (Files::Untouched, request.after_run),
                false => (Files::Edited, request.after_run),
            },
            edit_file::Request::grows_by,
            edit_file::edit_file,
        ),
        edits(
            apply_patch::VERB,
            apply_patch::Request::check,
            |request| (Files::Edited, request.after_run),
            |request| request.patch.len(),
            apply_patch::apply_patch,
        ),
        edits(
            move_file::VERB,
            any,
            |request: &move_file::Request| (Files::Edited, request.after_run),
            |_| 0,
            move_file::move_file,
        ),
        edits(
            delete_file::VERB,
            delete_file::Request::check,
            |request| (Files::Edited, request.after_run),
            |_| 0,
            delete_file::delete_file,
        ),
    ]
}

/// A verb that changes single files, once its request was checked: `how` says whether it does, and whether it waits for a
/// run that is under way; `grows_by`, how many bytes it adds at most, as far as that is known. What adds none is done also
/// where the workspace takes all of the disk that it may. Beside a run, it is noted which files change.
fn edits<In, Out, F>(
    entry: VerbEntry,
    check: Check<In>,
    how: fn(&In) -> (Files, bool),
    grows_by: fn(&In) -> usize,
    work: fn(Editor, In) -> F,
) -> Verb
where
    In: JsonSchema + DeserializeOwned + Send + Sync + 'static,
    Out: Render,
    F: Future<Output = Result<Out, Error>> + Send + 'static,
{
    let verb = Verb::new(entry, move |app, at, request: In| async move {
        check(&request)?;
        let ((files, after_run), runs) = (how(&request), app.yard().runs.clone());
        let more = grows_by(&request);
        if more > 0 {
            let workspace = app.workspace(&at.repo, &at.branch)?;
            check_disk(&runs, &workspace, more as u64).await?;
        }
        run_verb::change(&app, &at, entry, (files, !after_run), move |it| {
            let workspace = it.workspace.clone();
            let on_change = move |paths: &[&_]| runs.note_edits(&workspace, paths);
            work(Editor::new(it.workspace, Arc::new(on_change)), request)
        })
        .await
    });
    verb.of_files()
}
