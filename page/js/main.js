// The beginning: who is there, and which view do they want?

import { whenUnauthorized } from "./core/api.js";
import { fill, h } from "./core/dom.js";
import { events } from "./core/events.js";
import { here } from "./core/router.js";
import { can, forget, logOut, me, whoIs } from "./core/session.js";
import { empty, problemBox } from "./ui/parts.js";
import { hideShell, markPlace, showShell } from "./ui/shell.js";
import { attempt } from "./ui/toast.js";
import { startWatching } from "./ui/watch.js";

/**
 * Views are loaded when they are first wanted. Each exports `title(route)` and `mount(root, route,
 * signal)`, which may return a function that is told when only the query of its route changed;
 * everything that a view starts ends with `signal`.
 */
const VIEWS = {
  "": { scope: "repo:read", load: () => import("./views/yard.js") },
  workspace: { scope: "repo:read", load: () => import("./views/workspace.js") },
  compare: { scope: "git:read", load: () => import("./views/compare.js") },
  run: { scope: "repo:read", load: () => import("./views/run.js") },
  pipelines: { scope: "repo:read", load: () => import("./views/pipelines.js") },
  pipeline: { scope: "repo:read", load: () => import("./views/pipeline.js") },
  tests: { scope: "repo:read", load: () => import("./views/test-history.js") },
  queue: { scope: "repo:read", load: () => import("./views/queue.js") },
  wall: { scope: "repo:read", load: () => import("./views/wall.js") },
  history: { scope: "repo:read", load: () => import("./views/history.js") },
  fanout: { scope: "repo:read", load: () => import("./views/fanout.js") },
  machine: { scope: "repo:read", load: () => import("./views/machine.js") },
  salvage: { scope: "git:read", load: () => import("./views/salvage.js") },
  tokens: { scope: null, load: () => import("./views/tokens.js") },
  audit: { scope: "admin", load: () => import("./views/audit.js") },
  api: { scope: null, load: () => import("./views/api.js") },
};

const main = document.getElementById("main");
let view = null;
let session = null;

async function showView() {
  const route = here();
  const place = [route.name, ...route.rest].join("/");
  if (view?.place === place && !view.isBroken) return view.onQuery?.(route);
  view?.controller.abort();
  const controller = new AbortController();
  const isFirst = view === null;
  const mine = view = { place, controller, onQuery: null };
  markPlace();
  main.dataset.view = route.name || "yard";
  const known = VIEWS[route.name];
  if (!known || !can(known.scope)) {
    document.title = "Branchyard";
    const why = known ? `This needs the scope ${known.scope}, which you do not have. ` : "There is nothing at this address. ";
    fill(main, empty(why, h("a", { href: "#/" }, "Go to the yard")));
    return;
  }
  try {
    const module = await known.load();
    if (controller.signal.aborted) return;
    document.title = `${module.title(route)} · Branchyard`;
    fill(main);
    scrollTo(0, 0);
    // Those who listen are taken to the new content, like those who look; not when the page has only just come.
    if (!isFirst) main.focus({ preventScroll: true });
    mine.onQuery = (await module.mount(main, route, controller.signal)) ?? null;
  } catch (error) {
    if (controller.signal.aborted) return;
    mine.isBroken = true;
    fill(main, problemBox(error));
  }
}

function enter() {
  session = new AbortController();
  showShell(() => attempt(async () => { await logOut(); leave(); }), session.signal);
  startWatching(session.signal);
  events.start();
  events.listen("gone", () => { forget(); leave(); }, session.signal);
  // A view that could not be had while the daemon was away is tried again.
  events.listen("state", (state) => state === "open" && view?.isBroken && showView(), session.signal);
  addEventListener("hashchange", showView, { signal: session.signal });
  showView();
}

/** Back to the log-in; the hash stays, so that one arrives where one wanted to go. */
async function leave() {
  session?.abort();
  session = null;
  view?.controller.abort();
  view = null;
  events.stop();
  hideShell();
  main.dataset.view = "login";
  document.title = "Log in · Branchyard";
  const { showLogin } = await import("./views/login.js");
  showLogin(main, enter);
}

whenUnauthorized(() => {
  if (!me()) return; // a key that was no good: the log-in says so itself
  forget();
  leave();
});

// The skip link's target is an element, not a route.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});

async function begin() {
  try {
    await whoIs() ? enter() : await leave();
  } catch (error) {
    fill(main, problemBox(error));
    setTimeout(begin, 2000);
  }
}

begin();
