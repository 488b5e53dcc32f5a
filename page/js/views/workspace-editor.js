// A file, edited: what is saved replaces exactly what was read.

import { fill, h } from "../core/dom.js";
import { bytes } from "../core/format.js";
import { button, problemBox } from "../ui/parts.js";
import { tell } from "../ui/toast.js";

const LARGEST = 1_000_000;

/** A form for the file; null where it cannot be edited as text. `form.ready(onEnd)` begins at `line`. */
export async function editor(space, path, line, signal) {
  const file = await space.ask("read_file", { path });
  const refuse = (why) => { throw Object.assign(new Error(why), { help: "Edit it in the workspace's directory." }); };
  if (file.encoding !== "utf-8") refuse("The file is no text.");
  if (file.truncated || file.size > LARGEST) refuse(`The file is too large to be edited here (${bytes(file.size)}).`);
  // A text field knows only one kind of line end.
  const isDos = /\r\n/.test(file.text);
  const plain = isDos ? file.text.replaceAll("\r\n", "\n") : file.text;
  if (plain.includes("\r") || (isDos && /[^\r]\n/.test(file.text))) refuse("The file has several kinds of line ends.");

  const draft = drafts(`${space.repo}/${space.branch}/${path}@${file.sha256}`);
  const trouble = h("div.trouble");
  const text = h("textarea.mono", { "aria-label": `Content of ${path}`, spellcheck: "false", wrap: "off", onkeydown });
  text.value = draft.get() ?? plain;
  const save = h("button", { type: "submit", class: "primary" }, "Save");
  const form = h("form.ws-editor", { onsubmit: (event) => { event.preventDefault(); store(); } }, 
    h("div.toolbar", save, button("Cancel", () => end(true)), h("span.muted", h("kbd", "Ctrl+S"), " saves, ", h("kbd", "Esc"), " cancels. Enter keeps the indentation.")), trouble, text);
  let onEnd = () => {};
  text.addEventListener("input", () => draft.set(text.value));
  // To leave the page would lose what was typed; to leave the view does not, for the draft is kept.
  addEventListener("beforeunload", (event) => form.isConnected && text.value !== plain && event.preventDefault(), { signal });

  function end(isCancelled) {
    if (isCancelled) draft.set(null);
    onEnd();
  }

  function onkeydown(event) {
    if ((event.ctrlKey || event.metaKey) && (event.key === "s" || event.key === "Enter")) {
      event.preventDefault();
      store();
    } else if (event.key === "Escape") {
      // What was typed is not thrown away by one key.
      if (text.value === plain) end(true);
      else form.querySelectorAll("button")[1].focus();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      const start = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
      const [indent] = /^[ \t]*/.exec(text.value.slice(start, text.selectionStart));
      if (!indent) return;
      event.preventDefault();
      document.execCommand("insertText", false, `\n${indent}`); // which can be undone
    }
  }

  async function store() {
    if (save.disabled) return;
    save.disabled = true;
    fill(trouble);
    try {
      const content = isDos ? text.value.replaceAll("\n", "\r\n") : text.value;
      await space.ask("write_file", { path, content, mode: "overwrite", expected: file.sha256 });
      draft.set(null);
      tell(`Saved ${path}`);
      space.refresh().catch(() => {});
      end(false);
    } catch (error) {
      fill(trouble, problemBox(error));
    } finally {
      save.disabled = false;
    }
  }

  form.ready = (whenEnded) => {
    onEnd = whenEnded;
    text.focus();
    const before = plain.split("\n").slice(0, (line ?? 1) - 1).join("\n").length;
    const place = line > 1 ? before + 1 : 0;
    text.setSelectionRange(place, place);
    const height = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = Math.max(0, ((line ?? 1) - 1) * height - text.clientHeight / 2);
    form.scrollIntoView({ block: "start" });
  };
  return form;
}

/** What was typed and not saved, for as long as the tab lasts. */
function drafts(name) {
  const key = `branchyard-draft/${name}`;
  try {
    return {
      get: () => sessionStorage.getItem(key),
      set: (value) => (value === null ? sessionStorage.removeItem(key) : sessionStorage.setItem(key, value)),
    };
  } catch {
    return { get: () => null, set() {} };
  }
}
