// The commits of a workspace: what it has beyond its base and its remote, what these have beyond it, and one of them.

import { fill, h } from "../core/dom.js";
import { counted, shortId, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { visible } from "../ui/text.js";
import { Diff } from "../ui/diff.js";
import { button, problemBox, show as showIn } from "../ui/parts.js";
import { commitList } from "./workspace-actions.js";

const PAGE = 50;

export async function show(space, query, signal) {
  let diff = null;
  let shown = null;
  const draw = async (asked) => {
    const [commit, path] = [asked.get("commit"), asked.get("path")];
    if (shown === commit && commit) return diff?.go(path);
    shown = commit;
    diff = null;
    const box = h("div.stack");
    fill(space.body, box);
    await showIn(box, async () => {
      if (!commit) return path ? [section(`Commits that changed ${path}`, await log(space, { path, follow: true }))] : lists(space);
      const [head, found] = await one(space, commit, signal);
      diff = found;
      await diff.load(path);
      return [head, diff.element];
    }, signal);
  };
  shortcut("j", "Next file", () => diff?.step(1), signal);
  shortcut("k", "Previous file", () => diff?.step(-1), signal);
  await draw(query);
  return { onQuery: draw, onChange: () => !shown && draw(new URLSearchParams()) };
}

/** A log that goes on when asked to; null where it cannot be had. */
async function log(space, fields, options = {}) {
  const hrefOf = (id) => space.link({ view: "commits", commit: id });
  const list = h("div");
  const pager = h("div.pager");
  const load = async (skip) => {
    const { commits, next } = await space.ask("git/log", { limit: PAGE, skip, stat: true, ...fields });
    if (skip === 0) options.count = commits.length;
    list.append(commitList(commits, hrefOf, options));
    fill(pager, next && button("Show more", () => load(next).catch((error) => fill(pager, problemBox(error)))));
  };
  await load(0);
  return h("div", list, pager);
}

function section(title, content) {
  return h("section.card", h("h2", title), content);
}

async function lists(space) {
  const { branch, workspace, main } = space;
  const base = await space.base();
  const remote = `origin/${branch}`;
  const isPushed = await space.isOnRemote();
  const unpushed = isPushed ? (await space.ask("git/log", { range: `${remote}..HEAD`, limit: 200, verbosity: "minimal" })).commits : [];
  const marked = new Set(unpushed.map(({ id }) => id));
  const parts = [];
  const add = async (title, fields, isAlways = false) => {
    const options = { marked };
    const found = await log(space, fields, options).catch(() => null);
    if (found && (isAlways || options.count > 0)) parts.push(section(title, found));
  };
  if (!isPushed) parts.push(h("p.muted", "The remote does not have this branch yet: nothing of it is pushed."));
  if (workspace.behind > 0) await add(`On the remote and not here`, { range: `HEAD..${remote}` });
  if (base) {
    await add(`Here and not on ${main}`, { range: `${base}..HEAD` }, true);
    await add(`On ${main} and not here`, { range: `HEAD..${base}` });
  }
  await add(base ? `All commits` : `Commits of ${branch}`, {}, true);
  return parts;
}

/** A commit's message, and what it changed against its first parent. */
async function one(space, revision, signal) {
  const { id, details } = await space.ask("git/show", { revision, patch: false, stat: false });
  const { subject, body, author, committer, parents } = details;
  const ask = parents.length > 0
    ? (fields) => space.ask("git/diff", { from: parents[0], to: id, ...fields })
    : (fields) => root(space, id, fields);
  const head = h("section.card.stack",
    h("h2", visible(subject)),
    body && h("pre.file", { tabindex: 0 }, visible(body)),
    h("p.muted", h("code", id), " by ", author.name, " ", when(author.date), committer.name !== author.name && [", committed by ", committer.name],
      parents.map((parent) => [" · parent ", h("a.mono", { href: space.link({ view: "commits", commit: parent }) }, shortId(parent))]),
      parents.length > 1 && ` · a merge: ${counted(parents.length, "parent")}`),
    h("div.toolbar", h("a.button", { href: space.link({ view: "files", at: id }) }, "Files at this commit"), h("a.button", { href: space.link({ view: "commits" }) }, "All commits")));
  return [head, new Diff(ask, (place) => space.fileAt({ ...place, commit: id }), signal)];
}

/** The first commit of all has nothing to be compared with: `show` tells what is in it, all files at once. */
async function root(space, revision, { paths, stat, skip, limit, skip_hunks }) {
  const { details } = await space.ask("git/show", { revision, patch: !stat, skip, limit, skip_hunks });
  const { files, totals, next } = details;
  return { totals, next, files: paths ? files.filter(({ path }) => paths.includes(path)) : files };
}
