// What can be done with a workspace: each action asks for what it needs, does it, and says how it went.

import { allBranches, api, at } from "../core/api.js";
import { h } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { go, link } from "../core/router.js";
import { can, person } from "../core/session.js";
import { ask } from "../ui/dialog.js";
import { field, iconButton, select } from "../ui/parts.js";
import { openMenu } from "../ui/menu.js";
import { attempt, tell } from "../ui/toast.js";

/** The buttons of a row; what the principal may not do is not offered. */
export function actionButtons(yard, repo, branch) {
  const mayBuild = can("build:run");
  const mayWrite = can("git:write");
  const more = iconButton("more", `More actions for ${branch}`, () => openMenu(more, [
    mayBuild && yard.repos.get(repo)?.tasks.length > 0 && { label: "Run a task…", action: () => runTask(yard, repo, branch) },
    mayWrite && { label: "Bring up to date", action: () => prepare(yard, repo, branch) },
    mayWrite && (yard.get(repo, branch)?.pinned
      ? { label: "Unpin", action: () => unpin(yard, repo, branch) }
      : { label: "Pin…", action: () => pin(yard, repo, branch) }),
    { label: "Pipelines", action: () => go(link("pipelines", { repo, branch })) },
    { label: "History", action: () => go(link("history", { repo, branch })) },
    mayWrite && null,
    mayWrite && { label: "Remove…", tone: "bad", action: () => remove(yard, repo, branch) },
  ].filter((item) => item !== false && item !== undefined), `Actions for ${branch}`), { "aria-haspopup": "menu", "aria-expanded": "false" });
  return h("div.toolbar",
    mayBuild && h("button", { type: "button", "aria-label": `Make ${branch}`, onclick: () => make(repo, branch) }, "Make"), more);
}

export async function make(repo, branch) {
  await (await import("./workspace-make.js")).make(repo, branch);
}

async function runTask(yard, repo, branch) {
  const { tasks } = yard.repos.get(repo);
  const run = await ask({
    title: `Run a task on ${branch}`,
    content: [
      field("Task", select({ name: "task" }, tasks.map((task) => [task, task]))),
      field("Further arguments", h("input.mono", { name: "args", autocomplete: "off" })),
      runOptions(),
    ],
    action: "Run",
    submit: (values) => api.start(at.start(repo, branch, "task"), { task: values.get("task"), args: values.get("args"), ...readOptions(values) }),
  });
  if (run) go(link("run", run.run_id));
}

export function runOptions() {
  return h("details", h("summary", "Options"), h("div.dialog-body",
    field("Bring up to date first", select({ name: "sync" }, [
      ["auto", "auto: follow the remote unless there is work in the way"],
      ["none", "none: build what is there"],
      ["reset", "reset: save work, then be what the remote has"],
    ])),
    field("Time limit", h("input", { name: "timeout", placeholder: "such as 10m" })),
    h("label.check", h("input", { type: "checkbox", name: "clean" }), "Remove untracked and ignored files first; work is saved as salvage"),
    h("label.check", h("input", { type: "checkbox", name: "coalesce" }), "Join an equal run that is under way")));
}

export function readOptions(values) {
  const options = { sync: values.get("sync") };
  if (values.get("timeout")) options.timeout = values.get("timeout");
  for (const flag of ["clean", "coalesce"]) if (values.has(flag)) options[flag] = true;
  return options;
}

export async function prepare(yard, repo, branch) {
  tell(`Preparing ${branch}…`);
  const workspace = await attempt(() => api.put(at.branch(repo, branch)));
  if (!workspace) return;
  yard.put(workspace);
  tell(`${branch} is ready`, workspace.warnings.map(({ message }) => h("p.muted", message)));
}

async function pin(yard, repo, branch) {
  const workspace = await ask({
    title: `Pin ${branch}`,
    content: [
      h("p", "A pinned workspace and its build output stay until it is unpinned."),
      field("Why", h("input", { name: "reason", maxlength: 500, autofocus: true }), "Shown to everyone who sees the yard."),
    ],
    action: "Pin",
    submit: (values) => api.put(`${at.branch(repo, branch)}/pin`, { reason: values.get("reason") }),
  });
  if (workspace) yard.put(workspace);
}

async function unpin(yard, repo, branch) {
  await attempt(async () => {
    await api.delete(`${at.branch(repo, branch)}/pin`);
    await yard.refresh(repo, branch);
  });
}

