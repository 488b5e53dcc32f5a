// How the log of a run is read: by its stream where it is small, for that tells more than the text: who wrote what.
// A long one is joined at its end, and what is before that is had when it is looked at.

import { at, request } from "../core/api.js";
import { followRun } from "./follow.js";

/** A log up to this size is read by its stream; one that still grows, up to so many lines. */
const SMALL = 4 * 1024 * 1024;
const SMALL_LINES = 50_000;
/** How long a log that grows is left alone, in milliseconds, and how long if nothing came. */
const PAUSE = 100;
const LONGEST_PAUSE = 1000;

/**
 * Reads the log of a run into `lines` for as long as `signal` lasts. `isLive()` says whether more is to come; `on` is
 * that of `followRun`. `lines.mark()` reads all of it by its stream, to tell who wrote what.
 */
export async function readRun(id, lines, isLive, on, signal) {
  const joined = new AbortController();
  let isOver = false;
  const end = () => {
    if (!isOver) on.end?.();
    isOver = true;
  };
  lines.mark = () => {
    joined.abort();
    lines.rewind();
    return followRun(id, lines, { ...on, end }, signal);
  };
  const isLong = isLive() ? await lines.has(SMALL_LINES) : await size(id, signal) > SMALL;
  if (!isLong) return lines.mark();
  await join(lines, isLive, AbortSignal.any([signal, joined.signal]));
  if (!joined.signal.aborted && !signal.aborted) end();
}

/** Reads on from the end of what there is, until there is no more. */
async function join(lines, isLive, signal) {
  await lines.count(isLive());
  let pause = PAUSE;
  for (let isOver = !isLive(); !isOver && !signal.aborted;) {
    await rest(pause, signal);
    // Asked first: between that and the reading nothing may come.
    isOver = !isLive();
    const isMore = await lines.more().catch(() => isOver = false);
    pause = isMore ? PAUSE : Math.min(pause * 1.5, LONGEST_PAUSE);
  }
  if (!signal.aborted) lines.finish();
}

/** A pause, until the tab is seen. */
function rest(ms, signal) {
  return new Promise((resolve) => {
    const look = () => document.hidden && !signal.aborted ? document.addEventListener("visibilitychange", look, { once: true, signal }) : resolve();
    signal.addEventListener("abort", resolve, { once: true });
    setTimeout(look, ms);
  });
}

/** How many bytes the run has printed; 0 where that cannot be had: the stream will say why. */
async function size(id, signal) {
  try {
    const { headers } = await request(at.log(id), { method: "HEAD", signal });
    return Number(headers.get("content-length") ?? 0);
  } catch (error) {
    if (signal.aborted) throw error;
    return 0;
  }
}
