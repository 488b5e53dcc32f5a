// The pipelines of a repository, the latest first, with filters and pages. The filters are in the address.

import { api, at, withQuery } from "../core/api.js";
import { debounce, fill, h, morph, refill } from "../core/dom.js";
import { events } from "../core/events.js";
import { counted, duration, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { hasEnded, hasFailed, pipelineName, pipelineTime, watchPipelines } from "../core/pipelines.js";
import { go, here, link, noteQuery } from "../core/router.js";
import { can } from "../core/session.js";
import { button, chip, commit, empty, heading, select, show, stateBadge, table } from "../ui/parts.js";
import { startBisect } from "./bisect-start.js";
import { startPipeline } from "./pipeline-start.js";

const STATES = ["queued", "running", "succeeded", "failed", "cancelled", "rejected"];
const FILTERS = ["branch", "state", "file"];
const PAGE = 50;

const COLUMNS = [
  { name: "State", plain: true, class: "fit", cell: (pipeline) => stateBadge(pipeline.state) },
  { name: "Pipeline", plain: true, class: "first", cell: (pipeline) => nameOf(pipeline) },
  { name: "Branch", plain: true, cell: ({ repo, branch }) => h("a", { href: link("pipelines", { repo, branch }) }, branch) },
  { name: "Commit", plain: true, class: "fit", cell: (pipeline) => commit(pipeline.commit) },
  { name: "Jobs", plain: true, class: "fit", cell: ({ jobs }) => jobTally(jobs) },
  { name: "Event", plain: true, class: "fit", cell: (pipeline) => pipeline.event },
  { name: "By", class: "fit", cell: (pipeline) => pipeline.principal },
  { name: "Took", plain: true, class: "num", cell: (pipeline) => `${duration(pipelineTime(pipeline))}${hasEnded(pipeline) ? "" : "…"}` },
  { name: "Requested", plain: true, class: "num", cell: (pipeline) => when(pipeline.created_at) },
];

const EXAMPLE = `on: {workflow_dispatch: {}, push: {}}
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: make test`;

export function title() {
  return "Pipelines";
}

export async function mount(root, { query }, signal) {
  const { items: repos } = await api.get("api/repos", signal);
  if (repos.length === 0) return void fill(root, heading("Pipelines"), empty("There are no repositories yet."));
  const list = h("div.card.scroll");
  const fresh = h("div.pager");
  const pager = h("div.pager");
  const form = h("form.toolbar", { onsubmit: (event) => { event.preventDefault(); apply(); }, oninput: debounce(() => apply(), 250) });
  const setForm = (values) => fill(form,
    select({ name: "repo", "aria-label": "Repo" }, repos.map(({ name }) => [name, name]), values.get("repo") ?? ""),
    h("input.grow", { name: "branch", type: "search", placeholder: "Branch", "aria-label": "Branch", value: values.get("branch") ?? "" }),
    h("input.grow", { name: "file", type: "search", placeholder: "File, such as ci.yml", "aria-label": "File", value: values.get("file") ?? "" }),
    select({ name: "state", "aria-label": "State" }, [["", "all states"], ...STATES], values.get("state") ?? ""));
  let pipelines = [];
  let next = null;
  const unseen = new Set();
  /** What became of pipelines while the list was on its way. */
  const newer = new Map();

  const valueOf = (name) => form.elements[name].value.trim();
  const wanted = () => Object.fromEntries(FILTERS.map((name) => [name, valueOf(name)]));
  const start = () => startPipeline(valueOf("repo"), { branch: valueOf("branch"), files: [...new Set(pipelines.map(({ file }) => file))] });
  const bisect = () => startBisect(repos.find(({ name }) => name === valueOf("repo")), valueOf("branch"));
  const load = async (before) => {
    newer.clear();
    const page = await api.get(withQuery(at.pipelines(valueOf("repo")), { ...wanted(), limit: PAGE, before }), signal);
    const items = page.items.map((item) => newer.get(item.pipeline_id) ?? item);
    for (const { pipeline_id: id } of items) unseen.delete(id);
    pipelines = before ? [...pipelines, ...items] : items;
    next = page.next;
    return draw();
  };
  const draw = () => {
    refill(pager, next, () => next && button("Show more", () => show(list, () => load(next), signal)));
    refill(fresh, unseen.size, () => unseen.size > 0 && button(`Show ${counted(unseen.size, "new pipeline")}`, () => apply()));
    if (pipelines.length > 0) return table("Pipelines", COLUMNS, pipelines, { rowAttributes: ({ pipeline_id: id }) => ({ "data-pipeline": id }) });
    return FILTERS.some(valueOf) ? empty("No pipeline matches.") : lesson();
  };
  const apply = () => {
    unseen.clear();
    noteQuery({ repo: valueOf("repo"), ...wanted() });
    return show(list, () => load(null), signal);
  };

  setForm(query);
  fill(root, heading("Pipelines", button("Tests", () => go(link("tests", valueOf("repo")))), can("build:run") && [
    button("Find a bad commit", bisect, { title: "Bisect: run a command at commits between a good and a bad one" }),
    button("Start a pipeline", start, { iconName: "plus" })]), form, fresh, list, pager);
  // What is shown is kept true; what is new is announced, so that nothing moves under the pointer.
  watchPipelines((event) => event.repo === valueOf("repo"), (record) => {
    if (record.repo !== valueOf("repo")) return;
    newer.set(record.pipeline_id, record);
    const index = pipelines.findIndex((known) => known.pipeline_id === record.pipeline_id);
    if (index >= 0) pipelines[index] = record;
    else if (matches(record, wanted()) && !(pipelines[0]?.pipeline_id > record.pipeline_id)) unseen.add(record.pipeline_id);
    redraw();
  }, signal);
  const redraw = debounce(() => { if (!signal.aborted && list.firstElementChild) morph(list.firstElementChild, draw()); }, 100);
  events.listen("reset", () => apply(), signal);
  shortcut("/", "Filter by branch", () => form.elements.branch.focus(), signal);
  await show(list, () => load(null), signal);
  return () => { setForm(here().query); return apply(); };
}

function nameOf(pipeline) {
  const name = pipelineName(pipeline);
  return [
    h("a.name", { href: link("pipeline", pipeline.pipeline_id) }, name),
    name !== pipeline.file && h("div.muted.mono", pipeline.file)];
}

function jobTally(jobs) {
  const ended = jobs.filter(hasEnded).length;
  const count = (wanted) => jobs.filter(({ state }) => state === wanted).length;
  const [cancelled, reused] = [count("cancelled"), count("reused")];
  const failed = jobs.filter(hasFailed).length - cancelled;
  return h("span.chips",
    h("span", ended < jobs.length ? `${ended} of ${counted(jobs.length, "job")}` : counted(jobs.length, "job")),
    failed > 0 && chip(`${failed} failed`, "bad"),
    cancelled > 0 && chip(`${cancelled} cancelled`),
    reused > 0 && chip(`${reused} reused`, "ok", "answered by earlier jobs that saw the same"));
}

function matches(pipeline, { branch, state, file }) {
  const isFile = !file || pipeline.file === file || pipeline.file.endsWith(`/${file}`);
  return (!branch || pipeline.branch === branch) && (!state || pipeline.state === state) && isFile;
}

/** For those who have none yet. */
function lesson() {
  return h("div.lesson",
    h("p", "No pipelines yet. A pipeline runs the jobs of a workflow file, in worktrees of its own. The file is written as for GitHub Actions. Commit one as ",
      h("code", ".branchyard/workflows/ci.yml"), ":"),
    h("pre.file", { tabindex: 0 }, EXAMPLE),
    h("p", h("code", "branchyard pipeline check .branchyard/workflows/ci.yml"), " says what it would do; ", h("b", "Start a pipeline"), " runs it."));
}
