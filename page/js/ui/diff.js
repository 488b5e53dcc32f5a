// What differs, file by file: counts first, and the lines of a file once they are wanted. Small differences are shown
// at once; of large ones each file is asked for when it is opened, and comes in pieces.

import { fill, h } from "../core/dom.js";
import { counted, number, shortId } from "../core/format.js";
import { noteQuery, sameWith } from "../core/router.js";
import { visible } from "./text.js";
import { button, empty, note, problemBox } from "./parts.js";

/** So many files are listed at a time. */
const FILES = 200;
/** Files are open from the start as long as they have no more lines than these together. */
const OPEN = 1_500;
/** So many lines of a file are shown at a time. */
const ROWS = 1_500;
/** Of a line; what is longer was hardly written by a person. */
const LONGEST = 5_000;

const LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R", copied: "C", type_changed: "T", untracked: "?", conflicted: "U" };
const TONES = { added: "ok", untracked: "ok", deleted: "bad", conflicted: "bad" };

export class Diff {
  #ask;
  #hrefOf;
  #signal;
  /** path → { element, body, file, isLoaded } */
  #files = new Map();
  #list = h("ol.diff-list");
  #bodies = h("div.diff-files");
  #foot = h("div.pager");
  #head = h("p.diff-sum");
  /** What it compares: the two sides and the totals of the last answer. */
  found = null;
  element = h("div.diff");

  /**
   * `ask(fields)` answers as the git verb `diff` does; `hrefOf({ path, line })` is where a line of the newer side is
   * shown, or null.
   */
  constructor(ask, hrefOf, signal) {
    this.#ask = ask;
    this.#hrefOf = hrefOf;
    this.#signal = signal;
  }

  /** Shows all that differs, at the file `path` if it is among it. */
  async load(path) {
    await this.#page(0);
    if (this.#signal.aborted) return this;
    if (this.#files.size === 0) fill(this.element, empty("Nothing differs."));
    else {
      fill(this.element, this.#head,
        h("div.diff-parts", this.#files.size > 1 && h("nav.diff-nav", { "aria-label": "Changed files", tabindex: 0 }, this.#list), this.#bodies), this.#foot);
    }
    // The caller puts it into the page first.
    if (path) requestAnimationFrame(() => this.go(path));
    return this;
  }

  /** Opens a file and goes there. */
  go(path) {
    const known = this.#files.get(path);
    if (!known) return;
    known.element.open = true;
    known.element.firstChild.focus({ preventScroll: true });
    known.element.scrollIntoView({ block: "start" });
  }

  /** To the next file, or the one before. */
  step(by) {
    const all = [...this.#files.values()].map(({ element }) => element);
    const current = all.findIndex((element) => element.contains(document.activeElement));
    const next = all[Math.max(0, Math.min(all.length - 1, current + by))];
    if (!next) return;
    noteQuery({ path: next.dataset.path });
    this.go(next.dataset.path);
  }

  async #page(skip) {
    const found = this.found = await this.#ask({ stat: true, limit: FILES, skip });
    if (this.#signal.aborted) return;
    const { totals, old, new: now } = found;
    fill(this.#head, h("b", `${counted(totals.files, "file")} changed`), " ", counts(totals.additions, totals.deletions),
      old && h("span.muted", " from ", h("code", name(old)), " to ", h("code", name(now))));
    let room = skip === 0 ? OPEN : 0;
    const open = [];
    for (const file of found.files) {
      this.#add(file);
      room -= (file.additions ?? 0) + (file.deletions ?? 0) + 10;
      if (room > 0) open.push(file);
    }
    const left = totals.files - this.#files.size;
    fill(this.#foot, left > 0 && button(`Show ${number(Math.min(left, FILES))} more of ${counted(left, "file")}`, () => this.#page(this.#files.size)));
    if (open.length > 0) await this.#loadAll(open);
  }

  #add(file) {
    const body = h("div.diff-body");
    const mark = h("span.diff-letter", { "data-tone": TONES[file.status] ?? "", title: file.status.replace("_", " ") }, LETTERS[file.status] ?? "M");
    const label = () => [file.old_path && [bidi(file.old_path), " → "], bidi(file.path)];
    const element = h("details.diff-file", { "data-path": file.path, ontoggle: () => element.open && this.#load(known) },
      h("summary", mark, h("span.diff-path.mono", label()), counts(file.additions, file.deletions)), body);
    const known = { element, body, file, isLoaded: false };
    this.#files.set(file.path, known);
    this.#bodies.append(element);
    this.#list.append(h("li", h("a", { href: sameWith({ path: file.path }), onclick: () => this.go(file.path) },
      mark.cloneNode(true), h("span.diff-path", { title: file.path }, label()), counts(file.additions, file.deletions))));
  }

  /** Several at once, in one answer; lock files and what does not fit stay closed. */
  async #loadAll(files) {
    const found = await this.#ask({ paths: pathsOf(files) });
    if (this.#signal.aborted) return;
    for (const file of found.files) {
      const known = this.#files.get(file.path);
      if (!known || known.isLoaded || file.hunks_left_out || found.left_out?.includes(file.path)) continue;
      this.#fill(known, file);
      known.element.open = true;
    }
  }

  async #load(known) {
    if (known.isLoaded) return;
    known.isLoaded = true;
    known.body.setAttribute("aria-busy", "true");
    try {
      const { file, next } = await this.#one(known.file, {});
      this.#fill(known, file, next);
    } catch (error) {
      known.isLoaded = false;
      if (!this.#signal.aborted) fill(known.body, problemBox(error));
    } finally {
      known.body.removeAttribute("aria-busy");
    }
  }

  async #one(file, place) {
    const found = await this.#ask({ paths: pathsOf([file]), lock_files: true, ...place });
    const same = found.files.find(({ path }) => path === file.path) ?? { ...file, patch: "" };
    return { file: same, next: same.hunks_left_out ? found.next : null };
  }

  #fill(known, file, next = null) {
    known.isLoaded = true;
    const why = reasonForNoLines(file);
    fill(known.body, file.lossy && note("plain", "It has bytes that are no UTF-8, which are shown as �."), why && h("p.empty", why));
    if (!why) this.#append(known, file, next);
  }

  /** The lines of a patch, so many at a time, and then the hunks that were not in the answer. */
  #append(known, file, next) {
    const rows = linesOf(file.patch);
    const more = h("div.pager");
    const step = () => {
      const box = h("div.code");
      for (let count = 0; count < ROWS; count += 1) {
        const { value, done } = rows.next();
        if (done) break;
        box.append(this.#row(value, file));
      }
      more.before(box);
      const ahead = rows.isDone() === false;
      fill(more, ahead ? button("Show more lines", step) : next ? button("Show more changes of this file", load) : null);
      if (!ahead && !next && file.hunks_left_out) fill(more, note("", "A change is too long to be shown here."));
    };
    const load = async () => {
      const { file: rest, next: after } = await this.#one(known.file, next);
      more.remove();
      this.#append(known, rest, after?.skip_hunks > next.skip_hunks ? after : null);
    };
    known.body.append(more);
    step();
  }

  #row({ kind, old, now, text }, { path }) {
    const href = now && this.#hrefOf({ path, line: now });
    if (kind === "@") return h("div.line.hunk", href ? h("a.text", { href, title: "Show it in the file" }, visible(text)) : h("span.text", visible(text)));
    return h("div.line", { class: { "+": "added", "-": "deleted" }[kind] },
      h("span.no", old ?? ""),
      // Not in the tab order, as in a log: a thousand stops would help nobody.
      href ? h("a.no", { href, tabindex: -1, "aria-label": `Line ${now}` }, now) : h("span.no", now ?? ""),
      h("span.sign", kind),
      // That a line ends in a carriage return is worth a look only where it changed.
      h("span.text", visible(cut(kind === " " ? text.replace(/\r$/, "") : text))));
  }
}

