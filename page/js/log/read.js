// How the log of a run is read: by its stream while it comes and where it is small, else only what is looked at.

import { at, request } from "../core/api.js";
import { followRun } from "./follow.js";

/** A log up to this size is read whole, by its stream, which tells more than the text: who wrote what. */
const SMALL = 4 * 1024 * 1024;

/** `on` is that of `followRun`; `on.end` is called at once where the stream is not read. */
export async function readRun(id, lines, isLive, on, signal) {
  if (isLive || await size(id, signal) <= SMALL) return followRun(id, lines, on, signal);
  on.end?.();
  return lines.count();
}

/** How many bytes the run has printed. */
async function size(id, signal) {
  try {
    const response = await request(at.log(id), { headers: { range: "bytes=0-0" }, signal });
    response.body.cancel();
    return Number(response.headers.get("content-range")?.split("/")[1] ?? 0);
  } catch (error) {
    if (signal.aborted) throw error;
    return 0; // nothing at all, or nothing that can be had: the stream will say
  }
}
