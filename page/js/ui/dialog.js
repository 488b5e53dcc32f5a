// Dialogs are the browser's own: modal, closed by Escape, and the focus returns to where it was.

import { fill, h } from "../core/dom.js";
import { problemBox } from "./parts.js";

/** What `submit` returns where the dialog is to stay, to show how it went. */
export const KEEP_OPEN = Symbol("keep open");

/**
 * A dialog with a form. `submit(values)` does the work: while it does, the button is busy; what it
 * throws is shown in the dialog, which stays; when it returns, the dialog closes. Resolves to what
 * `submit` returned, or undefined where it was left. `submit` gets the dialog's `change` too, to
 * say more before it throws.
 */
export function ask({ title, content, action, tone = "primary", submit, wide = false }) {
  return new Promise((resolve) => {
    const trouble = h("div.trouble");
    const body = h("div.dialog-body", content);
    const confirm = h("button", { type: "submit", class: tone }, action);
    const cancel = h("button", { type: "button", onclick: () => dialog.close() }, submit ? "Cancel" : "Close");
    const change = ({ content: more, action: label, tone: other, isOver }) => {
      cancel.hidden = isOver;
      if (more) fill(body, more);
      if (label) confirm.textContent = label;
      if (other) confirm.className = other;
    };
    const form = h("form", { method: "dialog", onsubmit: onSubmit },
      h("h2", title), body, trouble, h("div.dialog-actions", cancel, submit && confirm));
    const dialog = h("dialog", { "aria-label": title, class: wide ? "wide" : "", onclose: () => { dialog.remove(); resolve(result); } }, form);
    let result;

    async function onSubmit(event) {
      event.preventDefault();
      if (!submit || confirm.disabled) return;
      confirm.disabled = true;
      confirm.setAttribute("aria-busy", "true");
      fill(trouble);
      try {
        result = await submit(new FormData(form), change);
        if (result !== KEEP_OPEN) dialog.close();
      } catch (error) {
        fill(trouble, problemBox(error));
      } finally {
        confirm.disabled = false;
        confirm.removeAttribute("aria-busy");
      }
    }

    // Who follows a link wants to be there.
    dialog.addEventListener("click", ({ target }) => target.closest("a[href^='#']") && dialog.close());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A dialog that only shows something. */
export function showDialog(title, content, options = {}) {
  return ask({ title, content, ...options });
}
