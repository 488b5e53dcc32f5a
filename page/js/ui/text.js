// Text that others wrote, as nodes.

import { h } from "../core/dom.js";

// Characters that print nothing or turn the writing around.
export const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;

/** With what would hide or mislead made visible. */
export function visible(text) {
  if (!HIDDEN.test(text)) return [text];
  return Array.from(text, (character) => {
    if (!HIDDEN.test(character)) return character;
    const code = character.codePointAt(0);
    return h("span.control", code < 32 ? `^${String.fromCharCode(64 + code)}` : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`);
  });
}
