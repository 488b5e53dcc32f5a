// Keyboard shortcuts: single keys and two-key sequences such as "g y". They are silent while somebody
// types or a dialog is open, and leave every key with Ctrl, Alt or Meta to the browser.

const shortcuts = new Map();
let first = null;
let firstAt = 0;

/** For as long as `signal` lasts; a later one with the same keys takes the place of an earlier. */
export function shortcut(keys, what, action, signal) {
  const entry = { keys, what, action };
  shortcuts.set(keys, entry);
  signal?.addEventListener("abort", () => shortcuts.get(keys) === entry && shortcuts.delete(keys));
}

export function allShortcuts() {
  return [...shortcuts.values()];
}

function isTyping(target) {
  return target.closest?.("input, textarea, select, [contenteditable]") !== null;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
  const sequence = first !== null && event.timeStamp - firstAt < 1500 ? `${first} ${event.key}` : null;
  const entry = shortcuts.get(sequence) ?? shortcuts.get(event.key);
  first = entry ? null : event.key;
  firstAt = event.timeStamp;
  if (!entry) return;
  event.preventDefault();
  entry.action(event);
});
