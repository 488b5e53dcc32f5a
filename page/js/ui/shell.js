// The frame around every view: where one can go, whether it is live, who one is.

import { fill, h, announce } from "../core/dom.js";
import { events } from "../core/events.js";
import { exactly } from "../core/format.js";
import { allShortcuts, shortcut } from "../core/keys.js";
import { go, here, link } from "../core/router.js";
import { can, me, personOf } from "../core/session.js";
import { showDialog } from "./dialog.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";
import { iconButton } from "./parts.js";
import { askToNotify, couldNotify } from "./watch.js";

/** In the order in which they are shown; those whose scope one lacks are not. */
export const PLACES = [
  { name: "", text: "Yard", scope: "repo:read", key: "y", title: "All workspaces: the branches that are checked out here, and how they were last built" },
  { name: "pipelines", text: "Pipelines", scope: "repo:read", key: "p" },
  { name: "history", text: "History", scope: "repo:read", key: "h", title: "All runs, the latest first" },
  { name: "queue", text: "Queue", scope: "repo:read", key: "q", title: "What runs, what waits, and why" },
  { name: "fanout", text: "Fan-out", scope: "build:run", key: "f", title: "Build many branches at once" },
  { name: "machine", text: "Machine", scope: "repo:read", key: "m" },
  { name: "salvage", text: "Salvage", scope: "git:read", key: "s", title: "Work that was saved before something would have discarded it" },
  { name: "wall", text: "Wall", scope: "repo:read", key: "w", isHidden: true },
  { name: "tokens", text: "Tokens", scope: null, key: "t", isAdmin: true },
  { name: "audit", text: "Audit", scope: "admin", key: "a", isAdmin: true },
  { name: "api", text: "API", scope: null, key: "i", isAdmin: true },
];

/** The address of one of them. */
export function placeLink({ name }) {
  return link(...[name].filter(Boolean));
}

const THEMES = [["system", "As the system", "system"], ["light", "Light", "sun"], ["dark", "Dark", "moon"]];
const CONNECTION = {
  open: ["live", "Live"],
  draining: ["warn", "Draining", "The daemon is shutting down and takes no new runs. Those under way go on."],
  stopped: ["warn", "Restarting", "The daemon was stopped or restarts. Runs under way go on, and this page goes on by itself once it is back."],
  unreachable: ["warn", "Unreachable", "The daemon cannot be reached. What is shown may be old; this page goes on by itself once it is back."],
  offline: ["warn", "Offline", "This device is offline. What is shown may be old; this page goes on by itself once there is a network."],
  paused: ["", "Paused"],
  off: ["", "Not connected"],
};
/** A daemon that is back sooner is no news. */
const PATIENCE = 1200;

function connectionState() {
  if (events.state === "open") return events.isDraining ? "draining" : "open";
  if (events.state !== "waiting") return events.state;
  if (!navigator.onLine) return "offline";
  return events.isClosed ? "stopped" : "unreachable";
}

