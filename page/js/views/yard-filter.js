// Which workspaces of the yard are shown, and in which order: words, states and facts, all of them in the address.

import { h } from "../core/dom.js";
import { isLive, number, TROUBLE } from "../core/format.js";
import { stateBadge } from "../ui/parts.js";

const STATES = [...TROUBLE, "running", "preparing", "queued", "cancelled", "succeeded", "never"];

/** What the filter's words and its chips look at, besides names and states. */
const FACTS = {
  operation: ["merge under way", (workspace) => workspace.operation],
  dirty: ["dirty", (workspace) => workspace.dirty],
  untracked: ["untracked files", (workspace) => workspace.untracked > 0],
  ahead: ["unpushed commits", (workspace) => workspace.ahead > 0],
  behind: ["behind the remote", (workspace) => workspace.behind > 0],
  gone: ["gone upstream", (workspace) => workspace.gone_upstream],
  held: ["held", (workspace) => workspace.holder],
  pinned: ["pinned", (workspace) => workspace.pinned],
};

const byName = (a, b) => (a.branch < b.branch ? -1 : 1);
const ORDERS = {
  name: byName,
  failed: (a, b) => rank(a) - rank(b) || (b.last_run?.run_id ?? "").localeCompare(a.last_run?.run_id ?? "") || byName(a, b),
  used: (a, b) => (b.last_used ?? "").localeCompare(a.last_used ?? ""),
  size: (a, b) => (b.size ?? 0) - (a.size ?? 0),
};
export const ORDER_NAMES = [["name", "by name"], ["failed", "failed first"], ["used", "by last use"], ["size", "by size"]];

export function stateOf(workspace) {
  return workspace.last_run?.state ?? "never";
}

/** Where a workspace comes when what failed comes first: then what is under way, what went well, and what never ran. */
export function rank(workspace) {
  const state = stateOf(workspace);
  if (TROUBLE.has(state)) return 0;
  return isLive(state) ? 1 : state === "never" ? 3 : 2;
}

/** What the filter looks at; a workspace is a new object whenever something about it has changed. */
const known = new WeakMap();
function traitsOf(workspace) {
  if (!known.has(workspace)) {
    const facts = Object.keys(FACTS).filter((fact) => FACTS[fact][1](workspace));
    const state = stateOf(workspace);
    const all = [workspace.repo, workspace.branch, workspace.subject, state.replace("never", "never built").replace("_", " "),
      workspace.operation, !workspace.dirty && "clean", ...facts.flatMap((fact) => [fact, FACTS[fact][0]])];
    known.set(workspace, { state, facts, words: all.filter(Boolean).join(" ").toLowerCase() });
  }
  return known.get(workspace);
}

export class YardFilter {
  #onChange;
  #words = [];
  #states = new Set();
  #facts = new Set();
  #order = "name";
  #counts = new Map();
  #chips = new Map();

  /** `onChange` is told when a chip was clicked. */
  constructor(onChange) {
    this.#onChange = onChange;
    this.states = h("div.tally-chips", { role: "group", "aria-label": "Last run" }, STATES.map((state) => this.#chip(state, this.#states, state === "never" ? "never built" : stateBadge(state))));
    this.facts = h("div.tally-chips", { role: "group", "aria-label": "Work" }, Object.entries(FACTS).map(([fact, [name]]) => this.#chip(fact, this.#facts, name)));
  }

  /** Takes what the address says. */
  read(query) {
    const list = (name, known) => (query.get(name) ?? "").split(",").filter((one) => known.includes(one));
    this.words = query.get("q") ?? "";
    this.#order = ORDERS[query.get("order")] ? query.get("order") : "name";
    refillSet(this.#states, list("state", STATES));
    refillSet(this.#facts, list("has", Object.keys(FACTS)));
  }

  /** What the address is to say. */
  get query() {
    const list = (set) => [...set].join(",");
    return { q: this.#words.join(" "), state: list(this.#states), has: list(this.#facts), order: this.#order === "name" ? "" : this.#order };
  }

  set words(text) {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
  }

  get order() {
    return this.#order;
  }

  set order(order) {
    this.#order = order;
  }

  get isOn() {
    return this.#words.length + this.#states.size + this.#facts.size > 0;
  }

  clear() {
    this.read(new URLSearchParams({ order: this.#order }));
  }

  /** Begins a new count, which `apply` goes on with. */
  begin() {
    this.#counts.clear();
  }

  /** Those of the workspaces that are to be shown, in order. All that have the words are counted for the chips. */
  apply(workspaces) {
    const shown = [];
    for (const workspace of workspaces) {
      const { state, facts, words } = traitsOf(workspace);
      if (!this.#words.every((word) => words.includes(word))) continue;
      this.#count(state);
      facts.forEach((fact) => this.#count(fact));
      const hasAll = [...this.#facts].every((fact) => facts.includes(fact));
      if (hasAll && (this.#states.size === 0 || this.#states.has(state))) shown.push(workspace);
    }
    return shown.sort(ORDERS[this.#order]);
  }

  /** Shows the counts, and which chips are chosen. What counts none and is not chosen is left out. */
  showCounts() {
    for (const [name, { button, count, chosen }] of this.#chips) {
      const many = this.#counts.get(name) ?? 0;
      button.hidden = many === 0 && !chosen.has(name);
      button.setAttribute("aria-pressed", String(chosen.has(name)));
      if (count.shown !== many) count.textContent = number(count.shown = many);
    }
  }

  #count(name) {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }

  #chip(name, chosen, label) {
    const count = h("b");
    const onclick = () => {
      if (!chosen.delete(name)) chosen.add(name);
      this.#onChange();
    };
    const button = h("button.tally-chip", { type: "button", hidden: true, "data-filter": name, onclick }, label, " ", count);
    this.#chips.set(name, { button, count, chosen });
    return button;
  }
}

function refillSet(set, items) {
  set.clear();
  for (const item of items) set.add(item);
}
