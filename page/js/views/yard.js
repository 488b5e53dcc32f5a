// The yard: repos and their workspaces at a glance, live.

import { fill, h } from "../core/dom.js";
import { bytes, counted } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { link, noteQuery } from "../core/router.js";
import { can } from "../core/session.js";
import { Yard } from "../core/yard.js";
import { button, empty, heading, problemBox, select } from "../ui/parts.js";
import { addRepo, newWorkspace } from "./yard-actions.js";
import { COLUMNS, WorkspaceRow } from "./yard-row.js";

const ORDERS = {
  name: (a, b) => (a.branch < b.branch ? -1 : 1),
  used: (a, b) => (b.last_used ?? "").localeCompare(a.last_used ?? ""),
  size: (a, b) => (b.size ?? 0) - (a.size ?? 0),
};

export function title() {
  return "Yard";
}

export async function mount(root, { query }, signal) {
  const yard = new Yard(signal);
  const sections = new Map();
  const filter = h("input.grow", {
    type: "search", placeholder: "Filter: branch, subject, state…   ( / )", "aria-label": "Filter workspaces",
    value: query.get("q") ?? "", oninput: () => applyFilter(true),
  });
  const order = select({ "aria-label": "Order", onchange: () => sections.forEach((section) => section.sort(order.value)) },
    [["name", "by name"], ["used", "by last use"], ["size", "by size"]]);
  const list = h("div");
  const none = h("div");
  fill(root, heading("Yard", filter, order, can("admin") && button("Add repository", () => addRepo(yard), { iconName: "plus" })), none, list);

  const applyFilter = (isTyped = false) => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const section of sections.values()) shown += section.filter(words);
    fill(none, words.length > 0 && shown === 0 && empty("No workspace matches."));
    if (isTyped) noteQuery({ q: filter.value });
  };

  yard.addEventListener("repos", ({ detail }) => {
    showSections(list, sections, yard);
    if (detail) sections.get(detail.repo)?.showAll(order.value);
    applyFilter();
  });
  yard.addEventListener("workspace", ({ detail: { repo, branch } }) => {
    sections.get(repo)?.showOne(branch, order.value);
    applyFilter();
  });
  shortcut("/", "Filter the workspaces", () => filter.focus(), signal);
  shortcut("j", "Next workspace", () => moveFocus(list, 1), signal);
  shortcut("k", "Previous workspace", () => moveFocus(list, -1), signal);

  try {
    await yard.load();
    if (yard.repos.size === 0) fill(none, empty("There are no repositories yet: declare one in the configuration, or register one."));
  } catch (error) {
    if (!signal.aborted) fill(none, problemBox(error));
  }
}

function showSections(list, sections, yard) {
  for (const name of sections.keys()) if (!yard.repos.has(name)) sections.delete(name);
  for (const [name, repo] of yard.repos) {
    if (!sections.has(name)) sections.set(name, new RepoSection(yard, name));
    sections.get(name).showHead(repo);
  }
  const elements = [...yard.repos.keys()].map((name) => sections.get(name).element);
  if (elements.length !== list.children.length || elements.some((element, index) => element !== list.children[index])) fill(list, elements);
}

function moveFocus(list, step) {
  const links = [...list.querySelectorAll("tr:not([hidden]) a.name")];
  const row = document.activeElement?.closest?.("tr");
  const now = row ? links.findIndex((anchor) => row.contains(anchor)) : -1;
  links[Math.max(0, Math.min(links.length - 1, now + step))]?.focus();
}

/** One repo with the table of its workspaces. */
class RepoSection {
  #rows = new Map();
  #yard;
  #name;
  #facts = h("span.muted");
  #url = h("span.muted.url.mono");
  #body = h("tbody", { role: "rowgroup" });
  #table;
  #note = h("div");

  constructor(yard, name) {
    this.#yard = yard;
    this.#name = name;
    const head = COLUMNS.map(([style, label]) => h("th", { class: style, role: "columnheader", scope: "col" }, style === "ws-acts" ? h("span.unseen", label) : label));
    this.#table = h("table.list.cards", { role: "table", "aria-label": `Workspaces of ${name}`, hidden: true },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head)), this.#body);
    this.element = h("section.card.repo", { "aria-label": name },
      h("div.repo-head", h("h2", name), this.#facts, this.#url,
        h("div.beside",
          can("build:run") && h("a.button", { href: link("fanout", { repo: name }) }, "Fan-out"),
          can("git:write") && button("New workspace", () => newWorkspace(yard, name), { iconName: "plus" }))),
      this.#note, this.#table);
  }

  showHead({ url, default_branch: main, cloned }) {
    this.#url.textContent = [url, main && `default ${main}`, !cloned && "not cloned yet"].filter(Boolean).join(" · ");
  }

  showAll(order) {
    const workspaces = this.#yard.workspaces.get(this.#name) ?? new Map();
    for (const branch of this.#rows.keys()) if (!workspaces.has(branch)) this.#drop(branch);
    for (const workspace of workspaces.values()) this.#row(workspace.branch).update(workspace);
    this.sort(order);
    this.#tally();
  }

  showOne(branch, order) {
    const workspace = this.#yard.get(this.#name, branch);
    const isNew = !this.#rows.has(branch);
    if (!workspace) this.#drop(branch);
    else this.#row(branch).update(workspace);
    if (workspace && isNew) this.sort(order);
    this.#tally();
  }

  sort(order) {
    const workspaces = [...(this.#yard.workspaces.get(this.#name)?.values() ?? [])].sort(ORDERS[order]);
    this.#body.append(...workspaces.map(({ branch }) => this.#row(branch).element));
  }

  /** Shows the rows that have all the words, and says how many those are. */
  filter(words) {
    let shown = 0;
    for (const row of this.#rows.values()) {
      const isShown = words.every((word) => row.words.includes(word));
      row.element.hidden = !isShown;
      if (isShown) shown += 1;
    }
    this.element.hidden = words.length > 0 && shown === 0;
    return shown;
  }

  #row(branch) {
    if (!this.#rows.has(branch)) this.#rows.set(branch, new WorkspaceRow(this.#yard, this.#name, branch));
    return this.#rows.get(branch);
  }

  #drop(branch) {
    this.#rows.get(branch)?.element.remove();
    this.#rows.delete(branch);
  }

  #tally() {
    const workspaces = [...(this.#yard.workspaces.get(this.#name)?.values() ?? [])];
    const size = workspaces.reduce((sum, { size: one }) => sum + (one ?? 0), 0);
    this.#facts.textContent = `${counted(workspaces.length, "workspace")}${size > 0 ? `, ${bytes(size)}` : ""}`;
    this.#table.hidden = workspaces.length === 0;
    const unavailable = this.#yard.unavailable.get(this.#name) ?? [];
    const isEmpty = workspaces.length === 0 && unavailable.length === 0;
    fill(this.#note,
      unavailable.map(({ branch, reason }) => h("p.warning", `${branch}: ${reason}`)),
      isEmpty && empty("No workspaces yet: make one, or build a branch."));
  }
}
