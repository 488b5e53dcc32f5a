// The files of a workspace, as they are now or as they were at a commit: directories, one file, or what a search found.

import { at } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { bytes, counted, shortId } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { go, here } from "../core/router.js";
import { can } from "../core/session.js";
import { visible } from "../ui/text.js";
import { readRange } from "../log/panel.js";
import { cut } from "../ui/diff.js";
import { button, empty, note, problemBox, table } from "../ui/parts.js";
import { commitChanges } from "./workspace-actions.js";
import { editor } from "./workspace-editor.js";
import { FileText } from "./workspace-file.js";

const ENTRIES = 1_000;
const FOUND = 100;

export async function show(space, query, signal) {
  const box = h("div.stack");
  const search = searchForm(space);
  fill(space.body, h("div.toolbar.ws-bar", search.crumbs, search.form), box);
  let file = null;
  let turn = null;

  const draw = async (asked) => {
    const [path, commit, pattern] = [asked.get("path") ?? "", asked.get("at"), asked.get("q")];
    const key = JSON.stringify([path, commit, pattern, asked.get("case"), asked.get("regex")]);
    if (file && key === turn) return file.choose(readRange(asked.get("line")));
    turn = key;
    file = null;
    search.show(asked);
    box.setAttribute("aria-busy", "true");
    try {
      const content = pattern ? await results(space, asked) : path === "" || path.endsWith("/") ? await directory(space, path, commit) : await one(path, commit, asked);
      if (signal.aborted || turn !== key) return;
      fill(box, content);
      file?.choose(readRange(asked.get("line")));
    } catch (error) {
      if (!signal.aborted && turn === key) fill(box, problemBox(error));
    } finally {
      box.removeAttribute("aria-busy");
    }
  };
  const again = () => {
    turn = null;
    space.body.focus({ preventScroll: true });
    return draw(here().query);
  };

  const one = async (path, commit, asked) => {
    const text = new FileText(space, path, commit);
    const range = readRange(asked.get("line"));
    await text.load(range?.first ?? 1);
    const { about } = text;
    text.showProblems(await space.errors().catch(() => []));
    file = text;
    const mayEdit = can("code:run") && !about.isBinary;
    const edit = () => {
      if (!mayEdit) return;
      // What is edited is the file as it is now.
      if (commit) return go(space.fileAt({ path, line: text.line }));
      editor(space, path, text.line, signal).then((form) => {
        if (!form) return;
        file = null;
        fill(box, form);
        form.ready(again);
      }, (error) => box.prepend(problemBox(error)));
    };
    text.edit = edit;
    return [
      h("div.toolbar.ws-file",
        h("span.muted", [about.total && counted(about.total, "line"), bytes(about.size), about.isModified && !commit && "not committed as it is"].filter(Boolean).join(" · ")),
        h("div.beside",
          !about.isBinary && can("git:read") && button("Blame", () => text.blame()),
          mayEdit && button("Edit", edit, { title: commit ? "Edit the file as it is now" : null }),
          about.isModified && !commit && can("git:write") && button("Commit", () => commitChanges(space)),
          can("git:read") && h("a.button", { href: space.link({ view: "commits", path }) }, "History"),
          !commit && h("a.button", { href: `${at.branch(space.repo, space.branch)}/raw/${path.split("/").map(encodeURIComponent).join("/")}`, download: path.split("/").at(-1) }, "Download"))),
      about.isLossy && note("plain", "It has bytes that are no UTF-8, which are shown as �."),
      about.isBinary ? empty("A binary file: its content is not shown.") : text.element,
    ];
  };

  shortcut("/", "Search the files", () => search.focus(), signal);
  shortcut("i", "Edit the file", () => file?.edit(), signal);
  shortcut("b", "Who wrote which line (blame)", () => can("git:read") && file?.blame(), signal);
  shortcut("j", "Next line, or entry", () => (file ? file.step(1) : moveFocus(box, 1)), signal);
  shortcut("k", "Previous line, or entry", () => (file ? file.step(-1) : moveFocus(box, -1)), signal);
  shortcut("y", "The address of this file at its commit", () => file && go(space.fileAt({ path: here().query.get("path"), line: file.line, commit: here().query.get("at") ?? space.workspace.commit })), signal);
  await draw(query);
  return { onQuery: draw, onRuns: async () => file?.showProblems(await space.errors().catch(() => [])) };
}

function moveFocus(box, by) {
  const links = [...box.querySelectorAll("a.entry")];
  links[Math.max(0, Math.min(links.length - 1, links.indexOf(document.activeElement) + by))]?.focus();
}

