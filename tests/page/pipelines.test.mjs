// Pipelines: the list, the graph, logs of steps, cancel and retry, artifacts. What a branch supplies is hostile.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { call, commitWorkflows, pipelineEnded, prepare, reads, startPipeline, until, url, visit } from "./harness.mjs";

const BRANCH = "page/ci";
const NAME = 'CI <img src=x onerror="document.title=1">';
const run = promisify(execFile);
let place;
let gates = 0;
let whole = null;

before(async () => {
  place = await mkdtemp(join(process.env.HOME, "gates-"));
  await prepare("main");
  await commitWorkflows(BRANCH);
});

/** A file that is not there yet, for what waits for it. */
function newGate() {
  gates += 1;
  return join(place, String(gates));
}

const openGate = (gate) => writeFile(gate, "");
const at = ({ pipeline_id: id }, query = "") => `#/pipeline/${id}${query}`;
const row = ({ pipeline_id: id }) => `tr[data-pipeline="${id}"]`;
const job = (name) => `.graph-job[data-job="${name}"]`;
const stateOf = (page, name) => page.getAttribute(`${job(name)} .state`, "data-state");
const isIn = (page, name, state) => page.waitForSelector(`${job(name)} [data-state=${state}]`);

/** A pipeline of ci.yml that has ended: one for all who only look. */
function wholePipeline() {
  whole ??= succeeded(newGate());
  return whole;
}

async function succeeded(gate) {
  await openGate(gate);
  const ended = await pipelineEnded(await startPipeline(BRANCH, "ci.yml", { gate }));
  assert.equal(ended.state, "succeeded", JSON.stringify(ended));
  return ended;
}

/** What a browser saves when this is clicked. */
async function saved(page, locator) {
  const [download] = await Promise.all([page.waitForEvent("download"), locator.click()]);
  return { name: download.suggestedFilename(), path: await download.path() };
}

test("a first pipeline is taught, started from the page, and listed live", async () => {
  const gate = newGate();
  await visit(async (page) => {
    await reads(page, ".lesson", /\.branchyard\/workflows\/ci\.yml/);
    await page.getByRole("button", { name: "Start a pipeline" }).click();
    await page.fill("dialog [name=branch]", BRANCH);
    await page.click("dialog [type=submit]");
    await reads(page, "dialog .problem", /3 workflow files/);
    await page.fill("dialog [name=file]", "ci.yml");
    await page.fill("dialog [name=inputs]", "no value");
    await page.click("dialog [type=submit]");
    await reads(page, "dialog .problem", /name=value/);
    await page.fill("dialog [name=inputs]", `gate=${gate}`);
    await page.click("dialog [type=submit]");
    await isIn(page, "build", "running");
    const first = { pipeline_id: page.url().match(/pipeline\/([0-9a-f-]+)/)[1] };
    await page.goBack();
    await page.waitForSelector(`${row(first)} [data-state=running]`);
    assert.match(await page.textContent(row(first)), new RegExp(`${BRANCH}.*of 5 jobs.*workflow_dispatch`));
    // What comes meanwhile is announced; what is shown keeps the focus while it changes.
    const second = await startPipeline(BRANCH, "again.yml", { gate: newGate() });
    await page.locator(`${row(first)} a.name`).focus();
    await openGate(gate);
    await page.waitForSelector(`${row(first)} [data-state=succeeded]`);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), NAME);
    assert.equal(await page.locator(row(second)).count(), 0);
    await page.getByRole("button", { name: "Show 1 new pipeline" }).click();
    await page.waitForSelector(`${row(second)} [data-state=failed]`);
    await page.selectOption("select[name=state]", "succeeded");
    await page.waitForSelector(row(second), { state: "detached" });
    assert.match(page.url(), /state=succeeded/);
    await page.fill("input[name=file]", "again.yml");
    await reads(page, "main", /No pipeline matches/);
  }, { hash: "#/pipelines", allow: [/status of (404|422)/] });
});

