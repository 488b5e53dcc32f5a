// All runs, the latest first, with filters and pages. The filters are in the address.

import { api, withQuery } from "../core/api.js";
import { debounce, fill, h } from "../core/dom.js";
import { events } from "../core/events.js";
import { brief, complaints, counted, testTally, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { here, link, noteQuery } from "../core/router.js";
import { person } from "../core/session.js";
import { branchLink, button, empty, heading, runLink, runTook, select, show, SINCE, stateBadge, table } from "../ui/parts.js";

const STATES = ["queued", "preparing", "running", "succeeded", "failed", "signalled", "timed_out", "cancelled", "lost", "rejected"];
const NAMES = ["repo", "branch", "kind", "state", "since"];
const PAGE = 50;

const COLUMNS = [
  { name: "State", plain: true, class: "fit", cell: (run) => stateBadge(run.state) },
  { name: "Command", plain: true, class: "first", cell: (run) => runLink(run) },
  { name: "Branch", plain: true, cell: (run) => branchLink(run.repo, run.branch) },
  { name: "Problems", plain: true, class: "problems", cell: problems },
  { name: "By", class: "who", cell: (run) => person(run.principal) },
  { name: "Took", plain: true, class: "num", cell: runTook },
  { name: "Requested", plain: true, class: "num", cell: (run) => when(run.created_at) },
];

export function title() {
  return "History";
}

export async function mount(root, { query }, signal) {
  const { items: repos } = await api.get("api/repos", signal);
  const list = h("div.card.scroll");
  const fresh = h("div.pager");
  const pager = h("div.pager");
  const form = h("form.toolbar", { onsubmit: (event) => { event.preventDefault(); apply(); }, oninput: debounce(() => apply(), 250) });
  const setForm = (values) => fill(form,
    select({ name: "repo", "aria-label": "Repo" }, [["", "all repos"], ...repos.map(({ name }) => [name, name])], values.get("repo") ?? ""),
    h("input.grow", { name: "branch", type: "search", placeholder: "Branch", "aria-label": "Branch", value: values.get("branch") ?? "" }),
    select({ name: "kind", "aria-label": "Kind" }, [["", "all kinds"], "make", "task", "git", "step"], values.get("kind") ?? ""),
    select({ name: "state", "aria-label": "State" }, [["", "all states"], ...STATES], values.get("state") ?? ""),
    select({ name: "since", "aria-label": "Since" }, SINCE, values.get("since") ?? ""));
  let runs = [];
  let next = null;
  const unseen = new Set();

  const wanted = () => Object.fromEntries(NAMES.map((name) => [name, form.elements[name].value.trim()]));
  const load = async (before) => {
    const page = await api.get(withQuery("api/runs", { ...wanted(), limit: PAGE, before }), signal);
    runs = before ? [...runs, ...page.items] : page.items;
    next = page.next;
    return draw();
  };
  const draw = () => {
    fill(pager, next && button("Show more", () => show(list, () => load(next), signal)));
    fill(fresh, unseen.size > 0 && button(`Show ${counted(unseen.size, "new run")}`, () => apply()));
    return runs.length === 0 ? empty("No runs.") : table("Runs", COLUMNS, runs);
  };
  const apply = () => {
    unseen.clear();
    noteQuery(wanted());
    return show(list, () => load(null), signal);
  };

  setForm(query);
  fill(root, heading("History"), form, fresh, list, pager);
  // What is shown is kept true; what is new is announced, so that nothing moves under the pointer.
  events.listen("run", ({ run }) => {
    const index = runs.findIndex((known) => known.run_id === run.run_id);
    if (index >= 0) runs[index] = run;
    else if (matches(run, wanted()) && !(runs[0]?.run_id > run.run_id)) unseen.add(run.run_id);
    redraw();
  }, signal);
  const redraw = debounce(() => { if (!signal.aborted) fill(list, draw()); }, 200);
  shortcut("/", "Filter by branch", () => form.elements.branch.focus(), signal);
  await show(list, () => load(null), signal);
  return () => { setForm(here().query); return apply(); };
}

/** What its tests and its output complain about, and the first of that, which leads to its line. */
function problems({ run_id: id, tests, diagnostics }) {
  const { first } = diagnostics ?? {};
  const counts = [tests && testTally(tests), diagnostics && complaints(diagnostics)].filter(Boolean);
  return [
    counts.length > 0 && h("div.muted.fit", counts.join(", ")),
    first && h("a.problem-text", { class: first.severity, href: link("run", id, { line: first.log_line }), title: first.message }, brief(first.message, 100)),
  ];
}

function matches(run, { repo, branch, kind, state }) {
  return (!repo || run.repo === repo) && (!branch || run.branch === branch) && (!kind || run.kind === kind) && (!state || run.state === state);
}

