//! Every address, with the right that it needs. A route cannot be added without saying so.

use std::borrow::Cow;

use axum::routing::{MethodRouter, delete, get, post, put};

use super::gate::Access::{self, Known, Needs, Open};
use super::{
    agents, branches, files, findings, groups, health, log, reap, repos, runs, salvage, streams,
    verbs,
};
use crate::app::App;
use crate::auth::Right;
use crate::runs::RunRequest;

pub(super) struct Route {
    pub(super) path: Cow<'static, str>,
    pub(super) access: Access,
    pub(super) handler: MethodRouter<App>,
}

#[rustfmt::skip]
pub(super) fn all(mcp: MethodRouter<App>) -> Vec<Route> {
    let route = |path: &'static str, access, handler| Route { path: path.into(), access, handler };
    let mut all = vec![
        route("/",        Open,               get(health::welcome)),
        route("/healthz", Open,               get(health::healthz)),
        route("/readyz",  Needs(Right::Ops),  get(health::readyz)),
        route("/metrics", Needs(Right::Ops),  get(health::metrics)),

        route("/api/repos",        Needs(Right::RepoRead), get(repos::list)),
        route("/api/repos",        Needs(Right::Admin),    post(repos::register)),
        route("/api/repos/{repo}", Needs(Right::RepoRead), get(repos::show)),
        route("/api/repos/{repo}", Needs(Right::Admin),    delete(repos::remove)),

        route("/api/repos/{repo}/maintain", Needs(Right::Ops), post(findings::maintain)),
        route("/api/findings",      Needs(Right::Ops),   get(findings::list)),
        route("/api/findings/mend", Needs(Right::Admin), post(findings::mend)),

        route("/api/repos/{repo}/branches",                    Needs(Right::RepoRead), get(branches::list)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Right::RepoRead), get(branches::show)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Right::GitWrite), put(branches::prepare)),
        route("/api/repos/{repo}/branches/{branch}",           Needs(Right::GitWrite), delete(branches::remove)),
        route("/api/repos/{repo}/branches/{branch}/pin",       Needs(Right::GitWrite), put(reap::pin)),
        route("/api/repos/{repo}/branches/{branch}/pin",       Needs(Right::GitWrite), delete(reap::unpin)),
        route("/api/repos/{repo}/branches/{branch}/env",       Needs(Right::RepoRead), get(files::env)),
        route("/api/repos/{repo}/branches/{branch}/ls",        Needs(Right::RepoRead), post(files::ls)),
        route("/api/repos/{repo}/branches/{branch}/read_file", Needs(Right::RepoRead), post(files::read_file)),
        route("/api/repos/{repo}/branches/{branch}/grep",      Needs(Right::RepoRead), post(files::grep)),
        route("/api/repos/{repo}/branches/{branch}/git/quick", Needs(Right::GitRead),  post(files::git_quick)),

        route("/api/git/clone", Needs(Right::GitWrite), post(agents::clone)),
        route("/api/git/init",  Needs(Right::Admin),    post(agents::init)),

        route("/api/salvage",                   Needs(Right::GitRead),  get(salvage::list)),
        route("/api/salvage/{salvage}",         Needs(Right::GitRead),  get(salvage::show)),
        route("/api/salvage/{salvage}",         Needs(Right::Ops),      delete(salvage::forget)),
        route("/api/salvage/{salvage}/file",    Needs(Right::GitRead),  get(salvage::file)),
        route("/api/salvage/{salvage}/restore", Needs(Right::GitWrite), post(salvage::restore)),

        route("/stream/repos/{repo}/branches/{branch}/make",   Needs(Right::BuildRun), streams::starting(RunRequest::make)),
        // Verbs that write ask for git:write where the verb is known.
        route("/stream/repos/{repo}/branches/{branch}/git",    Needs(Right::GitRead),  streams::starting(RunRequest::git)),
        route("/stream/repos/{repo}/branches/{branch}/task",   Needs(Right::BuildRun), streams::starting(RunRequest::task)),
        route("/stream/repos/{repo}/make",                     Needs(Right::BuildRun), post(groups::start)),
        route("/stream/groups/{group}",                        Needs(Right::RepoRead), get(groups::follow)),
        route("/stream/runs/{run}/rerun",                      Needs(Right::BuildRun), post(streams::rerun)),
        route("/stream/runs/{run}",                            Needs(Right::RepoRead), get(streams::follow)),

        route("/api/runs",              Needs(Right::RepoRead), get(runs::list)),
        route("/api/runs/{run}",        Needs(Right::RepoRead), get(runs::show)),
        route("/api/runs/{run}/log",    Needs(Right::RepoRead), get(log::log)),
        route("/api/runs/{run}/diagnostics", Needs(Right::RepoRead), get(runs::diagnostics)),
        route("/api/groups/{group}",         Needs(Right::RepoRead), get(groups::show)),
        route("/api/groups/{group}/cancel",  Needs(Right::BuildRun), post(groups::cancel)),
        route("/api/runs/{run}/cancel", Needs(Right::BuildRun), post(runs::cancel)),

        route("/api/reap", Needs(Right::Ops), get(reap::reaped)),
        route("/api/reap", Needs(Right::Ops), post(reap::reap)),

        // Each tool, resource and prompt asks for its own right.
        route("/mcp", Known, mcp),
    ];
    all.extend(verbs::routes());
    all
}
