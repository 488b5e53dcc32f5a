// What a run complained about, beside its log.

import { fill, h } from "../core/dom.js";
import { complaints } from "../core/format.js";
import { shortcut } from "../core/keys.js";
import { icon } from "../ui/icons.js";

export class Diagnostics {
  #items = [];
  #index = -1;
  #onGo;
  #list = h("ol.found");

  constructor(onGo, signal) {
    this.#onGo = onGo;
    shortcut("e", "Next error or warning", () => this.#step(1), signal);
    shortcut("E", "Previous error or warning", () => this.#step(-1), signal);
  }

  show({ items, summary, truncated }) {
    this.#items = items;
    const looks = { error: ["bad", "cross"], warning: ["warn", "warn"] };
    fill(this.#list, items.map((item, index) => h("li", h("button", { type: "button", onclick: () => this.#go(index) },
      h("span", { class: looks[item.severity][0] }, icon(looks[item.severity][1]), " ", item.severity), " ", item.message,
      h("span.where", item.file ? [item.file, item.line, item.column].filter(Boolean).join(":") : item.tool, ` · line ${item.log_line}`)))));
    return h("aside.card.run-side", { "aria-label": "Diagnostics", tabindex: 0 },
      h("h2", complaints(summary)), this.#list, truncated && h("p.log-tail", "There are more."));
  }

  #step(by) {
    if (this.#items.length > 0) this.#go((this.#index + by + this.#items.length) % this.#items.length);
  }

  #go(index) {
    this.#index = index;
    [...this.#list.querySelectorAll("button")].forEach((button, at) => button.setAttribute("aria-current", String(at === index)));
    this.#list.children[index].scrollIntoView({ block: "nearest" });
    this.#onGo(this.#items[index].log_line);
  }
}
