// A run: what it is, how it is going, and what it printed.

import { api, at } from "../core/api.js";
import { announce, fill, h, refill } from "../core/dom.js";
import { events } from "../core/events.js";
import { bytes, command, counted, duration, isLive, runName, shortId, when } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { go, link } from "../core/router.js";
import { can, person } from "../core/session.js";
import { LogPanel } from "../log/panel.js";
import { readRun } from "../log/read.js";
import { icon } from "../ui/icons.js";
import { branchLink, button, note as noteOf, runTook, stateBadge } from "../ui/parts.js";
import { attempt, tell } from "../ui/toast.js";
import { watchButton } from "../ui/watch.js";
import { Diagnostics } from "./run-diagnostics.js";
import { Timeline } from "./run-timeline.js";
import { Tests } from "./tests.js";

export function title({ rest: [id] }) {
  return `Run ${id?.slice(-6)}`;
}

export async function mount(root, { rest: [id], query }, signal) {
  let run = await api.get(at.run(id), signal);
  const head = h("header.run-head");
  const notes = h("div.run-notes");
  const timeline = new Timeline(run);
  const panel = new LogPanel(id, signal);
  const body = h("div.run-body.alone", panel.element);
  const diagnostics = new Diagnostics(panel, body, signal);
  const tests = new Tests(`${at.run(id)}/tests`, signal);
  fill(root, h("div.run", head, h("div.run-notes-and-time", timeline.element, notes, tests.element), body));

  const show = () => {
    showHead(head, run);
    timeline.update(run);
    panel.isLive = isLive(run.state);
    diagnostics.watch(run);
    if (run.tests && !isLive(run.state)) tests.show(run.tests);
    document.title = `${run.state} · ${runName(run)} · ${run.branch} · Branchyard`;
  };
  const note = (tone, ...text) => notes.append(noteOf(tone, ...text));
  const warned = new Set();
  // The stream tells them as they come, the record when all is over; a long log is not read by its stream.
  const warn = ({ message }) => {
    if (!warned.has(message)) note("", message);
    warned.add(message);
  };
  const onEnd = async () => {
    run = await api.get(at.run(id), signal);
    show();
    panel.finish();
    (run.warnings ?? []).forEach(warn);
    noteEnd(run, note);
    if (run.diagnostics) await diagnostics.load(run);
  };

  show();
  panel.open(query);
  if (!panel.recall() && !panel.chosen) openAt(run, panel);

  events.listen("run", ({ at: time, change, run: now }) => {
    if (now.run_id !== id || !isLive(run.state)) return;
    run = now;
    timeline.note(change, time);
    show();
  }, signal);
  shortcut("C", "Cancel the run", () => isLive(run.state) && can("build:run") && cancel(run), signal);
  shortcut("R", "Run it again", () => can("build:run") && !run.step && rerun(run), signal);

  // What happened while the events were away is asked for.
  events.listen("reset", () => attempt(async () => {
    run = await api.get(at.run(id), signal);
    show();
  }), signal);

  const wasLive = isLive(run.state);
  attempt(() => readRun(id, panel.lines, () => isLive(run.state), {
    status: (status) => timeline.status(status, wasLive),
    warning: warn,
    gap: (line, missing) => note("", `${bytes(missing)} of output are missing behind line ${line}`),
    refused: (problem) => note("bad", problem.message),
    end: () => {
      if (wasLive) announce("The run has ended");
      attempt(onEnd);
    },
  }, signal));
  return ({ query: changed }) => panel.open(changed);
}

/** A live run is followed; one that failed is shown where it first went wrong, or at its end. */
function openAt({ state, diagnostics }, panel) {
  if (isLive(state)) return panel.follow(true);
  if (state === "succeeded") return undefined;
  const line = diagnostics?.first?.log_line;
  return line ? panel.go({ first: line, last: line }) : panel.showEnd();
}

function showHead(head, run) {
  const about = run.about;
  refill(head, [run.state, run.exit_code, about, run.warm, run.incremental], () => [
    stateBadge(run.state),
    h("h1", runName(run)),
    h("div.beside",
      isLive(run.state) && can("build:run") && button("Cancel", () => cancel(run), { iconName: "stop" }),
      isLive(run.state) && watchButton(run.run_id),
      can("build:run") && !run.step && button("Run again", () => rerun(run), { iconName: "again" }),
      h("a.button", { href: at.log(run.run_id), download: `${run.repo}-${run.branch}-${run.run_id}.log`.replaceAll("/", "-") }, icon("down"), "Raw log")),
    h("div.run-facts",
      h("span", branchLink(run.repo, run.branch)),
      about && h("span", h("code", { title: about.commit }, shortId(about.commit)), about.dirty && " with changes", about.stale && " (stale)"),
      h("span", "by ", person(run.principal)),
      h("span", "requested ", when(run.created_at)),
      run.ended_at && h("span", "took ", runTook(run)),
      run.exit_code !== null && h("span", "exit code ", run.exit_code),
      run.task && h("code.argv", { title: command(run.argv) }, command(run.argv)),
      run.step && h("a", { href: link("pipeline", run.step.pipeline, { job: run.step.job, step: run.step.number }) }, "its pipeline"),
      run.group && h("a", { href: link("fanout", { groups: run.group }) }, "its fan-out"),
      run.cached && h("a", { href: link("run", run.cached) }, "answered by an earlier run"),
      run.incremental && !run.warm && h("span", { title: "Something that was built earlier was there. Build with clean for a verdict of its own." }, "incremental"),
      run.warm && h("span", `made from ${run.warm.branch}: ${counted(run.warm.files, "file")}, ${bytes(run.warm.bytes)}`)),
  ]);
}

function noteEnd(run, note) {
  if (run.error) note("bad", run.error.detail, run.error.help && ` – ${run.error.help}`);
  else if (run.reason) note(run.state === "succeeded" ? "" : "bad", run.reason.replace(/^it ran longer than [^,;]+/, timedOut(run)));
}

function timedOut({ timeout_ms: limit }) {
  return `Timed out after ${duration(limit).replace(".0", "")}`;
}

function cancel(run) {
  return attempt(async () => {
    const { wanted_by: others } = await api.post(`${at.run(run.run_id)}/cancel`);
    tell(others > 0 ? `Left to ${counted(others, "other")} who still want it` : "Cancelling: it is being ended");
  });
}

function rerun(run) {
  return attempt(async () => {
    const again = await api.start(`stream/runs/${encodeURIComponent(run.run_id)}/rerun`);
    go(link("run", again.run_id));
  });
}
