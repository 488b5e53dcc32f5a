// The log of the step that is looked at: that of its run.

import { api, at } from "../core/api.js";
import { fill, h, perFrame } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { hasEnded } from "../core/pipelines.js";
import { link } from "../core/router.js";
import { LogPanel } from "../log/panel.js";
import { readRun } from "../log/read.js";
import { empty, note } from "../ui/parts.js";
import { attempt } from "../ui/toast.js";

export class StepLog {
  element = h("div.step-log");
  #signal;
  #panel = null;
  /** Ends what is done for the log that is shown. */
  #controller = new AbortController();
  #shown = null;
  /** The one that was followed last. */
  #query = null;

  constructor(signal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#controller.abort());
  }

  /** Shows the log of a step, as the address has it. */
  show(step, query) {
    const shown = step?.run_id ?? `${step?.number} ${step?.state}`;
    if (this.#shown !== shown) {
      this.#controller.abort();
      this.#controller = new AbortController();
      [this.#shown, this.#panel, this.#query] = [shown, null, query];
      if (step?.run_id) this.#open(step, query);
      else fill(this.element, empty(withoutLog(step)));
    }
    if (!this.#panel) return;
    this.#panel.isLive = !hasEnded(step);
    if (query === this.#query) return;
    this.#query = query;
    this.#panel.open(query);
  }

  #open(step, query) {
    const signal = AbortSignal.any([this.#signal, this.#controller.signal]);
    const run = step.run_id;
    const isLive = !hasEnded(step);
    const notes = h("div.run-notes");
    const panel = this.#panel = new LogPanel(run, signal);
    fill(this.element, notes, panel.element, h("p.log-tail", h("a", { href: link("run", run) }, "The run of this step"), " has what was found in its output."));
    panel.isLive = isLive;
    panel.open(query);
    if (!panel.chosen) panel.follow(true);
    panel.lines.addEventListener("change", perFrame(() => panel.element.style.setProperty("--lines", panel.lines.total)), { signal });
    attempt(() => readRun(run, panel.lines, () => panel.isLive, {
      warning: (warning) => notes.append(note("", warning.message)),
      gap: (line, missing) => notes.append(note("", `${bytes(missing)} of output are missing behind line ${line}`)),
      refused: (problem) => notes.append(note("bad", problem.message)),
      end: () => attempt(async () => {
        panel.finish();
        const { items } = await api.get(`${at.run(run)}/diagnostics`, signal);
        panel.errors = items;
        // One that failed is shown where it first went wrong.
        const [first] = items;
        if (first?.severity === "error" && step.state === "failed" && !panel.chosen) panel.go({ first: first.log_line, last: first.log_line });
      }),
    }, signal));
  }
}

function withoutLog(step) {
  if (!step) return "The job has no steps.";
  if (!hasEnded(step)) return "It has printed nothing yet.";
  return step.state === "skipped" ? "It was not run." : "It has no command, and so no log.";
}
