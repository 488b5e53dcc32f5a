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
/** Of what comes at once, the text of so many lines is kept: more than a screen shows. */
export const KEPT = 200;
/** More lines than that at once are not read, but the log is joined anew at its end. */
const LEAP = 50_000;

const NOTHING = { text: "", length: 0 };
const STDOUT = 1;
const STDERR = 2;

/** Dispatches "change" when text has come, and when lines were added. */
export class Lines extends EventTarget {
  total = 0;
  #run;
  #signal;
  /** Number of the chunk → lines, the least recently used first; a line that is not known is undefined. */
  #chunks = new Map();
  #latest = -1;
  /** The chunks that are on their way. */
  #coming = new Set();
  /** How many lines the stream told, which says who wrote them: a byte for each. */
  #told = 0;
  #marks = new Uint8Array(1024);
  /** Whether the last line that the stream told still waits for its end. */
  #isTelling = false;
  /** The last line, while it waits for its end. */
  #open = 0;

  constructor(run, signal) {
    super();
    this.#run = run;
    this.#signal = signal;
  }

  /** The text of a line, counted from 1, as { text, length }; undefined while it is on its way. */
  get(line) {
    const number = Math.floor((line - 1) / CHUNK);
    const chunk = this.#chunks.get(number);
    const found = this.#kept(line);
    if (found !== undefined) this.#keep(number, chunk);
    // It came while its chunk was on its way, or began before the chunk was kept.
    else if (line !== this.#open || !chunk) this.#fetch(number);
    return found;
  }

  get told() {
    return this.#told;
  }

  /** Whether it is known of every line which stream it came from. */
  get isMarked() {
    return this.#told >= this.total;
  }

  isStderr(line) {
    return line <= this.#told && (this.#marks[line - 1] & STDERR) !== 0;
  }

  /** Adds the lines that a stream wrote to, from `from` on; returns where to go on later. */
  pick(stream, picked, from) {
    const mark = stream === "stderr" ? STDERR : STDOUT;
    for (let line = from; line <= this.#told; line += 1) {
      if (this.#marks[line - 1] & mark && picked.at(-1) !== line) picked.push(line);
    }
    return Math.max(1, this.#told); // the last one may be written to by the other, too
  }

  /** Takes an output event of the stream; its text, where that is not wanted, is had from the daemon if it is looked at. */
  add(event, isWanted = true) {
    const isBegun = this.#isTelling;
    if (!isBegun) {
      this.#told += 1;
      if (this.#told > this.#marks.length) this.#grow();
    }
    const line = this.#told;
    this.#marks[line - 1] |= event.type === "stderr" ? STDERR : STDOUT;
    this.#isTelling = event.isOpen;
    if (line > this.total && !isWanted && !event.isOpen) return void this.#put(line, null, false);
    // Where the stream is read again, for its marks, most lines are known.
    if (line <= this.total && line !== this.#open) return;
    const { data } = event;
    const before = isBegun ? this.#kept(line) : NOTHING;
    this.#put(line, before && added(before, data.line ?? decoded(data.b64), CUT), this.#isTelling);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** Begins anew with the stream. */
  rewind() {
    this.#told = 0;
    this.#isTelling = false;
    this.#marks.fill(0);
  }

  /** Nothing more will come: a last line without an ending is whole, too. */
  finish() {
    this.#isTelling = false;
    this.#open = 0;
    this.changed();
  }

  /** Sets how many lines there are where the stream is not followed. If the run is live, the last of them may go on. */
  async count(isLive = false) {
    this.total = await countLines((line) => this.has(line), this.total);
    this.#open = 0;
    if (isLive && this.total > 0) {
      await this.#fetch(Math.floor((this.total - 1) / CHUNK));
      this.#open = this.total;
    }
    this.changed();
  }

  /** Reads what was printed since; whether there was anything. */
  async more() {
    const before = [this.total, this.#kept(this.total)?.text];
    const begin = this.#ended;
    let line = begin;
    await readLines((await this.#request(`${line + 1}-`)).body, CUT, (found, isWhole) => {
      this.#put(line += 1, found, !isWhole);
      return line <= begin + LEAP;
    }, KEPT);
    if (line > begin + LEAP) await this.count(true);
    if (this.total === before[0] && this.#kept(this.total)?.text === before[1]) return false;
    this.changed();
    return true;
  }

  /** All of a line, as much of it as `most` characters. */
  async whole(line, most) {
    return (await this.#read(line, most, 1))[0] ?? NOTHING;
  }

  /** Whether there is such a line by now. */
  async has(line) {
    const reader = (await this.#request(line)).body.getReader();
    const { done } = await reader.read();
    reader.cancel();
    return !done;
  }

  /** The text of these lines, without the terminal's escapes. */
  async copy({ first, last }) {
    const response = await this.#request(`${first}-${last}`, { strip_ansi: true });
    return (await response.text()).split("\n").map((line) => writtenOver(line).replace(/\r+$/, "")).join("\n");
  }

  /** How many lines are whole. */
  get #ended() {
    return this.total - (this.#open === this.total && this.total > 0 ? 1 : 0);
  }

  #kept(line) {
    return this.#chunks.get(Math.floor((line - 1) / CHUNK))?.[(line - 1) % CHUNK];
  }

  /** Takes a line at the end. Where its text is not known, it is had from the daemon. */
  #put(line, found, isOpen) {
    this.total = Math.max(this.total, line);
    this.#open = isOpen ? line : 0;
    if (!found) return;
    const number = Math.floor((line - 1) / CHUNK);
    const chunk = this.#chunks.get(number) ?? [];
    chunk[(line - 1) % CHUNK] = found;
    this.#keep(number, chunk);
  }

  /** Makes a chunk the most recently used one, and lets go of the one that was used least. */
  #keep(number, chunk) {
    if (number === this.#latest && this.#chunks.get(number) === chunk) return;
    this.#latest = number;
    this.#chunks.delete(number);
    this.#chunks.set(number, chunk);
    if (this.#chunks.size > MOST_CHUNKS) this.#chunks.delete(this.#chunks.keys().next().value);
  }

  async #fetch(number) {
    if (this.#coming.has(number)) return;
    this.#coming.add(number);
    const first = number * CHUNK + 1;
    try {
      const count = Math.min(CHUNK, this.total - first + 1);
      const fresh = await this.#read(`${first}-${first + count - 1}`, CUT, count);
      while (fresh.length < count) fresh.push(NOTHING); // or it would be asked for again and again
      // The daemon may be ahead of the stream: what that has yet to tell is left to it.
      fresh.length = Math.min(count, Math.max(0, this.#ended - first + 1));
      // What came meanwhile is kept.
      this.#chunks.get(number)?.forEach((line, index) => { fresh[index] = line; });
      this.#keep(number, fresh);
    } catch {
      // Asked for again once the daemon is back, if it is still looked at.
      if (!this.#signal.aborted) setTimeout(() => this.changed(), 1000);
      return;
    } finally {
      this.#coming.delete(number);
    }
    this.changed();
  }

  #request(lines, more) {
    return request(withQuery(at.log(this.#run), { lines, ...more }), { signal: this.#signal });
  }

  async #read(range, most, count) {
    const lines = [];
    await readLines((await this.#request(range)).body, most, (found) => lines.push(found) < count);
    return lines;
  }

  #grow() {
    const larger = new Uint8Array(this.#marks.length * 2);
    larger.set(this.#marks);
    this.#marks = larger;
  }
}

/**
 * The number of the last line that there is, `there` or a later one. The daemon finds any line by an index, so a
 * search by halves is quick, whatever the length of the log.
 */
async function countLines(has, there) {
  if (there === 0 && !(await has(1))) return 0;
  there ||= 1;
  let step = CHUNK;
  while (await has(there + step)) {
    there += step;
    step *= 8;
  }
  let gone = there + step;
  while (gone - there > 1) {
    // Three questions at once: a quarter is left each time.
    const part = Math.max(1, Math.floor((gone - there) / 4));
    const places = [1, 2, 3].map((times) => there + times * part).filter((place) => place < gone);
    const found = await Promise.all(places.map(has));
    const missing = found.indexOf(false);
    if (missing >= 0) gone = places[missing];
    there = places[missing < 0 ? places.length - 1 : missing - 1] ?? there;
  }
  return there;
}

/**
 * Reads lines as { text, length }, each cut at `most` characters while it is read: one line may be huge. `take(line,
 * isWhole)` gets each and says whether to go on; the last one may lack its ending. Of what comes at once, only the last
 * `kept` are made into text, for it may be very much; `line` is null for the others.
 */
async function readLines(body, most, take, kept = Infinity) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let line = NOTHING;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    let left = kept === Infinity ? 0 : breaksIn(value);
    let from = 0;
    for (let end = value.indexOf("\n"); end >= 0; end = value.indexOf("\n", from)) {
      const isKept = line !== NOTHING || left <= kept;
      if (!take(isKept ? added(line, value.slice(from, end), most) : null, true)) return void reader.cancel();
      [line, from, left] = [NOTHING, end + 1, left - 1];
    }
    if (from < value.length) line = added(line, value.slice(from), most);
  }
  if (line !== NOTHING) take(line, false);
}

function breaksIn(text) {
  let count = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
}

/** The line with more of it. What a carriage return writes over is gone before anything is cut: the end of a progress line counts. */
function added({ text, length }, piece, most) {
  const joined = text + piece;
  const shown = writtenOver(joined);
  const isLong = shown.length > most;
  return {
    // A return at the end, too, for it will write over what is kept.
    text: isLong ? copied(shown.slice(0, most) + (shown.endsWith("\r") ? "\r" : "")) : shown,
    length: shown === joined ? length + piece.length : shown.length,
  };
}

/** A part of a text keeps the whole of it in memory; a copy does not. */
function copied(text) {
  return new TextDecoder().decode(new TextEncoder().encode(text));
}

function decoded(base64) {
  const raw = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new TextDecoder().decode(raw);
}
