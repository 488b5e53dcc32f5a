// One build over many branches: a grid of branch × target, each cell a run. Every target is a group of
// the daemon's; their ids are in the address, so that the grid can be passed on. What is retried is a group
// again: its id follows that of its column, after a dot.

import { allBranches, api, at, withQuery } from "../core/api.js";
import { debounce, fill, h, perFrame, refill } from "../core/dom.js";
import { events } from "../core/events.js";
import { command, counted, duration, isLive, number, runTime, TROUBLE } from "../core/format.js";
import { go, link } from "../core/router.js";
import { can } from "../core/session.js";
import { ask } from "../ui/dialog.js";
import { button, empty, field, heading, problemBox, select, stateBadge } from "../ui/parts.js";
import { attempt } from "../ui/toast.js";
import { readOptions, runOptions } from "./yard-actions.js";

const PREVIEWED = 40;
/** More runs than these are started after a question. */
const MANY = 20;
const WILD = { "**": ".*", "*": "[^/]*", "?": "[^/]" };

export function title() {
  return "Fan-out";
}

export async function mount(root, route, signal) {
  let inner = null;
  const draw = async ({ query }) => {
    inner?.abort();
    inner = new AbortController();
    const both = AbortSignal.any([signal, inner.signal]);
    const columns = (query.get("groups")?.split(",") ?? []).map((column) => column.split(".").filter(Boolean)).filter(({ length }) => length > 0);
    await (columns.length > 0 ? showGrid(root, columns, both) : showForm(root, query.get("repo"), both));
  };
  await draw(route);
  return draw;
}

async function showForm(root, wantedRepo, signal) {
  if (!can("build:run")) return void fill(root, heading("Fan-out"), empty("This needs the scope build:run, which you do not have."));
  const { items: repos } = await api.get("api/repos", signal);
  if (repos.length === 0) return void fill(root, heading("Fan-out"), empty("There are no repositories yet."));
  let branches = [];
  const repo = select({ name: "repo", onchange: () => load() }, repos.map(({ name }) => [name, name]), wantedRepo ?? repos[0].name);
  const globs = h("textarea.mono", { name: "branches", rows: 5, required: true, spellcheck: "false", placeholder: "such as: main feature/*", oninput: debounce(() => preview(), 120) });
  const matched = h("div.chips", { role: "status" });
  const targets = h("textarea.mono", { name: "targets", rows: 5, spellcheck: "false", placeholder: "such as: test", oninput: () => preview() });
  const trouble = h("div.wide");
  const start = h("button.primary", { type: "submit", disabled: true }, "Start runs");
  let found = [];
  /** Without a target, make builds its first. */
  const columns = () => {
    const lines = targets.value.split("\n").map((text) => text.trim()).filter(Boolean);
    return lines.length > 0 ? lines : [""];
  };
  const count = () => found.length * columns().length;

  async function load() {
    fill(matched, h("span.muted", "Asking the remote…"));
    await attempt(async () => {
      branches = (await allBranches(repo.value, { remote: true, signal })).map(({ branch }) => branch);
      preview();
    });
  }
  function preview() {
    const wanted = words(globs.value).map(globPattern);
    found = branches.filter((branch) => wanted.some((pattern) => pattern.test(branch)));
    start.disabled = found.length === 0;
    start.textContent = found.length === 0 ? "Start runs" : `Start ${counted(count(), "run")}`;
    fill(matched,
      h("span.chip", { "data-tone": "live" }, `${counted(found.length, "branch", "branches")} of ${branches.length}`),
      found.slice(0, PREVIEWED).map((branch) => h("span.chip", branch)), found.length > PREVIEWED && "…");
  }
  async function onsubmit(event) {
    event.preventDefault();
    const values = new FormData(event.target);
    const { coalesce, ...options } = readOptions(values); // a group does not coalesce
    start.disabled = true;
    fill(trouble);
    try {
      if (count() > MANY && !await isSure(found, columns())) return;
      const groups = [];
      for (const line of columns()) {
        groups.push(await api.start(at.fanOut(repo.value), { branches: words(globs.value), args: line, ...options }));
      }
      go(link("fanout", { groups: groups.map((group) => group.group_id).join(",") }));
    } catch (error) {
      fill(trouble, problemBox(error));
    } finally {
      start.disabled = false;
    }
  }

  fill(root, heading("Fan-out"), h("form.card.fan-form", { onsubmit },
    h("div.field", field("Repo", repo), matched),
    field("Branches", globs, "Names or globs, one a line: * stays within a segment, ** crosses them."),
    field("Targets", targets, "What follows make; each line is a column of the grid. Without one, make builds its first target."),
    h("div.wide", runOptions()), trouble, h("div.wide", start)));
  load();
}

function isSure(branches, columns) {
  return ask({
    title: `Start ${counted(branches.length * columns.length, "run")}?`,
    content: [
      h("p", `${counted(branches.length, "branch", "branches")}${columns.length > 1 ? ` and ${counted(columns.length, "target")}` : ""}. Those that find no slot wait in the queue.`),
      h("p.muted", branches.slice(0, PREVIEWED).join(", "), branches.length > PREVIEWED && "…")],
    action: `Start ${counted(branches.length * columns.length, "run")}`,
    submit: () => true,
  });
}

