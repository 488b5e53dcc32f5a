// One repo with the table of its workspaces. Rows come in blocks, and only the blocks near the window have their
// rows as elements: a block out of sight is one space of its height. So rows may be of any height, as on a phone.

import { fill, h, refill, setVars } from "../core/dom.js";
import { bytes, counted } from "../core/format.js";
import { link } from "../core/router.js";
import { can } from "../core/session.js";
import { button, empty } from "../ui/parts.js";
import { newWorkspace } from "./yard-actions.js";
import { columns, WorkspaceRow } from "./yard-row.js";

const BLOCK = 10;
/** How far beyond the window rows are made. */
const AROUND = "600px 0px";
/** Until a block was seen. */
const GUESS = { false: 58, true: 32 };

export class RepoSection {
  #rows = new Map();
  #blocks = [];
  #items = [];
  #yard;
  #name;
  #selection;
  #url = h("span.muted.url.mono");
  #facts = h("span.muted");
  #note = h("div");
  #table;
  #all;
  #observer;
  #isCompact = false;

  constructor(yard, name, selection, signal) {
    this.#yard = yard;
    this.#name = name;
    this.#selection = selection;
    this.#all = h("input", { type: "checkbox", "aria-label": `Select all shown of ${name}`, onchange: () => selection.set(this.#items, this.#all.checked) });
    const head = columns().map(([style, label]) => h("th", { class: style, role: "columnheader", scope: "col" },
      style === "ws-pick" ? this.#all : style === "ws-acts" ? h("span.unseen", label) : label));
    this.#table = h("table.list.cards", { role: "table", "aria-label": `Workspaces of ${name}`, hidden: true },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row", "aria-rowindex": 1 }, head)));
    this.element = h("section.card.repo", { "aria-label": name },
      h("div.repo-head", h("h2", name), this.#facts, this.#url,
        h("div.beside",
          can("build:run") && h("a.button", { href: link("fanout", { repo: name }), title: "Build many branches at once" }, "Fan-out"),
          can("git:write") && button("New workspace", () => newWorkspace(yard, name), { iconName: "plus" }))),
      this.#note, this.#table);
    this.#observer = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: AROUND });
    signal.addEventListener("abort", () => this.#observer.disconnect());
  }

  get items() {
    return this.#items;
  }

  showHead({ url, default_branch: main, cloned }) {
    this.#url.textContent = [url, main && `default ${main}`, !cloned && "not cloned yet"].filter(Boolean).join(" · ");
  }

  /** Shows these workspaces, of all that there are. */
  show(items, all, { isFiltered, isCompact }) {
    this.#items = items;
    if (isCompact !== this.#isCompact) {
      this.#isCompact = isCompact;
      for (const block of this.#blocks) block.height = null;
    }
    this.#table.hidden = items.length === 0;
    this.element.hidden = isFiltered && items.length === 0;
    this.#table.setAttribute("aria-rowcount", items.length + 1);
    const many = Math.ceil(items.length / BLOCK);
    while (this.#blocks.length > many) this.#blocks.pop().remove(this.#observer);
    while (this.#blocks.length < many) {
      const block = new Block(this.#blocks.length, (workspace) => this.#row(workspace));
      // What is on the first screen is there at once; the observer answers a frame later.
      block.isShown = this.#blocks.length < 4;
      this.#blocks.push(block);
      this.#table.append(block.element);
      this.#observer.observe(block.element);
    }
    this.#draw();
    this.showSelection();
    const size = all.reduce((sum, { size: one }) => sum + (one ?? 0), 0);
    const shown = items.length < all.length ? `${items.length} of ` : "";
    this.#facts.textContent = `${shown}${counted(all.length, "workspace")}${size > 0 ? `, ${bytes(size)}` : ""}`;
    const unavailable = this.#yard.unavailable.get(this.#name) ?? [];
    const isEmpty = all.length + unavailable.length === 0 && this.#yard.workspaces.has(this.#name);
    refill(this.#note, [unavailable, isEmpty], () => [
      unavailable.map(({ branch, reason }) => h("p.warning", `${branch}: ${reason}`)),
      isEmpty && empty("No workspaces yet: make one, or build a branch."),
    ]);
  }

  showSelection() {
    const chosen = this.#items.filter((workspace) => this.#selection.has(workspace)).length;
    this.#all.checked = chosen > 0 && chosen === this.#items.length;
    this.#all.indeterminate = chosen > 0 && chosen < this.#items.length;
    for (const row of this.#rows.values()) row.isSelected = this.#selection.has({ repo: this.#name, branch: row.branch });
  }

  /** Moves the focus to a row, which is made if it was out of sight. */
  focus(index) {
    const block = this.#blocks[Math.floor(index / BLOCK)];
    block.isShown = true;
    this.#draw();
    this.#rows.get(this.#items[index].branch).focus();
  }

  #seen(entries) {
    for (const { target, isIntersecting, boundingClientRect: { height } } of entries) {
      const block = this.#blocks.find(({ element }) => element === target);
      // Measured by the browser already: to ask again would lay the page out once more.
      if (block?.isShown) block.height = height || null;
      // One that has the focus stays, or the focus would be lost.
      if (block) block.isShown = isIntersecting || target.contains(document.activeElement);
    }
    this.#draw();
  }

  #draw() {
    const focused = document.activeElement;
    const known = this.#blocks.map(({ height, count }) => height && height / count).filter(Boolean);
    const usual = known.length > 0 ? Math.max(...known) : GUESS[this.#isCompact];
    this.#blocks.forEach((block, index) => block.draw(this.#items.slice(index * BLOCK, (index + 1) * BLOCK), usual));
    for (const [branch, row] of this.#rows) if (!this.#table.contains(row.element)) this.#rows.delete(branch);
    // An element that is moved loses the focus.
    if (focused !== document.activeElement && focused?.isConnected && this.element.contains(focused)) focused.focus({ preventScroll: true });
  }

  #row(workspace) {
    const { branch } = workspace;
    if (!this.#rows.has(branch)) this.#rows.set(branch, new WorkspaceRow(this.#yard, this.#name, branch, this.#selection));
    const row = this.#rows.get(branch);
    row.update(workspace);
    return row.element;
  }
}

/** So many rows, or a space of their height. */
class Block {
  isShown = false;
  /** In pixels, as last seen. */
  height = null;
  count = 0;
  #wasShown = null;
  #space = null;
  #first;
  #rowOf;

  constructor(index, rowOf) {
    this.element = h("tbody", { role: "rowgroup" });
    this.#first = index * BLOCK;
    this.#rowOf = rowOf;
  }

  draw(items, usual) {
    if (items.length !== this.count && !this.isShown) this.height = null;
    this.count = items.length;
    if (this.isShown) this.#showRows(items);
    else this.#showSpace(this.height ?? usual * items.length);
    this.#wasShown = this.isShown;
  }

  remove(observer) {
    observer.unobserve(this.element);
    this.element.remove();
  }

  #showRows(items) {
    if (!this.#wasShown) {
      fill(this.element);
      this.element.setAttribute("role", "rowgroup");
    }
    items.forEach((workspace, index) => {
      const row = this.#rowOf(workspace);
      row.setAttribute("aria-rowindex", this.#first + index + 2);
      const there = this.element.children[index];
      if (there !== row) this.element.insertBefore(row, there ?? null);
    });
    while (this.element.children.length > items.length) this.element.lastChild.remove();
  }

  #showSpace(height) {
    const space = Math.round(height);
    if (this.#wasShown === false && space === this.#space) return;
    this.#space = space;
    if (this.#wasShown !== false) {
      this.element.setAttribute("role", "presentation");
      fill(this.element, h("tr.space", { role: "presentation" }, h("td", { role: "presentation", colspan: columns().length })));
    }
    setVars(this.element.firstChild, { "--space": `${space}px` });
  }
}
