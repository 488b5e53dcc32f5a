// Pipelines as they change: the yard's events say that one did, and what it is now is asked for, several
// changes in one request. And what is said of their records in several views.

import { api, at } from "./api.js";
import { events } from "./events.js";
import { now } from "./format.js";

const SETTLE = 120;

/**
 * Has `onRecord` told of each pipeline that changes and that `isWanted(event)` says yes to, for as long as
 * `signal` lasts. What cannot be had is asked for again at its next change. Returns what asks for one by its id.
 */
export function watchPipelines(isWanted, onRecord, signal) {
  const changed = new Set();
  let isAsking = false;
  const ask = async () => {
    const ids = [...changed];
    changed.clear();
    await Promise.all(ids.map((id) => api.get(at.pipeline(id), signal).then(onRecord, () => {})));
    isAsking = false;
    if (changed.size > 0 && !signal.aborted) askSoon();
  };
  const askSoon = () => {
    if (!isAsking) setTimeout(ask, SETTLE);
    isAsking = true;
  };
  const look = (id) => {
    changed.add(id);
    askSoon();
  };
  events.listen("pipeline", (event) => { if (isWanted(event)) look(event.pipeline_id); }, signal);
  return look;
}

const ENDED = new Set(["succeeded", "failed", "timed_out", "cancelled", "lost", "rejected", "skipped", "reused"]);
const FAILED = new Set(["failed", "timed_out", "cancelled", "lost", "rejected"]);

/** Of a pipeline, a job or a step. */
export function hasEnded({ state }) {
  return ENDED.has(state);
}

/** Whether a retry of the pipeline runs the job again. */
export function hasFailed({ state }) {
  return FAILED.has(state);
}

export function pipelineName(record) {
  return record.run_name || record.name || record.file;
}

/** How long the pipeline took, or has been going on for since it was started or retried. */
export function pipelineTime(record) {
  return record.duration_ms ?? now() - Date.parse(record.retried_at ?? record.created_at);
}

/** How long a job or a step took, or has been going on for; null if it did not begin. */
export function timeOf({ started_at: started, ended_at: ended }) {
  return started ? (ended ? Date.parse(ended) : now()) - Date.parse(started) : null;
}
