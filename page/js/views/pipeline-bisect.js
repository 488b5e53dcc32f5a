// A bisect in place of the graph of jobs: what it found or how far it is, and the commits that it tested.

import { h, morph } from "../core/dom.js";
import { command, counted, duration, shortId } from "../core/format.js";
import { hasEnded, timeOf } from "../core/pipelines.js";
import { link } from "../core/router.js";
import { chip, stateBadge, table } from "../ui/parts.js";

const TONES = { good: "ok", bad: "bad", skip: "warn", unneeded: "" };

export class BisectPanel {
  #shown = h("div");
  element = h("section.card.bisect", { "aria-label": "Bisect" }, this.#shown);

  update(record, chosen) {
    const { bisect, jobs } = record;
    const jobOf = new Map(jobs.map((job) => [job.bisect.commit, job]));
    const named = ({ commit, subject }) => commitLink(record, jobOf.get(commit), commit, subject);
    const fresh = h("div",
      h("h2", ...headline(record, named)),
      h("p.muted", h("code.argv", { title: command(bisect.argv) }, bisect.task ?? command(bisect.argv)),
        ` tells good from bad; ${counted(bisect.commits, "commit")} between `,
        h("code", { title: bisect.good }, shortId(bisect.good)), " and ", h("code", { title: bisect.bad }, shortId(bisect.bad)),
        bisect.paths?.length > 0 && [", of those that change ", h("code", bisect.paths.join(" "))]),
      bisect.answer && answerOf(record, jobOf, named),
      h("div.scroll", { tabindex: 0, role: "region", "aria-label": "Commits that were tested" },
        table("Commits that were tested", columns(record), jobs, { rowAttributes: (job) => ({ "aria-current": job === chosen ? "true" : null, "data-job": job.job }) })));
    morph(this.#shown, fresh);
    this.#shown = this.element.firstChild;
  }
}

function headline(record, named) {
  const { answer, left, rounds } = record.bisect;
  if (answer?.first_bad) return ["The first bad commit is ", named(answer.first_bad)];
  if (answer) return ["Which one is the first bad commit is not known: commits between could not be tested"];
  if (hasEnded(record)) return ["The first bad commit was not found"];
  return [`Round ${rounds}: ${counted(left, "commit")} may be the first bad one`];
}

function answerOf(record, jobOf, named) {
  const { good_parents: parents, suspects = [], skipped } = record.bisect.answer;
  const list = (title, commits) => commits.length > 0 && h("div", h("p", title), h("ul.commits", commits.map((commit) => h("li", named(commit)))));
  return h("div",
    parents.map(({ commit, tested }) => h("p", "Its parent ", h("code", { title: commit }, shortId(commit)), " is good",
      commit !== tested && [", for ", commitLink(record, jobOf.get(tested), tested), ", which came later, is"], ".")),
    list("One of these is the first bad commit:", suspects),
    list("These could not be tested:", skipped));
}

/** A link to the job that tested a commit, where one did. */
function commitLink({ pipeline_id: id }, job, commit, subject = null) {
  const name = [h("code", { title: commit }, shortId(commit)), subject && ` ${subject}`];
  return job ? h("a", { href: link("pipeline", id, { job: job.job }) }, name) : h("span", name);
}

function columns({ pipeline_id: id }) {
  return [
    { name: "Round", class: "num fit", cell: ({ bisect }) => bisect.round },
    { name: "Commit", plain: true, class: "first", cell: (job) => h("a.name", { href: link("pipeline", id, { job: job.job }) }, job.name) },
    { name: "Verdict", plain: true, class: "fit", cell: ({ bisect }) => bisect.verdict && chip(bisect.verdict, TONES[bisect.verdict]) },
    { name: "State", plain: true, class: "fit", cell: ({ state }) => stateBadge(state) },
    { name: "Took", plain: true, class: "num", cell: (job) => job.started_at && duration(timeOf(job)) },
  ];
}
