// Numbers, times and names as people read them.

import { h } from "./dom.js";

// How far the daemon's clock is ahead of this machine's, so that "2 s ago" is true on both.
let ahead = 0;

export function setClock(at) {
  ahead = Date.parse(at) - Date.now() || 0;
}

export function now() {
  return Date.now() + ahead;
}

/** Between a number and its unit, where no line is to be broken. */
const NB = "\u00a0";
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count) {
  if (count === null || count === undefined) return "–";
  let unit = 0;
  while (count >= 1000 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || count >= 100 ? 0 : 1;
  return `${count.toFixed(digits)}${NB}${UNITS[unit]}`;
}

const numbers = new Intl.NumberFormat("en");

export function number(count) {
  return numbers.format(count);
}

/** "1 workspace", "2 workspaces" */
export function counted(count, one, many = `${one}s`) {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** "2 errors, 1 warning" */
export function complaints({ errors, warnings }) {
  return [errors && counted(errors, "error"), warnings && counted(warnings, "warning")].filter(Boolean).join(", ");
}

/** "3 failed of 120 tests", "120 tests passed" */
export function testTally({ passed, failed, skipped }) {
  if (failed > 0) return `${number(failed)} failed of ${counted(passed + failed + skipped, "test")}`;
  return passed > 0 && `${counted(passed, "test")} passed`;
}

export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Math.max(0, Math.round(ms))}${NB}ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)}${NB}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.round(hours / 24)} days`;
}

function ago(time) {
  const seconds = (now() - time) / 1000;
  const size = Math.abs(seconds);
  if (size < 5) return "now";
  const text =
    size < 60 ? `${Math.round(size)}${NB}s`
    : size < 3600 ? `${Math.round(size / 60)}${NB}min`
    : size < 86400 ? `${Math.round(size / 3600)}${NB}h`
    : `${Math.round(size / 86400)}${NB}d`;
  return seconds > 0 ? `${text}${NB}ago` : `in${NB}${text}`;
}

/** A time as how long ago it was, kept true while it is shown; pointing at it tells it exactly. */
export function when(at) {
  if (!at) return h("span.muted", "–");
  const time = Date.parse(at);
  return h("time", { datetime: at, title: exactly(at) }, ago(time));
}

const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export function exactly(at) {
  return at ? exact.format(new Date(at)) : "–";
}

setInterval(() => {
  if (document.hidden) return;
  for (const element of document.querySelectorAll("time[datetime]")) {
    const text = ago(Date.parse(element.dateTime));
    if (element.textContent !== text) element.textContent = text;
  }
}, 5000);

export function shortId(commit) {
  return commit ? commit.slice(0, 8) : "–";
}

/** The beginning of a text, where all of it would be in the way. */
export function brief(text, most = 48) {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A command as one would type it. */
export function command(argv) {
  return (argv ?? []).map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`)).join(" ");
}

/** What a run does, in few words. */
export function runName(run) {
  if (run.step) return `step ${run.step.number} of ${run.step.job}`;
  return run.task ? `task ${run.task}` : brief(command(run.argv), 120);
}

/** Ends in which something is wrong; a cancelled run was ended on purpose. */
export const TROUBLE = new Set(["failed", "timed_out", "signalled", "lost", "rejected"]);
const LIVE = new Set(["queued", "preparing", "running"]);

export function isLive(state) {
  return LIVE.has(state);
}

/** How long a run's command took, or has been going on for; null where it was never started. To wait for its turn is no part of that. */
export function runTime(run) {
  return run.started_at ? timeOf(run.ended_at) - timeOf(run.started_at) : null;
}

/** How long a run waited before its command was started: in the queue, and for its workspace. */
export function queueTime(run) {
  return timeOf(run.started_at ?? run.ended_at) - timeOf(run.created_at);
}

function timeOf(at) {
  return at ? Date.parse(at) : now();
}
