// Who works in a workspace: who holds it and who waits, who asked for what lately, and whose commits it has.

import { api, at } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { counted, when } from "../core/format.js";
import { link } from "../core/router.js";
import { can, person } from "../core/session.js";
import { empty, table } from "../ui/parts.js";

export async function show(space, query, signal) {
  const [now, lately, authors] = [h("div"), h("div"), h("div")];
  const card = (title, content) => h("section.card", h("h2", title), content);
  const lists = h("div.columns", card("Now", now));
  fill(space.body, lists);

  const draw = async () => {
    // An older daemon has no such list, and not everybody may see it.
    const activity = await api.get(`${at.branch(space.repo, space.branch)}/activity`, signal).catch(() => null);
    if (signal.aborted) return;
    const { holder, pinned } = space.workspace;
    const waiting = activity?.waiting ?? [];
    fill(now, h("dl.facts",
      h("dt", "At work"), h("dd", holder ? [holder.who, ": ", holder.run_id ? h("a", { href: link("run", holder.run_id) }, holder.what) : holder.what, " ", when(holder.since)] : "–"),
      h("dt", "Waiting"), h("dd", waiting.length === 0 ? "–" : waiting.map(({ who, what, since }) => h("div", who, ": ", what, " ", when(since)))),
      pinned && [h("dt", "Pinned by"), h("dd", pinned.by, pinned.reason && `: ${pinned.reason}`, " ", when(pinned.at))],
      h("dt", "Last used"), h("dd", when(space.workspace.last_used))));
    if (!activity) return;
    if (!lately.parentNode) lists.append(card("Lately", lately));
    fill(lately, activity.items.length === 0 ? empty("No calls lately.") : table("Latest callers", [
      { name: "Who", plain: true, class: "first", cell: ({ principal, client }) => [person(principal), client && h("div.muted", client)] },
      { name: "Last call", plain: true, cell: (one) => h("code", one.last_call) },
      { name: "Calls", class: "num", cell: ({ calls }) => calls },
      { name: "When", plain: true, class: "num", cell: (one) => when(one.last_at) },
    ], activity.items));
  };
  const drawAuthors = async () => {
    const base = can("git:read") ? await space.base() : null;
    if (!base) return;
    const { commits, next } = await space.ask("git/log", { range: `${base}..HEAD`, limit: 500, verbosity: "minimal" });
    if (signal.aborted) return;
    lists.append(card(`Commits since ${space.main}`, authors));
    const by = Object.entries(Object.groupBy(commits, ({ author }) => author.name));
    fill(authors, by.length === 0 ? empty("None.") : h("ul.plain", by.map(([name, some]) => h("li", h("bdi", name), h("span.muted", ` · ${counted(some.length, "commit")}, the last `, when(some[0].author.date))))),
      next && h("p.muted", "Older ones are not counted."));
  };
  await draw();
  await drawAuthors().catch(() => {});
  return { onChange: draw, onRuns: draw };
}
