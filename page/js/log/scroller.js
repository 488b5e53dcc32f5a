// A window on many rows. Only those in sight, and a few around them, are elements.
//
// The place is kept as the row at the top, with its fraction. Two things part it from the scroll bar. Browsers cut
// elements off at 17 to 33 million pixels: beyond TALLEST the space that is scrolled is shorter than all rows together.
// And rows that wrap are of many heights, of which only those that are drawn are known. In both cases dragging the bar
// moves in proportion, while small moves (wheel, keys, touch) move by exactly their pixels.

import { perFrame } from "../core/dom.js";

const TALLEST = 12_000_000;
const AROUND = 24;

export class Scroller {
  #top = 0;
  #count = 0;
  #shown = new Map();
  /** The first row that is an element. */
  #first = 0;
  /** Where the window begins, in pixels from there. */
  #before = 0;
  #placed = -1;
  #lastScroll = 0;
  #wraps = false;
  /** How tall a row is, or about, where rows wrap. */
  #height;

  /**
   * `element` is the window, `space` what is as tall as all rows, `rows` what holds those in sight.
   * `makeRow(index)` makes the element of a row; `onScroll` is told of moves that somebody made,
   * `onDraw` of every change of the rows in sight, `onResize` of another size of the window.
   */
  constructor({ element, space, rows, rowHeight, makeRow, onScroll, onDraw, onResize, signal }) {
    Object.assign(this, { element, space, rows, rowHeight, makeRow, onScroll, onDraw });
    this.#height = rowHeight;
    element.addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
    element.addEventListener("scrollend", () => this.#isLoose && this.#putBar(), { signal });
    const observer = new ResizeObserver(perFrame(onResize));
    observer.observe(element);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  get count() {
    return this.#count;
  }

  get isAtEnd() {
    if (!this.#wraps) return this.#top >= this.#lastTop - 1;
    return this.#first + this.#shown.size >= this.#count && this.#below <= this.rowHeight;
  }

  /** [first, last) of the rows in sight, or a few more. */
  get inSight() {
    return [Math.floor(this.#top), Math.min(this.#count, Math.ceil(this.#top + this.#page))];
  }

  /** Sets how many rows there are and draws them at once, for the next frame must not be without them. */
  resize(count, { toEnd = false } = {}) {
    this.#count = count;
    this.#moveTo(toEnd ? count : this.#top, toEnd);
  }

  /** Whether rows are as tall as their text needs at the window's width. */
  wrap(wraps) {
    this.#wraps = wraps;
    this.#height = this.rowHeight;
    this.space.style.removeProperty("width");
    this.forget();
  }

  /** All rows are made anew: what they show has changed. */
  forget(count = this.#count) {
    this.#shown.clear();
    this.rows.replaceChildren();
    this.resize(count);
  }

  /** Makes those of the rows anew that are stale; the others stay, and with them what is selected. */
  remake(isStale) {
    for (const [index, row] of this.#shown) {
      if (!isStale(row)) continue;
      const fresh = this.makeRow(index);
      row.replaceWith(fresh);
      this.#shown.set(index, fresh);
    }
  }

  /** Makes the row the topmost one, or puts it in the middle. */
  show(row, where = "middle") {
    this.#moveTo(row - (where === "middle" ? Math.floor(this.element.clientHeight / this.#height / 2) : 0));
  }

  showEnd() {
    this.#moveTo(this.#count, true);
  }

  /** As many rows as there is room for, or more than that. */
  get #page() {
    return this.element.clientHeight / this.rowHeight;
  }

  get #lastTop() {
    return Math.max(0, this.#count - this.#page);
  }

  /** How far what is drawn reaches below the window. */
  get #below() {
    return this.rows.offsetHeight - this.#before - this.element.clientHeight;
  }

  /** Whether the scroll bar only says about where the rows are. */
  get #isLoose() {
    return this.#wraps || this.#count * this.rowHeight > TALLEST;
  }

  #moveTo(top, isEnd = false) {
    this.#top = Math.max(0, Math.min(top, this.#wraps && !isEnd ? this.#count : this.#lastTop));
    this.#draw(isEnd);
    this.#putBar();
  }

  /** How long the scroll bar's way is, how much of it is kept free at both ends, and its pixels for a row. */
  get #bar() {
    const page = this.element.clientHeight;
    // Where rows wrap, the bar must not come to its end before the rows do, for then nothing could be scrolled.
    const free = this.#wraps && (this.#below > 0 || this.#before > 0 || this.#shown.size < this.#count) ? page : 0;
    const tall = Math.min(this.#count * this.#height + 2 * free, TALLEST);
    return { tall, free, end: Math.max(0, tall - page), perRow: (tall - page - 2 * free) / (this.#wraps ? this.#count : this.#lastTop) };
  }

  /** Puts the scroll bar where `#top` is. What comes back as a scroll event is known by its place. */
  #putBar() {
    if (this.#wraps && this.#shown.size > 0) this.#height = this.rows.offsetHeight / this.#shown.size;
    const { tall, free, end, perRow } = this.#bar;
    this.space.style.setProperty("height", `${tall}px`);
    const at = this.#top === 0 ? 0 : this.isAtEnd && free ? end : free + this.#top * perRow;
    this.element.scrollTop = at;
    this.#lastScroll = this.element.scrollTop;
    this.#place();
  }

  #scrolled() {
    const at = this.element.scrollTop;
    const moved = at - this.#lastScroll;
    if (moved === 0) return;
    this.#lastScroll = at;
    const { free, end, perRow } = this.#bar;
    const isSmall = Math.abs(moved) < 2 * this.element.clientHeight;
    const isEdge = at <= 0 || at >= end - 1;
    if (this.#isLoose && isSmall && (this.#wraps || !isEdge)) {
      this.#top = Math.max(0, this.#topAt(this.#before + moved));
      this.#draw();
      // By exact moves the bar drifts from its place. It is put right when they are over, not to disturb them, or where it can go no further.
      if (isEdge) this.#putBar();
    } else {
      this.#top = Math.max(0, Math.min((at - free) / perRow, this.#lastTop));
      this.#draw(this.#wraps && at >= end - 1);
    }
    this.onScroll();
  }

  /** What `#top` is with the window so many pixels below the first row that is an element. */
  #topAt(pixel) {
    if (!this.#wraps) return Math.min(this.#first + pixel / this.rowHeight, this.#lastTop);
    if (pixel < 0) return this.#first + pixel / this.#height;
    const last = this.#first + this.#shown.size;
    for (let index = this.#first; index < last; index += 1) {
      const { offsetTop, offsetHeight } = this.#shown.get(index);
      if (pixel < offsetTop + offsetHeight) return index + (pixel - offsetTop) / offsetHeight;
    }
    return last + (pixel - this.rows.offsetHeight) / this.#height;
  }

  #draw(isEnd = false) {
    // With the last page, all of it is drawn: how much of it there is room for is seen only then.
    const first = Math.max(0, Math.floor(Math.min(this.#top, this.#lastTop)) - AROUND);
    const last = Math.min(this.#count, Math.ceil(this.#top + this.#page) + AROUND);
    for (const [index, row] of this.#shown) {
      if (index >= first && index < last) continue;
      row.remove();
      this.#shown.delete(index);
    }
    let after = null;
    for (let index = last - 1; index >= first; index -= 1) {
      let row = this.#shown.get(index);
      if (!row) {
        row = this.makeRow(index);
        this.#shown.set(index, row);
        this.rows.insertBefore(row, after);
      }
      after = row;
    }
    this.#first = first;
    this.#measure(isEnd);
    this.#place();
    if (!this.#wraps) {
      // A line that was wider than the window stays within reach once it was seen.
      const width = this.rows.scrollWidth;
      if (width > this.space.clientWidth) this.space.style.setProperty("width", `${width}px`);
    }
    this.onDraw();
  }

  #measure(isEnd) {
    if (!this.#wraps) return void (this.#before = (this.#top - this.#first) * this.rowHeight);
    const last = this.#first + this.#shown.size;
    const row = this.#shown.get(Math.min(Math.floor(this.#top), last - 1));
    this.#before = row ? row.offsetTop + (this.#top % 1) * row.offsetHeight : 0;
    if (last < this.#count || (!isEnd && this.#below >= 0 && this.#top < last)) return;
    this.#before = Math.max(0, this.rows.offsetHeight - this.element.clientHeight);
    this.#top = this.#topAt(this.#before);
  }

  #place() {
    const offset = this.element.scrollTop - this.#before;
    if (offset !== this.#placed) this.rows.style.setProperty("transform", `translateY(${offset}px)`);
    this.#placed = offset;
  }
}
