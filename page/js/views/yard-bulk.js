// The same for many workspaces: a confirmation that says what is going to happen, and then a result for each.

import { api, at } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { counted } from "../core/format.js";
import { link } from "../core/router.js";
import { each } from "../core/yard.js";
import { ask, KEEP_OPEN } from "../ui/dialog.js";
import { icon } from "../ui/icons.js";
import { field } from "../ui/parts.js";
import { readOptions, runOptions, workOf } from "./yard-actions.js";

export function buildAll(yard, chosen) {
  return doAll(chosen, {
    title: `Build ${counted(chosen.length, "workspace")}`,
    content: [
      field("Targets, variables and options", h("input.mono", { name: "args", autocomplete: "off", placeholder: "such as: -j4 test V=1", autofocus: true })),
      runOptions(),
    ],
    action: `Start ${counted(chosen.length, "run")}`,
    async one({ repo, branch }, values) {
      const run = await api.start(at.start(repo, branch, "make"), { args: values.get("args"), ...readOptions(values) }, { isWatched: false });
      return h("a", { href: link("run", run.run_id) }, "started");
    },
  });
}

export function prepareAll(yard, chosen) {
  return doAll(chosen, {
    title: `Bring ${counted(chosen.length, "workspace")} up to date`,
    content: h("p", "Each follows its remote branch, unless there is work in the way."),
    action: `Bring ${counted(chosen.length, "workspace")} up to date`,
    async one({ repo, branch }) {
      const workspace = await api.put(at.branch(repo, branch));
      yard.put(workspace);
      return ["up to date", ...workspace.warnings.map(({ message }) => message)].join("; ");
    },
  });
}

export function removeAll(yard, chosen) {
  const all = chosen.map(({ repo, branch }) => yard.get(repo, branch)).filter(Boolean);
  const withWork = all.filter(({ pins }) => workOf(pins).length > 0).length;
  const pinned = all.filter((workspace) => workspace.pinned).length;
  return doAll(all, {
    title: `Remove ${counted(all.length, "workspace")}?`,
    content: [
      h("p", "The branches on the remote are not touched."),
      withWork > 0 && [
        h("p", `${counted(withWork, "workspace")} of them ${withWork === 1 ? "has" : "have"} work that is nowhere else.`),
        h("label.check", h("input", { type: "checkbox", name: "save" }), "Save that work as salvage, and remove these too")],
      pinned > 0 && h("p", `${counted(pinned, "workspace")} ${pinned === 1 ? "is pinned and stays" : "are pinned and stay"}.`),
    ],
    action: `Remove ${counted(all.length, "workspace")}`,
    tone: "danger",
    async one({ repo, branch, pins, pinned: pin }, values) {
      if (pin) throw new Error("it is pinned, and stays");
      const hasWork = workOf(pins).length > 0;
      if (hasWork && !values.has("save")) throw new Error("there is work in it, and it stays");
      const outcome = await api.delete(`${at.branch(repo, branch)}${hasWork ? "?force=true" : ""}`);
      yard.drop(repo, branch);
      const salvage = outcome?.salvage;
      return salvage ? ["removed; ", h("a", { href: link("salvage", salvage.id ?? salvage) }, "its work was saved")] : "removed";
    },
  });
}

/** Asks, does it for each of the workspaces, and shows in the same dialog how each of them went. */
function doAll(chosen, { title, content, action, tone, one }) {
  const items = chosen.map((workspace) => {
    const outcome = h("span.muted");
    return { workspace, outcome, element: h("li", h("b", workspace.branch), " ", outcome) };
  });
  let isDone = false;
  return ask({
    title,
    content: [content, h("ol.outcomes", { tabindex: 0, "aria-label": "Workspaces" }, items.map(({ element }) => element))],
    action,
    tone,
    async submit(values, change) {
      if (isDone) return true;
      let failed = 0;
      await each(items, async ({ workspace, outcome, element }) => {
        fill(outcome, "…");
        try {
          fill(outcome, await one(workspace, values));
          element.className = "ok";
        } catch (error) {
          failed += 1;
          element.className = "bad";
          fill(outcome, icon("warn"), " ", error.message);
        }
      });
      isDone = true;
      const told = [counted(chosen.length - failed, "workspace"), " done", failed > 0 && `, ${failed} failed`];
      change({ content: [h("p", { role: "status" }, told), h("ol.outcomes", { tabindex: 0, "aria-label": "Results" }, items.map(({ element }) => element))], action: "Close", tone: "primary", isOver: true });
      return KEEP_OPEN;
    },
  });
}