test("the list has pages", async () => {
  const many = Array.from({ length: 51 }, () => startPipeline(BRANCH, "none.yml"));
  await Promise.all((await Promise.all(many)).map(pipelineEnded));
  await visit(async (page) => {
    await page.waitForSelector("tr[data-pipeline]");
    assert.equal(await page.locator("tbody tr").count(), 50);
    await page.getByRole("button", { name: "Show more" }).click();
    await until(async () => (await page.locator("tbody tr").count()) > 50, "the second page");
  }, { hash: "#/pipelines?file=none.yml" });
});

test("the graph shows what needs what, and a log as it comes", async () => {
  const gate = newGate();
  await succeeded(gate);
  await rm(gate);
  const pipeline = await startPipeline(BRANCH, "ci.yml", { gate });
  await visit(async (page) => {
    // Answered by the one before, which had the same files and inputs.
    await isIn(page, "lint", "reused");
    await isIn(page, "build", "running");
    assert.deepEqual(await Promise.all(["test-1", "test-2", "ship"].map((name) => stateOf(page, name))), ["blocked", "blocked", "blocked"]);
    // `ship` needs `build` by way of `test` too: three lines, not four.
    assert.equal(await page.locator(".graph > svg path").count(), 3);
    const boxes = await Promise.all(["build", "test-1", "ship"].map((name) => page.locator(job(name)).boundingBox()));
    assert.ok(boxes[0].x + boxes[0].width < boxes[1].x && boxes[1].x + boxes[1].width < boxes[2].x, JSON.stringify(boxes));
    assert.deepEqual(await page.locator(".graph-needs").allTextContents(), ["needs build", "needs build, lint, test"]);
    await page.click(job("lint"));
    await reads(page, ".job-head", /An earlier job saw the same.*built at [0-9a-f]{8}/);
    await page.goBack();
    await page.click(job("build"));
    await page.locator(".log .text", { hasText: "step begun" }).waitFor();
    assert.equal(await page.locator(".log .text", { hasText: "the gate is open" }).count(), 0);
    await page.click("[data-step='1'] a");
    await openGate(gate);
    await page.locator(".log .text", { hasText: "the gate is open" }).waitFor();
    await isIn(page, "ship", "succeeded");
    await page.waitForSelector(".pipeline > div > .run-head > [data-state=succeeded]");
    assert.match(await page.title(), /^succeeded · CI /);
    assert.match(page.url(), /job=build&step=1/);
    await reads(page, "[data-step='1'] .step-facts", /succeeded\d.*(ms|s|min)/);
    await page.reload();
    await page.locator(".log .text", { hasText: "the gate is open" }).waitFor();
    await page.click("[data-step='2'] a");
    await page.waitForSelector(".log .row.error");
    await page.getByRole("link", { name: "The run of this step" }).click();
    await reads(page, "h1", /^step 2 of build$/);
    assert.equal(await page.getByRole("button", { name: "Run again" }).count(), 0);
    await page.getByRole("link", { name: "its pipeline" }).click();
    await page.waitForSelector("[data-step='2'] [aria-current]");
  }, { hash: at(pipeline) });
});

test("a pipeline is cancelled, and its failed jobs run again", async () => {
  const gate = newGate();
  const pipeline = await startPipeline(BRANCH, "again.yml", { gate, endless: true });
  await visit(async (page) => {
    await isIn(page, "unsure", "failed");
    await isIn(page, "after", "skipped");
    await isIn(page, "endless", "running");
    assert.equal(await page.getByRole("button", { name: "Retry failed jobs" }).count(), 0);
    await page.getByRole("button", { name: "Cancel" }).click();
    await isIn(page, "endless", "cancelled");
    await page.click(job("unsure"));
    await reads(page, ".job-head .note", /step 1 \(Look for it\): exited with 1/);
    await reads(page, "[data-step='1']", /failed.*exit code 1/);
    await page.click(job("after"));
    await reads(page, ".job-head .note", /did not succeed/);
    await openGate(gate);
    await page.click(job("unsure"));
    await page.getByRole("button", { name: "Run this job again" }).click();
    await isIn(page, "after", "succeeded");
    await reads(page, ".job-head", /succeeded.*attempt 2/);
    assert.equal(await stateOf(page, "endless"), "cancelled");
    await page.getByRole("button", { name: "Retry failed jobs" }).click();
    await isIn(page, "endless", "running");
    await page.locator("body").press("C");
    await isIn(page, "endless", "cancelled");
    await reads(page, ".run-head", /attempt 3/);
  }, { hash: at(pipeline) });
});

