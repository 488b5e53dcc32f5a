// For everyone: by keyboard, on a phone, in the dark, and for those who listen.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { before, test } from "node:test";
import { commitWorkflows, ended, pipelineEnded, prepare, reads, start, startPipeline, task, visit } from "./harness.mjs";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const views = {};

before(async () => {
  for (const branch of ["main", "broken"]) await prepare(branch);
  const failed = await ended(await start("broken", "make", { args: "test" }));
  const hostile = await ended(await task("hostile"));
  const tested = await ended(await start("main", "task", { task: "suite", args: ["all"], sync: "none", tests: true }));
  await commitWorkflows("page/ci");
  // The gate is a file that there is.
  const pipeline = await pipelineEnded(await startPipeline("page/ci", "ci.yml", { gate: "/" }));
  Object.assign(views, {
    yard: ["#/", "tr[data-branch=main]"],
    "compact yard": ["#/?rows=compact&order=failed", ".compact tr[data-branch=main]"],
    queue: ["#/queue", "section[aria-label=Waiting] h2"],
    wall: ["#/wall", ".wall-tile"],
    pipelines: ["#/pipelines", "tr[data-pipeline]"],
    pipeline: [`#/pipeline/${pipeline.pipeline_id}?job=build&step=2`, ".log .row"],
    "tested run": [`#/run/${tested.run_id}`, ".tests tbody tr"],
    "failed run": [`#/run/${failed.run_id}?line=2`, ".run-side .found"],
    "hostile run": [`#/run/${hostile.run_id}`, ".row.stderr"],
    tests: ["#/tests/demo", "tbody tr"],
    history: ["#/history", "tbody tr"],
    changes: ["#/workspace/demo/broken", ".diff-file .line"],
    directory: ["#/workspace/demo/broken?view=files", "a.entry"],
    file: ["#/workspace/demo/broken?view=files&path=src%2Fgreet.c&line=9", ".line-note"],
    "search of files": ["#/workspace/demo/main?view=files&q=greet", "h2.mono"],
    commits: ["#/workspace/demo/broken?view=commits", ".commit-list"],
    commit: ["#/workspace/demo/broken?view=commits&commit=HEAD", ".diff-file .line"],
    "runs of a workspace": ["#/workspace/demo/broken?view=runs", ".spark"],
    people: ["#/workspace/demo/broken?view=people", "dl.facts"],
    compare: ["#/compare/demo?from=main&to=broken", ".diff-file .line"],
    "fan-out": ["#/fanout", ".fan-form .chip"],
    machine: ["#/machine", ".spark"],
    salvage: ["#/salvage", "main .card > *"],
    tokens: ["#/tokens", "main .card > *"],
    audit: ["#/audit", "tbody tr"],
    api: ["#/api", "details.op"],
  });
});

/** What axe finds, in few words. The policy forbids scripts from elsewhere; the debugger may run one. */
async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations: found } = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] });
    return found.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  });
}

for (const theme of ["light", "dark"]) {
  for (const width of [360, 1280]) {
    test(`every view is accessible: ${theme}, ${width} px`, async () => {
      await visit(async (page) => {
        const found = {};
        for (const [name, [hash, selector]] of Object.entries(views)) {
          await page.evaluate((to) => { location.hash = to; }, hash);
          await page.waitForSelector(selector);
          const list = await violations(page);
          if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) list.push("wider than the screen");
          if (list.length > 0) found[name] = list;
        }
        assert.deepEqual(found, {});
      }, { theme, width, height: 760 });
      await visit(async (page) => assert.deepEqual(await violations(page), []), { as: null, theme, width });
    });
  }
}

test("the theme can be chosen, and stays", async () => {
  await visit(async (page) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.getByRole("button", { name: "Theme" }).click();
    await page.getByRole("menuitemradio", { name: "Dark" }).click();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.reload();
    await page.waitForSelector("header.shell");
    assert.equal(await ground(), dark);
  });
});

test("everything can be reached by keyboard", async () => {
  await visit(async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent);
    await page.waitForSelector("tr[data-branch=main]");
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Skip to the content");
    await page.keyboard.press("Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    await page.keyboard.press("/");
    assert.equal(await focused(), "Filter workspaces");
    await page.keyboard.type("main");
    await page.keyboard.press("Tab");
    await page.locator("#main").focus();
    await page.keyboard.press("j");
    assert.equal(await focused(), "main");
    // An outline that can be seen.
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await page.keyboard.press("Tab");
    while (!/More actions/.test(await focused())) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForSelector("[role=menu]");
    await page.keyboard.press("ArrowDown");
    assert.match(await focused(), /Bring up to date/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("[role=menu]", { state: "detached" });
    assert.match(await focused(), /More actions/);
    await page.keyboard.press("?");
    await reads(page, "dialog", /Go to History/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.waitForSelector("select[name=kind]");
    await page.keyboard.press("g");
    await page.keyboard.press("y");
    await page.waitForSelector("tr[data-branch=main]");
  });
});
