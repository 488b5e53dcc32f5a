// Make with the targets of the Makefile, and what was asked for before in the same repo.

import { api, at } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { go, link } from "../core/router.js";
import { ask } from "../ui/dialog.js";
import { button, field } from "../ui/parts.js";
import { readOptions, runOptions } from "./yard-actions.js";

/** So many different arguments are remembered for each repo. */
const REMEMBERED = 8;

export async function make(repo, branch) {
  const known = remembered(repo);
  const args = h("input.mono", { name: "args", autocomplete: "off", list: "make-args", placeholder: "such as: -j4 test V=1", value: known[0], autofocus: true });
  const targets = h("div.chips", { role: "group", "aria-label": "Targets" });
  const toggle = (target) => {
    const words = args.value.split(/\s+/).filter(Boolean);
    args.value = (words.includes(target) ? words.filter((word) => word !== target) : [...words, target]).join(" ");
    args.oninput();
  };
  args.oninput = () => {
    const words = args.value.split(/\s+/);
    for (const one of targets.children) one.setAttribute("aria-pressed", String(words.includes(one.textContent)));
  };
  // An older daemon or a repo without a Makefile: the field alone.
  api.get(`${at.branch(repo, branch)}/make_targets`).then(({ items }) => {
    fill(targets, items.map((target) => button(target, () => toggle(target), { tone: "mono" })));
    args.oninput();
  }, () => {});
  const run = await ask({
    title: `Make ${branch}`,
    content: [
      field("Targets, variables and options", args, "As you would type them after make; nothing is expanded by a shell."),
      h("datalist", { id: "make-args" }, known.map((value) => h("option", { value }))),
      targets,
      runOptions(),
    ],
    action: "Make",
    submit: async (values) => {
      const started = await api.start(at.start(repo, branch, "make"), { args: values.get("args"), ...readOptions(values) });
      remember(repo, values.get("args").trim());
      return started;
    },
  });
  if (run) go(link("run", run.run_id));
}

function remembered(repo) {
  try {
    return JSON.parse(localStorage.getItem(`branchyard-make/${repo}`)) ?? [];
  } catch {
    return []; // storage may be forbidden
  }
}

function remember(repo, args) {
  const all = [args, ...remembered(repo).filter((known) => known !== args)].slice(0, REMEMBERED);
  try {
    localStorage.setItem(`branchyard-make/${repo}`, JSON.stringify(all));
  } catch { /* then the next one is typed again */ }
}
