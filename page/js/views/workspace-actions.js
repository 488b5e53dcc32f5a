// Commit, push and merge: each asks for what it needs, does it, and says how it went.

import { h } from "../core/dom.js";
import { counted, shortId, when } from "../core/format.js";
import { can } from "../core/session.js";
import { ask } from "../ui/dialog.js";
import { empty, field, note } from "../ui/parts.js";
import { attempt, complain, tell } from "../ui/toast.js";

/** A name for what changed, as the list of a commit shows it. */
const LETTERS = { added: "A", modified: "M", deleted: "D", renamed: "R", type_changed: "T" };

export async function commitChanges(space) {
  const status = await attempt(() => space.ask("git/status", { each_file: true }));
  if (!status) return;
  const { staged, unstaged, untracked, conflicted } = status;
  const changes = new Map([...unstaged, ...staged].map(({ path, change }) => [path, LETTERS[change] ?? "M"]));
  for (const path of untracked) changes.set(path, "?");
  if (changes.size === 0 && conflicted.length === 0) return tell("There is nothing to commit.");
  const isStaged = new Set(staged.map(({ path }) => path));
  const done = await ask({
    title: `Commit to ${space.branch}`,
    content: [
      conflicted.length > 0 && note("bad", `In conflict: ${conflicted.map(({ path }) => path).join(", ")}`),
      field("Message", h("textarea.mono", { name: "message", rows: 3, required: true, autofocus: true, onkeydown: submitOnEnter }), "Ctrl+Enter commits."),
      h("div.pick", { role: "group", "aria-label": "Files", tabindex: 0 }, [...changes].map(([path, letter]) => h("label",
        // What is staged goes along in any case; new files are chosen by hand: they may be no part of it.
        h("input", { type: "checkbox", name: "paths", value: path, checked: letter !== "?", disabled: isStaged.has(path) && !unstaged.some((one) => one.path === path) }),
        h("code", letter), " ", h("bdi.mono", path)))),
    ],
    action: "Commit",
    submit: (values) => space.ask("git/commit", { message: values.get("message"), paths: values.getAll("paths") }),
  });
  if (!done) return;
  tell(`Committed ${shortId(done.id)}: ${done.subject}`);
  await attempt(() => space.refresh());
}

function submitOnEnter(event) {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.target.form.requestSubmit();
}

export async function push(space) {
  const { ahead, behind, dirty, gone_upstream: isGone } = space.workspace;
  const asked = ask({
    title: `Push ${space.branch}`,
    content: [
      h("p", ahead > 0 ? `The remote gets ${counted(ahead, "commit")}.` : "As far as is known, the remote has every commit of this branch."),
      behind > 0 && h("p", `It has ${counted(behind, "commit")} more, which are taken in first by rebase.`),
      isGone && note("", "The branch was deleted on the remote: this creates it again."),
      dirty && note("", "Uncommitted changes stay here."),
      h("label.check", h("input", { type: "checkbox", name: "force" }), "Replace what the remote has, if it is what was last seen (force)"),
    ],
    action: "Push",
    async submit(values, change) {
      const flags = { force: values.has("force"), allow_protected: values.has("allow_protected") };
      try {
        const told = await space.ask("git/push", flags);
        if (told.state === "conflicts") throw conflictError("Nothing was pushed", told.conflicts);
        return told;
      } catch (error) {
        if (error.code === "protected_branch" && can("admin") && !flags.allow_protected) {
          change({ content: h("label.check", h("input", { type: "checkbox", name: "allow_protected", required: true }), "Push, although the branch is protected"), tone: "danger" });
        }
        throw error;
      }
    },
  });
  // Not the force, which is what comes first.
  document.querySelector("dialog[open] [type=submit]").focus();
  const done = await asked;
  if (!done) return;
  const sent = done.outgoing_in_all ?? done.outgoing?.length ?? 0;
  tell(done.state === "up_to_date" ? "The remote had it all." : `Pushed ${counted(sent, "commit")}: the remote is at ${shortId(done.remote_commit)}`);
  await attempt(() => space.refresh());
}

function conflictError(what, conflicts) {
  return Object.assign(new Error(`${what}: conflicts in ${conflicts.map(({ path }) => path).join(", ")}.`), { help: "Merge, resolve them, and push again." });
}

export async function merge(space) {
  const base = await space.base();
  const done = await ask({
    title: `Merge into or from ${space.branch}`,
    content: [
      h("fieldset", h("legend", "Direction"),
        h("label.check", h("input", { type: "radio", name: "way", value: "in", checked: true }), `Take another branch into ${space.branch}`),
        h("label.check", h("input", { type: "radio", name: "way", value: "out" }), `Deliver ${space.branch} to another branch of the remote`)),
      field("The other branch", h("input.mono", { name: "other", required: true, autocomplete: "off", autofocus: true, value: base ?? "" }),
        "A branch, origin/NAME or a commit to take in; the name of a branch to deliver to."),
    ],
    action: "Merge",
    async submit(values) {
      const other = values.get("other").trim();
      if (values.get("way") === "in") return space.ask("git/merge", { from: other });
      const told = await space.ask("git/deliver", { into: other.replace(/^origin\//, "") });
      if (told.state === "conflicts" && told.conflicts.length === 0) throw conflictError("Nothing was delivered", told.conflicts);
      return told;
    },
  });
  if (!done) return;
  tellMerge(done);
  await attempt(() => space.refresh());
}

function tellMerge({ state, conflicts = [], brought }) {
  if (state === "conflicts") complain(conflictError("The merge stopped", conflicts));
  else tell({ up_to_date: "There was nothing to merge.", delivered: "Delivered.", done: `Merged: ${counted(brought, "commit")}.`, aborted: "All is as it was before." }[state] ?? state.replace("_", " "));
}

/** Continues or aborts what is under way. */
export async function endOperation(space, action) {
  const verb = space.workspace.operation.replace("-", "_");
  const told = await attempt(() => space.ask(`git/${verb}`, { action }));
  if (!told) return;
  tellMerge(told);
  await attempt(() => space.refresh());
}

/** Whether a run built something in the workspace itself: git builds nothing, and a pipeline's steps are elsewhere. */
export function isBuild({ kind }) {
  return !["git", "setup", "step"].includes(kind);
}

/** A choice of one commit among several, or that there is none. */
export function commitList(items, hrefOf, { none = "No commits.", marked = new Set() } = {}) {
  if (items.length === 0) return empty(none);
  return h("ol.commit-list", items.map(({ id, subject, author, stat }) => h("li",
    h("a.mono", { href: hrefOf(id), title: id }, shortId(id)),
    h("span.subject", subject),
    marked.has(id) && h("span.chip", { "data-tone": "live" }, "unpushed"),
    h("span.muted", author.name, " · ", when(author.date),
      stat && ` · ${counted(stat.files, "file")}, +${stat.additions} −${stat.deletions}`))));
}
