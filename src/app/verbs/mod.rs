//! Verbs of git, of single files and of code environments: one table, of which HTTP and MCP are two faces. What a verb
//! takes and gives is in its module of `branchyard_git::verbs` or `branchyard_workspace`; here is what it needs of the yard, and of its caller.

mod branch;
mod code_env;
mod files;
mod integrate;
mod network;
mod refs;
pub(super) mod run_verb;
mod verb;

use std::sync::LazyLock;

use crate::app::AuthorizedApp;
use branchyard_git::verbs as git;
use branchyard_git::verbs::{clean, describe, log, show, stash};
use branchyard_model::{ErrorKind, Problem};
use branchyard_workspace::{Files, verbs as workspace};

pub use code_env::code_env as configure_code_env;
pub use run_verb::{At, VerbOutput};
pub use verb::{Common, ErasedOutput, Verb, VerbFamily, leave_out_nulls};

/// The verb of this name.
pub fn verb(name: &str) -> Result<&'static Verb, Problem> {
    let mut git = verbs()
        .iter()
        .filter(|verb| verb.family() == VerbFamily::Git);
    let found = git.find(|verb| verb.entry().name == name);
    found.ok_or_else(|| {
        let detail = format!("there is no git verb named {name:?}");
        Problem::new(ErrorKind::NotFound, "no_such_verb", detail)
    })
}

/// Every verb, in the order in which they are listed.
pub fn verbs() -> &'static [Verb] {
    static VERBS: LazyLock<Vec<Verb>> = LazyLock::new(|| {
        let mut all = reads();
        all.extend(changes());
        all.extend(refs::verbs());
        all.extend(integrate::verbs());
        all.extend(network::verbs());
        all.extend(files::verbs());
        all.extend(code_env::verbs());
        all
    });
    &VERBS
}

/// What is looked at in a workspace and its history.
fn reads() -> Vec<Verb> {
    vec![
        Verb::reads(git::status::VERB, any, |it, request| async move {
            workspace::status(&it, request).await
        }),
        Verb::reads(
            git::diff::VERB,
            git::diff::Request::check,
            |it, request| async move { workspace::diff(&it, request).await },
        ),
        Verb::looks(show::VERB, show::Request::check, |it, repo, request| {
            let paths = workspace::inside(it, "path", request.path.as_slice())?;
            Ok(show::show(repo, paths.first().map(AsRef::as_ref), request)?)
        }),
        Verb::reads(
            log::VERB,
            |request: &log::Request| request.clone().check().map(drop),
            |it, request| async move { workspace::log(&it, request.check()?).await },
        ),
        Verb::reads(git::blame::VERB, any, |it, request| async move {
            workspace::blame(&it, request).await
        }),
        Verb::looks(git::reflog::VERB, any, |it, repo, request| {
            Ok(git::reflog::reflog(repo, it.branch(), request)?)
        }),
        Verb::looks(git::changelog::VERB, any, |_, repo, request| {
            Ok(git::changelog::changelog(repo, request)?)
        }),
        Verb::reads(
            describe::VERB,
            describe::Request::check,
            |it, request| async move {
                let named = request.revision.clone();
                let named = named.unwrap_or_else(|| "HEAD".to_owned());
                let (about, commit) = workspace::look(&it, move |_, repo| {
                    Ok(git::revision::commit_id(repo, "revision", &named)?)
                })
                .await?;
                let (git, store) = (it.repo().git(), it.repo().store().path());
                let described = describe::describe(git, store, commit, &request).await?;
                Ok((about, described))
            },
        ),
        Verb::new(git::merge_preview::VERB, network::merge_preview),
    ]
}

/// What happens within one workspace.
fn changes() -> Vec<Verb> {
    vec![
        Verb::changes(
            git::add::VERB,
            git::add::Request::check,
            Files::Stay,
            |it, request| async move { workspace::stage(&it.workspace, request, &it.report).await },
        ),
        Verb::changes(
            git::commit::VERB,
            git::commit::Request::check,
            Files::Stay,
            |it, request| async move {
                it.check_author(request.author.as_ref())?;
                workspace::commit(&it.workspace, request, &it.report).await
            },
        ),
        Verb::changes(
            git::reset::VERB,
            git::reset::Request::check,
            Files::Move,
            |it, request| async move {
                workspace::reset_head(&it.workspace, request, &it.by, &it.report).await
            },
        ),
        Verb::changes(
            git::submodule::VERB,
            git::submodule::Request::check,
            Files::Move,
            |it, request| async move {
                workspace::move_submodules(&it.workspace, request, &it.report).await
            },
        ),
        Verb::new(clean::VERB, clean_up),
        Verb::new(stash::VERB, put_aside).looking(&["list", "show"]),
        Verb::changes(
            git::checkout::VERB,
            git::checkout::Request::check,
            Files::Move,
            |it, request| async move {
                workspace::check_out(&it.workspace, request, &it.by, &it.report).await
            },
        ),
    ]
}

/// Nothing about a request can be wrong before it is looked into.
fn any<T>(_: &T) -> Result<(), Problem> {
    Ok(())
}

async fn clean_up(
    app: AuthorizedApp,
    at: At,
    request: clean::Request,
) -> Result<VerbOutput<clean::Cleaned>, Problem> {
    if request.dry_run {
        let look = move |it: &_, repo: &_| workspace::would_clean(it, repo, &request);
        return run_verb::look(&app, &at, look).await;
    }
    let files = (Files::Move, false);
    run_verb::change(&app, &at, clean::VERB, files, |it| async move {
        workspace::clean_up(&it.workspace, request, &it.by, &it.report).await
    })
    .await
}

async fn put_aside(
    app: AuthorizedApp,
    at: At,
    request: stash::Request,
) -> Result<VerbOutput<stash::Stashed>, Problem> {
    request.check()?;
    if matches!(request.action, stash::Action::List | stash::Action::Show) {
        let look = move |it: &_, repo: &_| workspace::look_at_stashes(it, repo, &request);
        return run_verb::look(&app, &at, look).await;
    }
    let files = (Files::Move, false);
    run_verb::change(&app, &at, stash::VERB, files, |it| async move {
        workspace::change_stashes(&it.workspace, request, &it.by, &it.report).await
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_is_described_once_and_has_a_name_of_its_own() {
        for verb in verbs() {
            let (page, described) = match verb.family() {
                VerbFamily::Git => ("GIT.md", include_str!("../../../docs/GIT.md")),
                VerbFamily::Files => ("CODE.md", include_str!("../../../docs/CODE.md")),
            };
            let name = verb.entry().name;
            let rows = described.lines().filter(|line| {
                let cells = line.strip_prefix("| ").and_then(|row| row.split_once(" |"));
                cells.is_some_and(|(first, _)| first.contains(&format!("`{name}`")))
            });
            assert_eq!(rows.count(), 1, "docs/{page} on {name}");
        }
        let mut names: Vec<_> = verbs().iter().map(|verb| verb.entry().name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), verbs().len());
    }
}
