// The tests of a run or of a job: how many there were, and each of them. Names and messages are from the branch that was tested.

import { api, withQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { brief, counted, duration, number } from "../core/format.js";
import { button, chip, empty, problemBox, stateBadge, table } from "../ui/parts.js";

const PAGE = 100;
/** A longer message, or one of several lines, is folded: a list of failures stays a list. */
const SHORT = 120;

/** States and verdicts in the order of the counts: the tone, and what a verdict means. */
const WORDS = {
  failed: ["bad"],
  new: ["bad", "failed here, and passed in the base"],
  known: ["", "failed in the base too"],
  flaky: ["warn", "passed and failed on the same tree"],
  passed: ["ok"],
  skipped: [""],
};

const COLUMNS = [
  { name: "State", plain: true, class: "fit", cell: ({ state }) => stateBadge(state) },
  { name: "Verdict", plain: true, class: "fit", cell: ({ verdict }) => verdict && chip(verdict, ...WORDS[verdict]) },
  // Each text is a block, which keeps direction marks in it from turning around what stands beside it.
  { name: "Test", plain: true, class: "first name", cell: ({ name, suite }) => [h("div.mono", name), suite && h("div.muted", suite)] },
  { name: "Message", plain: true, cell: ({ message, file, line }) => [
    message && messageOf(message.trim()),
    file && h("div.mono.muted", line ? `${file}:${line}` : file)] },
  { name: "Took", plain: true, class: "num", cell: ({ ms }) => ms !== undefined && duration(ms) },
];

export class Tests {
  #address;
  #signal;
  /** Where the next page begins; null after the last. */
  #next = 0;
  #table = table("Tests", COLUMNS, []);
  #foot = h("div");
  // The same element from page to page, so that it keeps the focus.
  #more = button("Show more", () => this.#load());
  #pager = h("div.pager", { hidden: true }, this.#more);
  element = h("details.card.tests", { hidden: true, ontoggle: () => this.element.open && this.#next === 0 && this.#load() });

  /** `address` lists them. */
  constructor(address, signal) {
    this.#address = address;
    this.#signal = signal;
  }

  /** To be called when what was tested has ended: only then are its tests known, and they stay as they are. */
  show(counts) {
    if (!this.element.hidden) return;
    fill(this.element,
      h("summary", h("h2", "Tests"), testChips(counts)),
      h("div.scroll", { tabindex: 0, role: "region", "aria-label": "List of tests" }, this.#table, this.#foot, this.#pager));
    this.#table.hidden = true;
    this.element.hidden = false;
    // What failed is what a reader comes for; the rest is a click away.
    this.element.open = counts.failed > 0;
  }

  async #load() {
    if (this.#more.ariaBusy) return;
    this.#more.ariaBusy = "true";
    this.#more.textContent = "Show more";
    let foot;
    try {
      foot = this.#add(await api.get(withQuery(this.#address, { from: this.#next, limit: PAGE }), this.#signal));
    } catch (error) {
      foot = problemBox(error);
      this.#more.textContent = "Try again";
    }
    this.#more.ariaBusy = null;
    this.#pager.hidden = this.#next === null;
    fill(this.#foot, foot);
  }

  /** Adds rows to those that are there, whose messages stay unfolded; what is to be said below them. */
  #add({ items, next, left_out: leftOut }) {
    const [body] = this.#table.tBodies;
    body.append(...table("", COLUMNS, items).tBodies[0].rows);
    this.#table.hidden = body.rows.length === 0;
    this.#next = next;
    if (next !== null) return null;
    if (leftOut > 0) return empty(`Counted, and not listed: ${counted(leftOut, "test")}.`);
    return this.#table.hidden && empty("No tests.");
  }
}

/** How many tests there were, by state and verdict. */
export function testChips(counts) {
  const some = Object.entries(WORDS).filter(([word]) => counts[word] > 0);
  return h("span.chips", some.length === 0 ? chip("none found")
    : some.map(([word, look]) => chip(`${number(counts[word])} ${word}`, ...look)));
}

function messageOf(message) {
  const [first] = message.split("\n", 1);
  if (first === message && message.length <= SHORT) return h("div", message);
  return h("details", h("summary", brief(first, SHORT)), h("pre.file", { tabindex: 0 }, message));
}