function words(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** The daemon's globs, for the preview. */
function globPattern(glob) {
  const parts = glob.split(/(\*\*|\*|\?)/);
  const source = parts.map((part) => WILD[part] ?? part.replace(/[\\^$.+()[\]{}|]/g, "\\$&")).join("");
  return new RegExp(`^${source}$`);
}

async function showGrid(root, wanted, signal) {
  const ids = wanted.flat();
  const groups = new Map(await Promise.all(ids.map(async (id) => [id, await api.get(at.group(id), signal)])));
  const runs = new Map();
  let draw = () => {};
  // Listened before it is asked: what ends meanwhile is told here, and an answer that is older does not undo it.
  events.listen("run", ({ run }) => {
    if (!ids.includes(run.group)) return;
    runs.set(run.run_id, run);
    draw();
  }, signal);
  const load = () => Promise.all(ids.map(async (id) => {
    let before = null;
    do {
      const page = await api.get(withQuery("api/runs", { group: id, limit: 500, before }), signal);
      for (const run of page.items) if (isLive(runs.get(run.run_id)?.state ?? "queued")) runs.set(run.run_id, run);
      before = page.next;
    } while (before);
  }));
  await load();
  const { repo } = groups.get(ids[0]);
  const branches = [...new Set([...groups.values()].flatMap((group) => group.members.map((member) => member.branch)))];
  const cells = new Map();
  const tally = h("div.tally");
  const again = h("div.toolbar");
  // Of the groups of a column, the later ones are retries: what they have takes the place of what was before.
  const columns = wanted.map((own) => {
    const first = runs.get(groups.get(own[0]).members[0]?.run_id);
    const name = first ? command(argsOf(first)) || "make" : "…";
    return { own, name, runOf: new Map(own.flatMap((id) => groups.get(id).members.map((member) => [member.branch, member.run_id]))) };
  });
  const grid = h("table.matrix",
    h("thead", h("tr", h("th", { scope: "col" }, "Branch"), columns.map(({ name }) => h("th", { scope: "col" }, name)))),
    h("tbody", branches.map((branch) => h("tr", h("th", { scope: "row" }, branch), columns.map(({ runOf, name }) => {
      const id = runOf.get(branch);
      const cell = id ? h("a.cell", { href: link("run", id) }) : h("span.cell", "–");
      if (id) cells.set(id, { cell, branch, name });
      return h("td", cell);
    })))));
  const failedIn = (column) => [...column.runOf.values()].map((id) => runs.get(id)).filter((run) => run && TROUBLE.has(run.state));

  draw = perFrame(() => {
    for (const [id, { cell, branch, name }] of cells) {
      const run = runs.get(id);
      if (!run || cell.dataset.shown === run.state) continue;
      cell.dataset.shown = cell.dataset.state = run.state;
      const error = run.diagnostics?.first?.message;
      cell.setAttribute("aria-label", `${branch}, ${name}: ${run.state}${error ? `, ${error}` : ""}`);
      cell.title = error ?? "";
      fill(cell, stateBadge(run.state), h("span.muted", isLive(run.state) ? "" : duration(runTime(run))));
    }
    const shown = [...cells.keys()].map((id) => runs.get(id)).filter(Boolean);
    showTally(tally, shown);
    const failed = columns.reduce((sum, column) => sum + failedIn(column).length, 0);
    refill(again, [failed, shown.some((run) => isLive(run.state))], () => [
      can("build:run") && failed > 0 && button(`Retry ${number(failed)} failed`, retry, { iconName: "again" }),
      can("build:run") && shown.some((run) => isLive(run.state)) && button("Cancel all", () => attempt(() => Promise.all(ids.map((id) => api.post(`${at.group(id)}/cancel`)))), { iconName: "stop" }),
      can("build:run") && h("a.button", { href: link("fanout", { repo }) }, "New fan-out")]);
  });

  /** Each column's failed branches are a group again, with the same arguments and options. */
  const retry = () => attempt(async () => {
    const fresh = [];
    for (const column of columns) {
      const failed = failedIn(column);
      if (failed.length === 0) { fresh.push(column.own); continue; }
      const { timeout_ms: timeout, sync, clean } = failed[0];
      const body = { branches: failed.map((run) => run.branch), args: argsOf(failed[0]), sync, timeout: `${timeout}ms` };
      if (clean) body.clean = true;
      const group = await api.start(at.fanOut(repo), body);
      fresh.push([...column.own, group.group_id]);
    }
    go(link("fanout", { groups: fresh.map((own) => own.join(".")).join(",") }));
  });

  // What ended before the stream was there, or while it was gone, is told by nobody.
  events.listen("state", (state) => state === "open" && attempt(async () => { await load(); draw(); }), signal);
  fill(root, heading(`Fan-out in ${repo}`, again), h("div.card", tally,
    h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Grid of branches and targets" }, grid)));
  draw();
}

/** What was asked of make, before the daemon's own options. */
function argsOf(run) {
  return (run.asked_argv ?? run.argv).slice(1);
}

function showTally(element, runs) {
  const counts = Map.groupBy(runs, (run) => run.state);
  fill(element,
    [...counts].map(([state, those]) => h("span", stateBadge(state), " ", those.length)),
    h("div.bar", { "aria-hidden": "true" }, [...counts].map(([state, those]) => h("span", { "data-state": state, vars: { "--share": those.length } }))));
}
