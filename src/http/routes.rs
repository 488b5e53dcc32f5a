//! Every address, with the right that it needs and what it does to the yard. A route cannot be added
//! without saying so.

use std::borrow::Cow;

use axum::handler::Handler;
use axum::http::Method;
use axum::routing::{self, MethodRouter};

use super::audit::Effect::{self, Reads};
use super::audit::does;
use super::gate::Access::{self, Known, Needs, Open};
use super::{
    agents, audit, branches, events, files, findings, groups, health, log, oauth, openapi, page,
    reap, repos, runs, salvage, session, streams, tokens, verbs,
};
use crate::app::App;
use branchyard_model::Right;
use branchyard_runs::RunRequest;

pub(super) struct Route {
    pub(super) path: Cow<'static, str>,
    pub(super) access: Access,
    pub(super) effect: Effect,
    pub(super) handled: Handled,
}

/// Who answers, and to which methods.
pub(super) struct Handled {
    pub(super) methods: Vec<Method>,
    pub(super) router: MethodRouter<App>,
}

macro_rules! answers {
    ($($name:ident $method:ident;)*) => {$(
        pub(super) fn $name<T: 'static>(handler: impl Handler<T, App>) -> Handled {
            Handled {
                methods: vec![Method::$method],
                router: routing::$name(handler),
            }
        }
    )*};
}
answers! { get GET; post POST; put PUT; delete DELETE; }

#[rustfmt::skip]
pub(super) fn all(mcp: MethodRouter<App>) -> Vec<Route> {
    let mcp = Handled { methods: vec![Method::GET, Method::POST, Method::DELETE], router: mcp };
    let route = |path: &'static str, access, effect, handled| Route { path: path.into(), access, effect, handled };
    let mut all = vec![
        route("/",        Open,               Reads,                  get(page::home)),
        route("/api.html",      Open,         Reads,                  get(page::file)),
        route("/icon.svg",      Open,         Reads,                  get(page::file)),
        route("/js/{*file}",    Open,         Reads,                  get(page::file)),
        route("/style/{*file}", Open,         Reads,                  get(page::file)),
        route("/openapi.json",  Open,         Reads,                  get(openapi::show)),
        route("/healthz", Open,               Reads,                  get(health::healthz)),
        // Clients that have no token yet learn here who gives them one.
        route("/.well-known/oauth-protected-resource",         Open, Reads,           get(oauth::metadata)),
        route("/.well-known/oauth-protected-resource/{*path}", Open, Reads,           get(oauth::metadata)),
        route("/readyz",  Needs(Right::Ops),  Reads,                  get(health::readyz)),
        route("/metrics", Needs(Right::Ops),  Reads,                  get(health::metrics)),

        route("/api/machine",      Needs(Right::RepoRead), Reads,                  get(health::machine)),
        route("/api/repos",        Needs(Right::RepoRead), Reads,                  get(repos::list)),
        route("/api/repos",        Needs(Right::Admin),    does("repo.register"),  post(repos::register)),
        route("/api/repos/{repo}", Needs(Right::RepoRead), Reads,                  get(repos::show)),
        route("/api/repos/{repo}", Needs(Right::Admin),    does("repo.remove"),    delete(repos::remove)),

        route("/api/repos/{repo}/maintain", Needs(Right::Ops), does("repo.maintain"),  post(findings::maintain)),
        route("/api/findings",      Needs(Right::Ops),   Reads,                  get(findings::list)),
        route("/api/findings/mend", Needs(Right::Admin), does("findings.mend"),  post(findings::mend)),

        route("/api/repos/{repo}/branches",                    Needs(Right::RepoRead), Reads,                  get(branches::list)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Right::RepoRead), Reads,                  get(branches::show)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Right::GitWrite), does("branch.prepare"), put(branches::prepare)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Right::GitWrite), does("branch.remove"),  delete(branches::remove)),
        route("/api/repos/{repo}/branches/{branch}/pin",       Needs(Right::GitWrite), does("branch.pin"),     put(reap::pin)),
        route("/api/repos/{repo}/branches/{branch}/pin",       Needs(Right::GitWrite), does("branch.unpin"),   delete(reap::unpin)),
        route("/api/repos/{repo}/branches/{branch}/env",       Needs(Right::RepoRead), Reads,                  get(files::env)),
        route("/api/repos/{repo}/branches/{branch}/ls",        Needs(Right::RepoRead), Reads,                  post(files::ls)),
        route("/api/repos/{repo}/branches/{branch}/read_file", Needs(Right::RepoRead), Reads,                  post(files::read_file)),
        route("/api/repos/{repo}/branches/{branch}/grep",      Needs(Right::RepoRead), Reads,                  post(files::grep)),
        route("/api/repos/{repo}/branches/{branch}/git/quick", Needs(Right::GitRead),  Reads,                  post(files::git_quick)),

        route("/api/git/clone", Needs(Right::GitWrite), does("git.clone"),      post(agents::clone)),
        route("/api/git/init",  Needs(Right::Admin),    does("git.init"),       post(agents::init)),

        route("/api/salvage",                   Needs(Right::GitRead),  Reads,                  get(salvage::list)),
        route("/api/salvage/{salvage}",         Needs(Right::GitRead),  Reads,                  get(salvage::show)),
        route("/api/salvage/{salvage}",         Needs(Right::Ops),      does("salvage.drop"),   delete(salvage::forget)),
        route("/api/salvage/{salvage}/file",    Needs(Right::GitRead),  Reads,                  get(salvage::file)),
        route("/api/salvage/{salvage}/restore", Needs(Right::GitWrite), does("salvage.restore"), post(salvage::restore)),

        route("/stream/repos/{repo}/branches/{branch}/make",   Needs(Right::BuildRun), does("make"),           streams::starting(RunRequest::make)),
        // Verbs that write ask for git:write where the verb is known.
        route("/stream/repos/{repo}/branches/{branch}/git",    Needs(Right::GitRead),  does("git"),            streams::starting(RunRequest::git)),
        route("/stream/repos/{repo}/branches/{branch}/task",   Needs(Right::BuildRun), does("task"),           streams::starting(RunRequest::task)),
        route("/stream/repos/{repo}/make",                     Needs(Right::BuildRun), does("group.start"),    post(groups::start)),
        route("/stream/events",                                Needs(Right::RepoRead), Reads,                  get(events::watch)),
        route("/stream/groups/{group}",                        Needs(Right::RepoRead), Reads,                  get(groups::follow)),
        route("/stream/runs/{run}/rerun",                      Needs(Right::BuildRun), does("run.rerun"),      post(streams::rerun)),
        route("/stream/runs/{run}",                            Needs(Right::RepoRead), Reads,                  get(streams::follow)),

        route("/api/runs",              Needs(Right::RepoRead), Reads,                  get(runs::list)),
        route("/api/runs/{run}",        Needs(Right::RepoRead), Reads,                  get(runs::show)),
        route("/api/runs/{run}/log",    Needs(Right::RepoRead), Reads,                  get(log::log)),
        route("/api/runs/{run}/diagnostics", Needs(Right::RepoRead), Reads,                  get(runs::diagnostics)),
        route("/api/groups/{group}",         Needs(Right::RepoRead), Reads,                  get(groups::show)),
        route("/api/groups/{group}/cancel",  Needs(Right::BuildRun), does("group.cancel"),   post(groups::cancel)),
        route("/api/runs/{run}/cancel", Needs(Right::BuildRun), does("run.cancel"),     post(runs::cancel)),

        // The page's: a credential for a cookie and back, or for a link that logs in once.
        route("/api/session",        Open,  Reads,                  get(session::show)),
        route("/api/session",        Known, does("session.open"),   post(session::open)),
        route("/api/session",        Known, does("session.close"),  delete(session::close)),
        route("/api/session/ticket", Known, does("session.ticket"), post(session::ticket)),
        route("/open/{ticket}",      Open,  Reads,                  get(session::redeem)),

        // Whoever may do something may make a token for less; the app says who sees and revokes which.
        route("/api/whoami",         Known, Reads,                  get(tokens::whoami)),
        route("/api/tokens",         Known, Reads,                  get(tokens::list)),
        route("/api/tokens",         Known, does("token.create"),   post(tokens::make)),
        route("/api/tokens/{token}", Known, Reads,                  get(tokens::show)),
        route("/api/tokens/{token}", Known, does("token.revoke"),   delete(tokens::revoke)),

        route("/api/reap", Needs(Right::Ops), Reads,                  get(reap::reaped)),
        route("/api/reap", Needs(Right::Ops), does("reap"),           post(reap::reap)),

        route("/api/audit", Needs(Right::Admin), Reads,                  get(audit::list)),

        // Each tool, resource and prompt asks for its own right, and is recorded by itself.
        route("/mcp", Known, Reads,                  mcp),
    ];
    all.extend(verbs::routes());
    all
}

