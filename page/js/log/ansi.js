// A line of output with its terminal colours. Colours and emphasis (SGR) are kept, all other escapes
// are dropped, and control characters that could mislead the eye are made visible. Each line begins
// plain: any line may be the first that is looked at, and what came before is not known then.

import { h } from "../core/dom.js";
import { HIDDEN, visible } from "../ui/text.js";

// CSI … final byte; OSC, DCS, PM and APC up to their end or the line's; any other two-character escape.
const ESCAPE = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_](?:[^\x07\x1b]|\x1b(?!\\))*(?:\x07|\x1b\\|$)|[ -/]*[0-~]?)|\x9b([0-?]*)[ -/]*([@-~])/g;

const WEB = /https?:\/\/[^\s"'<>`\\^{|}]+/g;

/** [{ text, style }] of a line; `style` is null where it is plain. */
export function parse(line) {
  const parts = [];
  let style = null;
  let from = 0;
  const put = (text) => text && parts.push({ text, style });
  for (const match of line.matchAll(ESCAPE)) {
    put(line.slice(from, match.index));
    from = match.index + match[0].length;
    if ((match[2] ?? match[4]) === "m") style = select(style, match[1] ?? match[3]);
  }
  put(line.slice(from));
  return parts;
}

/** What a terminal would be left with: a lone carriage return writes over the line. */
export function overprinted(line) {
  return writtenOver(line).replace(/\r+$/, "");
}

/** The same of a line that may go on: what follows a return at its end will write over it. */
export function writtenOver(line) {
  return line.slice(line.replace(/\r+$/, "").lastIndexOf("\r") + 1);
}

const FLAGS = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const CLEARS = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"] };

/** The style after a "select graphic rendition" with these parameters. */
function select(before, parameters) {
  const style = { ...before };
  // Colons separate the parts of one colour in the newer spelling.
  const codes = parameters.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i];
    if (code === 0) for (const name of Object.keys(style)) delete style[name];
    else if (FLAGS[code]) style[FLAGS[code]] = true;
    else if (CLEARS[code]) for (const name of CLEARS[code]) delete style[name];
    else if (code >= 30 && code <= 37) style.fore = code - 30;
    else if (code >= 40 && code <= 47) style.back = code - 40;
    else if (code >= 90 && code <= 97) style.fore = code - 82;
    else if (code >= 100 && code <= 107) style.back = code - 92;
    else if (code === 39) delete style.fore;
    else if (code === 49) delete style.back;
    else if (code === 38 || code === 48) {
      const name = code === 38 ? "fore" : "back";
      if (codes[i + 1] === 5) style[name] = indexed(codes[i + 2]);
      else if (codes[i + 1] === 2) style[name] = codes.slice(i + 2, i + 5).map((value) => Math.min(255, value || 0));
      i += codes[i + 1] === 2 ? 4 : 2;
    }
  }
  return Object.keys(style).length > 0 ? style : null;
}

/** One of 256: sixteen by name, a cube of 6 × 6 × 6, and greys. */
function indexed(code = 0) {
  if (code < 16) return code;
  if (code >= 232) return Array(3).fill(8 + 10 * Math.min(23, code - 232));
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  const cube = code - 16;
  return [level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)];
}

/** The line as nodes. `dark` is whether it is shown on a dark ground. */
export function render(line, dark) {
  return parse(overprinted(line)).flatMap(({ text, style }) => {
    const pieces = linked(text);
    return style ? [styled(pieces, style, dark)] : pieces;
  });
}

function styled(pieces, style, dark) {
  const names = Object.values(FLAGS).filter((flag) => style[flag]);
  if (typeof style.fore === "number" && style.back === undefined) names.push(`f${style.fore}`);
  if (typeof style.back === "number") names.push(`b${style.back % 8}`);
  const span = h("span", { class: names.join(" ") }, pieces);
  if (Array.isArray(style.back)) {
    span.style.setProperty("background", css(style.back));
    span.style.setProperty("color", luminance(style.back) > 0.18 ? "#000" : "#fff");
  } else if (Array.isArray(style.fore) && style.back === undefined) {
    span.style.setProperty("color", css(readable(style.fore, dark)));
  }
  return span;
}

/** A text with its addresses as links, which lead where they say. */
function linked(text) {
  if (!text.includes("://")) return visible(text);
  const nodes = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(WEB)) {
    const address = addressOf(found);
    if (!address) continue;
    nodes.push(...visible(text.slice(from, index)), h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, address));
    from = index + address.length;
  }
  return [...nodes, ...visible(text.slice(from))];
}

/** What of it is the address: not the full stop behind it, nor the bracket around it; null where it is none. */
function addressOf(text) {
  let address = text.split(HIDDEN, 1)[0];
  for (;;) {
    const last = address.at(-1);
    const opening = { ")": "(", "]": "[" }[last];
    const isClosing = opening && address.split(last).length > address.split(opening).length;
    if (!isClosing && !".,;:!?*".includes(last)) break;
    address = address.slice(0, -1);
  }
  return URL.canParse(address) ? address : null;
}

function css(rgb) {
  return `rgb(${rgb.join(" ")})`;
}

/** The colour, moved towards the text's as far as it must for a contrast of 4.5 with the ground. */
function readable(rgb, dark) {
  const ground = dark ? 0.005 : 0.98;
  const goal = dark ? 255 : 0;
  let colour = rgb;
  for (let step = 0; step < 10 && contrast(luminance(colour), ground) < 4.6; step += 1) {
    colour = colour.map((value) => Math.round(value + (goal - value) * 0.25));
  }
  return colour;
}

function contrast(one, other) {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}

function luminance(rgb) {
  const [red, green, blue] = rgb.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
