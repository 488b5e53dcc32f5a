// The log of a run: the window on its lines, and what one can do with them.

import { h, perFrame } from "../core/dom.js";
import { counted, number } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { noteQuery } from "../core/router.js";
import { select } from "../ui/parts.js";
import { followRun } from "./follow.js";
import { Lines } from "./lines.js";
import { makeRow } from "./row.js";
import { Scroller } from "./scroller.js";
import { Search } from "./search.js";

const ROW = 20; // as --row in log.css

export class LogPanel {
  /** The lines that an address names, { first, last }, or null. */
  #chosen = null;
  #matches = new Set();
  #pattern = null;
  #errors = new Set();
  /** "" for both, "stdout" or "stderr". */
  #stream = "";
  /** With one stream alone: the lines of it. */
  #picked = null;
  #isFollowing = false;
  #isLive = false;
  /** Where to go once it is there: { line, where }. */
  #goal = null;

  constructor(run, signal) {
    this.run = run;
    this.signal = signal;
    this.lines = new Lines(run, signal);
    this.search = new Search(run, {
      onFound: (lines, pattern) => this.#found(lines, pattern),
      onGo: (line) => this.jump(line),
    }, signal);
    this.followButton = h("button", { type: "button", "aria-pressed": "false", onclick: () => this.follow(!this.#isFollowing) }, "Follow");
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
    this.element = h("section.card.log", { "aria-label": "Log" },
      h("div.log-bar", this.followButton, this.search.element, this.streams, this.goto, this.count), this.window);
    this.scroller = new Scroller({
      element: this.window, space: this.space, rows: this.rows, rowHeight: ROW, signal,
      makeRow: (index) => this.#row(index),
      onScroll: () => this.#scrolled(),
      onDraw: () => this.#highlight(),
    });
    this.lines.addEventListener("change", perFrame(() => this.#changed()), { signal });
    document.documentElement.addEventListener("themechange", () => this.scroller.forget(), { signal });
    shortcut("f", "Follow the log, or pause", () => this.follow(!this.#isFollowing), signal);
    shortcut("l", "Go to a line", () => this.goto.focus(), signal);
    addEventListener("pagehide", () => this.#remember(), { signal });
    signal.addEventListener("abort", () => CSS.highlights?.delete("found"));
    this.follow(false);
  }

  /** Whether more is to come. */
  set isLive(isLive) {
    this.#isLive = isLive;
    this.followButton.hidden = !isLive;
  }

  follow(isFollowing) {
    this.#isFollowing = isFollowing && this.#isLive;
    this.followButton.setAttribute("aria-pressed", String(this.#isFollowing));
    this.followButton.textContent = this.#isFollowing ? "Following" : "Follow";
    if (this.#isFollowing) this.scroller.showEnd();
  }

  /** Chooses lines and goes there, once they have come. */
  choose(range, { andGo = true } = {}) {
    this.#chosen = range;
    this.#mark();
    if (range && andGo) this.jump(range.first);
  }

  jump(line) {
    this.follow(false);
    const row = this.#rowOf(line);
    // Of a run that is under way, or whose lines are still counted, it may be there only later.
    this.#goal = row < this.scroller.count ? null : { line, where: "middle" };
    if (this.#goal === null) this.scroller.show(row);
    this.#mark();
  }

  /** The lines that the diagnostics are about. */
  markErrors(lines) {
    this.#errors = new Set(lines);
    this.#mark();
  }

  /** Where one was before the page was loaded again. */
  recall() {
    const { run, line, isFollowing } = JSON.parse(sessionStorage.getItem("branchyard-place") ?? "{}");
    if (run !== this.run) return false;
    if (isFollowing) return false;
    this.#goal = { line, where: "top" };
    return true;
  }

  #remember() {
    const line = this.#lineOf(this.scroller.inSight[0]);
    sessionStorage.setItem("branchyard-place", JSON.stringify({ run: this.run, line, isFollowing: this.#isFollowing }));
  }

  #changed() {
    if (this.#stream !== "" && this.lines.isMarked) this.#picked = this.lines.of(this.#stream);
    this.scroller.count = this.#picked?.length ?? this.lines.total;
    this.scroller.remake((row) => row.shown !== this.lines.get(Number(row.dataset.line)));
    this.count.textContent = this.#picked ? `${number(this.#picked.length)} of ${counted(this.lines.total, "line")}` : counted(this.lines.total, "line");
    if (this.#goal !== null && this.#rowOf(this.#goal.line) < this.scroller.count) {
      this.scroller.show(this.#rowOf(this.#goal.line), this.#goal.where);
      this.#goal = null;
    }
    if (this.#isFollowing) this.scroller.showEnd();
  }

  #row(index) {
    const line = this.#lineOf(index);
    const found = this.lines.get(line);
    const row = makeRow(this.run, this.lines, line, found);
    row.shown = found;
    this.#dress(row);
    return row;
  }

  #dress(row) {
    const line = Number(row.dataset.line);
    const { first, last } = this.#chosen ?? { first: 0, last: -1 };
    row.classList.toggle("chosen", line >= first && line <= last);
    row.classList.toggle("match", this.#matches.has(line));
    row.classList.toggle("error", this.#errors.has(line));
  }

  #mark() {
    for (const row of this.rows.children) this.#dress(row);
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

  #lineOf(row) {
    return this.#picked ? this.#picked[row] : row + 1;
  }

  /** The row of a line, or of the first one after it that is shown. */
  #rowOf(line) {
    if (!this.#picked) return line - 1;
    const row = this.#picked.findIndex((picked) => picked >= line);
    return row < 0 ? this.#picked.length : row;
  }

  async #pick(stream) {
    const place = this.#lineOf(this.scroller.inSight[0]) ?? 1;
    this.#stream = stream;
    if (stream !== "" && !this.lines.isMarked) await this.#findMarks();
    if (this.#stream !== stream) return;
    this.#picked = stream === "" ? null : this.lines.of(stream);
    this.scroller.forget();
    this.#changed();
    this.scroller.show(Math.min(this.#rowOf(place), this.scroller.count - 1), "top");
  }

  /** A long log is shown without reading all of it; which stream wrote what, only reading all of it tells. */
  async #findMarks() {
    const aside = new Lines(this.run, this.signal);
    aside.addEventListener("change", () => { this.count.textContent = `Looking through ${counted(aside.total, "line")}…`; });
    await followRun(this.run, aside, {}, this.signal, { textToo: false });
    this.lines.takeMarks(aside);
  }

  /** At once: the browser would glide there, through more rows than it can. */
  #onKey(event) {
    if (event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    this.follow(event.key === "End");
    if (event.key === "Home") this.scroller.show(0, "top");
    else this.scroller.showEnd();
  }

  #onClick(event) {
    const anchor = event.target.closest("a.no");
    if (!anchor || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const line = Number(anchor.parentElement.dataset.line);
    const first = event.shiftKey && this.#chosen ? this.#chosen.first : line;
    this.#choosePermanently({ first: Math.min(first, line), last: Math.max(first, line) });
  }

  #choosePermanently(range) {
    this.choose(range, { andGo: false });
    noteQuery({ line: rangeText(range) });
  }

  #goTo(event) {
    event.preventDefault();
    const range = readRange(this.goto.value);
    if (!range) return;
    this.#choosePermanently(range);
    this.jump(range.first);
    this.window.focus();
  }
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