/// An address: what it asks of its callers and does to the yard. One that does something else for
/// another method is there again.
#[derive(Debug, Clone)]
pub struct Address {
    pub path: String,
    pub methods: Vec<Method>,
    pub asks: Asks,
    /// The name that the audit has for it, unless it changes nothing.
    pub action: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    Nothing,
    /// Whatever its rights.
    ForACredential,
    ForRight(Right),
}

/// Every address, for those who see to it that none is forgotten.
pub fn addresses() -> Vec<Address> {
    let all = all(MethodRouter::new()).into_iter();
    all.map(|route| Address {
        path: route.path.into_owned(),
        methods: route.handled.methods,
        asks: match route.access {
            Open => Asks::Nothing,
            Known => Asks::ForACredential,
            Needs(right) => Asks::ForRight(right),
        },
        action: match route.effect {
            Reads => None,
            Effect::Does(action) => Some(action.into_owned()),
        },
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::audit::ACTIONS;
    use crate::app::verbs::verb;

    #[test]
    fn what_a_route_does_has_a_name_that_the_audit_knows() {
        for Address { path, action, .. } in addresses() {
            let Some(action) = action else {
                continue;
            };
            let is_verb = action
                .strip_prefix("git.")
                .is_some_and(|name| verb(name).is_ok());
            assert!(
                is_verb || ACTIONS.contains(&action.as_str()),
                "{path}: {action}"
            );
        }
    }
}
