// Icons as strokes on a grid of 16, so that they take the colour and the size of the text beside them.

import { svg } from "../core/dom.js";

const PATHS = {
  check: "M3 8.5 6.5 12 13 4.5",
  checks: "M1.5 8.5 4.5 12 10 5M7.6 11.2l.9.8L14.5 5",
  cross: "M4 4l8 8M12 4l-8 8",
  stop: "M4.5 4.5h7v7h-7z",
  clock: "M8 2.2a5.8 5.8 0 1 1 0 11.6a5.8 5.8 0 0 1 0-11.6M8 5v3.2l2.2 1.6",
  spin: "M8 2.2a5.8 5.8 0 1 1-5.8 5.8",
  slash: "M8 2.2a5.8 5.8 0 1 1 0 11.6a5.8 5.8 0 0 1 0-11.6M4 12 12 4",
  bolt: "M9 2 4 9h3.5L7 14l5-7H8.5z",
  question: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.6M8 12.4v.3",
  warn: "M8 2.5 14.2 13H1.8zM8 6.5v3M8 11.2v.3",
  pin: "M6 2h4l-.5 4.5L12 9H4l2.5-2.5zM8 9v5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  plus: "M8 3v10M3 8h10",
  down: "M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10",
  next: "M8 3v9M4.5 8.5 8 12l3.5-3.5",
  again: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  sun: "M8 5a3 3 0 1 1 0 6a3 3 0 0 1 0-6M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z",
  system: "M2 3.5h12v7H2zM6 13.5h4M8 10.5v3",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 0 1 0-9M10.3 10.3 14 14",
  person: "M8 2.5a2.6 2.6 0 1 1 0 5.2a2.6 2.6 0 0 1 0-5.2M3 13.5c.5-3 2.5-4 5-4s4.5 1 5 4",
  up: "M8 13V4M4.5 7.5 8 4l3.5 3.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  hold: "M4.5 7.5h7v6h-7zM6 7.5V5a2 2 0 0 1 4 0v2.5",
};

/** Decoration: the text beside it says what it means. */
export function icon(name) {
  return svg("svg.icon", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, svg("path", { d: PATHS[name] }));
}
