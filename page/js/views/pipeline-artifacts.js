// What the jobs of a pipeline made: sets of files, to be had one by one or whole. Nothing of it is ever shown here,
// for a branch decides what is in it: it is saved.

import { api, at } from "../core/api.js";
import { fill, h } from "../core/dom.js";
import { bytes, counted, when } from "../core/format.js";
import { icon } from "../ui/icons.js";
import { show } from "../ui/parts.js";

/** Directories are open in a tree of so few files. */
const FEW = 40;

export class Artifacts {
  #id;
  #signal;
  #shown = "";
  #list = h("div");
  element = h("section.card", { "aria-label": "Artifacts", hidden: true }, h("h2", "Artifacts"), this.#list);

  constructor(id, signal) {
    this.#id = id;
    this.#signal = signal;
  }

  /** Looks again where a job has others than before. */
  update({ jobs }) {
    const made = JSON.stringify(jobs.filter((job) => job.artifacts?.length > 0).map((job) => [job.job, job.attempt, job.artifacts]));
    if (made === this.#shown) return;
    this.#shown = made;
    this.element.hidden = made === "[]";
    if (!this.element.hidden) this.#load();
  }

  #load() {
    return show(this.#list, async () => {
      const { items } = await api.get(`${at.pipeline(this.#id)}/artifacts`, this.#signal);
      return items.map((set) => artifact(this.#id, set));
    }, this.#signal);
  }
}

function artifact(id, set) {
  const tree = h("div.tree");
  const archive = (format) => h("a.button", { href: `${at.artifact(id, set.name)}/archive?format=${format}`, download: "" }, icon("down"), format);
  const about = [set.job && `of ${set.job}`, counted(set.files.length, "file"), bytes(set.bytes)].filter(Boolean).join(" · ");
  return h("div.artifact", { "data-artifact": set.name },
    h("details", { ontoggle: () => tree.firstChild || fill(tree, directory(id, set, treeOf(set.files))) },
      h("summary", h("b", set.name), " ", h("span.muted", about, set.expires_at && [" · expires ", when(set.expires_at)])), tree),
    h("div.toolbar", archive("zip"), archive("tar")));
}

/** Directories as maps from name to directory or file. */
function treeOf(files) {
  const root = new Map();
  for (const file of files) {
    const names = file.path.split("/");
    const last = names.pop();
    let place = root;
    for (const name of names) {
      if (!(place.get(name) instanceof Map)) place.set(name, new Map());
      place = place.get(name);
    }
    place.set(last, file);
  }
  return root;
}

/** A directory makes its list when it is opened: there may be ten thousand files. */
function directory(id, set, entries) {
  return h("ul", [...entries].map(([name, entry]) => h("li", entry instanceof Map
    ? folder(name, () => directory(id, set, entry), set.files.length <= FEW)
    : fileLink(id, set, name, entry))));
}

function folder(name, list, isOpen) {
  const inside = h("div", isOpen && list());
  return h("details", { open: isOpen, ontoggle: () => inside.firstChild || fill(inside, list()) }, h("summary", `${name}/`), inside);
}

function fileLink(id, set, name, file) {
  return [h("a.mono", { href: at.artifactFile(id, set.name, file.path), download: "", title: `SHA-256 ${file.sha256}` }, name),
    " ", h("span.muted", bytes(file.size))];
}
