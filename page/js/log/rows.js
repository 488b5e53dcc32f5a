// Which line each row shows: all of them, those that a stream wrote to, or all but what is folded away.

export class Rows {
  /** Chosen lines in order, or null for all. */
  picked = null;
  /** What is folded away, in order and apart: { first, last }, the row it would begin at, and how many lines are hidden up to its end. */
  #folds = [];

  /** How many rows there are for so many lines. */
  count(total) {
    return this.picked?.length ?? total - (this.#folds.at(-1)?.hidden ?? 0);
  }

  lineOf(row) {
    if (this.picked) return this.picked[row];
    const before = lastOf(this.#folds, (fold) => fold.row <= row);
    return row + 1 + (before?.hidden ?? 0);
  }

  /** The row of a line; of one that is not shown, the next that is, or the one that it is folded into. */
  rowOf(line) {
    if (this.picked) return countOf(this.picked, (picked) => picked < line);
    const before = lastOf(this.#folds, (fold) => fold.first <= line);
    if (!before) return line - 1;
    return line <= before.last ? before.row - 1 : line - 1 - before.hidden;
  }

  /** Folds these ranges of lines away, which may overlap. */
  fold(ranges) {
    this.#folds = [];
    let hidden = 0;
    for (const { first, last } of ranges.toSorted((one, other) => one.first - other.first)) {
      const before = this.#folds.at(-1);
      const from = Math.max(first, (before?.last ?? 0) + 1);
      if (from > last) continue;
      hidden += last - from + 1;
      if (before?.last === from - 1) Object.assign(before, { last, hidden });
      else this.#folds.push({ first: from, last, hidden, row: from - 1 - (hidden - (last - from + 1)) });
    }
  }
}

/** How many of the first items of a list it is true of; it is true of no later one. */
function countOf(list, isTrue) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isTrue(list[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function lastOf(list, isTrue) {
  return list[countOf(list, isTrue) - 1];
}
