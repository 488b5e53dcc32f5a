// Requests to the daemon. Addresses are relative, so that the page works behind any proxy prefix.

/** A refusal, as the daemon's problem document tells it. */
export class Problem extends Error {
  constructor(status, document) {
    super(document.detail ?? document.title ?? `the daemon answered ${status}`);
    this.name = "Problem";
    this.status = status;
    this.code = document.code ?? "";
    this.help = document.help ?? null;
    this.field = document.field ?? null;
  }
}

const UNREACHABLE = {
  detail: "the daemon cannot be reached",
  help: "it may be restarting; the page goes on by itself once it is back",
};

/** Told of every 401, which means that the session is over. */
let onUnauthorized = () => {};
export function whenUnauthorized(callback) {
  onUnauthorized = callback;
}

/** Told of every run or group that was started here, and of a start that was refused because the daemon is being stopped. */
let [onStarted, onDraining] = [() => {}, () => {}];
export function whenStarted(started, draining) {
  [onStarted, onDraining] = [started, draining];
}

/** The answer's `Response`; a refusal or a lost connection is thrown as a `Problem`. */
export async function request(address, { method = "GET", body, headers = {}, signal } = {}) {
  // The header that no form and no foreign page can send: the daemon's guard against CSRF.
  const guard = method === "GET" ? {} : { "branchyard-page": "1" };
  const json = body === undefined ? {} : { "content-type": "application/json" };
  let response;
  try {
    response = await fetch(address, {
      method,
      headers: { ...guard, ...json, ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, { code: "unreachable", ...UNREACHABLE });
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401) onUnauthorized(problem);
  if (problem.code === "draining") onDraining();
  throw problem;
}

export async function problemOf(response) {
  try {
    return new Problem(response.status, await response.json());
  } catch {
    return new Problem(response.status, {}); // a proxy's answer, perhaps
  }
}

async function json(address, options) {
  const response = await request(address, options);
  return response.status === 204 ? null : response.json();
}

export const api = {
  get: (address, signal) => json(address, { signal }),
  post: (address, body = {}) => json(address, { method: "POST", body }),
  put: (address, body = {}) => json(address, { method: "PUT", body }),
  delete: (address) => json(address, { method: "DELETE" }),
  /** Starts runs without staying for their output. */
  async start(address, body = {}, { isWatched = true } = {}) {
    const started = await json(address, { method: "POST", body, headers: { prefer: "respond-async" } });
    if (isWatched) onStarted(started);
    return started;
  },
};

/** `path` with the parameters that are not empty. */
export function withQuery(path, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

const part = encodeURIComponent;

export const at = {
  repo: (repo) => `api/repos/${part(repo)}`,
  branches: (repo) => `api/repos/${part(repo)}/branches`,
  // A branch with a slash is one percent-encoded segment.
  branch: (repo, branch) => `api/repos/${part(repo)}/branches/${part(branch)}`,
  start: (repo, branch, what) => `stream/repos/${part(repo)}/branches/${part(branch)}/${what}`,
  fanOut: (repo) => `stream/repos/${part(repo)}/make`,
  run: (run) => `api/runs/${part(run)}`,
  log: (run) => `api/runs/${part(run)}/log`,
  group: (group) => `api/groups/${part(group)}`,
  salvage: (id) => `api/salvage/${part(id)}`,
  pipelines: (repo) => `api/repos/${part(repo)}/pipelines`,
  bisect: (repo) => `api/repos/${part(repo)}/bisect`,
  pipeline: (id) => `api/pipelines/${part(id)}`,
  job: (id, job) => `api/pipelines/${part(id)}/jobs/${part(job)}`,
  artifact: (id, name) => `api/pipelines/${part(id)}/artifacts/${part(name)}`,
  artifactFile: (id, name, path) => `${at.artifact(id, name)}/files/${path.split("/").map(part).join("/")}`,
  token: (id) => `api/tokens/${part(id)}`,
};

/**
 * The workspaces of a repo, page after page, `first` of them in the first. With `remote` each page asks the remote.
 * `onUnavailable` is told of the workspaces of a page that do not answer or are damaged.
 */
export async function* branchPages(repo, { remote = false, first = 500, signal, onUnavailable = () => {} } = {}) {
  let [after, limit] = [null, first];
  do {
    const page = await api.get(withQuery(at.branches(repo), { limit, remote: remote || null, after }), signal);
    onUnavailable(page.unavailable ?? []);
    yield page.items;
    [after, limit] = [page.next, 500];
  } while (after);
}

/** All workspaces of a repo. */
export async function allBranches(repo, options) {
  const all = [];
  for await (const items of branchPages(repo, options)) all.push(...items);
  return all;
}
