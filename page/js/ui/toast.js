// Short notices that go by themselves. Bad news stays until it is dismissed: somebody has to read it.

import { h } from "../core/dom.js";
import { icon } from "./icons.js";
import { iconButton } from "./parts.js";

const STAYS = 6000;

function show(tone, role, iconName, content, stays) {
  const toast = h("div.toast", { "data-tone": tone, role }, icon(iconName), h("div", content),
    iconButton("cross", "Dismiss", () => toast.remove()));
  document.getElementById("toasts").append(toast);
  if (stays) setTimeout(() => toast.remove(), stays);
}

export function tell(...content) {
  show("ok", "status", "check", content, STAYS);
}

/** A problem of the daemon's, or any error. */
export function complain(error) {
  if (error.name === "AbortError") return;
  show("bad", "alert", "warn", [h("p", error.message), error.help && h("p.muted", error.help)], null);
}

/** Does it, and shows what went wrong, if something did. */
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    complain(error);
    return undefined;
  }
}
