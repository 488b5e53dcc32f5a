// Work that was saved before something would have discarded it.

import { api, at, request, withQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { events } from "../core/events.js";
import { bytes, duration, exactly, shortId, when } from "../core/format.js";
import { link } from "../core/router.js";
import { can, person } from "../core/session.js";
import { ask, showDialog } from "../ui/dialog.js";
import { button, chip, empty, field, heading, show, table } from "../ui/parts.js";
import { attempt, tell } from "../ui/toast.js";

/** A file is shown up to this size; all of it can be downloaded. */
const SHOWN = 200_000;

export function title() {
  return "Salvage";
}

export async function mount(root, { rest: [id] }, signal) {
  const list = h("div.card.scroll");
  fill(root, heading(id ? "Saved work" : "Salvage", id && h("a.button", { href: "#/salvage" }, "All")), list);
  const load = () => show(list, async () => (id
    ? showOne(await api.get(at.salvage(id), signal))
    : showAll(await api.get("api/salvage", signal), load)), signal);
  events.listen("salvage", load, signal);
  await load();
}

function showAll({ items }, again) {
  if (items.length === 0) return empty("Nothing was saved. Work is saved here before a reset, a clean or a removal would discard it.");
  return table("Salvage", [
    { name: "Branch", plain: true, cell: (item) => h("a", { href: link("salvage", item.id) }, `${item.repo} / ${item.branch}`) },
    { name: "Saved", plain: true, class: "fit", cell: (item) => when(item.at) },
    { name: "Because of", class: "fit", cell: (item) => [item.reason, h("span.muted", ` by ${person(item.by)}`)] },
    { name: "What", plain: true, cell: (item) => item.work.join("; ") },
    { name: "Kept for", class: "num", cell: (item) => duration(item.expires_in * 1000) },
    { name: "Actions", hidden: true, class: "acts", cell: (item) => actions(item, again) },
  ], items);
}

function actions(item, again) {
  return h("div.toolbar",
    can("git:write") && button("Restore", () => restore(item)),
    can("ops") && button("Drop", () => drop(item, again), { title: "Delete it for good" }));
}

function showOne(item) {
  return [
    h("dl.facts",
      h("dt", "From"), h("dd", `${item.repo} / ${item.branch}`),
      h("dt", "Saved"), h("dd", exactly(item.at), ` because of ${item.reason} by ${person(item.by)}`),
      h("dt", "Commit"), h("dd", h("code", shortId(item.commit))),
      h("dt", "What"), h("dd", item.work.join("; ")),
      h("dt", "Kept for"), h("dd", duration(item.expires_in * 1000))),
    actions(item, () => { location.hash = "#/salvage"; }),
    item.files.length === 0 ? empty("No files differ from the commit.") : table("Files", [
      { name: "Change", plain: true, class: "fit", cell: (file) => chip(file.change, { added: "ok", deleted: "bad" }[file.change] ?? "warn") },
      { name: "File", plain: true, cell: (file) => (file.change === "deleted" ? h("code", file.path) : fileButton(item, file)) },
      { name: "Size", plain: true, class: "num", cell: (file) => bytes(file.size) },
    ], item.files),
  ];
}

function fileButton(item, file) {
  return h("button.bare.mono", { type: "button", onclick: () => showFile(item, file) }, file.path);
}

async function showFile(item, file) {
  const address = withQuery(`${at.salvage(item.id)}/file`, { path: file.path });
  const text = await attempt(async () => (await (await request(address)).blob()).slice(0, SHOWN).text());
  if (text === undefined) return;
  showDialog(file.path, [
    h("pre.file", { tabindex: 0 }, text),
    file.size > SHOWN && h("p.muted", `Only the first ${bytes(SHOWN)} are shown.`),
    h("a", { href: address, download: file.path.split("/").at(-1) }, "Download"),
  ], { wide: true });
}

async function restore(item) {
  const workspace = await ask({
    title: `Restore ${item.branch}`,
    content: [
      h("p", "The workspace becomes what it was: files, index, commits and stashes. The salvage is kept."),
      field("As branch", h("input.mono", { name: "branch", placeholder: item.branch, autofocus: true, autocomplete: "off" }),
        "Empty: the one that it was saved from."),
      h("label.check", h("input", { type: "checkbox", name: "force" }), "Save what is in that workspace now, and restore in its place"),
    ],
    action: "Restore",
    submit(values) {
      const body = values.get("branch") ? { branch: values.get("branch") } : {};
      return api.post(`${at.salvage(item.id)}/restore`, values.has("force") ? { ...body, force: true } : body);
    },
  });
  if (workspace) tell(`${workspace.branch} is restored. `, h("a", { href: link({ q: workspace.branch }) }, "Show it"));
}

async function drop(item, again) {
  const isDone = await ask({
    title: "Drop this salvage for good?",
    content: [
      h("p", `What was saved of ${item.repo} / ${item.branch} cannot be restored afterwards:`),
      h("ul", item.work.map((what) => h("li", what))),
    ],
    action: "Drop it",
    tone: "danger",
    submit: async () => { await api.delete(at.salvage(item.id)); return true; },
  });
  if (isDone) again();
}
