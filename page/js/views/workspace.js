// A workspace: what it is at and how its last build went, what one can do with it, and beneath that one of its parts.

import { api, at, withQuery } from "../core/api.js";
import { announce, debounce, fill, h, refill } from "../core/dom.js";
import { events } from "../core/events.js";
import { complaints, counted, isLive, runName, shortId, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { go, here, link } from "../core/router.js";
import { can } from "../core/session.js";
import { icon } from "../ui/icons.js";
import { button, chip, fileAddress, note, problemBox, runAge, runLink, stateBadge } from "../ui/parts.js";
import { attempt, tell } from "../ui/toast.js";
import { commitChanges, endOperation, isBuild, merge, push } from "./workspace-actions.js";
import { make } from "./workspace-make.js";
import { actionButtons } from "./yard-actions.js";

/**
 * Its parts: what they are called, the scope that they need, and where they are. Each exports `show(space, query,
 * signal)`, which draws into `space.body` and may return { onQuery(query), onChange(), onRuns() }.
 */
const PARTS = {
  changes: ["Changes", "git:read", () => import("./workspace-changes.js")],
  files: ["Files", "repo:read", () => import("./workspace-files.js")],
  commits: ["Commits", "git:read", () => import("./workspace-commits.js")],
  runs: ["Runs", "repo:read", () => import("./workspace-runs.js")],
  people: ["People", "repo:read", () => import("./workspace-people.js")],
};

export function title({ rest: [repo, branch] }) {
  return `${branch} · ${repo}`;
}

export async function mount(root, route, signal) {
  const [repo, branch] = route.rest;
  let onQuery = null;
  const open = async () => { onQuery = await openSpace(root, route, signal); };
  try {
    await open();
  } catch (error) {
    if (error.code !== "no_workspace") throw error;
    const prepare = () => attempt(async () => { await api.put(at.branch(repo, branch)); await open(); });
    fill(root, h("div.heading", h("h1", `${repo} / ${branch}`)), problemBox(error),
      h("div.pager", can("git:write") && button("Make the workspace ready", prepare, { tone: "primary" }), h("a.button", { href: link("history", { repo, branch }) }, "Its runs")));
  }
  return (changed) => onQuery?.(changed);
}

async function openSpace(root, { rest: [repo, branch] }, signal) {
  const head = h("header.run-head");
  const body = h("div.ws-body", { tabindex: -1 });
  const space = new Space(repo, branch, body, signal);
  await space.load();
  fill(root, h("div.ws", head, body));
  let part = null;
  const draw = () => showHead(head, space);
  const showPart = async (asked) => {
    const name = PARTS[asked.get("view")] ? asked.get("view") : can("git:read") ? "changes" : "files";
    for (const tab of head.querySelectorAll(".tabs a")) {
      if (tab.dataset.part === name) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    if (part?.name === name && part.on?.onQuery) return part.on.onQuery(asked);
    part?.controller.abort();
    const mine = { name, controller: new AbortController(), on: null };
    const isFirst = part === null;
    part = mine;
    const [, scope, load] = PARTS[name];
    const until = AbortSignal.any([signal, mine.controller.signal]);
    fill(body);
    if (!isFirst) body.focus({ preventScroll: true });
    try {
      if (!can(scope)) throw new Error(`This needs the scope ${scope}, which you do not have.`);
      const module = await load();
      if (!until.aborted) mine.on = await module.show(space, asked, until);
    } catch (error) {
      if (!until.aborted) fill(body, problemBox(error));
    }
  };

  space.addEventListener("change", ({ detail: isOther }) => {
    draw();
    if (isOther) part?.on?.onChange?.();
  }, { signal });
  space.addEventListener("runs", () => {
    draw();
    part?.on?.onRuns?.();
  }, { signal });
  // What could not be had while the daemon was away is asked for again; what is being edited stays.
  events.listen("state", (state) => {
    if (state !== "open" || !body.querySelector(".problem") || body.querySelector("textarea")) return;
    part.name = null;
    showPart(here().query);
  }, signal);
  draw();
  Object.keys(PARTS).forEach((name, index) => shortcut(String(index + 1), PARTS[name][0], () => go(space.link({ view: name })), signal));
  if (can("build:run")) {
    shortcut("m", "Make", () => make(repo, branch), signal);
    shortcut("R", "Run the last command again", () => rerun(space), signal);
  }
  if (can("git:write")) {
    shortcut("c", "Commit", () => commitChanges(space), signal);
    shortcut("P", "Push", () => push(space), signal);
    shortcut("M", "Merge", () => merge(space), signal);
  }
  shortcut("o", "Open the last run", () => space.build && go(link("run", space.build.run_id)), signal);
  shortcut("=", "Compare with the default branch", () => go(compareAddress(space)), signal);
  shortcut("e", "Next error, in its file", () => space.stepError(1), signal);
  shortcut("E", "Previous error", () => space.stepError(-1), signal);
  // Not waited for: who goes on to another part meanwhile is to be heard.
  showPart(here().query);
  return (route) => showPart(route.query);
}

/** What the parts share of one workspace, kept true by the yard's events. Dispatches "change" and "runs". */
class Space extends EventTarget {
  #signal;
  #base = null;
  #green = null;
  #errors = {};
  workspace = null;
  /** Its latest runs, the last one first. */
  runs = [];

  constructor(repo, branch, body, signal) {
    super();
    Object.assign(this, { repo, branch, body });
    this.#signal = signal;
    const refreshSoon = debounce(() => this.refresh().catch(() => {}), 150);
    const isMine = (event) => event.repo === repo && event.branch === branch;
    events.listen("workspace", (event) => {
      if (!isMine(event)) return;
      if (event.change === "removed") this.#become({ ...this.workspace, isGone: true });
      else if (!this.workspace?.isGone || event.change === "created") refreshSoon();
    }, signal);
    events.listen("run", ({ run }) => {
      if (!isMine(run)) return;
      const was = this.build;
      const index = this.runs.findIndex((known) => known.run_id === run.run_id);
      if (index >= 0) this.runs[index] = run;
      else this.runs = [run, ...this.runs];
      if (was?.run_id === run.run_id && isLive(was.state) && !isLive(run.state)) announce(`${runName(run)}: ${run.state.replace("_", " ")}`);
      this.dispatchEvent(new CustomEvent("runs"));
    }, signal);
    const again = () => this.load().catch(() => {});
    events.listen("reset", again, signal);
    // A stream that was lost before its first event knows of none that it missed.
    let was = events.state;
    events.listen("state", (state) => {
      if (state === "open" && was === "waiting") again();
      was = state;
    }, signal);
  }

  async load() {
    const [about, runs] = await Promise.all([
      api.get(at.repo(this.repo), this.#signal),
      api.get(withQuery("api/runs", { repo: this.repo, branch: this.branch, limit: 60 }), this.#signal),
      this.refresh(),
    ]);
    this.main = about.default_branch;
    this.tasks = about.tasks;
    this.runs = runs.items;
    this.dispatchEvent(new CustomEvent("runs"));
  }

  async refresh() {
    this.#become(await api.get(at.branch(this.repo, this.branch), this.#signal));
  }

  #become(workspace) {
    const was = this.workspace;
    this.workspace = workspace;
    const facts = ({ commit, dirty, untracked, ahead, behind, operation }) => [commit, dirty, untracked, ahead, behind, operation].join();
    if (was) this.dispatchEvent(new CustomEvent("change", { detail: facts(was) !== facts(workspace) }));
  }

  /** A verb or a read of the workspace: ask("git/diff", { staged: true }). */
  ask(what, fields = {}) {
    return api.post(`${at.branch(this.repo, this.branch)}/${what}`, fields);
  }

  link(query) {
    return link("workspace", this.repo, this.branch, query);
  }

  fileAt(place) {
    return fileAddress(this.repo, this.branch, place);
  }

  /** The default branch as the remote has it, or as it is here; null on the default branch itself. */
  base() {
    if (!this.main || this.main === this.branch) return Promise.resolve(null);
    return this.#base ??= this.preview().then(({ into }) => into.name, (error) => {
      // Refused, as by an old git that cannot try a merge; or not to be reached, which passes.
      if (error.status) return this.main;
      this.#base = null;
      throw error;
    });
  }

  /** How it would merge into the default branch. */
  preview() {
    return this.ask("git/merge_preview", { into: this.main, verbosity: "minimal" });
  }

  async isOnRemote() {
    return Boolean((await this.ask("git/status", { untracked: false })).upstream);
  }

  get build() {
    return this.runs.find(isBuild) ?? null;
  }

  /** The last run of the same command as `run` that succeeded at a known commit, or null. */
  async green(run = this.build) {
    if (!run) return null;
    const key = run.run_id + run.state;
    if (this.#green?.key !== key) {
      const query = { repo: this.repo, branch: this.branch, state: "succeeded", kind: run.kind, limit: 200 };
      const { items } = await api.get(withQuery("api/runs", query), this.#signal);
      this.#green = { key, found: items.find((one) => one.about && sameCommand(one, run)) ?? null };
    }
    return this.#green.found;
  }

  /** What the last build complained about, as far as it names files. */
  async errors() {
    const run = this.build;
    if (!run?.diagnostics) return [];
    const key = run.run_id + run.state;
    if (this.#errors.key !== key) {
      const { items } = await api.get(`${at.run(run.run_id)}/diagnostics`, this.#signal);
      this.#errors = { key, items: items.filter(({ file }) => file && !file.startsWith("/")), at: -1 };
    }
    return this.#errors.items;
  }

  async stepError(by) {
    const items = await this.errors().catch(() => []);
    if (items.length === 0) return tell("The last run names no error in a file.");
    const index = this.#errors.at = Math.max(this.#errors.at + by + items.length, items.length - 1) % items.length;
    const { file: path, line } = items[index];
    go(this.fileAt({ path, line }));
  }

  // What the actions of the yard know of a yard.

  get repos() {
    return new Map([[this.repo, { tasks: this.tasks, default_branch: this.main }]]);
  }

  get() {
    return this.workspace;
  }

  put() {
    return this.refresh();
  }

  drop() {
    go("#/");
  }
}

export function sameCommand(one, other) {
  return one.kind === other.kind && one.task === other.task && JSON.stringify(one.argv) === JSON.stringify(other.argv);
}

function compareAddress({ repo, branch, main }) {
  return link("compare", repo, { from: main, to: branch });
}

function rerun({ build }) {
  if (!build || build.step) return;
  attempt(async () => {
    const again = await api.start(`stream/runs/${encodeURIComponent(build.run_id)}/rerun`);
    tell("Started ", runLink(again));
  });
}

function showHead(head, space) {
  const { repo, branch, workspace, build, main } = space;
  const { commit, subject, holder, operation, ahead, behind, dirty, untracked } = workspace;
  if (!head.firstChild) {
    const [facts, last, notes] = [h("div.run-facts"), h("div.ws-last"), h("div.run-notes")];
    head.parts = { facts, last, notes };
    const mayWrite = can("git:write");
    fill(head,
      h("h1", h("span.muted", `${repo} / `), branch),
      h("div.beside",
        actionButtons(space, repo, branch),
        mayWrite && button("Commit", () => commitChanges(space)),
        mayWrite && button("Push", () => push(space), { iconName: "up" }),
        mayWrite && button("Merge", () => merge(space)),
        main && main !== branch && can("git:read") && h("a.button", { href: compareAddress(space) }, "Compare")),
      facts, last, notes,
      h("nav.tabs", { "aria-label": "Parts of the workspace" },
        Object.entries(PARTS).filter(([, [, scope]]) => can(scope)).map(([name, [text]]) => h("a", { href: space.link({ view: name }), "data-part": name }, text))));
  }
  const { facts, last, notes } = head.parts;
  refill(facts, [commit, subject, holder, ahead, behind, dirty, untracked], () => [
    h("span", h("code", { title: commit }, shortId(commit)), " ", subject),
    h("span.chips",
      dirty && chip("dirty", "warn", "tracked files differ from the commit"),
      untracked > 0 && chip(`${untracked} untracked`, "warn"),
      ahead > 0 && chip(counted(ahead, "unpushed commit"), "live"),
      behind > 0 && chip(`${counted(behind, "commit")} behind`, "", "commits of the remote that are not here"),
      !dirty && !untracked && !ahead && !behind && chip("clean", "ok")),
    holder && h("span", icon("hold"), " ", holder.run_id ? h("a", { href: link("run", holder.run_id) }, holder.what) : holder.what, ` by ${holder.who} `, when(holder.since))]);
  refill(last, [build?.run_id, build?.state, build?.diagnostics], () => (build ? lastBuild(space, build) : h("span.muted", "Never built.")));
  refill(notes, [operation, workspace.isGone, workspace.gone_upstream], () => [
    workspace.isGone && note("bad", "The workspace was removed."),
    workspace.gone_upstream && note("", "The branch was deleted on the remote."),
    operation && [note("", `A ${operation} waits to be finished: resolve what is in conflict, then continue.`),
      can("git:write") && h("div.toolbar", button("Continue", () => endOperation(space, "continue")), button("Abort", () => endOperation(space, "abort")))]]);
}

function lastBuild(space, run) {
  const { diagnostics } = run;
  const first = diagnostics?.first;
  const place = first?.file && [first.file, first.line].filter(Boolean).join(":");
  return [
    stateBadge(run.state), runLink(run), runAge(run),
    can("build:run") && !run.step && !isLive(run.state) && button("Run again", () => rerun(space), { iconName: "again" }),
    diagnostics && h("span.muted", complaints(diagnostics)),
    first && h("div.ws-first", icon(first.severity === "error" ? "cross" : "warn"), " ",
      place && (place.startsWith("/") ? h("code", place) : h("a.mono", { href: space.fileAt({ path: first.file, line: first.line }) }, place)), " ", first.message),
  ];
}
