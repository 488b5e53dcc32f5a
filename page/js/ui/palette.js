// Go to anything by a few letters of it: views, repositories, branches, runs, and what can be done.

import { allBranches, api } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { runName } from "../core/format.js";
import { go, link } from "../core/router.js";
import { can } from "../core/session.js";
import { PLACES, placeLink } from "./shell.js";
import { stateBadge } from "./parts.js";
import { attempt } from "./toast.js";

const SHOWN = 12;
/** What is known of the yard lasts so long: the palette is opened again and again. */
const FRESH = 60_000;
let known = { at: 0, repos: [], branches: [], runs: [] };

async function learn() {
  if (Date.now() - known.at < FRESH) return known;
  const [{ items: repos }, { items: runs }] = await Promise.all([api.get("api/repos"), api.get("api/runs?limit=500")]);
  // A branch that has run is known at once; those that have not are asked for.
  known = { at: Date.now(), repos, runs, branches: distinct(runs) };
  const all = await Promise.all(repos.map(({ name }) => allBranches(name).catch(() => [])));
  known.branches = distinct([...all.flat(), ...runs]);
  return known;
}

function distinct(items) {
  return [...new Map(items.map(({ repo, branch }) => [`${repo} ${branch}`, { repo, branch }])).values()];
}

export function openPalette({ logOut, showShortcuts }) {
  if (document.querySelector("dialog.palette")) return;
  let chosen = 0;
  let items = [];
  const list = h("ul", { role: "listbox", id: "palette-list", "aria-label": "Matches" });
  const input = h("input", {
    type: "text", role: "combobox", "aria-label": "Go to", "aria-expanded": "true", "aria-controls": "palette-list", "aria-autocomplete": "list",
    placeholder: "A view, branch, run or action", autocomplete: "off", spellcheck: "false", oninput: () => { chosen = 0; draw(); }, onkeydown,
  });
  const dialog = h("dialog.palette", { "aria-label": "Go to", onclose: () => dialog.remove(), onclick: ({ target }) => target === dialog && dialog.close() }, input, list);

  const fixed = [
    ...PLACES.filter((place) => can(place.scope)).map((place) => ({ kind: "View", text: place.text, act: () => go(placeLink(place)) })),
    ...["system", "light", "dark"].map((theme) => ({ kind: "Action", text: `Theme: ${theme}`, act: () => window.branchyardTheme.set(theme) })),
    { kind: "Action", text: "Keyboard shortcuts", act: showShortcuts },
    { kind: "Action", text: "Log out", act: logOut },
  ];
  const candidates = () => [
    ...fixed,
    ...known.repos.flatMap(({ name }) => [
      { kind: "Repository", text: name, act: () => go(link({ q: name })) },
      can("build:run") && { kind: "Action", text: `Fan-out in ${name}`, act: () => go(link("fanout", { repo: name })) },
    ]),
    ...known.branches.flatMap(({ repo, branch }) => [
      { kind: "Branch", text: `${repo} / ${branch}`, act: () => go(link("workspace", repo, branch)) },
      can("build:run") && { kind: "Action", text: `Build ${repo} / ${branch}`, act: async () => (await import("../views/yard-actions.js")).make(repo, branch) },
    ]),
    ...known.runs.map((run) => ({ kind: "Run", text: `${runName(run)} on ${run.branch}`, id: run.run_id, state: run.state, act: () => go(link("run", run.run_id)) })),
  ].filter(Boolean);

  function draw() {
    const text = input.value.trim().toLowerCase();
    const words = text.split(/\s+/).filter(Boolean);
    const isId = /^[0-9a-f-]{4,36}$/.test(text);
    const score = (item) => {
      if (isId && item.id) return item.id.startsWith(text) || item.id.endsWith(text) ? 0 : 9;
      const name = item.text.toLowerCase();
      if (!words.every((word) => name.includes(word))) return 9;
      const place = ["View", "Repository", "Branch", "Run", "Action"].indexOf(item.kind) / 10;
      return name === text ? place : name.startsWith(text) || name.endsWith(text) ? 1 + place : 2 + place;
    };
    const all = candidates().map((item) => [score(item), item]).filter(([points]) => points < 9);
    items = all.sort((a, b) => a[0] - b[0]).slice(0, SHOWN).map(([, item]) => item);
    // One that is older than what is known is found by its whole id.
    if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) && items.length === 0) items = [{ kind: "Run", text, act: () => go(link("run", text)) }];
    chosen = Math.max(0, Math.min(chosen, items.length - 1));
    fill(list, items.length === 0 ? h("li.empty", { role: "option", "aria-disabled": "true" }, "Nothing matches.") : items.map((item, index) =>
      h("li", { role: "option", id: `palette-${index}`, "aria-selected": String(index === chosen), onclick: () => act(item) },
        h("span.what", item.text), item.state && stateBadge(item.state), item.id && h("code.muted", item.id.slice(-6)), h("span.muted", item.kind))));
    input.setAttribute("aria-activedescendant", items.length > 0 ? `palette-${chosen}` : "");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function onkeydown(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && items[chosen]) act(items[chosen]);
    else if (step && items.length > 0) {
      chosen = (chosen + step + items.length) % items.length;
      draw();
    } else return;
    event.preventDefault();
  }

  function act(item) {
    dialog.close();
    attempt(async () => item.act());
  }

  document.body.append(dialog);
  dialog.showModal();
  draw();
  attempt(async () => {
    await learn();
    if (dialog.isConnected) draw();
  });
}