test("the tests of a job are listed, also of one that was answered", async () => {
  const listed = async (page) => {
    await page.waitForSelector(".job-panel .tests tbody tr");
    assert.deepEqual(await page.locator(".job-panel .tests > summary .chip").allTextContents(), ["1 failed", "1 passed"]);
    const rows = page.locator(".job-panel .tests tbody tr");
    assert.equal(await rows.nth(0).locator("td.name .mono").textContent(), '<img src=x onerror="document.title=5">');
    assert.match(await rows.nth(0).textContent(), /failed.*<b>odd<\/b>.*2 is not 3/);
    assert.match(await rows.nth(1).textContent(), /passed.*passes/);
  };
  // What is given to both is the same, so that one answers for the other.
  const gate = newGate();
  const [pipeline, again] = [await succeeded(gate), await succeeded(gate)];
  await visit(async (page) => {
    await listed(page);
    await page.click(job("build"));
    await reads(page, ".job-head h2", /^build$/);
    assert.equal(await page.locator(".job-panel .tests").isVisible(), false);
    await page.goto(url + at(again, "?job=lint"));
    await reads(page, ".job-head", /An earlier job saw the same/);
    await listed(page);
  }, { hash: at(pipeline, "?job=lint") });
});

test("what is not committed is run, if that is chosen", async () => {
  await visit(async (page) => {
    await page.getByRole("button", { name: "Start a pipeline" }).click();
    await page.fill("dialog [name=branch]", BRANCH);
    await page.fill("dialog [name=file]", "none.yml");
    await page.selectOption("dialog [name=source]", "workspace");
    await page.click("dialog [type=submit]");
    await reads(page, ".run-facts", /with uncommitted changes/);
  }, { hash: "#/pipelines" });
});

test("a bisect is started, and shows what it found", async () => {
  await visit(async (page) => {
    await page.getByRole("button", { name: "Find a bad commit" }).click();
    await page.fill("dialog [name=branch]", BRANCH);
    await page.fill("dialog [name=good]", "nothing-of-this-name");
    await page.fill("dialog [name=argv]", "test\n-f\na file");
    await page.click("dialog [type=submit]");
    await reads(page, "dialog .problem", /no sandbox/);
    await page.fill("dialog [name=argv]", "");
    await page.selectOption("dialog [name=task]", "no_src");
    await page.click("dialog [type=submit]");
    await reads(page, "dialog .problem", /nothing-of-this-name/);
    await page.fill("dialog [name=good]", "main~2");
    await page.click("dialog [type=submit]");
    await reads(page, ".bisect h2", /The first bad commit is [0-9a-f]{8} Greet people by name/);
    await reads(page, ".bisect", /no_src tells good from bad; 3 commits.*Its parent [0-9a-f]{8} is good/);
    assert.match(await page.textContent(".bisect tbody"), /good.*Say what this is|Say what this is.*good/);
    await page.click(".bisect h2 a");
    await reads(page, ".job-head h2", /Greet people by name/);
    assert.match(await page.textContent(".bisect tr[aria-current]"), /Greet people by name.*bad/);
    await page.reload();
    await reads(page, ".bisect h2", /The first bad commit/);
  }, { hash: "#/pipelines", allow: [/status of (400|403|404|422)/] });
});

