// A run and its log: live, long, hostile, cut off and resumed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { call, ended, go, prepare, reads, served, start, task, until, visit, watchStreams } from "./harness.mjs";

before(() => Promise.all(["main", "slow"].map((branch) => prepare(branch))));

/** Of a run of `ticks`. */
async function letEnd(run) {
  const { state } = await ended(await task("let_end", [run.run_id], "slow"));
  assert.equal(state, "succeeded");
}

const at = (run, query = "") => `#/run/${run.run_id}${query}`;
const rows = (page) => page.locator(".log-rows .row").count();
const texts = (page) => page.locator(".log-rows .text").allTextContents();

/** Waits until the line is on the screen, and says what it reads. */
async function lineText(page, line) {
  const place = page.locator(`.row[data-line="${line}"] .text`);
  await place.filter({ hasText: /./ }).waitFor();
  return place.textContent();
}

test("a build is watched from its start to its end", async () => {
  const run = await task("ticks", ["15"]);
  await visit(async (page) => {
    assert.match(await lineText(page, 1), /t[io]ck 1$/);
    await page.waitForSelector(".run-head [data-state=running]");
    assert.equal(await page.getAttribute(".log-bar button", "aria-pressed"), "true");
    await letEnd(run);
    await page.waitForSelector(".run-head [data-state=succeeded]");
    assert.equal(await lineText(page, 31), "all 15 ticks told");
    await reads(page, ".log-bar .count:last-of-type", /31 lines/);
    await reads(page, ".timeline", /run/);
    assert.equal(await page.locator(".row.stderr").count(), 15);
    await page.selectOption(".log-bar select", "stderr");
    await until(async () => (await texts(page)).every((text) => text.startsWith("tock")), "stderr alone");
    await page.selectOption(".log-bar select", "stdout");
    await until(async () => (await texts(page)).every((text) => !text.startsWith("tock")), "stdout alone");
  }, { hash: at(run) });
});

test("where the time of a first build went is told, each phase once", async () => {
  await ended(await start("main", "make", {}));
  const run = await ended(await start("feature/login", "make", {}));
  await visit(async (page) => {
    await reads(page, ".timeline", /checkout/);
    const phases = (await page.locator(".timeline li").allTextContents()).map((text) => text.replace(/\s*\d.*/, ""));
    assert.ok(phases.includes("warm copy"), phases.join());
    assert.equal(new Set(phases).size, phases.length, phases.join());
  }, { hash: at(run) });
});

