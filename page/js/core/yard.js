// What the page knows of repos and their workspaces, kept true by the yard's events: they say that
// something changed, and what it is now is asked for, several changes in one request.

import { api, at, branchPages } from "./api.js";
import { events } from "./events.js";

// From so many changed workspaces of a repo on, and such a share of it, its whole list is cheaper than each by itself.
const MANY = 12;
const SHARE = 0.25;
// How many are asked for at the same time: a browser has six connections.
const AT_ONCE = 4;
const SETTLE = 120;
// After many changes at once: what a run's events say is shown at once, and the rest of a workspace can wait.
const BUSY = 1000;
// As many as a screen shows: to describe a workspace is to look at its files.
const SCREEN = 40;

/** Does it for each of the items, a few at the same time. */
export async function each(items, work) {
  const left = [...items];
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (left.length > 0) await work(left.shift());
  }));
}

/**
 * The yard for as long as `signal` lasts. Dispatches "repos" (the list, or one as a whole) and
 * "workspace" ({ repo, branch }).
 */
export class Yard extends EventTarget {
  /** name → repo */
  repos = new Map();
  /** repo → branch → workspace; no entry while it is not known yet */
  workspaces = new Map();
  /** By repo, the workspaces that do not answer or are damaged. */
  unavailable = new Map();
  #signal;
  #changed = new Map();
  #timer = null;
  #wait = SETTLE;

  constructor(signal) {
    super();
    this.#signal = signal;
    events.listen("workspace", (event) => this.#onWorkspace(event), signal);
    events.listen("run", ({ run }) => this.#onRun(run), signal);
    events.listen("repo", () => this.#quietly(this.loadRepos()), signal);
    events.listen("reset", () => this.#quietly(this.load()), signal);
  }

  async load() {
    await this.loadRepos();
    await Promise.all([...this.repos.keys()].map((repo) => this.loadRepo(repo)));
  }

  async loadRepos() {
    const { items } = await api.get("api/repos", this.#signal);
    this.repos = new Map(items.map((repo) => [repo.name, repo]));
    for (const known of this.workspaces.keys()) {
      if (!this.repos.has(known)) this.workspaces.delete(known);
    }
    this.#tell("repos", null);
  }

  /** What is not known yet is shown as it comes; what is known stays as it is until all of it is there. */
  async loadRepo(repo) {
    const isKnown = this.workspaces.has(repo);
    const [all, unavailable] = [new Map(), []];
    const onUnavailable = (some) => unavailable.push(...some);
    const show = () => {
      this.workspaces.set(repo, all);
      this.unavailable.set(repo, unavailable);
      this.#tell("repos", { repo });
    };
    for await (const items of branchPages(repo, { first: SCREEN, signal: this.#signal, onUnavailable })) {
      for (const workspace of items) all.set(workspace.branch, this.#withRun(workspace));
      if (!isKnown) show();
    }
    if (isKnown) show();
  }

  get(repo, branch) {
    return this.workspaces.get(repo)?.get(branch) ?? null;
  }

  /** What an answer says of a workspace is as good as what one would ask for. */
  put(workspace) {
    if (!this.workspaces.has(workspace.repo)) this.workspaces.set(workspace.repo, new Map());
    this.workspaces.get(workspace.repo).set(workspace.branch, this.#withRun(workspace));
    this.#tell("workspace", workspace);
  }

  /** Of a run, an event says more than the description of its workspace does. */
  #withRun(workspace) {
    const known = this.get(workspace.repo, workspace.branch)?.last_run;
    const isSame = known && workspace.last_run?.run_id === known.run_id && workspace.last_run.state === known.state;
    return isSame ? { ...workspace, last_run: { ...known, ...workspace.last_run } } : workspace;
  }

  /** It is gone: nobody needs to ask what became of it. */
  drop(repo, branch) {
    this.workspaces.get(repo)?.delete(branch);
    this.#changed.get(repo)?.delete(branch);
    this.#tell("workspace", { repo, branch });
  }

  #onWorkspace({ repo, branch, change }) {
    if (change === "removed") return this.drop(repo, branch);
    // One that is only being made has its turn taken before it is there to be asked about.
    const isUnknown = this.workspaces.has(repo) && !this.get(repo, branch);
    if (isUnknown && change !== "created") return;
    if (!this.#changed.has(repo)) this.#changed.set(repo, new Set());
    this.#changed.get(repo).add(branch);
    this.#timer ??= setTimeout(() => this.#quietly(this.#refresh()), this.#wait);
  }

  #onRun(run) {
    const workspace = this.get(run.repo, run.branch);
    if (!workspace) return;
    // Ids sort by the time of the request.
    if (workspace.last_run && workspace.last_run.run_id > run.run_id) return;
    this.workspaces.get(run.repo).set(run.branch, { ...workspace, last_run: run });
    this.#tell("workspace", run);
  }

  async #refresh() {
    this.#timer = null;
    const changed = [...this.#changed];
    this.#changed.clear();
    this.#wait = changed.some(([, branches]) => branches.size >= MANY) ? BUSY : SETTLE;
    await Promise.all(changed.map(([repo, branches]) => {
      const known = this.workspaces.get(repo)?.size;
      if (known === undefined || branches.size >= Math.max(MANY, known * SHARE)) return this.loadRepo(repo);
      return each([...branches], (branch) => this.refresh(repo, branch));
    }));
  }

  async refresh(repo, branch) {
    try {
      this.put(await api.get(at.branch(repo, branch), this.#signal));
    } catch (error) {
      if (error.status !== 404) throw error;
      this.drop(repo, branch);
    }
  }

  /** What failed in the background is asked for again at the next change; nobody is disturbed. */
  #quietly(work) {
    work.catch(() => {});
  }

  #tell(type, detail) {
    if (!this.#signal.aborted) this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