test("artifacts are saved byte for byte, one by one and whole", async () => {
  const pipeline = await wholePipeline();
  const bytes = Buffer.from([0x61, 0, 0x62, 0xff, 0x0d, 0x0a]);
  await visit(async (page) => {
    await reads(page, "[data-artifact=dist]", /of build · 3 files/);
    await page.click("[data-artifact=dist] summary");
    const one = await saved(page, page.getByRole("link", { name: "bytes.bin" }));
    assert.equal(one.name, "bytes.bin");
    assert.deepEqual(await readFile(one.path), bytes);
    const odd = await saved(page, page.getByRole("link", { name: "<img src=x onerror=document.title=3>.txt" }));
    assert.equal(await readFile(odd.path, "utf8"), "text\n");
    const zip = await saved(page, page.getByRole("link", { name: "zip" }));
    const tar = await saved(page, page.getByRole("link", { name: "tar" }));
    assert.deepEqual([zip.name, tar.name], ["dist.zip", "dist.tar"]);
    await run("unzip", ["-t", zip.path]);
    for (const [program, args] of [["unzip", ["-p", zip.path]], ["tar", ["-xOf", tar.path]]]) {
      const { stdout } = await run(program, [...args, "deep/bytes.bin"], { encoding: "buffer" });
      assert.deepEqual(stdout, bytes);
    }
  }, { hash: at(pipeline) });
});

test("an artifact that is opened by its address runs nothing", async () => {
  const pipeline = await wholePipeline();
  const address = `${url}api/pipelines/${pipeline.pipeline_id}/artifacts/dist/files/report.html`;
  await visit(async (page, context) => {
    const asked = [];
    context.on("request", (request) => asked.push(request.url()));
    const tab = await context.newPage();
    const download = tab.waitForEvent("download");
    await tab.goto(address).catch(() => {}); // it is no document
    assert.match(await readFile(await (await download).path(), "utf8"), /^<script>/);
    // And if a browser were made to show it, it would still run nothing.
    await tab.route(address, async (route) => {
      const response = await route.fetch();
      const headers = { ...response.headers(), "content-type": "text/html" };
      delete headers["content-disposition"];
      await route.fulfill({ response, headers });
    });
    await tab.goto(address);
    assert.equal(await tab.evaluate(() => document.scripts.length), 1);
    assert.equal(await tab.evaluate(() => document.documentElement.dataset.ran ?? null), null);
    assert.deepEqual(asked.filter((one) => one.includes("by=branch")), []);
  });
});

test("what a branch writes is shown as text", async () => {
  const pipeline = await wholePipeline();
  await visit(async (page) => {
    assert.equal(await page.textContent("h1"), NAME);
    assert.equal(await page.title(), `succeeded · ${NAME} · ${BRANCH} · Branchyard`);
    assert.deepEqual(await page.locator(`${job("test-1")} .graph-name, ${job("test-2")} .graph-name`).allTextContents(), ["test <b>first</b>", "test <b>second</b>"]);
    await page.click(job("build"));
    await reads(page, "[data-step='1']", /1\. Wait <img src=x onerror="document\.title=2">/);
    await page.click(".summary summary");
    await reads(page, ".summary pre", /## <img src=x onerror="document\.title=4">/);
    await page.click("[data-artifact=dist] summary");
    await page.getByText("<img src=x onerror=document.title=3>.txt").waitFor();
    assert.equal(await page.locator("main img, main script, main b:not(.artifact b)").count(), 0);
    assert.match(await page.title(), /^succeeded/);
  }, { hash: at(pipeline) });
});

test("on a narrow screen and by keyboard", async () => {
  const pipeline = await wholePipeline();
  await visit(async (page) => {
    await page.waitForSelector(job("ship"));
    assert.equal(await page.locator(".graph > svg").isVisible(), false);
    await page.locator(".graph-needs", { hasText: "needs build, lint, test" }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
    const focused = () => page.evaluate(() => document.activeElement.dataset.job);
    await page.locator("#main").focus();
    while (await focused() !== "ship") await page.keyboard.press("Tab");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await page.keyboard.press("Enter");
    await reads(page, ".job-head h2", /^ship$/);
    assert.equal(await focused(), "ship");
    assert.equal(await page.getAttribute(job("ship"), "aria-current"), "true");
    assert.ok((await page.locator(".job-head h2").boundingBox()).y < 800, "the job is on the screen");
  }, { hash: at(pipeline), width: 360 });
});
