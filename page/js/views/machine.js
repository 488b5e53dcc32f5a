// The machine and its queue: what runs, what waits, what it costs, and what makes room.

import { api } from "../core/api.js";
import { debounce, fill, h } from "../core/dom.js";
import { events } from "../core/events.js";
import { bytes, counted, duration, isLive, runTime } from "../core/format.js";
import { link } from "../core/router.js";
import { can } from "../core/session.js";
import { bar, runBars } from "../ui/charts.js";
import { empty, heading, show } from "../ui/parts.js";
import { reaperCards } from "./machine-reaper.js";
import { Queue } from "./queue.js";

/** Load and memory change without an event. */
const EVERY = 5000;
const BRANCHES = 12;

export function title() {
  return "Machine";
}

export async function mount(root, route, signal) {
  const tiles = h("div.tiles");
  const background = h("div");
  const queue = new Queue(false, signal);
  const disk = h("section.card", { "aria-label": "Disk by repo" });
  const trends = h("section.card", { "aria-label": "Runs by branch" });
  fill(root, heading("Machine"), background, tiles,
    h("div.columns", h("div.stack", queue.running, queue.waiting, disk), trends),
    can("ops") && reaperCards(signal));

  const refresh = async () => {
    const machine = await api.get("api/machine", signal);
    fill(background, stopped(machine.background));
    fill(tiles, tilesOf(machine));
    await queue.show(machine);
    fill(disk, h("h2", "Disk by repo"), diskChart(machine.repos));
  };
  const quietly = () => { if (!document.hidden && !signal.aborted) refresh().catch(() => {}); };
  const soon = debounce(quietly, 150);
  const timer = setInterval(quietly, EVERY);
  signal.addEventListener("abort", () => clearInterval(timer));
  for (const type of ["queue", "run", "reset", "reap"]) events.listen(type, soon, signal);
  events.listen("run", debounce(({ change }) => change === "ended" && show(trends, loadTrends, signal), 1000), signal);

  const loadTrends = async () => trendsOf((await api.get("api/runs?since=30d&limit=500", signal)).items);
  await Promise.all([refresh(), show(trends, loadTrends, signal)]);
}

/** What the daemon should be doing by itself, and is not. */
function stopped(loops) {
  const names = loops.filter(({ state }) => state !== "running").map(({ name }) => name);
  return names.length > 0 && h("section.card.tile", { role: "alert", "aria-label": "Background work" },
    h("h2", "Background work has stopped"), h("div", `${names.join(", ")}: the daemon starts it again within a minute. Its log says why.`));
}

function tilesOf({ cores, load, memory, disk, runs }) {
  const [now, before, long] = load.map((value) => value.toFixed(2));
  const used = memory.total - memory.available;
  const taken = disk.total - disk.free;
  return [
    tile("Load", now, `of ${counted(cores, "core")} · ${before} and ${long} over 5 and 15 min`, Math.min(load[0], cores), cores),
    tile("Memory", bytes(used), `of ${bytes(memory.total)} in use`, used, memory.total),
    tile("Disk", bytes(disk.free), `free of ${bytes(disk.total)}`, taken, disk.total),
    tile("Runs", `${runs.running} running`, `${runs.waiting} waiting · ${runs.at_once} at once`, runs.running, runs.at_once),
  ];
}

function tile(name, figure, text, part, whole) {
  const element = bar([{ size: part }], whole);
  if (name !== "Runs" && part / whole > 0.9) element.classList.add("tight");
  return h("section.card.tile", { "aria-label": name }, h("h2", name), h("div.figure", figure), element, h("div.muted", text));
}

function diskChart(repos) {
  if (repos.length === 0) return empty("No repositories.");
  const sized = repos.map((repo) => ({ ...repo, total: (repo.clone ?? 0) + repo.source + repo.build_output })).sort((a, b) => b.total - a.total);
  const most = Math.max(1, sized[0].total);
  return [
    sized.map(({ repo, workspaces, clone, source, build_output: output, total }) => h("div.chart-row",
      h("span", { title: repo }, repo, h("span.muted", ` ${workspaces}`)),
      bar([{ size: clone ?? 0, style: "is-clone" }, { size: source, style: "is-source" }, { size: output, style: "is-output" }], most),
      h("span", { title: `clone ${bytes(clone)}, source ${bytes(source)}, build output ${bytes(output)}` }, bytes(total)))),
    h("div.legend", ["clone", "source", "output"].map((part) => h("span", h("span.swatch", { class: `is-${part}` }), part))),
  ];
}

function trendsOf(runs) {
  const byBranch = Map.groupBy(runs.filter((run) => !isLive(run.state)), (run) => `${run.repo} / ${run.branch}`);
  const busiest = [...byBranch].sort((a, b) => b[1].length - a[1].length).slice(0, BRANCHES);
  return [h("h2", "Runs by branch"), busiest.length === 0 ? empty("No runs yet.") : h("div.sparks", busiest.map(([name, those]) => {
    const good = those.filter((run) => run.state === "succeeded").length;
    const share = `${Math.round((100 * good) / those.length)} % of ${counted(those.length, "run")}`;
    const typical = duration(those.map(runTime).sort((a, b) => a - b)[Math.floor(those.length / 2)]);
    return h("div.spark-row",
      h("a", { href: link("history", { repo: those[0].repo, branch: those[0].branch }), title: name }, name),
      runBars(those.toReversed(), `${name}: ${share} succeeded, typically in ${typical}`),
      h("span", `${share} · ${typical}`));
  })), h("p.legend", "Each bar is a run of the last 30 days: its height is the duration, its colour the end state.")];
}
