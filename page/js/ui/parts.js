// Small pieces that several views are made of.

import { fill, h } from "../core/dom.js";
import { duration, queueTime, runName, runTime, shortId, when } from "../core/format.js";
import { link } from "../core/router.js";
import { icon } from "./icons.js";

const STATE_ICONS = {
  queued: "clock", preparing: "spin", running: "spin", succeeded: "check", failed: "cross",
  signalled: "bolt", timed_out: "clock", cancelled: "slash", lost: "question", rejected: "warn",
  passed: "check", skipped: "slash", blocked: "hold", waiting: "clock", pending: "clock", reused: "checks",
};

/** The state of a run, a test, a pipeline or a part of it: an icon and a word, so that colour is not the only sign of it. */
export function stateBadge(state) {
  return h("span.state", { "data-state": state }, icon(STATE_ICONS[state] ?? "question"), state.replace("_", " "));
}

/** A small fact: `tone` is "", "ok", "warn", "bad" or "live". */
export function chip(text, tone = "", title = null) {
  return h("span.chip", { "data-tone": tone, title }, text);
}

export function button(label, onclick, { tone = "", iconName = null, title = null, disabled = false } = {}) {
  return h("button", { type: "button", class: tone, onclick, title, disabled }, iconName && icon(iconName), label);
}

/** A button that shows an icon alone; its name is for those who listen. */
export function iconButton(iconName, name, onclick, attributes = {}) {
  return h("button.bare", { type: "button", "aria-label": name, title: name, onclick, ...attributes }, icon(iconName));
}

export function commit(id, subject) {
  return [h("code.commit", { title: id }, shortId(id)), subject ? h("span.subject", { title: subject }, subject) : null];
}

export function runLink(run) {
  return h("a.mono", { href: link("run", run.run_id) }, runName(run));
}

/** To the page of its workspace. */
export function branchLink(repo, branch) {
  return h("a", { href: link("workspace", repo, branch) }, `${repo} / ${branch}`);
}

/** Where a file is shown at one of its lines: as it is now, or as it was at a commit. */
export function fileAddress(repo, branch, { path, line, commit: at }) {
  return link("workspace", repo, branch, { view: "files", path, line, at });
}

/** To a file and line, such as those of a diagnostic. */
export function fileLink(repo, branch, place) {
  return h("a.mono", { href: fileAddress(repo, branch, place) }, [place.path, place.line].filter(Boolean).join(":"));
}

/** The first error that a run found, which leads to its line of the log; none where none is known. */
export function firstError({ run_id: id, diagnostics }) {
  const first = diagnostics?.first;
  if (first?.severity !== "error") return null;
  const where = first.file && [first.file, first.line].filter(Boolean).join(":");
  return h("a.first-error.what", { href: link("run", id, { line: first.log_line }), title: [where, first.message].filter(Boolean).join(": ") },
    where && h("span.mono", where, " "), first.message);
}

/** As `branchLink`, to the pipelines of the branch. */
export function branchPipelines({ repo, branch }) {
  return h("a", { href: link("pipelines", { repo, branch }) }, `${repo} / ${branch}`);
}

/** How long a run took, and apart from that how long it was queued, where that is worth a word. */
export function runTook(run) {
  const [took, queued] = [runTime(run), queueTime(run)];
  const going = run.ended_at ? "" : "…";
  return [
    took !== null && `${duration(took)}${going}`,
    (took === null || queued >= 1000) && h("span.muted.queued", { title: "From the request to the start of the command" },
      `${took === null ? "" : " · "}queued ${duration(queued)}${took === null ? going : ""}`),
  ];
}

/** How long a run took, and when that was. */
export function runAge(run) {
  return h("span.muted", run.ended_at && [runTook(run), " · "], when(run.ended_at ?? run.created_at));
}

/**
 * A table whose roles are spelled out, for on narrow screens its rows are laid out as cards, and
 * browsers take `display` for a change of meaning. Each column is { name, cell(item), class }; `plain`
 * ones go without their name there, `hidden` ones without a visible one anywhere.
 */
export function table(label, columns, items, { rowAttributes = () => ({}) } = {}) {
  const head = h("tr", { role: "row" }, columns.map((column) =>
    h("th", { role: "columnheader", scope: "col", class: column.class }, column.hidden ? h("span.unseen", column.name) : column.name)));
  const rows = items.map((item) => h("tr", { role: "row", ...rowAttributes(item) }, columns.map((column) =>
    h("td", { role: "cell", class: column.class, "data-label": column.hidden || column.plain ? null : column.name }, column.cell(item)))));
  return h("table.list.cards", { role: "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, head), h("tbody", { role: "rowgroup" }, rows));
}

export function empty(...text) {
  return h("p.empty", ...text);
}

/** Why something cannot be shown, in the daemon's words. */
export function problemBox(problem) {
  return h("div.problem", { role: "alert" }, icon("warn"),
    h("div", h("p", problem.message), problem.help && h("p.muted", problem.help)));
}

/** Something to know about what is shown: `tone` is "" for a warning, "bad" or "plain". */
export function note(tone, ...text) {
  return h("p.note", { class: tone }, tone !== "plain" && icon("warn"), h("span", text));
}

/** Why something is in its state: its error with what to do about it, or its reason; none where neither is known. */
export function problemNote({ state, error, reason }) {
  const isBad = !["succeeded", "reused", "skipped", "blocked", "waiting", "queued", "running"].includes(state);
  if (error) return note("bad", error.detail, error.help && ` – ${error.help}`);
  return reason && note(isBad ? "bad" : "plain", reason);
}

/** Shows what `load` resolves to, or why it does not. */
export async function show(element, load, signal) {
  element.setAttribute("aria-busy", "true");
  try {
    const content = await load();
    if (!signal.aborted) fill(element, content);
  } catch (error) {
    if (!signal.aborted) fill(element, problemBox(error));
  } finally {
    element.removeAttribute("aria-busy");
  }
}

export function heading(title, ...beside) {
  return h("div.heading", h("h1", title), h("div.beside", beside));
}

/** A labelled control: field("Branch", h("input", …), "what to write there") */
export function field(label, control, hint = null) {
  return h("label.field", h("span.label", label), control, hint && h("span.hint", hint));
}

/** The choices of how far back to look. */
export const SINCE = [["", "any time"], ["1h", "last hour"], ["24h", "last day"], ["7d", "last week"]];

/** Options are [value, text], or a word that is both. */
export function select(attributes, options, chosen = "") {
  return h("select", attributes, options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option.replace("_", " ")];
    return h("option", { value, selected: value === chosen }, text);
  }));
}
