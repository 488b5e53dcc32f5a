// The yard: repos and their workspaces at a glance, live.

import { fill, h, perFrame, refill } from "../core/dom.js";
import { events } from "../core/events.js";
import { counted } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { go, link, noteQuery } from "../core/router.js";
import { can } from "../core/session.js";
import { Yard } from "../core/yard.js";
import { button, empty, heading, problemBox, select } from "../ui/parts.js";
import { addRepo, make, prepare, remove } from "./yard-actions.js";
import { ORDER_NAMES, YardFilter } from "./yard-filter.js";
import { RepoSection } from "./yard-list.js";

const SETTLE = 250;

export function title() {
  return "Yard";
}

export async function mount(root, { query }, signal) {
  const yard = new Yard(signal);
  const sections = new Map();
  const filter = new YardFilter(() => apply());
  const search = h("input.grow", {
    type: "search", placeholder: "Filter: branch, subject, state…   ( / )", "aria-label": "Filter workspaces",
    oninput: () => { filter.words = search.value; noted(); draw(); },
  });
  const order = select({ "aria-label": "Order", onchange: () => { filter.order = order.value; apply(); } }, ORDER_NAMES);
  const compact = h("button", { type: "button", "aria-pressed": "false", title: "One line for each workspace", onclick: () => { isCompact = !isCompact; apply(); } }, "Compact");
  const clear = button("Clear filters", () => { filter.clear(); search.value = ""; apply(); }, { tone: "bare" });
  const list = h("div.yard");
  const none = h("div");
  const bulk = h("div");
  let isCompact = false;
  let trouble = null;
  let isLoaded = false;
  const selection = new Selection(() => {
    for (const section of sections.values()) section.showSelection();
    showBulk(bulk, selection, yard);
  });
  fill(root, heading("Yard", search, order, compact, can("admin") && button("Add repository", () => addRepo(yard), { iconName: "plus" })),
    h("div.yard-tally", filter.states, filter.facts, clear), none, list, bulk);

  const noted = () => noteQuery({ ...filter.query, rows: isCompact ? "compact" : "" });
  /** What was chosen is noted in the address and shown. */
  const apply = () => { noted(); draw(); };
  const read = (said) => {
    filter.read(said);
    search.value = said.get("q") ?? "";
    order.value = filter.order;
    isCompact = said.get("rows") === "compact";
  };
  const draw = perFrame(() => {
    if (signal.aborted) return;
    for (const name of sections.keys()) if (!yard.repos.has(name)) sections.delete(name);
    filter.begin();
    let shown = 0;
    for (const [name, repo] of yard.repos) {
      if (!sections.has(name)) sections.set(name, new RepoSection(yard, name, selection, signal));
      const section = sections.get(name);
      const all = [...(yard.workspaces.get(name)?.values() ?? [])];
      section.showHead(repo);
      section.show(filter.apply(all), all, { isFiltered: filter.isOn, isCompact });
      shown += section.items.length;
    }
    filter.showCounts();
    clear.hidden = !filter.isOn;
    list.classList.toggle("compact", isCompact);
    compact.setAttribute("aria-pressed", String(isCompact));
    const elements = [...sections.values()].map(({ element }) => element);
    if (elements.length !== list.children.length || elements.some((element, index) => element !== list.children[index])) fill(list, elements);
    const lacks = isLoaded && (yard.repos.size === 0 ? "There are no repositories yet: declare one in the configuration, or register one."
      : filter.isOn && shown === 0 && "No workspace matches.");
    refill(none, [trouble?.message, lacks], () => (trouble ? problemBox(trouble) : lacks && empty(lacks)));
  });

  read(query);
  // More often than this nobody reads it, and in a busy yard each frame would bring a change.
  let [timer, drawn] = [null, 0];
  const drawSoon = () => {
    timer ??= setTimeout(() => {
      [timer, drawn] = [null, performance.now()];
      draw();
    }, drawn + SETTLE - performance.now());
  };
  yard.addEventListener("repos", draw);
  yard.addEventListener("workspace", ({ detail: { repo, branch } }) => {
    if (!yard.get(repo, branch)) selection.forget({ repo, branch });
    drawSoon();
  });
  addKeys({ sections, selection, yard, search, signal });

  const load = async () => {
    try {
      await yard.load();
      isLoaded = true;
      trouble = null;
    } catch (error) {
      trouble = error;
    }
    draw();
  };
  // What could not be had while the daemon was away is asked for again.
  events.listen("state", (state) => state === "open" && trouble && load(), signal);
  await load();
  return ({ query: changed }) => { read(changed); draw(); };
}

