// A workspace in the yard's list.

import { h, refill, setVars } from "../core/dom.js";
import { bytes, counted, isLive, when } from "../core/format.js";
import { link } from "../core/router.js";
import { can, person } from "../core/session.js";
import { icon } from "../ui/icons.js";
import { chip, commit, firstError, runAge, runLink, stateBadge } from "../ui/parts.js";
import { actionButtons, workOf } from "./yard-actions.js";

const COLUMNS = [
  ["ws-pick", "Select"], ["ws-branch", "Branch"], ["ws-run", "Last run"], ["ws-work", "Work"], ["ws-held", "Held by"],
  ["ws-size", "Source, output"], ["ws-used", "Used"], ["ws-acts", "Actions"],
];

/** Rows can be chosen by those who may do something with them. */
export function columns() {
  return can("build:run") || can("git:write") ? COLUMNS : COLUMNS.slice(1);
}

/** What needs no name beside it on a narrow screen. */
const PLAIN = new Set(["ws-pick", "ws-branch", "ws-run", "ws-work", "ws-acts"]);

/** A row that can be shown again: only cells whose content changed are touched, so that focus stays. */
export class WorkspaceRow {
  #cells = Object.fromEntries(columns().map(([name, label]) => [name, h("td", { class: name, role: "cell", "data-label": PLAIN.has(name) ? null : label })]));
  #shown = null;
  #pick;

  constructor(yard, repo, branch, selection) {
    this.branch = branch;
    this.element = h("tr", { role: "row", "data-repo": repo, "data-branch": branch }, Object.values(this.#cells));
    this.#pick = h("input", { type: "checkbox", "aria-label": `Select ${branch}`, onchange: () => selection.set([{ repo, branch }], this.#pick.checked) });
    this.#cells["ws-pick"]?.append(this.#pick);
    this.#cells["ws-acts"].append(actionButtons(yard, repo, branch));
    this.isSelected = selection.has({ repo, branch });
  }

  set isSelected(isSelected) {
    this.#pick.checked = isSelected;
    this.element.classList.toggle("is-chosen", isSelected);
  }

  focus() {
    this.element.querySelector("a.name").focus();
  }

  update(workspace) {
    if (workspace === this.#shown) return;
    this.#shown = workspace;
    const { repo, branch, subject, last_run: run, holder, sizes, pinned } = workspace;
    this.#show("ws-branch", [workspace.commit, subject], () => [
      h("a.name", { href: link("workspace", repo, branch) }, branch),
      h("div.what.muted", commit(workspace.commit, subject))]);
    this.#show("ws-run", [run?.run_id, run?.state, run?.diagnostics], () => (run ? [
      h("div.ws-state", stateBadge(run.state), " ", runAge(run)),
      h("span.what", runLink(run)),
      !isLive(run.state) && run.state !== "succeeded" && firstError(run)] : h("span.muted", "Never built")));
    const chips = workChips(workspace);
    this.#show("ws-work", chips.map((one) => [one.textContent, one.title]), () => h("div.chips", chips));
    this.#show("ws-held", holder, () => holder && [
      h("div.what", { title: holder.what }, icon("hold"), " ", holder.run_id ? h("a", { href: link("run", holder.run_id) }, holder.what) : holder.what),
      h("div.muted", person(holder.who), " · ", when(holder.since))]);
    this.#show("ws-size", sizes, () => sizes && [
      h("div.sizes",
        h("span", { title: "source" }, h("span.swatch.is-source"), bytes(sizes.source)),
        h("span", { title: "build output" }, h("span.swatch.is-output"), bytes(sizes.build_output))),
      sizeBar(sizes)]);
    this.#show("ws-used", [workspace.last_used, pinned], () => [
      h("span", when(workspace.last_used)),
      pinned && h("span.pinned.what", { title: `pinned by ${person(pinned.by)}: ${pinned.reason}` }, icon("pin"), ` ${pinned.reason || `by ${person(pinned.by)}`}`)]);
  }

  #show(name, key, make) {
    refill(this.#cells[name], key, () => make() || []);
  }
}

function workChips({ dirty, untracked, ahead, behind, pins, operation, gone_upstream: isGone }) {
  const chips = [
    operation && chip(`${operation} under way`, "warn", "It waits to be finished or aborted"),
    dirty && chip("dirty", "warn", "Tracked files differ from the commit"),
    untracked > 0 && chip(`${untracked} untracked`, "warn", counted(untracked, "untracked file")),
    ahead > 0 && arrow("↑", ahead, counted(ahead, "unpushed commit"), "live", "The remote does not have it"),
    behind > 0 && arrow("↓", behind, `${counted(behind, "commit")} behind`, "", "The remote has more"),
    isGone && chip("gone upstream", "bad", "The branch was deleted on the remote"),
  ].filter(Boolean);
  const work = workOf(pins);
  if (chips.length === 0) chips.push(work.length > 0 ? chip("has work", "warn", work.join("; ")) : chip("clean", "ok"));
  return chips;
}

/** In words; compact rows have room for an arrow alone. */
function arrow(sign, count, words, tone, title) {
  return h("span.chip", { "data-tone": tone, title: `${words}. ${title}` }, h("span.long", words), h("span.short", { "aria-hidden": "true" }, `${sign}${count}`));
}

function sizeBar({ source, build_output: output }) {
  const bar = h("div.bar", { "aria-hidden": "true" }, h("span.is-source"), h("span.is-output"));
  setVars(bar.firstChild, { "--share": source });
  setVars(bar.lastChild, { "--share": output });
  return bar;
}
