// A window on many rows of one height. Only the rows in sight, and a few around them, are elements.
//
// Browsers cut elements off at 17 to 33 million pixels. Beyond TALLEST the space that is scrolled is
// therefore shorter than all rows together: dragging the bar moves in proportion, while small moves
// (wheel, keys, touch) still move by exactly their pixels.

import { perFrame } from "../core/dom.js";

const TALLEST = 12_000_000;
const AROUND = 24;

export class Scroller {
  /** The row at the top of the window, with its fraction. */
  #top = 0;
  #count = 0;
  #shown = new Map();
  #placed = -1;
  #lastScroll = 0;

  /**
   * `element` is the window, `space` what is as tall as all rows, `rows` what holds those in sight.
   * `makeRow(index)` makes the element of a row; `onScroll` is told of moves that somebody made,
   * `onDraw` of every change of the rows in sight.
   */
  constructor({ element, space, rows, rowHeight, makeRow, onScroll, onDraw, signal }) {
    Object.assign(this, { element, space, rows, rowHeight, makeRow, onScroll, onDraw });
    this.draw = perFrame(() => this.#draw());
    element.addEventListener("scroll", () => this.#scrolled(), { passive: true, signal });
    element.addEventListener("scrollend", () => this.#isScaled && this.#putBar(), { signal });
    const observer = new ResizeObserver(() => this.draw());
    observer.observe(element);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  get count() {
    return this.#count;
  }

  set count(count) {
    if (count === this.#count) return;
    this.#count = count;
    this.space.style.setProperty("height", `${Math.min(count * this.rowHeight, TALLEST)}px`);
    this.#top = Math.min(this.#top, this.#lastTop);
    this.draw();
  }

  get isAtEnd() {
    return this.#top >= this.#lastTop - 1;
  }

  /** [first, last) of the rows in sight. */
  get inSight() {
    return [Math.floor(this.#top), Math.min(this.#count, Math.ceil(this.#top + this.#page))];
  }

  /** All rows are made anew at the next frame: what they show has changed. */
  forget() {
    this.#shown.clear();
    this.rows.replaceChildren();
    this.draw();
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
    const offset = where === "middle" ? Math.floor(this.#page / 2) : 0;
    this.#moveTo(row - offset);
  }

  showEnd() {
    this.#moveTo(this.#lastTop);
  }

  get #page() {
    return this.element.clientHeight / this.rowHeight;
  }

  get #lastTop() {
    return Math.max(0, this.#count - this.#page);
  }

  /** Rows for each pixel of the scroll bar's way; 1 / rowHeight unless there are too many rows. */
  get #rowsPerPixel() {
    const way = Math.min(this.#count * this.rowHeight, TALLEST) - this.element.clientHeight;
    return way > 0 ? this.#lastTop / way : 1 / this.rowHeight;
  }

  get #isScaled() {
    return this.#count * this.rowHeight > TALLEST;
  }

  #moveTo(top) {
    this.#top = Math.max(0, Math.min(top, this.#lastTop));
    this.#putBar();
    // At once: the next frame shows the new place, and must not show it without its rows.
    this.#draw();
  }

  /** Puts the scroll bar where `#top` is. What comes back as a scroll event is known by its place. */
  #putBar() {
    this.element.scrollTop = this.#top / this.#rowsPerPixel;
    this.#lastScroll = this.element.scrollTop;
  }

  #scrolled() {
    const at = this.element.scrollTop;
    const moved = at - this.#lastScroll;
    if (moved !== 0) {
      const isSmall = Math.abs(moved) < 2 * this.element.clientHeight;
      const isEdge = at <= 0 || at >= this.element.scrollHeight - this.element.clientHeight;
      const isExact = this.#isScaled && isSmall && !isEdge;
      const top = isExact ? this.#top + moved / this.rowHeight : at * this.#rowsPerPixel;
      this.#top = Math.max(0, Math.min(top, this.#lastTop));
      // By exact moves the bar drifts from its place; it is put right when they are over, not to disturb them.
      this.#lastScroll = at;
      this.onScroll();
    }
    this.draw();
  }

  #draw() {
    const first = Math.max(0, Math.floor(this.#top) - AROUND);
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
    const offset = this.element.scrollTop - (this.#top - first) * this.rowHeight;
    if (offset !== this.#placed) this.rows.style.setProperty("transform", `translateY(${offset}px)`);
    this.#placed = offset;
    // A line that was wider than the window stays within reach once it was seen.
    const width = this.rows.scrollWidth;
    if (width > this.space.clientWidth) this.space.style.setProperty("width", `${width}px`);
    this.onDraw();
  }
}