/** Shows first what would be lost; where there is work, it goes only by way of a salvage. */
export async function remove(yard, repo, branch) {
  const workspace = await attempt(() => api.get(at.branch(repo, branch)));
  if (!workspace) return;
  let isForced = workspace.pins.length > 0;
  const outcome = await ask({
    title: `Remove the workspace of ${branch}?`,
    content: whatGoes(workspace, workOf(workspace.pins)),
    action: isForced ? "Save it and remove" : "Remove",
    tone: "danger",
    async submit(_, change) {
      try {
        return (await api.delete(`${at.branch(repo, branch)}${isForced ? "?force=true" : ""}`)) ?? {};
      } catch (error) {
        if (!isForced && ["workspace_has_work", "workspace_pinned"].includes(error.code)) {
          isForced = true;
          change({ content: whatGoes(workspace, [error.message]), action: "Save it and remove" });
        }
        throw error;
      }
    },
  });
  if (!outcome) return;
  yard.drop(repo, branch);
  const { salvage } = outcome;
  tell(`The workspace of ${branch} was removed. `, salvage && can("git:read") && h("a", { href: link("salvage", salvage.id ?? salvage) }, "What was saved"));
}

/** What keeps a workspace besides somebody's pin, which is shown by itself. */
export function workOf(pins) {
  return pins.filter((pin) => !pin.startsWith("pinned by "));
}

function whatGoes({ sizes, pinned, path }, work) {
  return [
    work.length === 0 ? h("p", "There is no work in it: the remote and a build can restore everything.") : [
      h("p", "There is work in it that is nowhere else:"),
      h("ul", work.map((what) => h("li", what))),
      h("p.muted", "It is saved as a salvage first and can be restored from there."),
    ],
    pinned && h("label.check", h("input", { type: "checkbox", required: true }),
      `Remove it although it is pinned by ${person(pinned.by)}${pinned.reason ? `: ${pinned.reason}` : ""}`),
    h("p.muted",
      sizes && `${bytes(sizes.source + sizes.build_output)}, of which ${bytes(sizes.build_output)} are build output. `,
      "The branch on the remote is not touched."),
    h("p.muted.mono", path),
  ];
}

/** A workspace for a branch that has none yet, or for a new branch. */
export async function newWorkspace(yard, repo) {
  const list = h("div.pick", { "aria-busy": "true", role: "radiogroup", "aria-label": "Branches of the remote", tabindex: 0 },
    h("label", "Asking the remote…"));
  const filter = h("input", { type: "search", placeholder: "Filter", "aria-label": "Filter the branches", autofocus: true, oninput() {
    for (const label of list.children) label.hidden = !label.textContent.includes(filter.value);
  } });
  const name = h("input.mono", { name: "name", autocomplete: "off" });
  const from = h("input.mono", { name: "from", autocomplete: "off", value: yard.repos.get(repo)?.default_branch ?? "" });
  attempt(async () => {
    const missing = (await allBranches(repo, { remote: true })).filter((item) => item.path === null);
    list.replaceChildren(...missing.map(({ branch }) => h("label", h("input", { type: "radio", name: "branch", value: branch }), branch)));
    if (missing.length === 0) list.append(h("label", "Every branch of the remote has a workspace."));
    list.removeAttribute("aria-busy");
  });
  const workspace = await ask({
    title: `New workspace in ${repo}`,
    content: [
      filter, list,
      h("details", h("summary", "Create a new branch instead"),
        h("div.dialog-body", field("Name", name), field("From branch or commit", from))),
    ],
    action: "Create workspace",
    submit(values) {
      const fresh = values.get("name").trim();
      if (fresh) return api.put(at.branch(repo, fresh), { from: values.get("from").trim() });
      if (!values.get("branch")) throw new Error("Choose a branch, or name a new one.");
      return api.put(at.branch(repo, values.get("branch")));
    },
  });
  if (!workspace) return;
  yard.put(workspace);
  tell(`The workspace of ${workspace.branch} is ready`);
}

/** For admins: a repository that the configuration does not declare. */
export async function addRepo(yard) {
  const repo = await ask({
    title: "Add a repository",
    content: [
      field("Name", h("input.mono", { name: "name", required: true, autofocus: true, autocomplete: "off" }), "Letters, digits, dots, underscores and hyphens."),
      field("URL", h("input.mono", { name: "url", required: true, autocomplete: "off" }), "It is cloned at its first use."),
    ],
    action: "Add",
    submit: (values) => api.post("api/repos", { name: values.get("name"), url: values.get("url") }),
  });
  if (repo) await attempt(() => yard.load());
}

