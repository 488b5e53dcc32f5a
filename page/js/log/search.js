// Search in a log, done by the daemon: it has all of it, the page only what is on the screen.

import { at, request, withQuery } from "../core/api.js";
import { debounce, h } from "../core/dom.js";
import { number } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { noteQuery } from "../core/router.js";
import { iconButton } from "../ui/parts.js";

const LIMIT = 2000;

/**
 * Calls `onFound(lines, pattern)` for every search and `onGo(line)` to go to a match; `place()` is the line that one
 * looks at and `total()` the number of the last.
 */
export class Search {
  #run;
  #signal;
  #on;
  #lines = [];
  #index = -1;
  #isMore = false;
  #asked = null;
  #controller = new AbortController();

  constructor(run, on, signal) {
    this.#run = run;
    this.#signal = signal;
    this.#on = on;
    // What is not whole yet, such as "(", is not asked while it is typed.
    const askSoon = debounce(() => this.#key() !== this.#asked && !signal.aborted && pattern(this.#source, true) && this.ask(), 250);
    this.input = h("input", {
      type: "search", placeholder: "Search the log", "aria-label": "Search the log",
      onkeydown: (event) => this.#onKey(event),
      oninput: () => this.input.value === "" ? this.#clear() : askSoon(),
    });
    this.isRegex = toggle(".*", "Regular expression", () => this.ask());
    this.isExact = toggle("Aa", "Match case", () => this.ask());
    this.count = h("span.count", { role: "status" });
    this.element = [this.input, h("span.group", this.isExact, this.isRegex), this.count,
      h("span.group", iconButton("up", "Previous match", () => this.step(-1)), iconButton("next", "Next match", () => this.step(1)))];
    shortcut("/", "Search the log", () => this.input.focus(), signal);
    shortcut("n", "Next match", () => this.step(1), signal);
    shortcut("N", "Previous match", () => this.step(-1), signal);
  }

  /** Searches for what an address names, and stays where one is. */
  open(query) {
    const [text, how] = [query.get("find") ?? "", query.get("how") ?? ""];
    if (text === this.input.value) return;
    this.input.value = text;
    press(this.isRegex, how.includes("r"));
    press(this.isExact, how.includes("c"));
    this.ask({ andGo: false });
  }

  step(by) {
    if (this.#lines.length === 0) return;
    this.#index = (this.#index + by + this.#lines.length) % this.#lines.length;
    this.#tell();
    this.#on.onGo(this.#lines[this.#index]);
  }

  #onKey(event) {
    if (event.key === "Escape") {
      this.input.value = "";
      this.#clear();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (this.#key() === this.#asked) this.step(event.shiftKey ? -1 : 1);
    else this.ask();
  }

  #key() {
    return JSON.stringify([this.input.value, pressed(this.isRegex), pressed(this.isExact)]);
  }

  get #source() {
    const text = this.input.value;
    return pressed(this.isRegex) ? text : text.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&");
  }

  #clear() {
    this.#controller.abort();
    if (this.#asked) noteQuery({ find: "", how: "" });
    this.#asked = null;
    this.#lines = [];
    this.count.textContent = "";
    this.input.removeAttribute("aria-invalid");
    this.#on.onFound([], null);
  }

  async ask({ andGo = true } = {}) {
    if (this.input.value === "") return this.#clear();
    this.#controller.abort();
    this.#controller = new AbortController();
    const signal = AbortSignal.any([this.#signal, this.#controller.signal]);
    this.#asked = this.#key();
    const source = this.#source;
    const ignoreCase = !pressed(this.isExact);
    this.count.textContent = "Searching…";
    const found = [];
    try {
      const address = withQuery(at.log(this.#run), { grep: source, limit: LIMIT, ignore_case: ignoreCase || null, strip_ansi: true });
      const { body } = await request(address, { signal });
      this.#isMore = false;
      await eachLine(body, (line) => {
        const match = parseInt(line, 10);
        if (match > 0) found.push(match);
        else this.#isMore ||= line.startsWith("-- ");
      }, () => {
        if (found.length > 0) this.count.textContent = `${number(found.length)} so far, to line ${number(found.at(-1))} of ${number(this.#on.total())}…`;
      });
      this.input.removeAttribute("aria-invalid");
      this.#lines = found;
      this.#on.onFound(found, pattern(source, ignoreCase));
      // The first one from what one looks at on.
      this.#index = Math.max(0, found.findIndex((line) => line >= this.#on.place())) - 1;
      this.#tell();
      noteQuery({ find: this.input.value, how: `${pressed(this.isRegex) ? "r" : ""}${pressed(this.isExact) ? "c" : ""}` });
      if (andGo) this.step(1);
    } catch (error) {
      if (signal.aborted) return;
      this.input.setAttribute("aria-invalid", "true");
      this.count.textContent = error.message;
    }
  }

  #tell() {
    const count = `${number(this.#lines.length)}${this.#isMore ? "+" : ""}`;
    this.count.textContent = this.#lines.length === 0 ? "No match" : this.#index < 0 ? count : `${number(this.#index + 1)} of ${count}`;
  }
}

/** Gives `take` each line of a text as it comes, and calls `rest` after each piece. */
async function eachLine(body, take, rest) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let begun = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (begun + value).split("\n");
    begun = lines.pop();
    lines.forEach(take);
    rest();
  }
}

/** The same expression for marking words on the screen; the daemon's dialect has some that this one lacks. */
function pattern(source, ignoreCase) {
  try {
    return new RegExp(source, ignoreCase ? "gi" : "g");
  } catch {
    return null;
  }
}

function toggle(text, name, onChange) {
  const element = h("button.mono", { type: "button", "aria-pressed": "false", "aria-label": name, title: name, onclick: () => {
    press(element, !pressed(element));
    onChange();
  } }, text);
  return element;
}

function press(element, isPressed) {
  element.setAttribute("aria-pressed", String(isPressed));
}

function pressed(element) {
  return element.getAttribute("aria-pressed") === "true";
}
