// The parts of a log that can be folded: groups that a workflow's steps print, and the directories that make enters.
// The daemon finds their first and last lines, however long the log is.

import { at, request, withQuery } from "../core/api.js";

const LIMIT = 10_000;
const MARKS = "^(::(end)?group::|##\\[(end)?group\\]|\\S*make(\\[\\d+\\])?: (Entering|Leaving) directory )";
const MARK = /^(\d+):(?:(?:::|##\[)(end)?group(?:::|\])|\S*?(make(?:\[\d+\])?): (Entering|Leaving) (directory .*))/;

/** The groups of a run's log, { first, last }: of what has an end by now, or whose run has ended. */
export async function findGroups(run, total, isLive, signal) {
  const address = withQuery(at.log(run), { grep: MARKS, limit: LIMIT, strip_ansi: true });
  const text = await (await request(address, { signal })).text();
  const [groups, open] = [[], []];
  const close = (index, last) => {
    const [{ first }] = open.splice(index, 1);
    if (last > first) groups.push({ first, last });
  };
  for (const [, number, end, make, way, directory] of text.split("\n").map((line) => MARK.exec(line)).filter(Boolean)) {
    const line = Number(number);
    // Directories end by name, for several makes may go at once; groups are not within each other.
    const name = make ? `${make} ${directory}` : "";
    const index = open.findLastIndex((group) => group.name === name);
    const isEnd = end ?? way === "Leaving";
    if (index >= 0 && (isEnd || !make)) close(index, isEnd ? line : line - 1);
    if (!isEnd) open.push({ first: line, name });
  }
  while (open.length > 0 && !isLive) close(0, total);
  return groups.sort((one, other) => one.first - other.first || other.last - one.last);
}
