// What a workspace changes: since its base, against the remote, uncommitted, or since its last command was green.

import { fill, h } from "../core/dom.js";
import { counted } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { here } from "../core/router.js";
import { can } from "../core/session.js";
import { Diff } from "../ui/diff.js";
import { button, empty, note, problemBox, runAge, runLink } from "../ui/parts.js";
import { commitChanges, commitList } from "./workspace-actions.js";

/** For each choice: what it is called, and what `question(space)` asks the daemon, or why it cannot. */
const CHOICES = {
  base: [({ main }) => `Since ${main}`, async (space) => {
    const base = await space.base();
    return { from: base, to: "HEAD", merge_base: true, range: `${base}..HEAD`, about: await space.preview().then(standing, () => null) };
  }],
  remote: [() => "Unpushed", async (space) => {
    const from = `origin/${space.branch}`;
    if (!(await space.isOnRemote())) return { why: "The remote does not have this branch yet: nothing of it is pushed." };
    return { from, to: "HEAD", merge_base: true, range: `${from}..HEAD`,
      about: space.workspace.behind > 0 && `The remote has ${counted(space.workspace.behind, "commit")} that are not here.` };
  }],
  files: [() => "Uncommitted", async (space) => ({ from: "HEAD", include_untracked: true,
    about: (space.workspace.dirty || space.workspace.untracked > 0) && can("git:write") && button("Commit", () => commitChanges(space)) })],
  green: [() => "Since it was green", async (space) => {
    const { build } = space;
    if (!build) return { why: "There was no run yet." };
    const green = await space.green();
    if (!green) return { why: ["No earlier run of ", runLink(build), " succeeded here."] };
    const { commit, dirty } = green.about;
    const isNow = green.run_id === build.run_id;
    return { from: commit, include_untracked: true, range: `${commit}..HEAD`,
      about: [runLink(green), isNow ? " is green: what changed after it. " : " was green last: what changed since. ", runAge(green), dirty && note("", "That run had uncommitted changes, which are not known here.")] };
  }],
};

const MERGES = { already_merged: "all of it is merged", fast_forward: "a merge is a fast-forward", clean: "it merges without conflicts", unrelated: "they have no commit in common" };

/** How the branch stands to its base. */
function standing({ into, missing, outcome, conflicts = [] }) {
  return [`What this branch did since it parted from ${into.name}`, missing > 0 && `, which has ${counted(missing, "commit")} more`, "; ",
    outcome === "conflicts" ? ["it conflicts in ", conflicts.map(({ path }, index) => [index > 0 && ", ", h("code", path)])] : MERGES[outcome], "."];
}

export async function show(space, query, signal) {
  let diff = null;
  const choose = (asked) => {
    const wanted = asked.get("against");
    const isMain = !space.main || space.main === space.branch;
    return CHOICES[wanted] && !(wanted === "base" && isMain) ? wanted : isMain ? "files" : "base";
  };
  const draw = async (asked) => {
    const chosen = choose(asked);
    const names = Object.keys(CHOICES).filter((name) => name !== "base" || (space.main && space.main !== space.branch));
    const [about, list, fresh] = [h("div.ws-about"), h("div"), h("div.pager")];
    draw.fresh = fresh;
    draw.chosen = chosen;
    fill(space.body,
      h("nav.tabs.is-small", { "aria-label": "Compared with" }, names.map((name) =>
        h("a", { href: space.link({ view: "changes", against: name }), "aria-current": name === chosen ? "true" : null }, CHOICES[name][0](space)))),
      fresh, about, list);
    list.setAttribute("aria-busy", "true");
    const mine = draw.turn = {};
    try {
      const { about: words, range, why, ...question } = await CHOICES[chosen][1](space);
      if (why) return fill(list, empty(why));
      fill(about, words && h("div", words));
      const log = range && space.ask("git/log", { range, limit: 100 }).catch(() => null);
      const isNow = question.to === undefined || question.to === "HEAD";
      diff = new Diff((fields) => space.ask("git/diff", { ...question, ...fields }), (place) => (isNow ? space.fileAt(place) : null), signal);
      await diff.load(asked.get("path"));
      const commits = await log;
      if (signal.aborted || mine !== draw.turn) return;
      fill(list,
        commits?.commits.length > 0 && h("details.card.ws-commits", { open: commits.commits.length <= 8 },
          h("summary", h("h2", counted(commits.commits.length, "commit"), commits.next && " and more")),
          commitList(commits.commits, (id) => space.link({ view: "commits", commit: id }))),
        diff.element);
    } catch (error) {
      if (!signal.aborted && mine === draw.turn) fill(list, problemBox(error));
    } finally {
      list.removeAttribute("aria-busy");
    }
  };
  shortcut("j", "Next file", () => diff?.step(1), signal);
  shortcut("k", "Previous file", () => diff?.step(-1), signal);
  // What is read is not pulled away: it is shown anew when that is asked for.
  const stale = () => draw.fresh && fill(draw.fresh, button("The workspace has changed: show it anew", () => draw(here().query)));
  await draw(query);
  return {
    onQuery: (asked) => (choose(asked) === draw.chosen ? asked.get("path") && diff?.go(asked.get("path")) : draw(asked)),
    // Nothing is lost where nothing was read yet.
    onChange: () => (space.body.querySelector(":focus") || scrollY > 200 ? stale() : draw(here().query)),
  };
}
