// The lines of one file, as it is now or at a commit, so many of them as were asked for.

import { fill, h } from "../core/dom.js";
import { brief, shortId, when } from "../core/format.js";
import { noteQuery } from "../core/router.js";
import { visible } from "../ui/text.js";
import { cut } from "../ui/diff.js";
import { icon } from "../ui/icons.js";
import { button } from "../ui/parts.js";
import { attempt } from "../ui/toast.js";

/** So many lines are loaded at a time, and so many of these are laid out together. */
const STEP = 2_000;
const BLOCK = 250;

export class FileText {
  #space;
  #path;
  #commit;
  #lines = h("div.code");
  #before = h("div.pager");
  #after = h("div.pager");
  /** The first and last line that are there. */
  #first = 1;
  #last = 0;
  #problems = [];
  #isBlamed = false;
  /** { total, size, isBinary, isLossy, isModified, sha256 } */
  about = null;
  /** The line that is chosen. */
  line = null;
  element = h("div.ws-text", this.#before, this.#lines, this.#after);

  constructor(space, path, commit) {
    this.#space = space;
    this.#path = path;
    this.#commit = commit;
  }

  /** Loads the lines around one. */
  async load(line) {
    const first = Math.floor((line - 1) / STEP) * STEP + 1;
    const found = await this.#read(first);
    // A line beyond the end: the file is another than it was.
    if (found.lines.length === 0 && first > 1) return this.load(1);
    this.about = found;
    this.#first = first;
    this.#last = first - 1;
    this.#append(found.lines);
  }

  async #read(first) {
    const path = this.#path;
    if (this.#commit) {
      const { file } = await this.#space.ask("git/show", { revision: this.#commit, path, skip: first - 1, limit: STEP });
      if (!file) throw new Error(`${path} is a directory at ${shortId(this.#commit)}.`);
      return { lines: split(file.content ?? ""), total: file.lines, size: file.size, isBinary: file.binary, isLossy: file.lossy, isModified: false };
    }
    const file = await this.#space.ask("read_file", { path, start_line: first, end_line: first + STEP - 1 });
    const isBinary = file.encoding !== "utf-8" || file.text.includes("\0");
    return { lines: isBinary ? [] : split(file.text), total: file.total_lines ?? null, size: file.size, isBinary, isModified: file.modified, sha256: file.sha256 };
  }

  #append(lines) {
    const start = this.#last + 1;
    for (let from = 0; from < lines.length; from += BLOCK) {
      this.#lines.append(this.#block(start + from, lines.slice(from, from + BLOCK)));
    }
    this.#last += lines.length;
    this.#drawPagers();
  }

  #block(first, lines) {
    return h("div.block", { vars: { "--lines": lines.length } }, lines.map((text, index) => this.#row(first + index, text)));
  }

  #row(number, text) {
    const href = this.#space.fileAt({ path: this.#path, line: number, commit: this.#commit });
    return h("div.line.plain", { "data-line": number },
      h("a.no", { href, tabindex: -1, "aria-label": `Line ${number}` }, number), h("span.text", visible(cut(text))));
  }

  #drawPagers() {
    const total = this.about.total ?? this.#last;
    const more = (label, work) => button(label, () => attempt(work));
    fill(this.#before, this.#first > 1 && more("Show the lines before", async () => {
      const first = Math.max(1, this.#first - STEP);
      const { lines } = await this.#read(first);
      // What was there stays where it is on the screen.
      const row = this.#at(this.#first);
      const top = row.getBoundingClientRect().top;
      this.#lines.prepend(this.#block(first, lines.slice(0, this.#first - first)));
      this.#first = first;
      this.#loaded();
      scrollBy(0, row.getBoundingClientRect().top - top);
    }));
    fill(this.#after, this.#last < total && more("Show the lines after", async () => {
      const { lines } = await this.#read(this.#last + 1);
      this.#append(lines);
      this.#loaded();
    }));
  }

  #loaded() {
    this.#drawPagers();
    this.showProblems(this.#problems);
    if (this.#isBlamed) this.#drawBlame();
  }

  #at(line) {
    return this.#lines.querySelector(`[data-line="${line}"]`);
  }

  /** Marks a range of lines and goes there; none is marked without one. */
  choose(range) {
    for (const row of this.#lines.querySelectorAll(".chosen")) row.classList.remove("chosen");
    this.line = range?.first ?? null;
    if (!range) return;
    if (range.first < this.#first || range.first > this.#last) {
      // It is in another part of the file.
      if (range.first <= (this.about.total ?? 0)) attempt(async () => { fill(this.#lines); await this.load(range.first); this.#loaded(); this.choose(range); });
      return;
    }
    for (let line = range.first; line <= Math.min(range.last, this.#last); line += 1) this.#at(line)?.classList.add("chosen");
    this.#at(range.first).scrollIntoView({ block: "center" });
  }

  /** To the next line, or the one before. */
  step(by) {
    const line = Math.max(1, Math.min(this.about.total ?? this.#last, (this.line ?? 0) + by));
    noteQuery({ line });
    this.choose({ first: line, last: line });
    this.#at(line)?.scrollIntoView({ block: "nearest" });
  }

  /** What the last run complained about, below the lines that it named. */
  showProblems(items) {
    this.#problems = items;
    for (const old of this.#lines.querySelectorAll(".line-note")) old.remove();
    for (const { line, severity, message } of items.filter(({ file }) => file === this.#path)) {
      this.#at(line)?.after(h("div.line-note", { class: severity === "error" ? "bad" : "" }, icon(severity === "error" ? "cross" : "warn"), h("span", `${severity}: `, message)));
    }
  }

  /** Who wrote each line; asked for again it goes. */
  blame() {
    this.#isBlamed = !this.#isBlamed;
    this.#drawBlame();
  }

  #drawBlame() {
    for (const cell of this.#lines.querySelectorAll(".who")) cell.remove();
    this.#lines.classList.toggle("is-blamed", this.#isBlamed);
    if (this.#isBlamed) attempt(async () => {
      const wanted = { path: this.#path, start_line: this.#first, end_line: this.#last, ...(this.#commit ? { revision: this.#commit } : {}) };
      const { hunks } = await this.#space.ask("git/blame", wanted);
      for (const hunk of hunks) {
        for (let line = hunk.start_line; line <= hunk.end_line; line += 1) {
          this.#at(line)?.prepend(h("span.who", line === hunk.start_line && this.#origin(hunk)));
        }
      }
    });
  }

  #origin({ id, author, subject }) {
    if (!id) return h("span.muted", "not committed");
    return [h("a.mono", { href: this.#space.link({ view: "commits", commit: id }), title: subject }, shortId(id)), " ", brief(author.name, 16), " ", when(author.date)];
  }
}

function split(text) {
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
