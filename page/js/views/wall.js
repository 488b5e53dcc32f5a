// The yard for a screen on the wall: large tiles, what failed first, nothing to click. ?by=repo has a tile for each
// repo, and ?repo=NAME only its branches.

import { fill, h, perFrame } from "../core/dom.js";
import { events } from "../core/events.js";
import { isLive, number, runName, when } from "../core/format.js";
import { here } from "../core/router.js";
import { Yard } from "../core/yard.js";
import { stateBadge } from "../ui/parts.js";
import { rank, stateOf, YardFilter } from "./yard-filter.js";

/** More than these are too small to be read from afar. */
const MOST = 60;
const KINDS = [["failed", "failed"], ["running", "running or waiting"], ["succeeded", "succeeded"], ["never", "never built"]];

export function title() {
  return "Wall";
}

export async function mount(root, route, signal) {
  const yard = new Yard(signal);
  const filter = new YardFilter(() => {});
  const head = h("header.wall-head");
  const tiles = h("ul.wall", { "aria-label": "Branches" });
  fill(root, h("h1.unseen", "Wall"), head, tiles);
  const draw = perFrame(() => {
    if (signal.aborted) return;
    const { query } = here();
    filter.read(query);
    filter.order = "failed";
    const isByRepo = query.get("by") === "repo";
    const all = filter.apply([...yard.workspaces.values()].flatMap((branches) => [...branches.values()])
      .filter(({ repo }) => !query.get("repo") || repo === query.get("repo")));
    const counts = [0, 0, 0, 0];
    for (const workspace of all) counts[rank(workspace)] += 1;
    const groups = isByRepo ? [...Map.groupBy(all, ({ repo }) => repo).values()] : all.map((workspace) => [workspace]);
    fill(head,
      KINDS.map(([state, words], index) => h("span.wall-count", { "data-state": state }, h("b", number(counts[index])), " ", words)),
      events.state !== "open" && h("span.wall-count", { "data-state": "rejected" }, "not live"),
      groups.length > MOST && h("span.wall-count", `${number(groups.length - MOST)} not shown`));
    fill(tiles, groups.slice(0, MOST).map((group) => (isByRepo ? repoTile(group) : branchTile(group[0], yard.repos.size > 1))));
  });
  for (const type of ["repos", "workspace"]) yard.addEventListener(type, draw);
  events.listen("state", draw, signal);
  await yard.load();
  draw();
  return draw;
}

function branchTile(workspace, hasRepos) {
  const run = workspace.last_run;
  const error = run && !isLive(run.state) && run.state !== "succeeded" && run.diagnostics?.first;
  return h("li.wall-tile", { "data-state": stateOf(workspace) },
    h("b.wall-name", hasRepos && h("span.wall-repo", `${workspace.repo} / `), workspace.branch),
    run ? h("span", stateBadge(run.state), " ", when(run.ended_at ?? run.created_at)) : h("span", "Never built"),
    run && h("span.what", error ? error.message : runName(run)));
}

/** The worst of its branches, and how many there are of each. */
function repoTile(workspaces) {
  const counts = Map.groupBy(workspaces, stateOf);
  return h("li.wall-tile", { "data-state": stateOf(workspaces[0]) },
    h("b.wall-name", workspaces[0].repo),
    [...counts].map(([state, those]) => h("span", state === "never" ? "never built" : stateBadge(state), ` ${number(those.length)}`)));
}