test("a run is cancelled, and run again", async () => {
  const run = await task("forever");
  await visit(async (page) => {
    assert.equal(await lineText(page, 1), "begun");
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.waitForSelector(".run-head [data-state=cancelled]");
    await reads(page, ".run-notes", /cancelled/);
    await page.getByRole("button", { name: "Run again" }).click();
    await page.waitForFunction((old) => /#\/run\//.test(location.hash) && !location.hash.includes(old), run.run_id);
    assert.equal(await lineText(page, 1), "begun");
    await page.locator("body").press("C");
    await page.waitForSelector(".run-head [data-state=cancelled]");
  }, { hash: at(run) });
});

test("hostile output is shown, and does nothing", async () => {
  const run = await ended(await task("hostile"));
  await visit(async (page) => {
    assert.equal(await lineText(page, 1), `<script>document.title = "owned"</script><img src=x onerror="document.title=1">`);
    assert.match(await lineText(page, 2), /<svg onload=alert\(1\)> &lt;b&gt;/);
    assert.equal(await page.locator(".log img, .log script, .log .text svg").count(), 0);
    assert.equal(await lineText(page, 3), "red orange night plain end");
    assert.equal(await page.locator(`.row[data-line="3"] .f1`).textContent(), "red ");
    assert.equal(await lineText(page, 4), "after");
    assert.equal(await lineText(page, 5), "turned U+202Earound, bell ^G, broken \ufffd\ufffd bytes");
    assert.equal((await lineText(page, 6)).length, 2000);
    assert.equal(await lineText(page, 8), "no newline at the end");
    assert.match(await page.title(), /Branchyard$/);
    await page.getByRole("button", { name: /298,000 more/ }).click();
    await reads(page, "dialog", /65,536 of 300,000/);
    await page.getByRole("button", { name: "Show more" }).click();
    await reads(page, "dialog", /131,072 of 300,000/);
    await page.keyboard.press("Escape");
    // Not even to the page around the log.
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
  }, { hash: at(run) });
});

test("a progress line shows where it ended", async () => {
  const run = await ended(await task("progress"));
  await visit(async (page) => {
    assert.match(await lineText(page, 1), /downloading 100 %$/);
  }, { hash: at(run) });
});

test("following a noisy log leaves no frame blank", async () => {
  const run = await task("noise");
  await visit(async (page) => {
    await page.waitForSelector(".log-rows .row");
    const isRunning = () => page.waitForSelector(".run-head [data-state=running]");
    await isRunning();
    const [frames, blank] = await page.evaluate(() => new Promise((resolve) => {
      let [frames, blank] = [0, 0];
      const { port1, port2 } = new MessageChannel();
      // After the frame was drawn, and before the next.
      port2.onmessage = () => {
        const view = document.querySelector(".log-rows").parentElement.getBoundingClientRect();
        const isSeen = (row) => { const { top, bottom } = row.getBoundingClientRect(); return bottom > view.top && top < view.bottom; };
        frames += 1;
        if (![...document.querySelectorAll(".log-rows .row")].some(isSeen)) blank += 1;
        if (frames === 120) resolve([frames, blank]);
        else requestAnimationFrame(() => port1.postMessage(0));
      };
      requestAnimationFrame(() => port1.postMessage(0));
    }));
    assert.equal(blank, 0, `${blank} of ${frames} frames`);
    await isRunning();
  }, { hash: at(run) }).finally(() => call("POST", `api/runs/${run.run_id}/cancel`));
  await ended(run);
});

test("half a million lines scroll, with few elements", async () => {
  const run = await ended(await task("count", ["500000"]));
  await visit(async (page) => {
    assert.equal(await lineText(page, 250000), "line 250000 of the log");
    await reads(page, ".log-bar .count:last-of-type", /500,000 lines/);
    assert.equal(await page.locator(".row.chosen").count(), 1);
    const most = { rows: 0 };
    const seen = new Set();
    await page.hover(".log-window");
    for (let i = 0; i < 40; i += 1) {
      await page.mouse.wheel(0, 1500);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      most.rows = Math.max(most.rows, await rows(page));
      seen.add(await page.locator(".row").first().getAttribute("data-line"));
    }
    assert.ok(most.rows < 200, `${most.rows} rows`);
    assert.ok(seen.size > 20, "it moved");
    await page.focus(".log-window");
    await page.keyboard.press("End");
    assert.equal(await lineText(page, 500000), "line 500000 of the log");
    await page.keyboard.press("Home");
    assert.equal(await lineText(page, 1), "line 1 of the log");
    // Dragging the bar, as far as a script can.
    for (const share of [0.1, 0.9, 0.3, 0.7, 0.5]) {
      await page.evaluate((part) => { const box = document.querySelector(".log-window"); box.scrollTop = box.scrollHeight * part; }, share);
      await lineText(page, Math.round(500000 * share) + 5);
    }
    assert.ok(await rows(page) < 200);
    const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
    assert.ok(heap < 60_000_000, `${heap} bytes`);
  }, { hash: at(run, "?line=250000") });
});

test("more lines than a browser can be tall", async () => {
  const run = await ended(await task("count", ["1000000"]));
  await visit(async (page) => {
    assert.equal(await lineText(page, 999000), "line 999000 of the log");
    const first = Number(await page.locator(".row").first().getAttribute("data-line"));
    await page.hover(".log-window");
    await page.mouse.wheel(0, 200);
    await page.waitForFunction((old) => Number(document.querySelector(".row").dataset.line) === old + 10, first);
    await page.focus(".log-window");
    await page.keyboard.press("End");
    assert.equal(await lineText(page, 1000000), "line 1000000 of the log");
  }, { hash: at(run, "?line=999000") });
});

test("search, permalinks and diagnostics go to their lines", async () => {
  await prepare("broken");
  const failed = await ended(await start("broken", "make", { args: "test" }));
  const long = await ended(await task("count", ["3000"]));
  await visit(async (page) => {
    await page.waitForSelector(".run-side");
    await page.locator(".found button").first().click();
    const line = await page.locator(".row.chosen").getAttribute("data-line");
    assert.match(await lineText(page, line), /error/);
    await go(page, at(long), ".log");
    await reads(page, "h1", /count/);
    await page.locator("body").press("/");
    await page.keyboard.type("line 2[56]00 ");
    await page.click("[aria-label='Regular expression']");
    await reads(page, ".log-bar [role=status]", /1 of 2/);
    await lineText(page, 2500);
    await page.locator(".log-window").press("n");
    await lineText(page, 2600);
    await page.locator(`.row[data-line="2600"] .no`).click();
    await page.locator(`.row[data-line="2603"] .no`).click({ modifiers: ["Shift"] });
    assert.match(page.url(), /line=2600-2603$/);
    await page.reload();
    await lineText(page, 2603);
    assert.equal(await page.locator(".row.chosen").count(), 4);
    await page.locator("body").press("l");
    await page.keyboard.type("12");
    await page.keyboard.press("Enter");
    assert.equal(await lineText(page, 12), "line 12 of the log");
  }, { hash: at(failed) });
});

test("a reload resumes in place", async () => {
  const run = await ended(await task("count", ["3000"]));
  await visit(async (page) => {
    await lineText(page, 1);
    await page.evaluate(() => { document.querySelector(".log-window").scrollTop = 20 * 1500; });
    await lineText(page, 1510);
    await page.reload();
    assert.equal(await lineText(page, 1510), "line 1510 of the log");
  }, { hash: at(run) });
});

test("a tab holds one stream of events and at most one of a log, and none while it is hidden", async () => {
  const run = await task("ticks", ["60"]);
  await visit(async (page) => {
    const streams = watchStreams(page);
    const hide = (isHidden) => page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
    await page.reload();
    await page.waitForSelector(".row .text");
    assert.deepEqual(streams(), ["events", `runs/${run.run_id}`]);
    await hide(true);
    await until(() => streams().length === 0, "both are closed");
    await hide(false);
    await until(() => streams().length === 2, "both are open again");
    await page.waitForSelector(".run-head [data-state=running]");
    await go(page, "#/", "tr[data-branch=main]");
    await until(() => streams().join() === "events", "the log's is closed");
    await go(page, at(run), ".log");
    await until(() => streams().length === 2, "and open again");
    await letEnd(run);
    await page.waitForSelector(".run-head [data-state=succeeded]");
    // Nothing was lost and nothing came twice.
    await reads(page, ".log-bar .count:last-of-type", /121 lines/);
    await until(() => streams().join() === "events", "an ended run needs none");
  }, { hash: at(run) });
});

test("a dropped network is survived in place", async () => {
  const run = await task("ticks", ["40"]);
  await visit(async (page, context) => {
    await lineText(page, 5);
    await context.setOffline(true);
    await page.waitForSelector(".connection[data-tone=warn]");
    await context.setOffline(false);
    await page.waitForSelector(".connection[data-tone=live]");
    await letEnd(run);
    await page.waitForSelector(".run-head [data-state=succeeded]");
    await reads(page, ".log-bar .count:last-of-type", /81 lines/);
  }, { hash: at(run), allow: [/ERR_/] });
});

test("a restart of the daemon is survived in place", { skip: !process.env.BRANCHYARD_RESTART }, async () => {
  const run = await task("ticks", ["70"]);
  await visit(async (page) => {
    await lineText(page, 5);
    // A daemon takes every BRANCHYARD_* variable for a setting of its own.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BRANCHYARD_")));
    await promisify(execFile)("sh", ["-c", process.env.BRANCHYARD_RESTART], { env });
    await served();
    await page.waitForSelector(".connection[data-tone=live]");
    await letEnd(run);
    await page.waitForSelector(".run-head [data-state=succeeded]");
    assert.equal(await lineText(page, 141), "all 70 ticks told");
    await reads(page, ".log-bar .count:last-of-type", /141 lines/);
    const told = (await texts(page)).filter((text) => text.startsWith("tick")).map((text) => Number(text.slice(5)));
    assert.deepEqual(told, told.map((_, i) => told[0] + i));
  }, { hash: at(run), allow: [/ERR_/, /status of 50[234]/] });
});
