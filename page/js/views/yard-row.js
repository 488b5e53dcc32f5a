// A workspace in the yard's list.

import { h, refill, setVars } from "../core/dom.js";
import { bytes, counted, when } from "../core/format.js";
import { link } from "../core/router.js";
import { icon } from "../ui/icons.js";
import { chip, commit, runAge, runLink, stateBadge } from "../ui/parts.js";
import { actionButtons, workOf } from "./yard-actions.js";

export const COLUMNS = [
  ["ws-branch", "Branch"], ["ws-run", "Last run"], ["ws-work", "Work"], ["ws-held", "Held by"],
  ["ws-size", "Source, output"], ["ws-used", "Used"], ["ws-acts", "Actions"],
];

/** What needs no name beside it on a narrow screen. */
const PLAIN = new Set(["ws-branch", "ws-run", "ws-work", "ws-acts"]);

/** A row that can be shown again: only cells whose content changed are touched, so that focus stays. */
export class WorkspaceRow {
  #cells = Object.fromEntries(COLUMNS.map(([name, label]) => [name, h("td", { class: name, role: "cell", "data-label": PLAIN.has(name) ? null : label })]));

  constructor(yard, repo, branch) {
    this.element = h("tr", { role: "row", "data-branch": branch }, Object.values(this.#cells));
    this.#cells["ws-acts"].append(actionButtons(yard, repo, branch));
  }

  update(workspace) {
    const { repo, branch, subject, dirty, last_run: run, holder, sizes, pinned } = workspace;
    /** What the filter looks at. */
    this.words = [repo, branch, subject, run?.state ?? "never", dirty ? "dirty" : "clean", pinned && "pinned", holder && "held"]
      .filter(Boolean).join(" ").toLowerCase();
    this.#show("ws-branch", [workspace.commit, subject], () => [
      h("a.name", { href: link("workspace", repo, branch) }, branch),
      h("div.what.muted", commit(workspace.commit, subject))]);
    this.#show("ws-run", [run?.run_id, run?.state], () => run && [
      h("div", stateBadge(run.state), " ", runAge(run)),
      h("span.what", runLink(run))]);
    const chips = workChips(workspace);
    this.#show("ws-work", chips.map((one) => [one.textContent, one.title]), () => h("div.chips", chips));
    this.#show("ws-held", holder, () => holder && [
      h("div.what", { title: holder.what }, icon("hold"), " ", holder.run_id ? h("a", { href: link("run", holder.run_id) }, holder.what) : holder.what),
      h("div.muted", holder.who, " · ", when(holder.since))]);
    this.#show("ws-size", sizes, () => sizes && [
      h("div.sizes",
        h("span", { title: "source" }, h("span.swatch.is-source"), bytes(sizes.source)),
        h("span", { title: "build output" }, h("span.swatch.is-output"), bytes(sizes.build_output))),
      sizeBar(sizes)]);
    this.#show("ws-used", [workspace.last_used, pinned], () => [
      h("span", when(workspace.last_used)),
      pinned && h("span.pinned.what", { title: `pinned by ${pinned.by}: ${pinned.reason}` }, icon("pin"), ` ${pinned.reason || `by ${pinned.by}`}`)]);
  }

  #show(name, key, make) {
    refill(this.#cells[name], key, () => make() || []);
  }
}

function workChips({ dirty, untracked, ahead, behind, pins, operation, gone_upstream: isGone }) {
  const chips = [
    operation && chip(operation, "warn", "waits to be finished"),
    dirty && chip("dirty", "warn", "tracked files differ from the commit"),
    untracked > 0 && chip(`${untracked} untracked`, "warn"),
    ahead > 0 && chip(`↑${ahead}`, "live", `${counted(ahead, "commit")} that the remote does not have`),
    behind > 0 && chip(`↓${behind}`, "", `${counted(behind, "commit")} of the remote that are not here`),
    isGone && chip("gone upstream", "bad", "the remote has it no more"),
  ].filter(Boolean);
  const work = workOf(pins);
  if (chips.length === 0) chips.push(work.length > 0 ? chip("has work", "warn", work.join("; ")) : chip("clean", "ok"));
  return chips;
}

function sizeBar({ source, build_output: output }) {
  const bar = h("div.bar", { "aria-hidden": "true" }, h("span.is-source"), h("span.is-output"));
  setVars(bar.firstChild, { "--share": source });
  setVars(bar.lastChild, { "--share": output });
  return bar;
}
