// Where a run's time went: queued, clone, fetch, checkout, warm copy, run.

import { fill, h } from "../core/dom.js";
import { brief, duration, isLive, now } from "../core/format.js";

const NAMES = {
  queued: "queued", clone: "clone", fetch: "fetch", worktree: "workspace", checkout: "checkout",
  warm: "warm copy", sync: "bring up to date", prepared: "queued and prepared", run: "run",
};

export class Timeline {
  /** What began when: { phase, from }, times as milliseconds, in order. */
  #marks = [];
  /** Phases that were gone through before anybody looked, so that it is not known when. */
  #untimed = [];
  #run;
  #position = "";
  #percent = "";

  constructor(run) {
    this.#run = run;
    this.element = h("section.timeline", { "aria-label": "Timeline" });
  }

  /** A change of state, from the yard's events, which say when. */
  note(change, at) {
    if (change === "preparing") this.#begin("sync", Date.parse(at));
  }

  /** A status of the run's stream; what comes while it happens is timed by our own clock. */
  status({ state, phase, percent, position, holder, at }, isFresh) {
    this.#position = position ? `, ${position} before it${holder ? `: ${brief(holder.what)} by ${holder.who}` : ""}` : "";
    this.#percent = percent === undefined ? "" : ` ${percent} %`;
    const time = at ? Date.parse(at) : isFresh && isLive(this.#run.state) && !this.#run.started_at ? now() : null;
    if (state === "preparing" && phase) {
      if (time === null) this.#untimed.push(phase);
      else this.#begin(phase, time);
    }
    this.update(this.#run);
  }

  update(run) {
    this.#run = run;
    const parts = this.#parts(run).filter((part) => part.to > part.from);
    fill(this.element,
      h("div.bar", { "aria-hidden": "true" }, parts.map(({ phase, from, to }) =>
        h("span", { class: `phase-${phase}`, "data-state": run.state, vars: { "--share": to - from } }))),
      h("ol", summed(parts).map(({ phase, took, isOpen }) => h("li",
        h("span.swatch", { class: `phase-${phase}`, "data-state": run.state }),
        this.#name(phase), isOpen && (phase === "queued" ? this.#position : this.#percent),
        " ", h("b", duration(took)), isOpen && "…"))));
    clearTimeout(this.timer);
    if (isLive(run.state) && this.element.isConnected) this.timer = setTimeout(() => this.update(this.#run), 1000);
  }

  #begin(phase, from) {
    const last = this.#marks.at(-1);
    if (last?.phase !== phase) this.#marks.push({ phase, from });
  }

  #name(phase) {
    const known = [...new Set(this.#untimed)].map((name) => NAMES[name] ?? name);
    return phase === "prepared" && known.length > 0 ? `queued, ${known.join(", ")}` : NAMES[phase] ?? phase;
  }

  /** { phase, from, to } of each part; the last is open while the run is. */
  #parts(run) {
    const created = Date.parse(run.created_at);
    const started = run.started_at ? Date.parse(run.started_at) : null;
    const end = run.ended_at ? Date.parse(run.ended_at) : now();
    const isTimed = this.#marks.length > 0;
    const isWaiting = run.state === "queued";
    const marks = [{ phase: isTimed || isWaiting ? "queued" : "prepared", from: created }, ...this.#marks];
    if (!isTimed && run.warm && started) marks.push({ phase: "warm", from: started - run.warm.ms });
    if (started) marks.push({ phase: "run", from: started });
    const ordered = marks.map((mark) => ({ ...mark, from: Math.min(Math.max(mark.from, created), end) }));
    return ordered.map(({ phase, from }, index) => ({
      phase, from,
      to: Math.max(from, ordered[index + 1]?.from ?? end),
      isOpen: index === ordered.length - 1 && isLive(run.state),
    }));
  }
}

/** Each phase once, though it was come back to: the warm copy is before the checkout and after it. */
function summed(parts) {
  const phases = new Map();
  for (const { phase, from, to, isOpen } of parts) {
    phases.set(phase, { phase, took: (phases.get(phase)?.took ?? 0) + to - from, isOpen });
  }
  return [...phases.values()];
}
