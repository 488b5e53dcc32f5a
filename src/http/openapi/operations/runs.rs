//! Runs and groups: started and followed as streams, and as records.

use serde_json::json;

use super::{GROUPS, IF_RANGE, RANGE, RUNS, text};
use crate::http::groups;
use crate::http::listed::Listed;
use crate::http::log::{Found, LogParams};
use crate::http::openapi::events;
use crate::http::openapi::events::{NDJSON, SSE};
use crate::http::openapi::operation::{Content, Header, JSON, Operation, TEXT, get, post};
use crate::http::openapi::schemas::of;
use crate::http::runs::{CancelParams, Cancelled, ListParams, Waiting};
use crate::http::streams::{FollowParams, RerunBody};
use branchyard_journal::diagnostics::Diagnostics;
use branchyard_model::{GroupRecord, RunId, RunRecord};
use branchyard_runs::RunBody;

const BRANCH: &str = "/stream/repos/{repo}/branches/{branch}";
const RUN: &str = "/api/runs/{run}";
const GROUP: &str = "/api/groups/{group}";

pub(super) const LAST_EVENT_ID: Header = (
    "Last-Event-ID",
    "The `id` of the last event that was seen: what follows it is sent. `0` is the start.",
    text,
);
const IDEMPOTENCY_KEY: Header = (
    "Idempotency-Key",
    "Makes it safe to ask again: for 24 hours the same key finds the same run.",
    || json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" }),
);
const PREFER: Header = (
    "Prefer",
    "`respond-async` gives 202 and the record in place of the stream.",
    text,
);

pub(super) fn operations() -> Vec<Operation> {
    [starts(), runs(), all_groups()]
        .into_iter()
        .flatten()
        .collect()
}

const RUN_STREAM: &str = "`Accept` chooses the format: server-sent events (`id`, `event`, `data`), NDJSON (the same with `id` and \
    `type` inside) or the output as text with one last line. The events are `status` (`state`: `queued`, `preparing`, \
    `running`; the first has `run_id`), `stdout` and `stderr` (`line` or `b64`, perhaps `eol`), `warning` (`code`, \
    `message`), `gap` (`bytes` that are missing), and as the last `complete` (`state`, `exit_code`, `commit`, \
    `duration_ms`, perhaps `signal`, `reason`, `diagnostics`) or, of a run that was rejected, `error` (`kind`, `code`, \
    `detail`, perhaps `field`, `help`). Take events and fields that you do not know for ones of a later version.";
const GROUP_STREAM: &str = "`Accept` chooses the format, as for a run. The events are `group` (the record, first), `started` and \
    `ended` (`branch`, `run_id`, how it ended), with `output` also those of the runs' output, and as the last \
    `summary` (`state`, `total`, `counts`, `duration_ms`, `results`).";

/// Answers with a stream, or with nothing where all was seen.
fn streaming(operation: Operation, says: &'static str) -> Operation {
    operation
        .says(says)
        .streams(200, "The stream.", &[SSE, NDJSON, TEXT], events::of_runs)
        .only(204, "There is nothing after the last event that was seen.")
}

fn started(operation: Operation) -> Operation {
    streaming(operation, RUN_STREAM)
        .headers(&[PREFER, IDEMPOTENCY_KEY, LAST_EVENT_ID])
        .gives::<RunRecord>(202, "It is started; with `Prefer: respond-async`.")
}

fn starts() -> Vec<Operation> {
    let at = |what| format!("{BRANCH}/{what}");
    vec![
        started(post(RUNS, at("make"), "startMake", "Run make").takes::<RunBody>()),
        // The words of the stream are the same for all; what git asks besides is said in its summary.
        started(
            post(
                RUNS,
                at("git"),
                "startGit",
                "Run git; a verb that writes or uses the network needs `git:write`",
            )
            .takes::<RunBody>()
            .needs(&["operation"]),
        ),
        started(
            post(RUNS, at("task"), "startTask", "Run a declared task")
                .takes::<RunBody>()
                .needs(&["task"]),
        ),
        started(
            post(
                RUNS,
                "/stream/runs/{run}/rerun",
                "rerun",
                "Run the same again",
            )
            .takes::<RerunBody>(),
        ),
        streaming(
            get(RUNS, "/stream/runs/{run}", "followRun", "Follow a run"),
            RUN_STREAM,
        )
        .asks::<FollowParams>()
        .headers(&[LAST_EVENT_ID]),
    ]
}

/// Waits, and may take what is no success for a failure.
fn waiting<T: schemars::JsonSchema>(operation: Operation) -> Operation {
    operation
        .asks::<Waiting>()
        .gives::<T>(200, "As it is by now.")
        .gives::<T>(422, "With `fail`: it has not succeeded.")
}

fn runs() -> Vec<Operation> {
    vec![
        get(RUNS, "/api/runs", "listRuns", "List runs")
            .asks::<ListParams>()
            .gives::<Listed<RunRecord, RunId>>(200, "A page of them, the latest first."),
        waiting::<RunRecord>(get(RUNS, RUN, "showRun", "Show a run, or wait for its end")),
        get(RUNS, format!("{RUN}/log"), "readLog", "Exactly what a run printed, or a part of it")
            .says("Of a run that is under way it goes on to the end; a part is of what is there now. `tail`, `lines`, `grep` and \
                `Range` cannot be had together.")
            .asks::<LogParams>()
            .headers(&[RANGE, IF_RANGE])
            .answers(200, "The output. With `grep` and `Accept: application/json` what was found.", vec![
                (TEXT, Content::Is(text())),
                (JSON, Content::Of(of::<Found>())),
            ])
            .writes(206, "The bytes of the range.", &[TEXT]),
        get(RUNS, format!("{RUN}/diagnostics"), "showDiagnostics", "Errors and warnings in what a run printed")
            .gives::<Diagnostics>(200, "Errors first, each once."),
        post(RUNS, format!("{RUN}/cancel"), "cancelRun", "Cancel a run")
            .asks::<CancelParams>()
            .gives::<Cancelled>(202, "The run. Its end is not waited for."),
    ]
}

fn all_groups() -> Vec<Operation> {
    vec![
        streaming(
            post(
                GROUPS,
                "/stream/repos/{repo}/make",
                "startGroup",
                "Run make on many branches",
            ),
            GROUP_STREAM,
        )
        .takes::<RunBody>()
        .needs(&["branches"])
        .headers(&[PREFER, IDEMPOTENCY_KEY, LAST_EVENT_ID])
        .gives::<GroupRecord>(202, "It is started; with `Prefer: respond-async`."),
        streaming(
            post(
                GROUPS,
                "/stream/repos/{repo}/task",
                "startTaskGroup",
                "Run a declared task on many branches",
            ),
            GROUP_STREAM,
        )
        .takes::<RunBody>()
        .needs(&["branches", "task"])
        .headers(&[PREFER, IDEMPOTENCY_KEY, LAST_EVENT_ID])
        .gives::<GroupRecord>(202, "It is started; with `Prefer: respond-async`."),
        streaming(
            get(
                GROUPS,
                "/stream/groups/{group}",
                "followGroup",
                "Follow a group",
            ),
            GROUP_STREAM,
        )
        .asks::<groups::FollowParams>()
        .headers(&[LAST_EVENT_ID]),
        waiting::<GroupRecord>(get(
            GROUPS,
            GROUP,
            "showGroup",
            "Show a group, or wait for its end",
        )),
        post(
            GROUPS,
            format!("{GROUP}/cancel"),
            "cancelGroup",
            "Cancel all runs of a group",
        )
        .gives::<GroupRecord>(202, "The group. Its end is not waited for."),
    ]
}
