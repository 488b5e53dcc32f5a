//! The daemon itself: health, events, page, agents, repositories and upkeep.

use serde_json::json;

use super::{AGENTS, DAEMON, PAGE, REPOS, UPKEEP};
use crate::app::{Begun, CloneRequest, InitRequest, Load, Readiness, RepoSummary};
use crate::http::findings::Amiss;
use crate::http::health::Alive;
use crate::http::listed::Listed;
use crate::http::oauth::Metadata;
use crate::http::openapi::events;
use crate::http::openapi::events::{NDJSON, SSE};
use crate::http::openapi::operation::{Content, JSON, Operation, TEXT, delete, get, post, text_of};
use crate::http::openapi::operations::runs::LAST_EVENT_ID;
use crate::http::reap::{Lately, ReapParams};
use crate::http::streams::FollowParams;
use branchyard_workspace::repos::{Maintained, Registration};
use branchyard_workspace::{Mended, Reaping};

const HTML: &str = "text/html";
const SVG: &str = "image/svg+xml";

pub(super) fn operations() -> Vec<Operation> {
    [page(), health(), agents(), repos(), upkeep()]
        .into_iter()
        .flatten()
        .collect()
}

fn page() -> Vec<Operation> {
    let file = |path, id, summary, kinds: &[&'static str]| {
        get(PAGE, path, id, summary)
            .writes(200, "The file.", kinds)
            .only(304, "It is the one that `If-None-Match` names.")
    };
    vec![
        file(
            "/",
            "home",
            "The page for browsers; a few words for everybody else",
            &[TEXT, HTML],
        ),
        file("/api.html", "apiPage", "The API for people", &[HTML]),
        file("/icon.svg", "icon", "The page's icon", &[SVG]),
        file(
            "/js/{*file}",
            "pageScript",
            "A script of the page",
            &["text/javascript"],
        ),
        file(
            "/style/{*file}",
            "pageStyle",
            "A style of the page",
            &["text/css"],
        ),
    ]
}

fn health() -> Vec<Operation> {
    vec![
        get(DAEMON, "/openapi.json", "openapi", "This document")
            .answers(
                200,
                "The document.",
                vec![(JSON, Content::Is(json!({ "type": "object" })))],
            )
            .only(304, "It is the one that `If-None-Match` names."),
        get(DAEMON, "/healthz", "healthz", "Is it alive").gives::<Alive>(200, "It is."),
        get(DAEMON, "/readyz", "readyz", "Is it ready, and how busy")
            .gives::<Readiness>(200, "It takes new runs.")
            .gives::<Readiness>(
                503,
                "It is being stopped, or its disk is too full for new work.",
            ),
        get(
            DAEMON,
            "/metrics",
            "metrics",
            "Counters and gauges for Prometheus",
        )
        .writes(200, "The metrics, as text.", &[TEXT]),
        get(
            DAEMON,
            "/api/machine",
            "machine",
            "How busy the machine is, and what fills its disk",
        )
        .gives::<Load>(200, "As it is now."),
        get(
            DAEMON,
            "/stream/events",
            "watchEvents",
            "Every change in the yard, as it happens",
        )
        .says(EVENTS)
        .asks::<FollowParams>()
        .headers(&[LAST_EVENT_ID])
        .streams(
            200,
            "The stream. It has no end.",
            &[SSE, NDJSON],
            events::of_the_yard,
        ),
    ]
}

const EVENTS: &str = "`Accept` chooses between server-sent events (`id`, `event`, `data`) and NDJSON (the same with `id` \
    and `type` inside). The first event is `hello` (`version`, `at`). Then come `workspace` (`repo`, `branch`, `change`), \
    `run` (`change`, `run`), `repo` (`repo`, `change`), `salvage` (`repo`, `branch`, `salvage`, `change`), `reap` \
    (`action`, `repo`, `branch`, `why`, `bytes`), each with `at`, and `queue` (`running`, `waiting`). `reset` says that \
    what came in between is not known any more. Take events and fields that you do not know for ones of a later version.";

