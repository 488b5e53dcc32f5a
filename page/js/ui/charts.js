// Small charts. Each has its numbers beside it as text: the drawing is for the quick glance.

import { h, svg } from "../core/dom.js";
import { runTime } from "../core/format.js";

/** Shares of a whole: parts are { size, style }; what is left of `total` stays empty. */
export function bar(parts, total) {
  const used = parts.reduce((sum, part) => sum + part.size, 0);
  return h("div.bar", { "aria-hidden": "true" },
    parts.map((part) => h("span", { class: part.style ?? "", vars: { "--share": part.size } })),
    h("span.rest", { vars: { "--share": Math.max(0, total - used) } }));
}

const HEIGHT = 32;
const WIDTH = 6;

/** Runs over time, the oldest first: as tall as they took long, in the colour of their end. */
export function runBars(runs, label, slots = 40) {
  const shown = runs.slice(-slots);
  const longest = Math.max(1, ...shown.map(runTime));
  return svg("svg.spark", { viewBox: `0 0 ${slots * WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
    svg("line", { x1: 0, x2: slots * WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
    shown.map((run, index) => {
      // Seconds and hours side by side: the root keeps the short ones visible.
      const height = Math.max(3, Math.sqrt(runTime(run) / longest) * (HEIGHT - 2));
      return svg("rect", { "data-state": run.state, x: (slots - shown.length + index) * WIDTH, y: HEIGHT - height, width: WIDTH - 1.5, height });
    }));
}
