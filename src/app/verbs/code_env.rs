//! The code environments of a workspace.

use super::run_verb::{self, At, VerbOutput};
use super::verb::Verb;
use crate::app::AuthorizedApp;
use branchyard_model::Problem;
use branchyard_workspace::Files;
use branchyard_workspace::code_env::configure::{CodeEnvs, EnvAction, Request};
use branchyard_workspace::code_env::{check_packages, configure};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(configure::VERB, code_env)
            .looking(&["list", "get"])
            .of_files(),
        Verb::looks(
            check_packages::VERB,
            check_packages::Request::check,
            |workspace, _, request| check_packages::check_packages(workspace, request),
        )
        .of_files(),
    ]
}

/// Lists, shows or configures.
pub async fn code_env(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<CodeEnvs>, Problem> {
    request.check()?;
    if request.action != EnvAction::Configure {
        let look = move |workspace: &_, _: &_| configure::look(workspace, &request);
        return run_verb::look(&app, &at, look).await;
    }
    // A command that runs in it meanwhile would lose what it reads.
    let files = (Files::Stay, false);
    run_verb::change(&app, &at, configure::VERB, files, |it| async move {
        configure::configure(&it.workspace, request).await
    })
    .await
}
