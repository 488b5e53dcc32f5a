// What runs and what waits, with the reason for each wait.

import { api, at, withQuery } from "../core/api.js";
import { fill, h, morph } from "../core/dom.js";
import { events } from "../core/events.js";
import { bytes, command, counted, when } from "../core/format.js";
import { link } from "../core/router.js";
import { can, person } from "../core/session.js";
import { each } from "../core/yard.js";
import { branchLink, empty, heading, note, runLink, stateBadge, table } from "../ui/parts.js";
import { attempt } from "../ui/toast.js";

/** Workspaces that are asked who holds them, at most. */
const ASKED = 40;
const SETTLE = 200;
/** With less than this the daemon takes no new work. */
const DISK_NEEDED = 16 * 1024 * 1024;

export function title() {
  return "Queue";
}

export async function mount(root, route, signal) {
  const facts = h("div");
  const queue = new Queue(true, signal);
  const refresh = async () => {
    const machine = await api.get("api/machine", signal);
    await queue.show(machine);
    fill(facts, machine.disk.free < DISK_NEEDED && note("bad", `Only ${bytes(machine.disk.free)} are free on the disk: the daemon refuses new runs until there is room.`));
  };
  // Not after a quiet moment: in a busy yard there is none.
  let timer = null;
  const soon = () => {
    timer ??= setTimeout(() => refresh().catch(() => {}).finally(() => { timer = null; }), SETTLE);
  };
  for (const type of ["queue", "run", "reset", "workspace"]) events.listen(type, soon, signal);
  await refresh();
  fill(root, heading("Queue"), facts, h("div.stack", queue.waiting, queue.running));
}

/** Two cards, which the view of the machine has too. `hasReasons` asks the workspaces who holds them. */
export class Queue {
  running = h("section.card", { "aria-label": "Running" });
  waiting = h("section.card", { "aria-label": "Waiting" });
  #hasReasons;
  #signal;

  constructor(hasReasons, signal) {
    this.#hasReasons = hasReasons;
    this.#signal = signal;
  }

  async show(machine) {
    const list = (state) => api.get(withQuery("api/runs", { state, limit: 500 }), this.#signal);
    const [running, preparing, queued] = (await Promise.all(["running", "preparing", "queued"].map(list))).map((page) => page.items);
    const active = [...running, ...preparing];
    const records = new Map(queued.map((run) => [run.run_id, run]));
    const holders = this.#hasReasons ? await this.#holders(machine.waiting) : new Map();
    showCard(this.running, `Running: ${machine.runs.running} of ${counted(machine.runs.at_once, "slot")} in use`, active.length === 0 ? empty("Nothing runs.")
      : h("div.scroll", table("Running", [
        { name: "State", plain: true, class: "fit", cell: (run) => stateBadge(run.state) },
        ...this.#columns((run) => run),
        { name: "Since", class: "num", cell: (run) => when(run.started_at ?? run.created_at) },
        this.#cancel(),
      ], active)));
    showCard(this.waiting, `Waiting: ${machine.waiting.length}`, machine.waiting.length === 0 ? empty("Nothing waits.")
      : h("div.scroll", table("Waiting", [
        { name: "Place", class: "num", cell: (run) => run.position || "–" },
        ...this.#columns((run) => records.get(run.run_id)),
        this.#hasReasons && { name: "Waits for", cell: (run) => reason(run, holders.get(keyOf(run)), active, machine.runs) },
        { name: "Requested", class: "num", cell: (run) => when(run.since) },
        this.#cancel(),
      ].filter(Boolean), machine.waiting)));
  }

  #columns(recordOf) {
    return [
      { name: "Command", plain: true, cell: (run) => { const record = recordOf(run); return record ? runLink(record) : h("a.mono", { href: link("run", run.run_id) }, command(run.argv)); } },
      { name: "Branch", plain: true, cell: (run) => branchLink(run.repo, run.branch) },
      { name: "By", cell: (run) => person(recordOf(run)?.principal) ?? "–" },
    ];
  }

  #cancel() {
    return { name: "Actions", hidden: true, class: "acts", cell: (run) => this.#hasReasons && can("build:run")
      && h("button", { type: "button", "aria-label": `Cancel ${command(run.argv)} on ${run.branch}`, "data-run": run.run_id, onclick: () => attempt(() => api.post(`${at.run(run.run_id)}/cancel`)) }, "Cancel") };
  }

  /** Who holds the workspaces in which runs wait. */
  async #holders(waiting) {
    const found = new Map();
    const places = [...new Map(waiting.map((run) => [keyOf(run), run])).values()].slice(0, ASKED);
    await each(places, async (run) => {
      const workspace = await api.get(at.branch(run.repo, run.branch), this.#signal).catch(() => null);
      found.set(keyOf(run), workspace?.holder ?? null);
    });
    return found;
  }
}

function keyOf({ repo, branch }) {
  return `${repo} ${branch}`;
}

/** What did not change keeps its focus. */
function showCard(card, title, content) {
  if (!card.hasChildNodes()) fill(card, h("h2"), h("div"));
  card.firstElementChild.textContent = title;
  morph(card.lastElementChild, h("div", content));
}

/** A run takes the lock of its workspace first, and a slot then. */
function reason(run, holder, active, { running, at_once: most }) {
  if (holder && holder.run_id !== run.run_id) {
    const what = holder.run_id ? h("a.mono", { href: link("run", holder.run_id) }, holder.what) : h("span.mono", holder.what);
    return ["the workspace, held by ", what, ` (${person(holder.who)}) `, when(holder.since)];
  }
  if (running >= most) return `a slot: all ${most} are in use`;
  const here = active.filter(({ repo }) => repo === run.repo).length;
  if (here > 0) return `a slot of ${run.repo}: its limit is reached with ${counted(here, "run")}`;
  return "its turn";
}
