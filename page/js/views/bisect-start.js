// The dialog that starts a bisect.

import { api, at } from "../core/api.js";
import { h } from "../core/dom.js";
import { go, link } from "../core/router.js";
import { can } from "../core/session.js";
import { ask } from "../ui/dialog.js";
import { field, select } from "../ui/parts.js";

/** Asks for the two ends and for what tells a good commit from a bad one. */
export async function startBisect({ name: repo, tasks }, branch) {
  const started = await ask({
    title: `Find the first bad commit in ${repo}`,
    content: [
      field("Branch", h("input.mono", { name: "branch", value: branch, autocomplete: "off" }), "The default branch, if left out."),
      field("Good", h("input.mono", { name: "good", autocomplete: "off", required: true, autofocus: true }), "A commit at which all was well: an id, a tag, or one from there such as v1.2~3."),
      field("Bad", h("input.mono", { name: "bad", autocomplete: "off" }), "The newest of the branch, if left out."),
      tasks.length > 0 && field("Task", select({ name: "task" }, [["", "none"], ...tasks.map((task) => [task, task])])),
      can("code:run") && field("Command", h("textarea.mono", { name: "argv", rows: 3, spellcheck: "false" }), "In place of a task: a program and its arguments, one a line."),
      h("p.muted", "It is run at one commit after another. Exit code 0 means good, 125 that the commit cannot be tested, and another one bad."),
    ],
    action: "Start",
    submit: (values) => api.post(at.bisect(repo), request(values)),
  });
  if (started) go(link("pipeline", started.pipeline_id));
}

/** The body of the request: what was left out is not said. */
function request(values) {
  const named = ["branch", "good", "bad", "task"].map((name) => [name, values.get(name)?.trim()]);
  const argv = (values.get("argv") ?? "").split("\n").filter((word) => word !== "");
  return { ...Object.fromEntries(named.filter(([, value]) => value)), argv };
}
