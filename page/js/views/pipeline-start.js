// The dialog that starts a pipeline.

import { allBranches, api, at } from "../core/api.js";
import { h } from "../core/dom.js";
import { go, link } from "../core/router.js";
import { ask } from "../ui/dialog.js";
import { field, select } from "../ui/parts.js";

/** Asks for the branch, the file and the inputs; `files` are those that were seen. */
export async function startPipeline(repo, { branch = "", files = [] } = {}) {
  const branches = choices("branch-choices", []);
  // A help for those who type, and no more: the daemon knows.
  allBranches(repo, { remote: true }).then(
    (all) => branches.replaceChildren(...options(all.map((item) => item.branch))), () => {});
  const started = await ask({
    title: `Start a pipeline in ${repo}`,
    content: [
      field("Branch", h("input.mono", { name: "branch", list: branches.id, value: branch, autocomplete: "off", autofocus: true }), "The default branch, if left out."),
      field("Commit", h("input.mono", { name: "commit", autocomplete: "off" }), "The newest of the branch, if left out."),
      field("Files", select({ name: "source" }, [
        ["commit", "as they are in the commit"],
        ["workspace", "as they are in the branch's workspace, with what is not committed"],
      ])),
      field("Workflow file", h("input.mono", { name: "file", list: "file-choices", value: files.length === 1 ? files[0] : "", autocomplete: "off" }),
        "Its path, or its name alone. Needed where the commit has several."),
      field("Inputs", h("textarea.mono", { name: "inputs", rows: 3, spellcheck: "false" }), "name=value, one a line, as the file's workflow_dispatch declares them."),
      branches, choices("file-choices", files),
    ],
    action: "Start",
    submit: (values) => api.post(at.pipelines(repo), request(values)),
  });
  if (started) go(link("pipeline", started.pipeline_id));
}

function choices(id, texts) {
  return h("datalist", { id }, options(texts));
}

function options(texts) {
  return texts.map((value) => h("option", { value }));
}

/** The body of the request: what was left out is not said. */
function request(values) {
  const named = ["branch", "commit", "file"].map((name) => [name, values.get(name).trim()]);
  const lines = values.get("inputs").split("\n").filter((line) => line.trim() !== "");
  const inputs = lines.map((line) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=(.*)$/.exec(line) ?? [];
    if (!name) throw new Error(`An input is written as name=value, and this is not: ${line}`);
    return [name, value];
  });
  const source = values.get("source");
  return { ...Object.fromEntries(named.filter(([, value]) => value !== "")), source, inputs: Object.fromEntries(inputs) };
}
