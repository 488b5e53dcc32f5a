// What a run complained about, beside its log: as it comes while the run is live.

import { api, at } from "../core/api.js";
import { h, refill } from "../core/dom.js";
import { complaints, isLive } from "../core/format.js";
import { link } from "../core/router.js";
import { icon } from "../ui/icons.js";

/** How often a live run is asked, in milliseconds. */
const AGAIN = 3000;
const LOOKS = { error: ["bad", "cross"], warning: ["warn", "warn"] };

export class Diagnostics {
  #panel;
  #signal;
  #body;
  #run;
  #items = [];
  #timer;
  /** How long the log was when they were asked for. */
  #asked = -1;
  #list = h("div");
  #aside = h("aside.card.run-side", { "aria-label": "Problems", tabindex: 0 }, this.#list);

  /** They are shown in `body`, beside the panel of the log, once there are some. */
  constructor(panel, body, signal) {
    this.#panel = panel;
    this.#body = body;
    this.#signal = signal;
    panel.onChoose = (range) => this.#choose(range);
    document.addEventListener("visibilitychange", () => isLive(this.#run?.state) && this.watch(this.#run), { signal });
  }

  /** Asks now and then for as long as the run is live and the tab is seen. */
  watch(run) {
    this.#run = run;
    clearTimeout(this.#timer);
    if (this.#signal.aborted || document.hidden || !isLive(run.state)) return;
    this.#timer = setTimeout(async () => {
      const { total } = this.#panel.lines;
      let isRefused = false; // by a daemon that knows them only of ended runs
      if (run.state === "running" && total !== this.#asked) {
        await this.load().then(() => { this.#asked = total; }, ({ status }) => { isRefused = status === 409; });
      }
      if (!isRefused) this.watch(this.#run);
    }, AGAIN);
  }

  /** Asks for them and shows them. */
  async load(run = this.#run) {
    this.#run = run;
    const found = await api.get(`${at.run(run.run_id)}/diagnostics`, this.#signal);
    if (this.#signal.aborted || run !== this.#run || found.items.length === 0) return;
    this.#items = found.items;
    this.#panel.errors = found.items;
    refill(this.#list, found, () => [
      h("h2", complaints(found.summary)),
      h("ol.found", found.items.map((item) => this.#item(item))),
      found.truncated && h("p.log-tail", "There are more."),
    ]);
    this.#body.classList.remove("alone");
    if (!this.#aside.isConnected) this.#body.append(this.#aside);
    this.#choose(this.#panel.chosen);
  }

  #item({ severity, message, log_line: line, ...place }) {
    const [tone, sign] = LOOKS[severity];
    return h("li",
      h("button", { type: "button", onclick: () => this.#panel.go({ first: line, last: line }) },
        h("span", { class: tone }, icon(sign), " ", severity), " ", message),
      h("div.where", this.#placeOf(place), ` · line ${line}`));
  }

  /** The file as it was in the run's commit, where it is one of the repository. */
  #placeOf({ file, line, column, tool }) {
    if (!file) return tool;
    const text = [file, line, column].filter(Boolean).join(":");
    const { repo, branch, about } = this.#run;
    const path = file.replace(/^(\.\/)+/, "");
    const isInside = about?.commit && !path.startsWith("/") && !path.split("/").includes("..");
    return isInside ? h("a", { href: link("workspace", repo, branch, { view: "files", path, line, at: about.commit }) }, text) : text;
  }

  #choose(range) {
    [...this.#list.querySelectorAll("li")].forEach((item, index) => {
      const isChosen = range !== null && this.#items[index].log_line === range.first;
      item.firstElementChild.setAttribute("aria-current", String(isChosen));
      if (isChosen) item.scrollIntoView({ block: "nearest" });
    });
  }
}