/** Shows the frame for whoever is logged in; `onLogOut` is what its button does. */
export function showShell(onLogOut, signal) {
  const places = PLACES.filter((place) => can(place.scope));
  const admin = h("button.bare.admin", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false", onclick: () =>
    openMenu(admin, places.filter((place) => place.isAdmin).map((place) => ({ label: place.text, action: () => go(placeLink(place)) })), "Admin") }, "Admin");
  const nav = h("nav.nav", { "aria-label": "Main" },
    places.filter((place) => !place.isAdmin && !place.isHidden).map((place) => h("a", { href: placeLink(place), "data-name": place.name, title: place.title }, place.text)), admin);
  const connection = h("span.connection");
  const banner = h("div.banner", { role: "status", hidden: true });
  const openPalette = async () => (await import("./palette.js")).openPalette({ logOut: onLogOut, showShortcuts });
  fill(document.getElementById("shell"),
    h("header.shell",
      h("a.brand", { href: "#/" }, h("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), h("span", "Branchyard")),
      nav,
      h("div.corner", connection, iconButton("search", "Go to… (Ctrl+K)", openPalette), themeButton(), whoButton(onLogOut))), banner);

  let late;
  const showConnection = () => {
    const state = connectionState();
    const [tone, text, why] = CONNECTION[state];
    const queue = events.queue;
    connection.dataset.tone = tone;
    connection.title = why ?? "";
    fill(connection, h("span.lamp"), h("span.words", text),
      queue && tone === "live" && h("a.busy", { href: "#/queue" }, `${queue.running} running, ${queue.waiting} waiting`));
    clearTimeout(late);
    if (!why) return void (banner.hidden = true);
    const show = () => {
      banner.hidden = false;
      if (banner.textContent !== why) fill(banner, icon("warn"), " ", why);
    };
    if (banner.hidden && state !== "draining") late = setTimeout(show, PATIENCE);
    else show();
  };
  signal.addEventListener("abort", () => clearTimeout(late));
  showConnection();
  let was = events.state;
  events.listen("state", (state) => {
    showConnection();
    // Only what somebody would want to know of: the loss, and the return from it.
    if (state === "waiting" && was === "open") announce("Connection to the daemon lost, trying again");
    if (state === "open" && was === "waiting") announce("Connected again");
    was = state;
  }, signal);
  for (const type of ["queue", "hello"]) events.listen(type, showConnection, signal);
  for (const type of ["online", "offline"]) addEventListener(type, showConnection, { signal });

  for (const place of places) shortcut(`g ${place.key}`, `Go to ${place.text}`, () => go(placeLink(place)), signal);
  shortcut("Ctrl+K", "Go to a view, branch, run or action", openPalette, signal);
  shortcut("?", "Show these shortcuts", showShortcuts, signal);
  markPlace();
}

/** The places that views of one thing belong to. */
const PLACE_OF = { workspace: "", compare: "", run: "history", pipeline: "pipelines", tests: "pipelines" };

/** Marks where one is. */
export function markPlace() {
  const { name } = here();
  const place = PLACES.find((known) => known.name === (PLACE_OF[name] ?? name));
  for (const element of document.querySelectorAll(".nav > *")) {
    const current = place && (element.dataset.name ?? null) === (place.isAdmin ? null : place.name);
    if (current) {
      element.setAttribute("aria-current", "page");
      element.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone they do not all fit
    } else element.removeAttribute("aria-current");
  }
}

export function hideShell() {
  fill(document.getElementById("shell"));
}

export function themeButton() {
  const theme = window.branchyardTheme;
  const anchor = h("button.bare", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false", "aria-label": "Theme", title: "Theme", onclick });
  const draw = () => fill(anchor, icon(THEMES.find(([value]) => value === theme.get())?.[2] ?? "system"));
  function onclick() {
    openMenu(anchor, THEMES.map(([value, label]) => ({
      label, checked: theme.get() === value, action: () => { theme.set(value); draw(); anchor.focus(); },
    })), "Theme");
  }
  draw();
  return anchor;
}

function whoButton(onLogOut) {
  const principal = me();
  const anchor = h("button.bare.who", { type: "button", "aria-haspopup": "menu", "aria-expanded": "false", onclick },
    icon("person"), h("span.words", personOf(principal), principal.role && h("span.muted", ` · ${principal.role}`)), h("span.unseen", "Account"));
  function onclick() {
    openMenu(anchor, [
      { label: "What I may do", action: showRights },
      { label: "Keyboard shortcuts", action: showShortcuts },
      couldNotify() && { label: "Notify me when my runs end", action: askToNotify },
      null,
      { label: "Log out", action: onLogOut },
    ].filter((item) => item !== false), "Account");
  }
  return anchor;
}

function showRights() {
  const { role, scopes, areas, expires } = me();
  showDialog("What I may do", h("dl.facts",
    h("dt", "Name"), h("dd", personOf(me())),
    h("dt", "Role"), h("dd", role ?? "–"),
    h("dt", "Scopes"), h("dd", scopes.map((scope) => h("code.chip", scope))),
    h("dt", "Where"), h("dd", areas.length === 0 ? "everywhere" : areas.map((area) =>
      h("div", "repos ", h("code", area.repos.join(" ")), ", branches ", h("code", area.branches.join(" "))))),
    h("dt", "Until"), h("dd", expires ? exactly(expires) : "for as long as the daemon runs with this key")));
}

export function showShortcuts() {
  showDialog("Keyboard shortcuts", h("dl.keys", allShortcuts().map(({ keys, what }) => [
    h("dt", keys.split(" ").map((key) => h("kbd", key))), h("dd", what),
  ])));
}
