// Lines of a log as text, for elsewhere.

import { h } from "../core/dom.js";
import { counted } from "../core/format.js";
import { attempt, tell } from "../ui/toast.js";

/** More than that is had as the raw log. */
const MOST = 20_000;

/** Copies the lines of a range, or says what to do first where there is none. */
export function copyLines(lines, range) {
  return attempt(async () => {
    if (!range) throw new Error("Choose lines first: click a line's number, and another's with Shift, or select text");
    const count = range.last - range.first + 1;
    if (count > MOST) throw new Error(`${counted(count, "line")} are too many to copy: download the raw log`);
    await put(await lines.copy(range));
    tell(`${counted(count, "line")} copied`);
  });
}

/** The lines that the selected text is of, or null. */
export function selectedLines(rows) {
  const selection = getSelection();
  if (selection.isCollapsed || selection.rangeCount === 0) return null;
  const { startContainer, endContainer } = selection.getRangeAt(0);
  const lineAt = (node) => rows.contains(node) ? Number((node.closest ? node : node.parentElement).closest(".row")?.dataset.line) || null : null;
  const [first, last] = [lineAt(startContainer), lineAt(endContainer)];
  return first && last ? { first, last } : null;
}

/** Without TLS a browser offers only the older way. */
async function put(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
