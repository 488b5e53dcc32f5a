// Search in a log, done by the daemon: it has all of it, the page only what is on the screen.

import { at, request, withQuery } from "../core/api.js";
import { h } from "../core/dom.js";
import { number } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { iconButton } from "../ui/parts.js";

const LIMIT = 2000;

/** Calls `onFound(lines, pattern)` for every search and `onGo(line)` to go to a match. */
export class Search {
  #run;
  #signal;
  #onFound;
  #onGo;
  #lines = [];
  #index = -1;
  #isMore = false;
  #asked = null;

  constructor(run, { onFound, onGo }, signal) {
    this.#run = run;
    this.#signal = signal;
    this.#onFound = onFound;
    this.#onGo = onGo;
    this.input = h("input", {
      type: "search", placeholder: "Search the log", "aria-label": "Search the log",
      onkeydown: (event) => this.#onKey(event),
      oninput: () => this.input.value === "" && this.#clear(),
    });
    this.isRegex = toggle(".*", "Regular expression", () => this.#ask());
    this.isExact = toggle("Aa", "Tell small and capital letters apart", () => this.#ask());
    this.count = h("span.count", { role: "status" });
    this.element = [this.input, h("span.group", this.isExact, this.isRegex), this.count,
      h("span.group", iconButton("up", "Previous match", () => this.step(-1)), iconButton("next", "Next match", () => this.step(1)))];
    shortcut("/", "Search the log", () => this.input.focus(), signal);
    shortcut("n", "Next match", () => this.step(1), signal);
    shortcut("N", "Previous match", () => this.step(-1), signal);
  }

  step(by) {
    if (this.#lines.length === 0) return;
    this.#index = (this.#index + by + this.#lines.length) % this.#lines.length;
    this.#tell();
    this.#onGo(this.#lines[this.#index]);
  }

  #onKey(event) {
    if (event.key === "Escape") {
      this.input.value = "";
      this.#clear();
    }
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (this.#key() === this.#asked) this.step(event.shiftKey ? -1 : 1);
    else this.#ask();
  }

  #key() {
    return JSON.stringify([this.input.value, pressed(this.isRegex), pressed(this.isExact)]);
  }

  #clear() {
    this.#asked = null;
    this.#lines = [];
    this.count.textContent = "";
    this.input.removeAttribute("aria-invalid");
    this.#onFound([], null);
  }

  async #ask() {
    const text = this.input.value;
    if (text === "") return this.#clear();
    const asked = this.#asked = this.#key();
    const source = pressed(this.isRegex) ? text : text.replace(/[\\^$.*+?()[\]{}|#&~-]/g, "\\$&");
    const ignoreCase = !pressed(this.isExact);
    this.count.textContent = "Searching…";
    try {
      const address = withQuery(at.log(this.#run), { grep: source, limit: LIMIT, ignore_case: ignoreCase || null, strip_ansi: true });
      const response = await request(address, { headers: { accept: "application/json" }, signal: this.#signal });
      const { items, truncated } = await response.json();
      if (asked !== this.#asked) return;
      this.input.removeAttribute("aria-invalid");
      this.#lines = items.map((item) => item.line);
      this.#isMore = truncated;
      this.#index = -1;
      this.#onFound(this.#lines, pattern(source, ignoreCase));
      this.#tell();
      this.step(1);
    } catch (error) {
      if (asked !== this.#asked || this.#signal.aborted) return;
      this.input.setAttribute("aria-invalid", "true");
      this.count.textContent = error.message;
    }
  }

  #tell() {
    const count = `${number(this.#lines.length)}${this.#isMore ? "+" : ""}`;
    this.count.textContent = this.#lines.length === 0 ? "No match" : this.#index < 0 ? count : `${number(this.#index + 1)} of ${count}`;
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
    element.setAttribute("aria-pressed", String(!pressed(element)));
    onChange();
  } }, text);
  return element;
}

function pressed(element) {
  return element.getAttribute("aria-pressed") === "true";
}
