// The tests of a repository over time.

import { api, at, withQuery } from "../core/api.js";
import { debounce, fill, h } from "../core/dom.js";
import { when } from "../core/format.js";
import { link, noteQuery } from "../core/router.js";
import { button, chip, commit, empty, heading, select, show, stateBadge, table } from "../ui/parts.js";

const COLUMNS = [
  { name: "State", cell: (test) => [stateBadge(test.state), test.new && chip("new", "bad"), test.flaky && chip("flaky", "warn")] },
  { name: "Test", plain: true, class: "first name", cell: ({ name, suite }) => [h("div.mono", name), h("div.muted", suite)] },
  { name: "Fails since", cell: ({ failing_since: first }) => first && commit(first.commit) },
  { name: "Failed", cell: ({ passed, failed }) => `${failed} of ${passed + failed}` },
  { name: "Last", cell: ({ last }) => [h("a", { href: last.run_id ? link("run", last.run_id) : link("pipeline", last.pipeline_id, { job: last.job }) }, last.job ?? "run"), ` on ${last.branch} `, when(last.at)] },
];

export const title = () => "Tests";

export async function mount(root, { rest: [repo], query }, signal) {
  const list = h("div.card.scroll");
  const input = (name, text) => h("input.grow", { name, type: "search", placeholder: text, "aria-label": text, value: query.get(name) });
  const choice = (name, word) => select({ name, "aria-label": name }, [["", "all"], word], query.get(name));
  const form = h("form.toolbar", { onsubmit: (event) => event.preventDefault(), oninput: debounce(() => load(), 250) },
    input("branch", "Branch"), input("q", "Test"), choice("state", "failed"), choice("flaky", ["true", "flaky"]));
  let tests;
  const load = (from) => show(list, async () => {
    const wanted = Object.fromEntries(new FormData(form));
    noteQuery(wanted);
    const page = await api.get(withQuery(`${at.repo(repo)}/tests`, { ...wanted, from }), signal);
    tests = from ? [...tests, ...page.items] : page.items;
    return tests.length ? [table("Tests", COLUMNS, tests), page.next && h("div.pager", button("Show more", () => load(page.next)))] : empty("No tests.");
  }, signal);
  fill(root, heading(`Tests of ${repo}`), form, list);
  await load();
}
