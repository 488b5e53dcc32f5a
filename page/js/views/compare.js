// Two branches of a repo side by side: the commits that only one of them has, what differs, and how each was last built.

import { allBranches, api, at, withQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { counted } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { here, link, noteQuery } from "../core/router.js";
import { can } from "../core/session.js";
import { Diff } from "../ui/diff.js";
import { button, empty, fileAddress, heading, problemBox, runAge, runLink, select, stateBadge } from "../ui/parts.js";
import { commitList, isBuild } from "./workspace-actions.js";

const COMMITS = 50;

export function title({ rest: [repo], query }) {
  return `${query.get("from") ?? "…"} and ${query.get("to") ?? "…"} · ${repo}`;
}

export async function mount(root, { rest: [repo], query }, signal) {
  const about = await api.get(at.repo(repo), signal);
  const names = h("datalist", { id: "compare-branches" });
  const pick = (name, label) => h("input.mono.grow", { name, list: "compare-branches", "aria-label": label, placeholder: label, autocomplete: "off", required: true });
  const [from, to] = [pick("from", "From branch"), pick("to", "To branch")];
  const how = select({ name: "how", "aria-label": "What is compared" }, [["", "what changed since they parted"], ["direct", "one with the other"]]);
  const form = h("form.toolbar", { onsubmit: (event) => { event.preventDefault(); apply(); }, onchange: () => form.checkValidity() && apply() },
    from, "→", to, button("Swap", () => { [from.value, to.value] = [to.value, from.value]; apply(); }, { iconName: "again" }), how, button("Compare", () => form.requestSubmit()), names);
  const body = h("div.stack");
  let shown = null;
  let diff = null;

  const apply = () => {
    noteQuery({ from: from.value.trim(), to: to.value.trim(), how: how.value || null, path: null });
    return draw(here().query);
  };
  const draw = async (asked) => {
    const sides = [asked.get("from") ?? about.default_branch ?? "", asked.get("to") ?? ""];
    [from.value, to.value] = sides;
    how.value = asked.get("how") ?? "";
    const key = JSON.stringify([sides, how.value]);
    if (key === shown) return diff?.go(asked.get("path"));
    shown = key;
    diff = null;
    if (sides.includes("")) return fill(body, empty("Choose two branches."));
    body.setAttribute("aria-busy", "true");
    try {
      const found = await compare(repo, sides, how.value !== "direct", signal);
      if (signal.aborted || shown !== key) return;
      diff = found.diff;
      fill(body, found.content);
      await diff.load(asked.get("path"));
    } catch (error) {
      if (!signal.aborted && shown === key) fill(body, problemBox(error));
    } finally {
      body.removeAttribute("aria-busy");
    }
  };

  fill(root, heading("Compare", form), body);
  shortcut("j", "Next file", () => diff?.step(1), signal);
  shortcut("k", "Previous file", () => diff?.step(-1), signal);
  shortcut("/", "Choose the branches", () => from.select(), signal);
  allBranches(repo, { remote: true, signal }).then((all) => fill(names, all.map(({ branch }) => h("option", { value: branch }))), () => {});
  draw(query);
  return (route) => draw(route.query);
}

async function compare(repo, [from, to], isSinceParted, signal) {
  const describe = (branch) => api.get(at.branch(repo, branch), signal).catch(() => null);
  const workspaces = await Promise.all([from, to].map(describe));
  // Any workspace of the repo can answer for both branches; a new one is only made where neither has one.
  const place = workspaces[1] ? to : workspaces[0] ? from : to;
  const ask = (what, fields) => api.post(`${at.branch(repo, place)}/git/${what}`, fields);
  const revision = (index) => workspaces[index]?.commit ?? [from, to][index];
  const [one, other] = [revision(0), revision(1)];
  const side = async (index, range) => {
    const branch = [from, to][index];
    const [{ commits, next }, run] = await Promise.all([ask("log", { range, limit: COMMITS, stat: true }), lastRun(repo, branch, signal)]);
    return h("section.card", h("h2", h("a", { href: link("workspace", repo, branch) }, branch)),
      h("div.ws-last", run ? [stateBadge(run.state), runLink(run), runAge(run)] : h("span.muted", "Never built.")),
      h("h3", commits.length === 0 ? "No commit of its own" : !next ? `${counted(commits.length, "commit")} that the other lacks` : `More than ${COMMITS} commits that the other lacks`),
      commits.length > 0 && commitList(commits, (id) => link("workspace", repo, place, { view: "commits", commit: id })));
  };
  const sides = await Promise.all([side(0, `${other}..${one}`), side(1, `${one}..${other}`)]);
  const diff = new Diff((fields) => ask("diff", { from: one, to: other, merge_base: isSinceParted, ...fields }),
    (place) => (workspaces[1] ? fileAddress(repo, to, place) : null), signal);
  return { diff, content: [h("div.columns", sides), diff.element] };
}

async function lastRun(repo, branch, signal) {
  if (!can("repo:read")) return null;
  const { items } = await api.get(withQuery("api/runs", { repo, branch, limit: 20 }), signal);
  return items.find(isBuild) ?? null;
}