fn agents() -> Vec<Operation> {
    let metadata = |path, id| {
        get(
            AGENTS,
            path,
            id,
            "Who gives tokens for this daemon (RFC 9728)",
        )
        .says("Only with `[auth.oauth]`; else 404.")
        .gives::<Metadata>(200, "The issuer, and what tokens may be asked for.")
    };
    let message = || Content::Is(json!({ "type": "object" }));
    let messages = || vec![(JSON, message()), (SSE, Content::Is(text_of(SSE)))];
    // The transport has words of its own for what it cannot read.
    let unheard = |operation: Operation| {
        [400, 401, 404, 405, 406, 409, 415, 422]
            .into_iter()
            .fold(operation, |operation, status| {
                let text = Content::Is(text_of(TEXT));
                operation.answers(
                    status,
                    "It was not understood.",
                    vec![(JSON, message()), (TEXT, text)],
                )
            })
    };
    vec![
        metadata("/.well-known/oauth-protected-resource", "oauthResource"),
        metadata("/.well-known/oauth-protected-resource/{*path}", "oauthResourceAt"),
        unheard(
            post(AGENTS, "/mcp", "mcpPost", "A message of the Model Context Protocol")
                .says("The yard for coding agents, as tools, resources and prompts; each asks for its own right.")
                .takes_content(message())
                .answers(200, "What it answers, at once or as a stream.", messages())
                .only(202, "It was heard, and needs no answer."),
        ),
        unheard(
            get(AGENTS, "/mcp", "mcpGet", "What the daemon says in a session of the older protocol")
                .writes(200, "The stream.", &[SSE]),
        ),
        unheard(
            delete(AGENTS, "/mcp", "mcpDelete", "End a session of the older protocol")
                .only(202, "It is ended.")
                .only(204, "It is ended."),
        ),
        post(AGENTS, "/api/git/clone", "gitClone", "A branch and workspace for an agent's task")
            .says("The same request again finds the same workspace.")
            .takes::<CloneRequest>()
            .gives::<Begun>(200, "The workspace."),
        post(AGENTS, "/api/git/init", "gitInit", "A new repository that the yard keeps")
            .takes::<InitRequest>()
            .gives::<Begun>(200, "The workspace of its first branch."),
    ]
}

fn repos() -> Vec<Operation> {
    vec![
        get(REPOS, "/api/repos", "listRepos", "List repositories")
            .gives::<Listed<RepoSummary>>(200, "Those that one may see."),
        post(REPOS, "/api/repos", "registerRepo", "Register a repository")
            .says("Nothing is cloned yet; the first use does. It is kept across restarts.")
            .takes::<Registration>()
            .gives::<RepoSummary>(201, "The repository."),
        get(REPOS, "/api/repos/{repo}", "showRepo", "Show a repository")
            .gives::<RepoSummary>(200, "The repository."),
        delete(
            REPOS,
            "/api/repos/{repo}",
            "removeRepo",
            "Forget a repository",
        )
        .says("Refused while it has workspaces, or branches that may not be on the remote.")
        .only(204, "It is forgotten."),
        post(
            REPOS,
            "/api/repos/{repo}/maintain",
            "maintainRepo",
            "Pack a repository's objects now",
        )
        .gives::<Maintained>(200, "How they were kept before, and are now."),
    ]
}

fn upkeep() -> Vec<Operation> {
    vec![
        get(
            UPKEEP,
            "/api/findings",
            "listFindings",
            "What is on disk and should not be so",
        )
        .gives::<Amiss>(200, "The differences. Nothing was changed."),
        post(
            UPKEEP,
            "/api/findings/mend",
            "mendFindings",
            "Mend what is on disk and should not be so",
        )
        .says("Nothing that somebody made is deleted by it.")
        .gives::<Listed<Mended>>(200, "The differences, and what was done about each."),
        get(UPKEEP, "/api/reap", "listReaped", "What went lately")
            .gives::<Lately>(200, "The latest first; forgotten with the daemon."),
        post(
            UPKEEP,
            "/api/reap",
            "reap",
            "Make room now, or say what would go",
        )
        .asks::<ReapParams>()
        .gives::<Reaping>(200, "What was looked at, and what came of it."),
    ]
}