/** A path by itself: direction marks in it turn nothing else around. */
function bidi(path) {
  return h("bdi", visible(path));
}

export function cut(text) {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function name(side) {
  return /^[0-9a-f]{40,}$/.test(side) ? shortId(side) : side;
}

function pathsOf(files) {
  return [...new Set(files.flatMap(({ path, old_path: old }) => (old ? [path, old] : [path])))];
}

/** "+12 −3", with a word for those who listen. */
function counts(additions, deletions) {
  if (additions === null || additions === undefined) return h("span.diff-count");
  return h("span.diff-count", h("span.plus", { title: "lines added" }, `+${number(additions)}`), " ",
    h("span.minus", { title: "lines removed" }, `−${number(deletions)}`));
}

function reasonForNoLines(file) {
  if (file.binary) return "A binary file: its content is not shown.";
  if (file.status === "conflicted") return "It is in conflict.";
  if (file.path.endsWith("/")) return "A repository of its own.";
  if (file.patch?.includes("\n@@ ")) return null;
  if (file.hunks_left_out) return "The change is too long to be shown here.";
  if (file.old_path) return "Its content is the same.";
  if (["added", "deleted", "untracked"].includes(file.status)) return "An empty file.";
  return "Its lines are the same; its mode may differ.";
}

/**
 * The lines of a patch as git writes it: { kind, old, now, text }, where `kind` is a space, "+", "-", "@" (the head of a
 * hunk) or "\" (a remark of git's). The head says how many lines a hunk has, so that no line is mistaken for one.
 */
export function linesOf(patch) {
  const lines = patch.split("\n");
  let [at, old, now, oldEnd, nowEnd] = [0, 0, 0, 0, 0];
  const next = () => {
    while (at < lines.length) {
      const line = lines[at];
      at += 1;
      if (old < oldEnd || now < nowEnd) {
        const [kind, text] = [line[0] ?? " ", line.slice(1)];
        if (kind === "\\") return { kind, text };
        const row = { kind, text };
        if (kind !== "+") [row.old, old] = [old, old + 1];
        if (kind !== "-") [row.now, now] = [now, now + 1];
        return row;
      }
      if (line[0] === "\\") return { kind: "\\", text: line.slice(1) };
      const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
      if (!head) continue;
      const [from, count, to, size] = head.slice(1).map((part) => (part === undefined ? 1 : Number(part)));
      [old, now, oldEnd, nowEnd] = [from, to, from + count, to + size];
      return { kind: "@", now: to, text: line };
    }
    return null;
  };
  let ahead = next();
  return {
    next() {
      const value = ahead;
      if (value) ahead = next();
      return { value, done: value === null };
    },
    isDone: () => ahead === null,
  };
}
