// A pipeline: its jobs and what they need, the steps and logs of one of them, and what they made. A bisect is one too.

import { api, at } from "../core/api.js";
import { announce, fill, h, morph } from "../core/dom.js";
import { events } from "../core/events.js";
import { duration, exactly, shortId, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { hasEnded, hasFailed, pipelineName, pipelineTime, watchPipelines } from "../core/pipelines.js";
import { link } from "../core/router.js";
import { can } from "../core/session.js";
import { branchPipelines, button, note, problemNote, stateBadge } from "../ui/parts.js";
import { attempt, tell } from "../ui/toast.js";
import { Artifacts } from "./pipeline-artifacts.js";
import { BisectPanel } from "./pipeline-bisect.js";
import { JobGraph } from "./pipeline-graph.js";
import { JobPanel } from "./pipeline-job.js";

export function title({ rest: [id] }) {
  return `Pipeline ${id?.slice(-6)}`;
}

export async function mount(root, { rest: [id], query }, signal) {
  let record = await api.get(at.pipeline(id), signal);
  // The job that the address names; else the one that told most at first.
  let wanted = query;
  const usual = mostTelling(record)?.job;
  const head = h("div", h("header.run-head"));
  const overview = record.bisect ? new BisectPanel() : new JobGraph();
  const panel = new JobPanel(retry, signal);
  const artifacts = new Artifacts(id, signal);
  fill(root, h("div.pipeline", head, overview.element, panel.element, artifacts.element));

  const show = () => {
    const job = record.jobs.find((one) => one.job === (wanted.get("job") ?? usual)) ?? record.jobs[0];
    morph(head.firstElementChild, headOf(record));
    overview.update(record, job);
    panel.element.hidden = !job;
    if (job) panel.update(record, job, wanted);
    artifacts.update(record);
    document.title = `${record.state} · ${pipelineName(record)} · ${record.branch} · Branchyard`;
  };
  const take = (fresh) => {
    if (hasEnded(fresh) && !hasEnded(record)) announce(`The pipeline has ${fresh.state}`);
    record = fresh;
    show();
  };

  const look = watchPipelines((event) => event.pipeline_id === id, take, signal);
  // No event tells what changed before this view listened, or while the stream was gone.
  if (!hasEnded(record)) look(id);
  events.listen("reset", () => look(id), signal);
  events.listen("state", (state) => state === "open" && look(id), signal);
  const ticking = setInterval(() => { if (!hasEnded(record) && !document.hidden) show(); }, 1000);
  signal.addEventListener("abort", () => clearInterval(ticking));
  shortcut("C", "Cancel the pipeline", () => mayCancel(record) && cancel(record), signal);
  shortcut("R", "Run the failed jobs again", () => mayRetry(record) && retry(record), signal);
  show();
  return ({ query: changed }) => {
    wanted = changed;
    show();
    panel.reveal();
  };
}

/** The job that failed, or that runs, or the first; of a bisect that of the commit that it found. */
function mostTelling({ jobs, bisect }) {
  const found = bisect?.answer?.first_bad?.commit;
  if (found) return jobs.find((job) => job.bisect.commit === found);
  return jobs.find((job) => hasFailed(job) && !job.continue_on_error) ?? jobs.find(({ state }) => state === "running") ?? jobs[0];
}

function headOf(record) {
  return h("header.run-head",
    stateBadge(record.state),
    h("h1", pipelineName(record)),
    h("div.beside",
      mayCancel(record) && button("Cancel", () => cancel(record), { iconName: "stop" }),
      mayRetry(record) && button("Retry failed jobs", () => retry(record), { iconName: "again" })),
    h("div.run-facts",
      h("span", branchPipelines(record)),
      h("span", h("code", { title: record.commit }, shortId(record.commit)), record.source === "workspace" && " with uncommitted changes"),
      h("code", record.file),
      h("span", record.event, " by ", record.principal),
      h("span", { title: exactly(record.created_at) }, when(record.created_at)),
      h("span", hasEnded(record) ? "took " : "for ", duration(pipelineTime(record))),
      record.attempt > 1 && h("span", `attempt ${record.attempt}`)),
    h("div.run-notes",
      !record.bisect?.answer && problemNote(record),
      (record.warnings ?? []).map((warning) => note("", warning.message))));
}

function mayCancel(record) {
  return !hasEnded(record) && can("build:run");
}

function mayRetry(record) {
  return hasEnded(record) && record.jobs.some(hasFailed) && !record.bisect?.answer && can("build:run");
}

function cancel({ pipeline_id: id }) {
  return attempt(async () => {
    await api.post(`${at.pipeline(id)}/cancel`);
    tell("Cancelling: its jobs are being ended");
  });
}

/** The jobs that are named, or all that failed; those that need them run again too. */
function retry({ pipeline_id: id }, jobs = []) {
  return attempt(async () => {
    await api.post(`${at.pipeline(id)}/retry`, { jobs });
    tell(jobs.length > 0 ? `${jobs.join(", ")} runs again, with what needs it` : "What failed runs again, with what needs it");
  });
}
