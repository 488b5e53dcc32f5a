// The log of a run: the window on its lines, and what one can do with them.

import { h, perFrame } from "../core/dom.js";
import { counted, number } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { link, noteQuery } from "../core/router.js";
import { iconButton, select } from "../ui/parts.js";
import { attempt, tell } from "../ui/toast.js";
import { copyLines, selectedLines } from "./copy.js";
import { findGroups } from "./groups.js";
import { Lines } from "./lines.js";
import { makeRow } from "./row.js";
import { Rows } from "./rows.js";
import { Scroller } from "./scroller.js";
import { Search } from "./search.js";

const ROW = 20; // as --row in log.css
/** How often the groups of a log that grows are looked for, in milliseconds. */
const REGROUP = 5000;
const WISHES = "branchyard-log";

export class LogPanel {
  /** Told of the lines that are chosen, as { first, last } or null. */
  onChoose = () => {};
  /** The lines that an address names, { first, last }, or null. */
  #chosen = null;
  #matches = new Set();
  #pattern = null;
  /** What was found wrong in the log, each with its log_line, and these lines. */
  #errors = [];
  #errorLines = new Set();
  #error = -1;
  /** "" for both, "stdout" or "stderr". */
  #stream = "";
  /** With one stream alone: where to look on for lines of it. */
  #next = 1;
  #order = new Rows();
  /** The groups that can be folded, by their first line; null while nobody wants to. */
  #groups = null;
  #isFollowing = false;
  #isLive = false;
  #regrouping;
  /** Whether it is being read who wrote what. */
  #isMarking = false;
  /** How many lines there were when following ended. */
  #seen = Infinity;
  /** Where to go once it is there: { line, where }, or "end". */
  #goal = null;
  /** What one likes for every log: { wrap, fold }. */
  #wishes = JSON.parse(localStorage.getItem(WISHES) ?? "{}");

