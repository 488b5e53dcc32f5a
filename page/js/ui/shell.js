// The frame around every view: where one can go, whether it is live, who one is.

import { fill, h, announce } from "../core/dom.js";
import { events } from "../core/events.js";
import { exactly } from "../core/format.js";
import { allShortcuts, shortcut } from "../core/keys.js";
import { go, here, link } from "../core/router.js";
import { can, me } from "../core/session.js";
import { showDialog } from "./dialog.js";
import { icon } from "./icons.js";
import { openMenu } from "./menu.js";

/** In the order in which they are shown; those whose scope one lacks are not. */
const PLACES = [
  { name: "", text: "Yard", scope: "repo:read", key: "y" },
  { name: "pipelines", text: "Pipelines", scope: "repo:read", key: "p" },
  { name: "history", text: "History", scope: "repo:read", key: "h" },
  { name: "fanout", text: "Fan-out", scope: "build:run", key: "f" },
  { name: "machine", text: "Machine", scope: "repo:read", key: "m" },
  { name: "salvage", text: "Salvage", scope: "git:read", key: "s" },
  { name: "tokens", text: "Tokens", scope: null, key: "t" },
  { name: "audit", text: "Audit", scope: "admin", key: "a" },
  { name: "api", text: "API", scope: null, key: "i" },
];

const THEMES = [["system", "As the system", "system"], ["light", "Light", "sun"], ["dark", "Dark", "moon"]];
const CONNECTION = {
  open: ["live", "Live"],
  waiting: ["warn", "Reconnecting"],
  paused: ["", "Paused"],
  off: ["", "Not connected"],
};

/** Shows the frame for whoever is logged in; `onLogOut` is what its button does. */
export function showShell(onLogOut, signal) {
  const places = PLACES.filter((place) => can(place.scope));
  const nav = h("nav.nav", { "aria-label": "Main" },
    places.map((place) => h("a", { href: link(...[place.name].filter(Boolean)), "data-name": place.name }, place.text)));
  const connection = h("span.connection");
  fill(document.getElementById("shell"),
    h("header.shell",
      h("a.brand", { href: "#/" }, h("img", { src: "icon.svg", alt: "", width: 22, height: 22 }), h("span", "Branchyard")),
      nav,
      h("div.corner", connection, themeButton(), whoButton(onLogOut))));

  const showConnection = (state) => {
    const [tone, text] = CONNECTION[state];
    const queue = events.queue;
    const busy = queue && state === "open" ? ` · ${queue.running} running, ${queue.waiting} waiting` : "";
    connection.dataset.tone = tone;
    fill(connection, h("span.lamp"), h("span.words", text, h("span.busy", busy)));
  };
  showConnection(events.state);
  let was = events.state;
  events.listen("state", (state) => {
    showConnection(state);
    // Only what somebody would want to know of: the loss, and the return from it.
    if (state === "waiting" && was === "open") announce("Connection to the daemon lost, trying again");
    if (state === "open" && was === "waiting") announce("Connected again");
    was = state;
  }, signal);
  events.listen("queue", () => showConnection(events.state), signal);

  for (const place of places) {
    shortcut(`g ${place.key}`, `Go to ${place.text}`, () => go(link(...[place.name].filter(Boolean))), signal);
  }
  shortcut("?", "Show these shortcuts", showShortcuts, signal);
  markPlace();
}

/** The places that views of one thing belong to. */
const PLACE_OF = { workspace: "", compare: "", run: "history", pipeline: "pipelines", tests: "pipelines" };

/** Marks where one is. */
export function markPlace() {
  const { name } = here();
  for (const anchor of document.querySelectorAll(".nav a[data-name]")) {
    const current = anchor.dataset.name === (PLACE_OF[name] ?? name);
    if (current) {
      anchor.setAttribute("aria-current", "page");
      anchor.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone they do not all fit
    } else anchor.removeAttribute("aria-current");
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
    icon("person"), h("span.words", (principal.created_by ?? principal.name), principal.role && h("span.muted", ` · ${principal.role}`)), h("span.unseen", "Account"));
  function onclick() {
    openMenu(anchor, [
      { label: "What I may do", action: showRights },
      { label: "Keyboard shortcuts", action: showShortcuts },
      null,
      { label: "Log out", action: onLogOut },
    ], "Account");
  }
  return anchor;
}

function showRights() {
  const { name, role, scopes, areas, expires } = me();
  showDialog("What I may do", h("dl.facts",
    h("dt", "Name"), h("dd", name),
    h("dt", "Role"), h("dd", role ?? "–"),
    h("dt", "Scopes"), h("dd", scopes.map((scope) => h("code.chip", scope))),
    h("dt", "Where"), h("dd", areas.length === 0 ? "everywhere" : areas.map((area) =>
      h("div", "repos ", h("code", area.repos.join(" ")), ", branches ", h("code", area.branches.join(" "))))),
    h("dt", "Until"), h("dd", expires ? exactly(expires) : "for as long as the daemon runs with this key")));
}

function showShortcuts() {
  showDialog("Keyboard shortcuts", h("dl.keys", allShortcuts().map(({ keys, what }) => [
    h("dt", keys.split(" ").map((key) => h("kbd", key))), h("dd", what),
  ])));
}
