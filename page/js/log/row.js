// One line of a log, as it is on the screen.

import { h } from "../core/dom.js";
import { counted, number } from "../core/format.js";
import { showDialog } from "../ui/dialog.js";
import { button } from "../ui/parts.js";
import { render } from "./ansi.js";
import { CUT } from "./lines.js";

/** What is shown of a long line at first, and with each further step. */
const STEP = 65_536;

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * `address` is that of the run; `found` is the line's { text, length }, or undefined while it is on its way; `group` the
 * one that begins there, { last, isOpen }, if any.
 */
export function makeRow(address, lines, line, found, group) {
  const isStderr = lines.isStderr(line);
  const isCut = found !== undefined && found.length > CUT;
  return h("div.row", { class: isStderr ? "stderr" : "", "data-line": line },
    // Not in the tab order: a thousand stops would help nobody; the field "Line" does the same by keyboard.
    h("a.no", { href: `${address}?line=${line}`, tabindex: -1, "aria-label": `Line ${line}` }, line),
    group ? foldButton(group, `${counted(group.last - line, "line")} of this group`)
      : h("span.from", { title: isStderr ? "stderr" : null, "aria-hidden": "true" }, isStderr ? "!" : ""),
    h("span.text", found === undefined ? "" : render(found.text, isDark())),
    group && !group.isOpen && h("span.folded", counted(group.last - line, "line")),
    isCut && button(`… ${number(found.length - CUT)} more characters`, () => showWhole(lines, line), { tone: "rest" }));
}

function foldButton({ isOpen }, label) {
  return h("button.fold", { type: "button", "aria-expanded": String(isOpen), "aria-label": label }, isOpen ? "▾" : "▸");
}

async function showWhole(lines, line) {
  const text = h("pre.file", { tabindex: 0 });
  const more = button("Show more", () => load());
  const count = h("p.muted");
  let wanted = 0;
  async function load() {
    wanted += STEP;
    const found = await lines.whole(line, wanted);
    text.replaceChildren(...render(found.text, isDark()));
    count.textContent = `${number(found.text.length)} of ${number(found.length)} characters`;
    more.hidden = found.text.length >= found.length;
  }
  showDialog(`Line ${number(line)}`, [text, count, more], { wide: true });
  await load().catch((error) => { text.textContent = error.message; });
}
