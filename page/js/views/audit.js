// Who did what, and who was refused.

import { api, withQuery } from "../core/api.js";
import { debounce, fill, h } from "../core/dom.js";
import { exactly, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { link, noteQuery } from "../core/router.js";
import { person } from "../core/session.js";
import { button, chip, empty, heading, select, show, SINCE, table } from "../ui/parts.js";

const TEXTS = ["principal", "action", "repo", "branch"];
const TONES = { allowed: "ok", refused: "bad", failed: "warn" };

export function title() {
  return "Audit";
}

export async function mount(root, { query }, signal) {
  const list = h("div.card.scroll");
  const pager = h("div.pager");
  const form = h("form.toolbar", { onsubmit: (event) => { event.preventDefault(); apply(); }, oninput: debounce(() => apply(), 300) },
    TEXTS.map((name) => h("input.grow", { name, type: "search", placeholder: name, "aria-label": name, value: query.get(name) ?? "" })),
    select({ name: "outcome", "aria-label": "Outcome" }, [["", "every outcome"], "allowed", "refused", "failed"], query.get("outcome") ?? ""),
    select({ name: "since", "aria-label": "Since" }, SINCE, query.get("since") ?? ""));
  let items = [];
  const wanted = () => Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  const load = async (before) => {
    const page = await api.get(withQuery("api/audit", { ...wanted(), limit: 100, before }), signal);
    items = before ? [...items, ...page.items] : page.items;
    fill(pager, page.next && button("Show more", () => show(list, () => load(page.next), signal)));
    return items.length === 0 ? empty("No records.") : auditTable(items);
  };
  const apply = () => {
    noteQuery(wanted());
    return show(list, () => load(null), signal);
  };
  shortcut("/", "Filter by principal", () => form.elements.principal.focus(), signal);
  fill(root, heading("Audit"), form, list, pager);
  await show(list, () => load(null), signal);
}

function auditTable(items) {
  return table("Audit", [
    { name: "When", plain: true, class: "fit", cell: (item) => h("span", { title: exactly(item.at) }, when(item.at)) },
    { name: "Who", plain: true, cell: (item) => person(item.principal) ?? "–" },
    { name: "Did", plain: true, cell: (item) => [h("code", item.action), item.count > 1 && ` × ${item.count}`] },
    { name: "Where", plain: true, cell: (item) => [item.repo, item.branch].filter(Boolean).join(" / ") },
    { name: "Outcome", plain: true, class: "fit", cell: ({ outcome, code, status }) => [chip(outcome, TONES[outcome]), " ", h("span.muted", code ?? status)] },
    { name: "What", plain: true, cell: (item) => [item.run && touched(item), item.detail && h("span.muted", ` ${item.detail}`)] },
    { name: "Via", class: "fit", cell: (item) => h("span.muted", `${item.via}, ${item.peer ?? "–"}`) },
  ], items);
}

/** What was made or touched: a run can be shown; groups, salvages and tokens are only named. */
function touched({ action, run }) {
  const isRun = /^(make|task|git|run\.)/.test(action);
  return isRun ? h("a.mono", { href: link("run", run) }, run.slice(-6)) : h("code", run.slice(-6));
}
