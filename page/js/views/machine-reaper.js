// What was cleared away to make room, and what would be next.

import { api } from "../core/api.js";
import { h } from "../core/dom.js";
import { events } from "../core/events.js";
import { bytes, counted, duration, when } from "../core/format.js";
import { button, chip, empty, show, table } from "../ui/parts.js";

const WORDS = { keep: "stays", drop_build_output: "drop build output", remove: "remove", discard_store: "discard the clone" };

export function reaperCards(signal) {
  const past = h("section.card", { "aria-label": "Removed lately" });
  const next = h("section.card", { "aria-label": "Next to be removed" });
  const showPast = () => show(past, async () => {
    const { items, next_pass: pass } = await api.get("api/reap", signal);
    return [h("h2", "Removed lately"), items.length === 0 ? empty("Nothing since the daemon started.") : h("div.scroll", table("Removed lately", [
      { name: "When", plain: true, class: "fit", cell: (item) => when(item.at) },
      { name: "What", plain: true, cell: (item) => WORDS[item.action] ?? item.action },
      { name: "Where", plain: true, cell: (item) => [item.repo, item.branch].filter(Boolean).join(" / ") },
      { name: "Why", plain: true, cell: (item) => item.why },
      { name: "Freed", class: "num", cell: (item) => bytes(item.bytes) },
    ], items.slice(0, 50))), pass && h("p.muted", "The next pass is ", when(pass), ".")];
  }, signal);
  const showNext = () => show(next, async () => {
    const { items, stores, totals } = await api.post("api/reap?dry_run=true");
    const going = [...items, ...stores].filter((item) => item.action !== "keep");
    const kept = items.filter((item) => item.action === "keep");
    return [
      h("h2", "Next to be removed"),
      h("p", going.length === 0
        ? "Nothing: everything is within its limits."
        : `${counted(going.length, "item")}, which would free ${bytes(totals.bytes)}.`),
      going.length > 0 && h("div.scroll", plan("Next to be removed", going)),
      kept.length > 0 && h("details",
        h("summary", `${counted(kept.length, "workspace")} would stay`), h("div.scroll", plan("What stays", kept))),
      h("div.toolbar", button("Check again", showNext)),
    ];
  }, signal);
  events.listen("reap", showPast, signal);
  showPast();
  showNext();
  return h("div.columns", past, next);
}

function plan(label, items) {
  return table(label, [
    { name: "Where", plain: true, cell: (item) => [item.repo, item.branch].filter(Boolean).join(" / ") },
    { name: "What", plain: true, class: "fit", cell: (item) => chip(WORDS[item.action] ?? item.action, item.action === "keep" ? "" : "warn") },
    { name: "Why", plain: true, cell: (item) => item.why },
    { name: "Idle", class: "num", cell: (item) => duration(item.idle * 1000) },
  ], items);
}