/** Where one is, and the field to search with. */
function searchForm(space) {
  const crumbs = h("nav.crumbs.mono", { "aria-label": "Path" });
  const pattern = h("input", { type: "search", name: "q", placeholder: "Search the files   ( / )", "aria-label": "Search the files", autocomplete: "off" });
  const check = (name, text) => h("label.check", h("input", { type: "checkbox", name }), text);
  const form = h("form.toolbar", { role: "search", onsubmit: (event) => {
    event.preventDefault();
    const values = new FormData(form);
    const path = here().query.get("path") ?? "";
    go(space.link({ view: "files", q: values.get("q"), case: values.has("case") ? 1 : null, regex: values.has("regex") ? 1 : null,
      path: path.slice(0, path.lastIndexOf("/") + 1) }));
  } }, pattern, check("case", "Match case"), check("regex", "Regular expression"), button("Search", () => form.requestSubmit()));
  return {
    form, crumbs,
    focus: () => pattern.select() ?? pattern.focus(),
    show(asked) {
      const commit = asked.get("at");
      const parts = (asked.get("path") ?? "").split("/");
      const dirs = parts.slice(0, -1).map((name, index) => [name, parts.slice(0, index + 1).join("/")]);
      const to = (path) => space.link({ view: "files", path, at: commit });
      fill(crumbs, h("a", { href: to("") }, space.repo),
        dirs.map(([name, path]) => [" / ", h("a", { href: to(`${path}/`) }, visible(name))]), parts.at(-1) && [" / ", h("b", visible(parts.at(-1)))],
        commit && [h("span.chip", { "data-tone": "warn" }, `as of ${shortId(commit)}`), " ", h("a", { href: space.link({ view: "files", path: asked.get("path"), line: asked.get("line") }) }, "as it is now")]);
      pattern.value = asked.get("q") ?? "";
      form.elements.case.checked = asked.has("case");
      form.elements.regex.checked = asked.has("regex");
      form.hidden = Boolean(commit);
    },
  };
}

/** The entries of a directory, directories first. */
async function directory(space, path, commit) {
  const { entries, isCut } = commit ? await entriesAt(space, path, commit) : await entriesNow(space, path);
  const ordered = entries.toSorted((a, b) => (b.isDir - a.isDir) || (a.name < b.name ? -1 : 1));
  const name = (one) => {
    const what = [visible(one.name), one.isDir && "/"];
    return one.isOther ? h("span.mono", what, h("span.muted", one.target ? ` → ${one.target}` : ` ${one.kind}`))
      : h("a.entry.mono", { href: space.link({ view: "files", path: `${path}${one.name}${one.isDir ? "/" : ""}`, at: commit }) }, what);
  };
  return h("div.card.scroll",
    entries.length === 0 ? empty("Nothing is in this directory.") : table("Files", [
      { name: "Name", plain: true, class: "first", cell: name },
      { name: "Size", plain: true, class: "num", cell: (one) => !one.isDir && bytes(one.size) },
    ], ordered),
    isCut && h("p.muted", "There are more."));
}

async function entriesNow(space, path) {
  const { entries, truncated } = await space.ask("ls", { path: path.replace(/\/$/, ""), all: true });
  return { isCut: truncated, entries: entries.map((one) => ({ ...one, name: one.path.split("/").at(-1), isDir: one.kind === "dir", isOther: !["dir", "file"].includes(one.kind) })) };
}

async function entriesAt(space, path, revision) {
  const { directory: found } = await space.ask("git/show", { revision, path: path.replace(/\/$/, "") || ".", limit: ENTRIES, verbosity: "full" });
  return { isCut: found.truncated, entries: found.entries.map((one) => ({ ...one, isDir: one.kind === "directory", isOther: !["directory", "file"].includes(one.kind) })) };
}

/** What a search finds, file by file. */
async function results(space, asked) {
  const text = asked.get("q");
  const fields = {
    pattern: asked.has("regex") ? text : text.replace(/[\\^$.*+?()[\]{}|&#~-]/g, "\\$&"),
    ignore_case: !asked.has("case"), limit: FOUND, ...(asked.get("path") ? { path: asked.get("path").replace(/\/$/, "") } : {}),
  };
  const list = h("div.stack");
  const pager = h("div.pager");
  let last = null;
  const load = async (cursor) => {
    const { matches, next, searched } = await space.ask("grep", cursor ? { ...fields, cursor } : fields);
    for (const { path, line, text: found } of matches) {
      if (last?.path !== path) {
        const box = h("div.code");
        last = { path, box };
        list.append(h("section", h("h2.mono", h("a", { href: space.fileAt({ path }) }, visible(path))), box));
      }
      last.box.append(h("div.line.plain", h("a.no.entry", { href: space.fileAt({ path, line }), "aria-label": `${path}, line ${line}` }, line), h("span.text", visible(cut(found)))));
    }
    if (!last) list.append(empty(`Nothing was found in ${counted(searched, "file")}.`));
    fill(pager, next && button("Show more", () => load(next).catch((error) => fill(pager, problemBox(error)))));
  };
  await load(null);
  return [list, pager];
}
