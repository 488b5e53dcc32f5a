//! What is done to single files of a workspace.

use super::{Verb, any};
use branchyard_workspace::Files;
use branchyard_workspace::files::{delete_file, edit_file, move_file, write_file};

pub(super) fn verbs() -> Vec<Verb> {
    let verbs = vec![
        Verb::changes(
            write_file::VERB,
            write_file::Request::check,
            Files::Edited,
            |it, request| async move { write_file::write_file(&it.workspace, request).await },
        ),
        Verb::changes(
            edit_file::VERB,
            edit_file::Request::check,
            Files::Edited,
            |it, request| async move { edit_file::edit_file(&it.workspace, request).await },
        ),
        Verb::changes(
            move_file::VERB,
            any,
            Files::Edited,
            |it, request| async move { move_file::move_file(&it.workspace, request).await },
        ),
        Verb::changes(
            delete_file::VERB,
            delete_file::Request::check,
            Files::Edited,
            |it, request| async move { delete_file::delete_file(&it.workspace, request).await },
        ),
    ];
    verbs.into_iter().map(Verb::of_files).collect()
}
