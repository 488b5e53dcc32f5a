// The jobs of a pipeline and what they need, as a drawing in which each job is a link. On a narrow screen it is a
// list, and says in words what the lines show.

import { h, morph, svg } from "../core/dom.js";
import { counted, duration } from "../core/format.js";
import { timeOf } from "../core/pipelines.js";
import { link } from "../core/router.js";
import { stateBadge } from "../ui/parts.js";
import { layOut, WIDTH } from "./pipeline-layout.js";

export class JobGraph {
  #drawing = h("div");
  element = h("section.card.graph-card", { "aria-label": "Jobs", tabindex: 0 }, this.#drawing);

  update({ pipeline_id: id, jobs }, chosen) {
    this.element.hidden = jobs.length === 0;
    if (jobs.length === 0) return;
    const { groups, lines, width, height } = layOut(jobs);
    const fresh = h("div.graph", { vars: { "--wide": `${width}rem`, "--high": `${height}rem` } },
      svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, lines.map((points) => svg("path", { d: curve(points) }))),
      groups.map((group) => drawGroup(id, group, chosen)));
    morph(this.#drawing, fresh);
    this.#drawing = this.element.firstChild;
  }
}

function drawGroup(id, { key, jobs, needs, x, y, height }, chosen) {
  return h("div.graph-group", { vars: { "--x": `${x}rem`, "--y": `${y}rem`, "--wide": `${WIDTH}rem`, "--high": `${height}rem` } },
    jobs.length > 1 && h("p.graph-key", { title: key }, key),
    jobs.map((job) => h("a.graph-job", {
      href: link("pipeline", id, { job: job.job }), "aria-current": job === chosen ? "true" : null, "data-job": job.job,
    },
    h("span.graph-name", { title: job.name }, job.name),
    h("span.graph-facts", stateBadge(job.state), job.started_at && h("span.muted", duration(timeOf(job))),
      job.tests?.failed > 0 && h("span.muted", `${counted(job.tests.failed, "test")} failed`)))),
    needs.length > 0 && h("p.graph-needs", `needs ${needs.join(", ")}`));
}

/** A line through the points: bent between the columns, straight where it passes one. */
function curve([[x, y], ...rest]) {
  let [path, from] = [`M${x} ${y}`, [x, y]];
  for (const to of rest) {
    const middle = (from[0] + to[0]) / 2;
    path += from[1] === to[1] ? `H${to[0]}` : `C${middle} ${from[1]} ${middle} ${to[1]} ${to[0]} ${to[1]}`;
    from = to;
  }
  return path;
}
