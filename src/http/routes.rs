//! Every address, with the right that it needs and what it does to the yard. A route cannot be added
//! without saying so.

use axum::http::Method;
use axum::routing::MethodRouter;

use super::audit::Effect::{self, Reads};
use super::audit::does;
use super::gate::Access::{Known, Needs, Open};
use super::route::{Handled, Route, delete, get, post, put};
use super::{
    agents, audit, branches, events, files, findings, groups, health, log, oauth, openapi, page,
    raw, reap, repos, runs, salvage, session, streams, tokens, verbs,
};
use crate::app::App;
use branchyard_model::Scope;
use branchyard_runs::RunBody;

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
        route("/readyz",  Needs(Scope::Ops),  Reads,                  get(health::readyz)),
        route("/metrics", Needs(Scope::Ops),  Reads,                  get(health::metrics)),

        route("/api/machine",      Needs(Scope::RepoRead), Reads,                  get(health::machine)),
        route("/api/repos",        Needs(Scope::RepoRead), Reads,                  get(repos::list)),
        route("/api/repos",        Needs(Scope::Admin),    does("repo.register"),  post(repos::register)),
        route("/api/repos/{repo}", Needs(Scope::RepoRead), Reads,                  get(repos::show)),
        route("/api/repos/{repo}", Needs(Scope::Admin),    does("repo.remove"),    delete(repos::remove)),

        route("/api/repos/{repo}/maintain", Needs(Scope::Ops), does("repo.maintain"),  post(findings::maintain)),
        route("/api/findings",      Needs(Scope::Ops),   Reads,                  get(findings::list)),
        route("/api/findings/mend", Needs(Scope::Admin), does("findings.mend"),  post(findings::mend)),

        route("/api/repos/{repo}/branches",                    Needs(Scope::RepoRead), Reads,                  get(branches::list)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Scope::RepoRead), Reads,                  get(branches::show)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Scope::GitWrite), does("branch.prepare"), put(branches::prepare)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Scope::GitWrite), does("branch.remove"),  delete(branches::remove)),
        route("/api/repos/{repo}/branches/{branch}/pin",       Needs(Scope::GitWrite), does("branch.pin"),     put(reap::pin)),
        route("/api/repos/{repo}/branches/{branch}/pin",       Needs(Scope::GitWrite), does("branch.unpin"),   delete(reap::unpin)),
        route("/api/repos/{repo}/branches/{branch}/env",       Needs(Scope::RepoRead), Reads,                  get(files::env)),
        route("/api/repos/{repo}/branches/{branch}/ls",        Needs(Scope::RepoRead), Reads,                  post(files::ls)),
        route("/api/repos/{repo}/branches/{branch}/read_file", Needs(Scope::RepoRead), Reads,                  post(files::read_file)),
        route("/api/repos/{repo}/branches/{branch}/raw/{*path}", Needs(Scope::RepoRead), Reads,                get(raw::raw)),
        route("/api/repos/{repo}/branches/{branch}/grep",      Needs(Scope::RepoRead), Reads,                  post(files::grep)),
        route("/api/repos/{repo}/branches/{branch}/git/quick", Needs(Scope::GitRead),  Reads,                  post(files::git_quick)),

        route("/api/git/clone", Needs(Scope::GitWrite), does("git.clone"),      post(agents::clone)),
        route("/api/git/init",  Needs(Scope::Admin),    does("git.init"),       post(agents::init)),

        route("/api/salvage",                   Needs(Scope::GitRead),  Reads,                  get(salvage::list)),
        route("/api/salvage/{salvage}",         Needs(Scope::GitRead),  Reads,                  get(salvage::show)),
        route("/api/salvage/{salvage}",         Needs(Scope::Ops),      does("salvage.drop"),   delete(salvage::forget)),
        route("/api/salvage/{salvage}/file",    Needs(Scope::GitRead),  Reads,                  get(salvage::file)),
        route("/api/salvage/{salvage}/restore", Needs(Scope::GitWrite), does("salvage.restore"), post(salvage::restore)),

        route("/stream/repos/{repo}/branches/{branch}/make",   Needs(Scope::BuildRun), does("make"),           streams::starting(RunBody::make)),
        // Verbs that write ask for git:write where the verb is known.
        route("/stream/repos/{repo}/branches/{branch}/git",    Needs(Scope::GitRead),  does("git"),            streams::starting(RunBody::git)),
        route("/stream/repos/{repo}/branches/{branch}/task",   Needs(Scope::BuildRun), does("task"),           streams::starting(RunBody::task)),
        route("/stream/repos/{repo}/make",                     Needs(Scope::BuildRun), does("group.start"),    post(groups::make)),
        route("/stream/repos/{repo}/task",                     Needs(Scope::BuildRun), does("group.start"),    post(groups::task)),
        route("/stream/events",                                Needs(Scope::RepoRead), Reads,                  get(events::watch)),
        route("/stream/groups/{group}",                        Needs(Scope::RepoRead), Reads,                  get(groups::follow)),
        route("/stream/runs/{run}/rerun",                      Needs(Scope::BuildRun), does("run.rerun"),      post(streams::rerun)),
        route("/stream/runs/{run}",                            Needs(Scope::RepoRead), Reads,                  get(streams::follow)),

        route("/api/runs",              Needs(Scope::RepoRead), Reads,                  get(runs::list)),
        route("/api/runs/{run}",        Needs(Scope::RepoRead), Reads,                  get(runs::show)),
        route("/api/runs/{run}/log",    Needs(Scope::RepoRead), Reads,                  get(log::log)),
        route("/api/runs/{run}/diagnostics", Needs(Scope::RepoRead), Reads,                  get(runs::diagnostics)),
        route("/api/groups/{group}",         Needs(Scope::RepoRead), Reads,                  get(groups::show)),
        route("/api/groups/{group}/cancel",  Needs(Scope::BuildRun), does("group.cancel"),   post(groups::cancel)),
        route("/api/runs/{run}/cancel", Needs(Scope::BuildRun), does("run.cancel"),     post(runs::cancel)),

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

        route("/api/reap", Needs(Scope::Ops), Reads,                  get(reap::reaped)),
        route("/api/reap", Needs(Scope::Ops), does("reap"),           post(reap::reap)),

        route("/api/audit", Needs(Scope::Admin), Reads,                  get(audit::list)),

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
    ForRight(Scope),
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