/** Keys on rows: the row that has the focus is the one they are for. */
function addKeys({ sections, selection, yard, search, signal }) {
  const focused = () => {
    const { repo, branch } = document.activeElement?.closest?.("tr[data-branch]")?.dataset ?? {};
    return branch && yard.get(repo, branch);
  };
  const move = (step) => {
    const now = focused();
    const rows = [...sections.values()].flatMap((section) => section.items.map((item, index) => ({ section, index, item })));
    const at = now ? rows.findIndex(({ item }) => item.repo === now.repo && item.branch === now.branch) : -1;
    const next = rows[Math.max(0, Math.min(rows.length - 1, at + step))];
    next?.section.focus(next.index);
  };
  const row = (keys, what, scope, action) => shortcut(keys, what, () => {
    const workspace = can(scope) && focused();
    if (workspace) action(workspace);
  }, signal);
  shortcut("/", "Filter the workspaces", () => search.focus(), signal);
  shortcut("j", "Next workspace", () => move(1), signal);
  shortcut("k", "Previous workspace", () => move(-1), signal);
  shortcut("Enter", "Open the workspace", null, signal);
  row("l", "Log of the workspace's last run", "repo:read", ({ last_run: run }) => run && go(link("run", run.run_id)));
  row("b", "Build the workspace", "build:run", ({ repo, branch }) => make(repo, branch));
  row("u", "Bring the workspace up to date", "git:write", ({ repo, branch }) => prepare(yard, repo, branch));
  row("x", "Select the workspace", "repo:read", (workspace) => selection.set([workspace], !selection.has(workspace)));
  row("#", "Remove the workspace", "git:write", ({ repo, branch }) => remove(yard, repo, branch));
}

/** The workspaces that something is to be done with. */
class Selection {
  #chosen = new Map();
  #onChange;

  constructor(onChange) {
    this.#onChange = onChange;
  }

  get all() {
    return [...this.#chosen.values()];
  }

  has({ repo, branch }) {
    return this.#chosen.size > 0 && this.#chosen.has(`${repo} ${branch}`);
  }

  set(workspaces, isChosen) {
    for (const { repo, branch } of workspaces) {
      if (isChosen) this.#chosen.set(`${repo} ${branch}`, { repo, branch });
      else this.#chosen.delete(`${repo} ${branch}`);
    }
    this.#onChange();
  }

  forget(workspace) {
    if (this.has(workspace)) this.set([workspace], false);
  }
}

/** What can be done with all that are selected; the dialogs come when they are first wanted. */
function showBulk(element, selection, yard) {
  const chosen = selection.all;
  const act = (name) => async () => (await import("./yard-bulk.js"))[name](yard, selection.all);
  fill(element, chosen.length > 0 && h("div.bulk", { role: "region", "aria-label": "Selected workspaces" },
    h("b", { role: "status" }, `${counted(chosen.length, "workspace")} selected`),
    can("build:run") && button("Build…", act("buildAll")),
    can("git:write") && button("Bring up to date…", act("prepareAll")),
    can("git:write") && button("Remove…", act("removeAll")),
    button("Clear selection", () => selection.set(chosen, false), { tone: "bare" })));
}
