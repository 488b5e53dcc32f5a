// A job of a pipeline: how it stands and why, its steps, the log of one of them, and its tests.

import { at, request } from "../core/api.js";
import { fill, h, morph } from "../core/dom.js";
import { duration, exactly, shortId } from "../core/format.js";
import { hasEnded, timeOf } from "../core/pipelines.js";
import { link } from "../core/router.js";
import { can } from "../core/session.js";
import { button, note, problemNote, show, stateBadge } from "../ui/parts.js";
import { StepLog } from "./pipeline-log.js";
import { Tests, testChips } from "./tests.js";

/** The reasons that are words for programs. */
const REASONS = {
  needs: "A job that it needs did not succeed.",
  when: "Its condition (if) did not hold.",
  runs_on: "It asks for a system that this machine is not (runs-on).",
};

export class JobPanel {
  #retry;
  #signal;
  /** The pipeline and the job that are shown. */
  #record;
  #job;
  #head = h("div", h("header"));
  #steps = h("div", h("ol"));
  #log;
  #summary = h("details.card.summary", { hidden: true }, h("summary", "Summary"), h("pre.file", { tabindex: 0 }));
  #shownSummary = null;
  #tests = h("div");
  /** The attempt whose tests are shown. */
  #tested = null;
  element = h("section.card.job-panel", { "aria-label": "Job" });

  /** `retry(record, jobs)` is what its button does. */
  constructor(retry, signal) {
    this.#retry = retry;
    this.#signal = signal;
    this.#log = new StepLog(signal);
    this.#summary.addEventListener("toggle", () => this.#loadSummary());
    fill(this.element, this.#head, h("div.job-body", this.#steps, this.#log.element), this.#tests, this.#summary);
  }

  /** Shows a job, and the step that the query names or that tells most. */
  update(record, job, query) {
    [this.#record, this.#job] = [record, job];
    const step = job.steps.find(({ number }) => String(number) === query.get("step")) ?? mostTelling(job.steps);
    morph(this.#head.firstElementChild, this.#headOf());
    morph(this.#steps.firstElementChild, h("ol.steps", job.steps.map((one) => stepItem(record.pipeline_id, job, one, one === step))));
    this.#log.show(step, query);
    this.#offerTests(record.pipeline_id, job);
    this.#offerSummary(record.pipeline_id, job);
  }

  /** Brings the job into view where it is below the screen. */
  reveal() {
    if (this.#head.getBoundingClientRect().bottom > innerHeight) this.element.scrollIntoView();
  }

  #headOf() {
    const job = this.#job;
    const took = timeOf(job);
    return h("header.job-head",
      h("h2", job.name), stateBadge(job.state),
      took !== null && h("span.muted", duration(took)),
      job.attempt > 1 && h("span.muted", `attempt ${job.attempt}`),
      job.tests && testChips(job.tests),
      hasEnded(this.#record) && !job.bisect && can("build:run") && h("div.beside", button("Run this job again", () => this.#retry(this.#record, [this.#job.job]), { iconName: "again" })),
      h("div.run-notes", notesOf(this.#record, job)));
  }

  #offerTests(id, job) {
    const tested = job.tests && hasEnded(job) ? `${job.job} ${job.attempt}` : null;
    if (this.#tested === tested) return;
    this.#tested = tested;
    const tests = new Tests(`${at.job(id, job.job)}/tests`, this.#signal);
    fill(this.#tests, tests.element);
    if (tested) tests.show(job.tests);
  }

  #offerSummary(id, job) {
    const of = `${job.job} ${job.attempt} ${job.state}`;
    this.#summary.hidden = !hasEnded(job) || job.state === "skipped";
    if (this.#shownSummary?.of === of) return;
    this.#shownSummary = { of, address: `${at.job(id, job.job)}/summary`, isLoaded: false };
    if (this.#summary.hidden) this.#summary.open = false;
    else this.#loadSummary();
  }

  async #loadSummary() {
    const wanted = this.#shownSummary;
    if (!this.#summary.open || wanted.isLoaded) return;
    wanted.isLoaded = true;
    await show(this.#summary.lastElementChild, async () => {
      const text = await (await request(wanted.address, { signal: this.#signal })).text();
      return text || "The steps wrote none. What they write to the file $GITHUB_STEP_SUMMARY is shown here.";
    }, this.#signal);
  }
}

/** The step that failed, or that runs, or the last one that has a log. */
function mostTelling(steps) {
  return steps.find((step) => ["failed", "timed_out", "lost", "rejected"].includes(step.state) && !step.continue_on_error)
    ?? steps.findLast((step) => step.state === "running" && !step.background)
    ?? steps.findLast((step) => step.run_id) ?? steps[0];
}

function stepItem(pipeline, job, step, isChosen) {
  const took = timeOf(step);
  return h("li", { "data-step": step.number }, h("a.step", {
    href: link("pipeline", pipeline, { job: job.job, step: step.number }), "aria-current": isChosen ? "true" : null,
  },
  h("span.step-name", `${step.number}. ${step.name}`),
  h("span.step-facts", stateBadge(step.state),
    took !== null && h("span.muted", duration(took)),
    step.exit_code > 0 && h("span.muted", `exit code ${step.exit_code}`),
    step.background && h("span.muted", "in the background"),
    step.continue_on_error && h("span.muted", "may fail")),
  step.reason && h("span.step-reason", step.reason)));
}

function notesOf({ pipeline_id: id }, job) {
  const { answered_by: answer, held_until: held } = job;
  return [
    problemNote({ ...job, reason: REASONS[job.reason] ?? job.reason }),
    answer && note("plain", "An earlier job saw the same and answers for it: ",
      h("a", { href: link("pipeline", answer.pipeline, { job: answer.job }) }, `${answer.job} of pipeline ${answer.pipeline.slice(-6)}`),
      ", built at ", h("code", { title: answer.commit }, shortId(answer.commit))),
    held && note("plain", `Its worktree is kept until ${exactly(held)}, to be looked into: `, h("code", `branchyard pipeline ls ${id} ${job.job}`)),
    job.continue_on_error && !job.bisect && note("plain", "The pipeline may succeed though this job fails."),
    (job.warnings ?? []).map((warning) => note("", warning.message)),
  ];
}
