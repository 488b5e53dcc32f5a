// The runs and groups that somebody started here or chose to watch: their ends are told wherever one is. A hidden
// tab has no stream, so what is watched is asked about now and then, and nothing is where nothing is watched.

import { api, at, whenStarted } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { events } from "../core/events.js";
import { complaints, counted, duration, isLive, runName, runTime, TROUBLE } from "../core/format.js";
import { go, link } from "../core/router.js";
import { tell } from "./toast.js";

const EVERY = 10_000;
const STORE = "branchyard-watched";
/** By id: what it is. */
const watched = new Map();
let ownTitle = null;

export function isWatched(id) {
  return watched.has(id);
}

/** `kind` is "run" or "group". Over a reload it is kept, for as long as the tab lasts. */
export function watch(id, kind = "run", isWanted = true) {
  if (isWanted) watched.set(id, kind);
  else watched.delete(id);
  try {
    sessionStorage.setItem(STORE, JSON.stringify([...watched]));
  } catch { /* then not over a reload */ }
}

/** Asks for the permission to notify: only ever on a click. Resolves to whether it is given. */
export async function askToNotify() {
  return "Notification" in window && await Notification.requestPermission() === "granted";
}

/** Whether one could be asked. */
export function couldNotify() {
  return "Notification" in window && Notification.permission === "default";
}

/** A button that watches a run, or no longer. */
export function watchButton(id) {
  const button = h("button", { type: "button", title: "Be told when it ends, also in a hidden tab", onclick });
  const draw = () => {
    button.setAttribute("aria-pressed", String(isWatched(id)));
    fill(button, isWatched(id) ? "Watching" : "Watch");
  };
  function onclick() {
    watch(id, "run", !isWatched(id));
    if (isWatched(id) && couldNotify()) askToNotify();
    draw();
  }
  draw();
  return button;
}

/** For as long as somebody is logged in. */
export function startWatching(signal) {
  try {
    for (const [id, kind] of JSON.parse(sessionStorage.getItem(STORE)) ?? []) watched.set(id, kind);
  } catch { /* nothing was kept */ }
  whenStarted(({ run_id: run, group_id: group }) => {
    watch(group ?? run, group ? "group" : "run");
    lookAt(group ?? run); // it may have ended before its id was known here
  }, () => events.drain());
  events.listen("run", ({ run }) => {
    if (isLive(run.state)) return;
    if (watched.has(run.run_id)) tellRun(run);
    if (watched.has(run.group)) lookAt(run.group);
  }, signal);
  // What ended while nothing was told.
  events.listen("state", (state) => state === "open" && look(), signal);
  const timer = setInterval(() => document.hidden && look(), EVERY);
  signal.addEventListener("abort", () => { clearInterval(timer); watched.clear(); });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden || ownTitle === null) return;
    document.title = ownTitle;
    ownTitle = null;
  }, { signal });
}

function look() {
  for (const id of watched.keys()) lookAt(id);
}

async function lookAt(id) {
  try {
    if (watched.get(id) === "run") {
      const run = await api.get(at.run(id));
      if (!isLive(run.state)) tellRun(run);
    } else {
      const group = await api.get(at.group(id));
      if (group.state !== "running") tellGroup(group);
    }
  } catch (error) {
    if (error.status === 404) watch(id, null, false);
  }
}

function tellRun(run) {
  if (!watched.has(run.run_id)) return;
  watch(run.run_id, null, false);
  const state = run.state.replace("_", " ");
  const found = run.diagnostics ? `, ${complaints(run.diagnostics)}` : "";
  tellEnd(run.run_id, TROUBLE.has(run.state), `${runName(run)} on ${run.branch}: ${state}`, `${run.repo}, ${duration(runTime(run))}${found}`, ["run", run.run_id]);
}

function tellGroup({ group_id: id, repo, state, members }) {
  if (!watched.has(id)) return;
  watch(id, null, false);
  tellEnd(id, state === "failed", `Fan-out in ${repo}: ${state}`, counted(members.length, "run"), ["fanout", { groups: id }]);
}

function tellEnd(id, isBad, title, body, place) {
  const address = link(...place);
  if (document.hidden) {
    ownTitle ??= document.title;
    document.title = `${isBad ? "✗" : "✓"} ${title}`;
  }
  // Who looks at it sees it.
  if (!document.hidden && location.hash.includes(id)) return;
  tell(h("a", { href: address }, title), h("p.muted", body));
  if (document.hasFocus() && !document.hidden) return;
  try {
    if (window.Notification?.permission !== "granted") return;
    const notice = new Notification(title, { body, tag: id });
    notice.onclick = () => { window.focus(); go(address); notice.close(); };
  } catch { /* some browsers have notifications for workers alone */ }
}
