// The runs of a workspace over time, by command, and since when the last one is not green.

import { api, withQuery } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { complaints, duration, isLive, runName, runTime, shortId, testTally, when } from "../core/format.js";
import { here, noteQuery } from "../core/router.js";
import { person } from "../core/session.js";
import { runBars } from "../ui/charts.js";
import { button, empty, runAge, runLink, select, stateBadge, table } from "../ui/parts.js";
import { isBuild } from "./workspace-actions.js";

const PAGE = 60;

export async function show(space, query, signal) {
  const [chart, list, green, pager] = [h("div.card"), h("div.card.scroll"), h("div"), h("div.pager")];
  const choice = select({ "aria-label": "Command", onchange: () => { noteQuery({ command: choice.value }); draw(); } }, []);
  let older = [];
  let isAll = space.runs.length < PAGE;
  fill(space.body, h("div.stack", h("div.toolbar", choice, green), chart, list, pager));

  const columns = [
    { name: "State", plain: true, class: "fit", cell: (run) => stateBadge(run.state) },
    { name: "Command", plain: true, class: "first", cell: (run) => [runLink(run), firstError(space, run)] },
    { name: "Commit", class: "fit", cell: (run) => run.about && [h("a.mono", { href: space.link({ view: "commits", commit: run.about.commit }) }, shortId(run.about.commit)), run.about.dirty && h("span.muted", " with changes")] },
    { name: "By", class: "fit", cell: (run) => person(run.principal) },
    { name: "Took", plain: true, class: "num", cell: (run) => `${duration(runTime(run))}${isLive(run.state) ? "…" : ""}` },
    { name: "Requested", plain: true, class: "num", cell: (run) => when(run.created_at) },
  ];

  const all = () => [...space.runs, ...older.filter((run) => !space.runs.some(({ run_id: id }) => id === run.run_id))];
  const draw = () => {
    const names = [...new Set(all().map(runName))];
    const wanted = here().query.get("command") ?? query.get("command");
    const chosen = wanted === "" || names.includes(wanted) ? wanted : space.build ? runName(space.build) : "";
    if (names.join("\n") !== choice.names) fill(choice, [...select({}, [["", "all commands"], ...names.map((name) => [name, name])]).children]);
    choice.names = names.join("\n");
    choice.value = chosen;
    const runs = all().filter((run) => !chosen || runName(run) === chosen);
    const timed = runs.filter((run) => run.started_at).slice(0, 60).reverse();
    const counts = Object.entries(Object.groupBy(timed, ({ state }) => state)).map(([state, some]) => `${some.length} ${state.replace("_", " ")}`);
    fill(chart, timed.length === 0 ? empty("Nothing was started yet.") : [
      runBars(timed, `Durations and states of the last runs, the oldest first: ${counts.join(", ")}`, Math.max(timed.length, 20)),
      h("div.legend", h("span", counts.join(", ")), h("span", "the longest ", duration(Math.max(...timed.map(runTime)))), h("span", "taller is longer; the latest is at the right"))]);
    fill(list, runs.length === 0 ? empty("No runs.") : table("Runs", columns, runs));
    fill(pager, !isAll && button("Show more", more));
    showGreen(runs.find(isBuild));
  };
  const showGreen = async (run) => {
    const found = await space.green(run).catch(() => null);
    if (signal.aborted || !run) return;
    fill(green, found?.run_id === run.run_id ? h("span.muted", "The last run is green.")
      : !found ? h("span.muted", "It was never green here.")
      : [h("span", "Last green ", runLink(found), " ", runAge(found)), " ", run === space.build && h("a.button", { href: space.link({ view: "changes", against: "green" }) }, "What changed since it was green")]);
  };
  const more = async () => {
    const before = all().at(-1)?.run_id;
    const { items, next } = await api.get(withQuery("api/runs", { repo: space.repo, branch: space.branch, limit: PAGE, before }), signal);
    older = [...older, ...items];
    isAll = !next;
    draw();
  };
  draw();
  return { onQuery: draw, onRuns: draw };
}

function firstError(space, { diagnostics }) {
  const first = diagnostics?.first;
  if (!first) return null;
  const place = first.file && [first.file, first.line].filter(Boolean).join(":");
  return h("div.muted", { title: complaints(diagnostics) },
    place && (first.file.startsWith("/") ? place : h("a.mono", { href: space.fileAt({ path: first.file, line: first.line }) }, place)), " ", first.message);
}