  constructor(run, signal) {
    this.run = run;
    this.address = link("run", run);
    this.signal = signal;
    this.lines = new Lines(run, signal);
    this.search = new Search(run, {
      onFound: (lines, pattern) => this.#found(lines, pattern),
      onGo: (line) => this.go({ first: line, last: line }),
      place: () => this.#order.lineOf(this.scroller.inSight[0]),
      total: () => this.lines.total,
    }, signal);
    this.followButton = toggle("Follow", () => this.#wantEnd(!this.#isFollowing));
    this.wrapButton = toggle("Wrap", () => this.#wrap(!this.#wishes.wrap));
    this.foldButton = toggle("Fold", () => attempt(async () => {
      await this.#fold(!this.#wishes.fold);
      if (this.#groups?.size === 0 && !this.#isLive) tell("There are no groups in this log");
    }));
    this.foldButton.title = "Groups, and directories of make";
    this.streams = select({ "aria-label": "Streams", onchange: () => this.#pick(this.streams.value) },
      [["", "stdout + stderr"], ["stdout", "stdout"], ["stderr", "stderr"]]);
    this.goto = h("input.goto", {
      inputmode: "numeric", placeholder: "Line", "aria-label": "Go to line or lines",
      onkeydown: (event) => event.key === "Enter" && this.#goTo(event),
    });
    this.count = h("span.count");
    this.rows = h("div.log-rows");
    this.space = h("div.log-space", this.rows);
    this.window = h("div.log-window", {
      tabindex: 0, role: "region", "aria-label": "Log output",
      onclick: (event) => this.#onClick(event),
      onkeydown: (event) => this.#onKey(event),
    }, this.space);
    this.nothing = h("p.log-nothing", { role: "status" });
    this.fresh = h("button.log-fresh", { type: "button", hidden: true, onclick: () => this.#wantEnd(true) });
    this.element = h("section.card.log", { "aria-label": "Log" },
      h("div.log-bar", this.followButton, this.search.element, this.streams, this.goto,
        h("span.group", this.wrapButton, this.foldButton), iconButton("copy", "Copy lines", () => this.#copy()), this.count),
      this.window, this.nothing, this.fresh);
    this.scroller = new Scroller({
      element: this.window, space: this.space, rows: this.rows, rowHeight: ROW, signal,
      makeRow: (index) => this.#row(index),
      onScroll: () => this.#scrolled(),
      onDraw: () => this.#highlight(),
      onResize: () => this.#changed(),
    });
    this.lines.addEventListener("change", perFrame(() => this.#changed()), { signal });
    document.documentElement.addEventListener("themechange", () => this.scroller.forget(), { signal });
    // What is being selected must not run away.
    document.addEventListener("selectionchange", () => this.#isFollowing && selectedLines(this.rows) && this.follow(false), { signal });
    shortcut("f", "Follow the log, or pause", () => this.#wantEnd(!this.#isFollowing), signal);
    shortcut("l", "Go to a line", () => this.goto.focus(), signal);
    shortcut("w", "Wrap long lines, or not", () => this.#wrap(!this.#wishes.wrap), signal);
    shortcut("y", "Copy the chosen or selected lines", () => this.#copy(), signal);
    shortcut("e", "Next error or warning", () => this.#stepError(1), signal);
    shortcut("E", "Previous error or warning", () => this.#stepError(-1), signal);
    addEventListener("pagehide", () => this.#remember(), { signal });
    signal.addEventListener("abort", () => CSS.highlights?.delete("found"));
    this.follow(false);
    this.#wrap(this.#wishes.wrap ?? false);
    if (this.#wishes.fold) this.#fold(true).catch(() => {});
  }

  /** Whether more is to come. */
  set isLive(isLive) {
    this.#isLive = isLive;
    this.followButton.hidden = !isLive;
    this.#tellFresh();
    if (isLive || !this.#isFollowing) return;
    this.follow(false);
    this.#goal = "end"; // which may not be here yet
  }

  get isLive() {
    return this.#isLive;
  }

  get chosen() {
    return this.#chosen;
  }

  follow(isFollowing) {
    if (this.#isFollowing && !isFollowing) this.#seen = this.lines.total;
    this.#isFollowing = isFollowing && this.#isLive;
    this.followButton.setAttribute("aria-pressed", String(this.#isFollowing));
    this.followButton.textContent = this.#isFollowing ? "Following" : "Follow";
    if (this.#isFollowing) this.scroller.showEnd();
    this.#tellFresh();
  }

  /** Shows the end, once it is known. */
  showEnd() {
    this.#goal = "end";
    this.#changed();
  }

  /** All of it is there. */
  finish() {
    if (this.#groups) this.#regroup().catch(() => {});
  }

  /** Shows what an address names. */
  open(query) {
    this.choose(readRange(query.get("line")));
    const stream = query.get("stream") ?? "";
    if (stream !== this.#stream) this.#pick(this.streams.value = stream);
    this.search.open(query);
  }

  /** Chooses lines and goes there, once they have come. */
  choose(range, { andGo = true } = {}) {
    this.#chosen = range;
    this.#mark();
    this.onChoose(range);
    if (range && andGo) this.jump(range.first);
  }

  /** As `choose`, and the address names them. */
  go(range, options) {
    noteQuery({ line: range && rangeText(range) });
    this.choose(range, options);
  }

  jump(line) {
    this.follow(false);
    this.#unfold(line);
    const row = this.#order.rowOf(line);
    // Of a run that is under way, or whose lines are still counted, it may be there only later.
    this.#goal = row < this.scroller.count ? null : { line, where: "middle" };
    if (this.#goal === null) this.scroller.show(row);
    this.#mark();
  }

  /** Shows what is wrong in the log: each has its log_line. */
  set errors(errors) {
    this.#errors = errors;
    this.#errorLines = new Set(errors.map((error) => error.log_line));
    this.#mark();
  }

  /** Where one was before the page was loaded again. */
  recall() {
    const { address, line, isFollowing } = JSON.parse(sessionStorage.getItem("branchyard-place") ?? "{}");
    if (address !== location.hash || isFollowing) return false;
    this.#goal = { line, where: "top" };
    return true;
  }

  #remember() {
    const line = this.#order.lineOf(this.scroller.inSight[0]);
    sessionStorage.setItem("branchyard-place", JSON.stringify({ address: location.hash, line, isFollowing: this.#isFollowing }));
  }

  /** Shows the lines as they are now; all rows are made anew where they show others. */
  #changed({ anew = false } = {}) {
    const { lines } = this;
    if (this.#order.picked) this.#next = lines.pick(this.#stream, this.#order.picked, this.#next);
    const count = this.#order.count(lines.total);
    if (anew) this.scroller.forget(count);
    else this.scroller.remake((row) => row.shown !== lines.get(Number(row.dataset.line)));
    const isThere = this.#goal?.line && this.#order.rowOf(this.#goal.line) < count;
    this.scroller.resize(count, { toEnd: this.#isFollowing || this.#goal === "end" });
    if (isThere) {
      this.scroller.show(this.#order.rowOf(this.#goal.line), this.#goal.where);
      this.#goal = null;
    }
    this.#tell();
    this.#tellFresh();
  }

  /** Says how many lines there are, and of which. */
  #tell() {
    const { total, told, isMarked } = this.lines;
    const picked = this.#order.picked?.length;
    this.count.textContent = picked === undefined ? counted(total, "line") : `${number(picked)} of ${counted(isMarked ? total : told, "line")}${isMarked ? "" : "…"}`;
    this.nothing.textContent = picked !== 0 ? "" : !isMarked ? `Looking through ${counted(total, "line")}…`
      : `Nothing ${this.#isLive ? "is yet" : "was"} written to ${this.#stream}.`;
  }

  #tellFresh() {
    const count = this.lines.total - this.#seen;
    this.fresh.hidden = !this.#isLive || this.#isFollowing || count <= 0;
    if (!this.fresh.hidden) this.fresh.textContent = `↓ ${counted(count, "new line")}`;
  }

  #row(index) {
    const line = this.#order.lineOf(index);
    const found = this.lines.get(line);
    const row = makeRow(this.address, this.lines, line, found, this.#order.picked ? null : this.#groups?.get(line));
    row.shown = found;
    this.#dress(row);
    return row;
  }

  #dress(row) {
    const line = Number(row.dataset.line);
    const { first, last } = this.#chosen ?? { first: 0, last: -1 };
    row.classList.toggle("chosen", line >= first && line <= last);
    row.classList.toggle("match", this.#matches.has(line));
    row.classList.toggle("error", this.#errorLines.has(line));
  }

  #mark() {
    for (const row of this.rows.children) this.#dress(row);
  }

  #stepError(by) {
    const count = this.#errors.length;
    if (count === 0) return;
    // From the one that is shown, however one came there; two may be about one line.
    const line = this.#chosen?.first;
    if (this.#errors[this.#error]?.log_line !== line) this.#error = this.#errors.findIndex((error) => error.log_line === line);
    this.#error = this.#error < 0 && by < 0 ? count - 1 : (this.#error + by + count) % count;
    const { log_line: there } = this.#errors[this.#error];
    this.go({ first: there, last: there });
  }

  #found(lines, pattern) {
    this.#matches = new Set(lines);
    this.#pattern = pattern;
    this.#mark();
    this.#highlight();
  }

  /** Marks the words that were searched for, without a change to the elements. */
  #highlight() {
    if (!CSS.highlights) return;
    const ranges = this.#pattern === null ? [] : [...this.rows.querySelectorAll(".match .text")].flatMap((text) => rangesIn(text, this.#pattern));
    CSS.highlights.set("found", new Highlight(...ranges));
  }

  #scrolled() {
    this.#goal = null;
    if (this.#isLive && this.scroller.isAtEnd !== this.#isFollowing) this.follow(this.scroller.isAtEnd);
  }

  /** To the end of what comes, or to stay here. The address no longer names lines that are left. */
  #wantEnd(isWanted) {
    if (isWanted && this.#chosen) this.go(null);
    this.follow(isWanted);
  }

  #wrap(isWrapped) {
    this.#wish({ wrap: isWrapped });
    this.wrapButton.setAttribute("aria-pressed", String(isWrapped));
    this.element.classList.toggle("wraps", isWrapped);
    const line = this.#order.lineOf(this.scroller.inSight[0]) ?? 1;
    this.scroller.wrap(isWrapped);
    if (this.#isFollowing) this.scroller.showEnd();
    else if (this.scroller.count > 0) this.scroller.show(this.#order.rowOf(line), "top");
  }

  #wish(wish) {
    if (Object.entries(wish).every(([name, value]) => (this.#wishes[name] ?? false) === value)) return;
    Object.assign(this.#wishes, wish);
    localStorage.setItem(WISHES, JSON.stringify(this.#wishes));
  }

  async #fold(isWanted) {
    this.foldButton.setAttribute("aria-pressed", String(isWanted));
    this.#wish({ fold: isWanted });
    this.#groups = isWanted ? new Map() : null;
    if (isWanted) await this.#regroup();
    else this.#refold();
  }

  /** Looks for groups; those that are new are closed. */
  async #regroup() {
    clearTimeout(this.#regrouping);
    if (this.#isLive) this.#regrouping = setTimeout(() => !this.signal.aborted && this.#regroup().catch(() => {}), REGROUP);
    const total = this.lines.total;
    if (this.#groups === null || document.hidden) return;
    const groups = await findGroups(this.run, total, this.#isLive, this.signal);
    if (this.#groups === null || this.signal.aborted) return;
    const known = this.#groups;
    const line = this.#chosen?.first;
    const isChosen = ({ first, last }) => first < line && line <= last;
    this.#groups = new Map(groups.map((group) => [group.first, { isOpen: known.get(group.first)?.isOpen ?? isChosen(group), ...group }]));
    this.#refold();
  }

  #refold() {
    const [row] = this.scroller.inSight;
    const line = this.#order.lineOf(row) ?? 1;
    this.#order.fold([...this.#groups?.values() ?? []].filter((group) => !group.isOpen).map(({ first, last }) => ({ first: first + 1, last })));
    this.#changed({ anew: true });
    if (!this.#isFollowing && this.#order.rowOf(line) !== row) this.scroller.show(this.#order.rowOf(line), "top");
  }

  /** Opens the groups that a line is in. */
  #unfold(line) {
    const closed = [...this.#groups?.values() ?? []].filter((group) => !group.isOpen && group.first < line && line <= group.last);
    for (const group of closed) group.isOpen = true;
    if (closed.length > 0) this.#refold();
  }

  /** A long log is shown without reading all of it; which stream wrote what, only reading all of it tells. */
  #pick(stream) {
    noteQuery({ stream });
    const place = this.#order.lineOf(this.scroller.inSight[0]) ?? 1;
    this.#stream = stream;
    this.#next = 1;
    this.#order.picked = stream === "" ? null : [];
    if (stream !== "" && !this.lines.isMarked && !this.#isMarking) {
      this.#isMarking = true;
      attempt(() => this.lines.mark());
    }
    this.#changed({ anew: true });
    if (!this.#isFollowing) this.scroller.show(Math.min(this.#order.rowOf(place), this.scroller.count - 1), "top");
  }

  #copy() {
    copyLines(this.lines, selectedLines(this.rows) ?? this.#chosen);
  }

  /** At once: the browser would glide there, through more rows than it can. */
  #onKey(event) {
    if (event.target !== this.window || (event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    this.#goal = null;
    if (event.key === "End" && this.#isLive) return this.#wantEnd(true);
    this.follow(false);
    if (event.key === "Home") this.scroller.show(0, "top");
    else this.scroller.showEnd();
  }

  #onClick(event) {
    const row = event.target.closest(".row");
    const line = Number(row?.dataset.line);
    if (event.target.closest(".fold")) return this.#toggle(line);
    if (!event.target.closest("a.no") || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const first = event.shiftKey && this.#chosen ? this.#chosen.first : line;
    this.go({ first: Math.min(first, line), last: Math.max(first, line) }, { andGo: false });
  }

  #toggle(line) {
    const group = this.#groups.get(line);
    group.isOpen = !group.isOpen;
    this.#refold();
    this.rows.querySelector(`[data-line="${line}"] .fold`)?.focus({ preventScroll: true });
  }

  #goTo(event) {
    event.preventDefault();
    const range = readRange(this.goto.value);
    if (!range) return;
    this.go(range);
    this.window.focus();
  }
}

function toggle(label, onclick) {
  return h("button", { type: "button", "aria-pressed": "false", onclick }, label);
}

/** "120" or "120-130" */
export function readRange(text) {
  const [, first, last = first] = /^\s*(\d+)\s*(?:-\s*(\d+)\s*)?$/.exec(text ?? "") ?? [];
  if (!first || Number(first) < 1) return null;
  return { first: Math.min(Number(first), Number(last)), last: Math.max(Number(first), Number(last)) };
}

function rangeText({ first, last }) {
  return first === last ? String(first) : `${first}-${last}`;
}

/** Where the pattern is found in the text of an element, across its nodes. */
function rangesIn(element, pattern) {
  const nodes = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let at = 0; walker.nextNode(); at += walker.currentNode.length) nodes.push([at, walker.currentNode]);
  const place = (range, edge, offset) => {
    const [at, node] = nodes.findLast(([start]) => (edge === "setStart" ? start <= offset : start < offset)) ?? nodes[0];
    range[edge](node, Math.min(offset - at, node.length));
  };
  return [...element.textContent.matchAll(pattern)].filter(([text]) => text !== "").slice(0, 50).map((match) => {
    const range = new Range();
    place(range, "setStart", match.index);
    place(range, "setEnd", match.index + match[0].length);
    return range;
  });
}
