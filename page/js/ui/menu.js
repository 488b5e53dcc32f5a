// A menu under a button: the browser's popover, which closes by itself, with arrow keys.

import { h } from "../core/dom.js";

/**
 * Items are { label, action, tone, checked } or null for a line between. `checked` makes it a choice
 * of one among several.
 */
export function openMenu(anchor, items, label) {
  const menu = h("div.menu", { popover: "auto", role: "menu", "aria-label": label, onkeydown },
    items.map((item) => item === null ? h("hr") : h("button", {
      type: "button",
      role: item.checked === undefined ? "menuitem" : "menuitemradio",
      "aria-checked": item.checked === undefined ? null : String(item.checked),
      class: item.tone,
      onclick: () => { menu.hidePopover(); item.action(); },
    }, item.label)));
  menu.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    anchor.setAttribute("aria-expanded", "false");
    menu.remove();
  });

  function onkeydown(event) {
    const buttons = [...menu.querySelectorAll("button")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") anchor.focus();
    if (!step) return;
    event.preventDefault();
    const index = buttons.indexOf(document.activeElement) + step;
    buttons.at(index % buttons.length).focus();
  }

  document.body.append(menu);
  menu.showPopover();
  place(menu, anchor);
  anchor.setAttribute("aria-expanded", "true");
  menu.querySelector("[aria-checked=true], button")?.focus();
}

/** Below the anchor and within the window; above it where there is no room below. */
function place(menu, anchor) {
  const box = anchor.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.right - width, innerWidth - width - 8));
  const below = box.bottom + 4;
  const top = below + height < innerHeight ? below : Math.max(8, box.top - height - 4);
  menu.style.setProperty("left", `${left}px`);
  menu.style.setProperty("top", `${top}px`);
}
