// Keyboard shortcuts: single keys, two-key sequences such as "g y", and keys with Ctrl or Command. They are
// silent while a dialog is open, and those without Ctrl while somebody types.

const shortcuts = new Map();
let first = null;
let firstAt = 0;

/**
 * For as long as `signal` lasts; a later one with the same keys takes the place of an earlier. Without an `action`
 * it is only listed: the browser does it.
 */
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
  if (event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (event.ctrlKey || event.metaKey) return void run(event, shortcuts.get(`Ctrl+${event.key.toUpperCase()}`));
  if (isTyping(event.target)) return;
  const sequence = first !== null && event.timeStamp - firstAt < 1500 ? `${first} ${event.key}` : null;
  const entry = shortcuts.get(sequence) ?? shortcuts.get(event.key);
  first = entry ? null : event.key;
  firstAt = event.timeStamp;
  run(event, entry);
});

function run(event, entry) {
  if (!entry?.action) return;
  event.preventDefault();
  entry.action(event);
}
