//! Every route, by its tag in the OpenAPI document. The rows stand beside their handlers.

use axum::routing::MethodRouter;

use super::route::{Access, Route, Section};
use super::{
    agents, artifacts, audit, badge, bisect, branches, deliveries, events, files, groups, health,
    held_worktrees, hooks, log, oauth, openapi, page, pipelines, raw, repos, runs, salvage,
    session, streams, test_history, tokens, upkeep, verbs,
};
use crate::app::App;

pub(super) fn all(mcp: MethodRouter<App>) -> Vec<Section> {
    vec![
        section(
            "Daemon",
            "Is it alive, is it ready, how busy is it, and what changes in it.",
            [
                health::routes(),
                events::routes(),
                vec![openapi::route(described)],
            ],
        ),
        section(
            "Repositories",
            "The repositories that branches are of.",
            [repos::routes()],
        ),
        section(
            "Branches",
            "Branches and their workspaces.",
            [branches::routes()],
        ),
        section(
            "Files",
            "Reads of a workspace. They never wait for a build.",
            [files::routes(), raw::routes()],
        ),
        section(
            "Git",
            "Git verbs with typed fields and answers.",
            [verbs::routes()],
        ),
        section(
            "Salvage",
            "Work that was saved before something would have discarded it.",
            [salvage::routes()],
        ),
        section(
            "Runs",
            "Commands in a workspace: make, git and declared tasks.",
            [streams::routes(), runs::routes(), log::routes()],
        ),
        section(
            "Groups",
            "One command on many branches.",
            [groups::routes()],
        ),
        section(
            "Pipelines",
            "What a workflow file makes of a commit: jobs in scratch worktrees.",
            [
                pipelines::routes(),
                test_history::routes(),
                bisect::routes(),
                artifacts::routes(),
                held_worktrees::routes(),
                hooks::routes(),
                deliveries::routes(),
                badge::routes(),
            ],
        ),
        section(
            "Upkeep",
            "Making room, and what is on disk against what should be.",
            [upkeep::routes()],
        ),
        section(
            "Access",
            "Who one is, tokens, sessions of the page, and the audit.",
            [tokens::routes(), session::routes(), audit::routes()],
        ),
        section(
            "Agents",
            "For coding agents.",
            [oauth::routes(), agents::routes(mcp)],
        ),
        section("Page", "The page for browsers.", [page::routes()]),
    ]
}

fn section(
    tag: &'static str,
    about: &'static str,
    routes: impl IntoIterator<Item = Vec<Route>>,
) -> Section {
    Section {
        tag,
        about,
        routes: routes.into_iter().flatten().collect(),
    }
}

/// Every route, to be described and not called.
fn described() -> Vec<Section> {
    all(MethodRouter::new())
}

/// A route, as far as tests have to see that none is forgotten.
#[derive(Debug, Clone)]
pub struct Address {
    pub path: String,
    pub access: Access,
    /// The name that the audit has for it, unless it changes nothing.
    pub action: Option<String>,
}

pub fn addresses() -> Vec<Address> {
    let routes = described().into_iter().flat_map(|section| section.routes);
    routes
        .map(|route| Address {
            path: route.path.into_owned(),
            access: route.access,
            action: route.action.map(Into::into),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::audit::{ACTIONS, of_verb};
    use crate::app::verbs::verbs;
    use branchyard_reference::{Table, check, heading};

    #[test]
    fn what_a_route_does_has_a_name_that_the_audit_knows() {
        for Address { path, action, .. } in addresses() {
            let Some(action) = action else {
                continue;
            };
            let is_verb = verbs().iter().any(|verb| of_verb(verb) == action);
            assert!(
                is_verb || ACTIONS.contains(&action.as_str()),
                "{path}: {action}"
            );
        }
    }

    #[test]
    fn the_reference_page_of_routes_is_up_to_date() {
        let mut page = heading("Routes");
        page.push_str(
            "Every route, the scope that its caller needs, and its name in the audit log. `open` needs no\n\
             credential, and `a key` any good one. A route without a name in the audit log changes nothing:\n\
             only refusals are recorded. [API.md](../API.md) explains the routes, and `GET /openapi.json` has\n\
             their parameters, bodies and answers.\n",
        );
        for section in described() {
            page.push_str(&format!("\n## {}\n\n{}\n\n", section.tag, section.about));
            let mut table = Table::new(&["route", "scope", "audit name", "what it does"]);
            for route in section.routes {
                let code = |text: &str| match text {
                    "" | "open" | "a key" => text.to_owned(),
                    text => format!("`{text}`"),
                };
                table.row(&[
                    code(&format!("{} {}", route.method, route.path)),
                    code(route.access.as_str()),
                    code(route.action.as_deref().unwrap_or_default()),
                    route.operation.summary().to_owned(),
                ]);
            }
            page.push_str(&table.to_string());
        }
        check("docs/reference/routes.md", &page);
    }
}
