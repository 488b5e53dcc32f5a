// What the tests share: a daemon that somebody else started, and a browser.
//
//   BRANCHYARD_URL      where the daemon is
//   BRANCHYARD_KEY      its session key
//   BRANCHYARD_RESTART  a command that restarts it (only the test that needs it)
//   CHROMIUM            the browser; /usr/bin/chromium unless said otherwise

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

export const url = `${(process.env.BRANCHYARD_URL ?? "http://127.0.0.1:3344").replace(/\/$/, "")}/`;
export const key = process.env.BRANCHYARD_KEY ?? "";
/** For things that take as long as a build or a clone. */
export const PATIENCE = 20_000;

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

let browser;
before(async () => {
  await served();
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });
});
after(() => browser?.close());

/** Waits until the daemon, or the next one, answers. */
export function served() {
  return until(() => fetch(`${url}healthz`).then((answer) => answer.ok, () => false), "the daemon answers");
}

/** A request to the daemon, past the page. */
export async function call(method, path, body, { as = key, headers = {} } = {}) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${as}`, ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text === "" ? null : JSON.parse(text);
}

/** Starts a run and does not wait for it. */
export function start(branch, what, body) {
  return call("POST", `stream/repos/demo/branches/${encodeURIComponent(branch)}/${what}`, body, { headers: { prefer: "respond-async" } });
}

export function task(name, args = [], branch = "main") {
  return start(branch, "task", { task: name, args, sync: "none" });
}

export async function ended(run) {
  const now = await call("GET", `api/runs/${run.run_id}?wait=50s`);
  assert.ok(now.ended_at, `the run is still ${now.state}`);
  return now;
}

/** Makes sure that the demo's branch has a workspace. */
export function prepare(branch, body = {}) {
  return call("PUT", `api/repos/demo/branches/${encodeURIComponent(branch)}`, body);
}

/** Has a branch of the demo have the workflow files of these tests, in a commit of its own. */
export async function commitWorkflows(branch) {
  await prepare(branch, { from: "main" });
  const place = `api/repos/demo/branches/${encodeURIComponent(branch)}`;
  for (const name of ["ci.yml", "again.yml", "none.yml"]) {
    const content = await readFile(new URL(`workflows/${name}`, import.meta.url), "utf8");
    await call("POST", `${place}/write_file`, { path: `.branchyard/workflows/${name}`, content });
  }
  await call("POST", `${place}/git/commit`, { message: "Add workflows", paths: [".branchyard"] });
}

export function startPipeline(branch, file, inputs) {
  return call("POST", "api/repos/demo/pipelines", { branch, file, inputs });
}

export async function pipelineEnded({ pipeline_id: id }) {
  const now = await call("GET", `api/pipelines/${id}?wait=50s`);
  assert.ok(now.ended_at, `the pipeline is still ${now.state}`);
  return now;
}

/**
 * Runs `steps(page)` in a window of its own, logged in unless `as` is null, and sees to it that nothing
 * was complained about on the console but what `allow` matches.
 */
export async function visit(steps, { hash = "#/", as = key, theme = "light", width = 1280, height = 800, allow = [] } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
  const complaints = [];
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => complaints.push(String(error.stack)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.text()} ${message.location().url}`);
  });
  try {
    if (as !== null) {
      const answer = await context.request.post(`${url}api/session`, { headers: { authorization: `Bearer ${as}` } });
      assert.equal(answer.status(), 200, await answer.text());
    }
    await page.goto(url + hash);
    await page.waitForSelector(as === null ? ".login" : "header.shell");
    await steps(page, context);
    assert.deepEqual(complaints.filter((text) => !allow.some((pattern) => pattern.test(text))), []);
  } catch (error) {
    if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/failed-${Date.now()}.png` });
    throw error;
  } finally {
    await context.close();
  }
}

/** Goes to another view by its hash. */
export async function go(page, hash, selector) {
  await page.evaluate((to) => { location.hash = to; }, hash);
  await page.waitForSelector(selector);
}

/** Waits until the text of a selector matches. */
export async function reads(page, selector, pattern) {
  await page.waitForFunction(([where, source]) => new RegExp(source).test(document.querySelector(where)?.textContent ?? ""), [selector, pattern.source]);
}

/** The streams that a page holds open, as a function that lists them. */
export function watchStreams(page) {
  const open = new Set();
  const isStream = (request) => new URL(request.url()).pathname.includes("/stream/");
  page.on("request", (request) => isStream(request) && open.add(request));
  for (const type of ["requestfinished", "requestfailed"]) page.on(type, (request) => open.delete(request));
  return () => [...open].map((request) => new URL(request.url()).pathname.replace(/.*\/stream\//, "")).sort();
}

/** Waits for a condition that is not in the page. */
export async function until(condition, what) {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
