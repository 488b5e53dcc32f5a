// The lines of a run's output: how many there are, which stream each came from, and the text of those
// that were looked at lately. Text is had in chunks, on demand, and let go of again, so that a log of
// any length costs no more memory than what is on the screen and a little around it.

import { at, request, withQuery } from "../core/api.js";
import { writtenOver } from "./ansi.js";

const CHUNK = 128;
/** More than there are rows on a screen: with a filter, each may be in a chunk of its own. */
const MOST_CHUNKS = 160;
/** What is kept of a line for the screen; all of it can be had by itself. */
export const CUT = 2000;

const STDOUT = 1;
const STDERR = 2;

/** Dispatches "change" when text has come, and when lines were added. */
export class Lines extends EventTarget {
  total = 0;
  /** Whether it is known of every line which stream it came from. */
  isMarked = false;
  #run;
  #signal;
  /** Number of the chunk → lines, the least recently used first. A Promise while it is on its way. */
  #chunks = new Map();
  /** A byte for each line: the streams that wrote to it. */
  #marks = new Uint8Array(1024);
  /** Whether the last line still waits for its end. */
  #isOpen = false;

  constructor(run, signal) {
    super();
    this.#run = run;
    this.#signal = signal;
  }

  /** The text of a line, counted from 1, as { text, length }; undefined while it is on its way. */
  get(line) {
    const number = Math.floor((line - 1) / CHUNK);
    const chunk = this.#chunks.get(number);
    if (chunk === undefined) this.#fetch(number);
    if (!Array.isArray(chunk)) return undefined;
    const found = chunk[(line - 1) % CHUNK];
    // It came while the chunk was on its way, or began before the chunk was kept.
    if (found === undefined && line <= this.#ended) this.#fetch(number);
    else this.#keep(number, chunk);
    return found;
  }

  /** How many lines are whole. */
  get #ended() {
    return this.total - (this.#isOpen ? 1 : 0);
  }

  isStderr(line) {
    return (this.#marks[line - 1] & STDERR) !== 0;
  }

  /** The lines that a stream wrote to. */
  of(stream) {
    const mark = stream === "stderr" ? STDERR : STDOUT;
    const found = [];
    for (let i = 0; i < this.total; i += 1) if (this.#marks[i] & mark) found.push(i + 1);
    return found;
  }

  /** Takes an output event. With `textToo` its text is kept, else only what stream it is of. */
  add({ type, data }, textToo = true) {
    if (!this.#isOpen) {
      this.total += 1;
      if (this.total > this.#marks.length) this.#grow();
    }
    this.#marks[this.total - 1] |= type === "stderr" ? STDERR : STDOUT;
    if (textToo) this.#append(data.line ?? decoded(data.b64));
    this.#isOpen = data.eol === "";
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** Begins anew, for a stream that is read from its start. */
  clear() {
    this.total = 0;
    this.isMarked = true;
    this.#isOpen = false;
    this.#chunks.clear();
    this.#marks.fill(0);
  }

  /** Nothing more will come: a last line without an ending is whole, too. */
  finish() {
    this.#isOpen = false;
    this.changed();
  }

  /** Which stream wrote what, found out by others. */
  takeMarks(other) {
    this.#marks = other.#marks;
    this.isMarked = true;
    this.changed();
  }

  /** Sets how many lines there are, of a run that has ended and whose stream is not followed. */
  async count() {
    this.total = await countLines((line) => this.#has(line));
    this.changed();
  }

  /** All of a line, as much of it as `most` characters. */
  async whole(line, most) {
    const response = await request(withQuery(at.log(this.#run), { lines: line }), { signal: this.#signal });
    const [found] = await readLines(response.body, most, 1);
    return found ?? { text: "", length: 0 };
  }

  #append(text) {
    const number = Math.floor((this.total - 1) / CHUNK);
    const index = (this.total - 1) % CHUNK;
    let chunk = this.#chunks.get(number);
    if (!Array.isArray(chunk)) {
      // The rest of a chunk that was let go of is had from the daemon.
      if (index > 0 || this.#isOpen) return;
      chunk = [];
    }
    const before = this.#isOpen ? chunk[index] : { text: "", length: 0 };
    if (!before) return;
    chunk[index] = added(before, text, CUT);
    this.#keep(number, chunk);
  }

  /** Makes a chunk the most recently used one, and lets go of the one that was used least. */
  #keep(number, chunk) {
    this.#chunks.delete(number);
    this.#chunks.set(number, chunk);
    if (this.#chunks.size > MOST_CHUNKS) this.#chunks.delete(this.#chunks.keys().next().value);
  }

  async #fetch(number) {
    const first = number * CHUNK + 1;
    const last = Math.min(first + CHUNK - 1, this.total);
    const coming = request(withQuery(at.log(this.#run), { lines: `${first}-${last}` }), { signal: this.#signal })
      .then((response) => readLines(response.body, CUT, CHUNK));
    this.#keep(number, coming);
    try {
      const chunk = await coming;
      // The daemon may be ahead of the stream: what that has yet to tell is left to it.
      this.#keep(number, chunk.slice(0, Math.max(0, this.#ended - first + 1)));
    } catch {
      this.#chunks.delete(number);
      // Asked for again once the daemon is back, if it is still looked at.
      if (!this.#signal.aborted) setTimeout(() => this.changed(), 1000);
      return;
    }
    this.changed();
  }

  async #has(line) {
    const response = await request(withQuery(at.log(this.#run), { lines: line }), { signal: this.#signal });
    const reader = response.body.getReader();
    const { done } = await reader.read();
    reader.cancel();
    return !done;
  }

  #grow() {
    const larger = new Uint8Array(this.#marks.length * 2);
    larger.set(this.#marks);
    this.#marks = larger;
  }
}

/**
 * The number of the last line that there is. The daemon finds any line by an index, so a search by
 * halves is quick, whatever the length of the log.
 */
async function countLines(has) {
  if (!(await has(1))) return 0;
  let there = 1;
  let gone = CHUNK;
  while (await has(gone)) {
    there = gone;
    gone *= 8;
  }
  while (gone - there > 1) {
    // Three questions at once: a quarter is left each time.
    const step = Math.max(1, Math.floor((gone - there) / 4));
    const places = [1, 2, 3].map((part) => there + part * step).filter((place) => place < gone);
    const found = await Promise.all(places.map(has));
    const missing = found.indexOf(false);
    if (missing >= 0) gone = places[missing];
    there = places[missing < 0 ? places.length - 1 : missing - 1] ?? there;
  }
  return there;
}

/** Lines as { text, length }, each cut at `most` characters while it is read: one line may be huge. */
async function readLines(body, most, count) {
  const lines = [];
  let line = { text: "", length: 0 };
  const add = (piece) => { line = added(line, piece, most); };
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const pieces = value.split("\n");
    for (const piece of pieces.slice(0, -1)) {
      add(piece);
      lines.push(line);
      line = { text: "", length: 0 };
    }
    add(pieces.at(-1));
    if (lines.length >= count) {
      reader.cancel();
      return lines.slice(0, count);
    }
  }
  if (line.length > 0) lines.push(line);
  return lines;
}

/** The line with more of it. What a carriage return writes over is gone before anything is cut: the end of a progress line counts. */
function added({ text, length }, piece, most) {
  const joined = text + piece;
  const shown = writtenOver(joined);
  return { text: shown.slice(0, most), length: shown === joined ? length + piece.length : shown.length };
}

function decoded(base64) {
  const raw = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(raw);
}
