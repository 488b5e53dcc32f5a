// A run and its log: live, long, hostile, cut off and resumed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { call, ended, go, key, prepare, reads, served, start, task, until, url, visit, watchStreams } from "./harness.mjs";

before(() => Promise.all(["main", "slow"].map((branch) => prepare(branch))));

/** Of a run of `ticks`. */
async function letEnd(run) {
  const { state } = await ended(await task("let_end", [run.run_id], "slow"));
  assert.equal(state, "succeeded");
}

const at = (run, query = "") => `#/run/${run.run_id}${query}`;
/** A line, past the page. */
async function read(run, line) {
  return (await fetch(`${url}api/runs/${run.run_id}/log?lines=${line}`, { headers: { authorization: `Bearer ${key}` } })).text();
}
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

test("a run that ran into its limit says so, and one that failed without a word opens at its end", async () => {
  const late = await ended(await start("main", "task", { task: "forever", sync: "none", timeout: "1s" }));
  const long = await ended(await start("main", "task", { task: "count_and_fail", args: ["3000"], sync: "none" }));
  await visit(async (page) => {
    await reads(page, ".run-notes", /^Timed out after 1\u00a0s$/);
    await go(page, at(long), ".log");
    await lineText(page, 3000);
    await reads(page, ".run-head", /took/);
  }, { hash: at(late) });
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
    // A return counts where what comes behind it comes later, however long the line was before.
    const shown = await page.evaluate(async () => {
      const { Lines } = await import("/js/log/lines.js");
      const lines = new Lines("none", new AbortController().signal);
      const text = (line, isOpen) => ({ type: "stdout", isOpen, data: { line } });
      for (const piece of [`${"x".repeat(5000)}\r`, "new", "er"]) lines.add(text(piece, true));
      lines.add(text("", false));
      return [lines.total, lines.get(1)];
    });
    assert.deepEqual(shown, [1, { text: "newer", length: 5 }]);
  }, { hash: at(run) });
});

/**
 * Looks at so many frames, each after it was drawn and before the next: how many had a place without a line's text, and how
 * many showed another end of the log than the one before.
 */
function watchFrames(page, count) {
  return page.evaluate((wanted) => new Promise((resolve) => {
    let [frames, blank, moved, end] = [0, 0, 0, null];
    const view = document.querySelector(".log-window");
    const { port1, port2 } = new MessageChannel();
    port2.onmessage = () => {
      const { top, bottom } = view.getBoundingClientRect();
      const seen = [...view.querySelectorAll(".row")].map((row) => [row.getBoundingClientRect(), row]).filter(([box]) => box.bottom > top && box.top < bottom);
      const isFull = seen.length > 0 && seen[0][0].top <= top && seen.at(-1)[0].bottom >= bottom - 20 && seen.every(([box], at) => at === 0 || box.top === seen[at - 1][0].bottom);
      frames += 1;
      if (!isFull || seen.some(([, row]) => row.querySelector(".text").textContent === "")) blank += 1;
      if (end !== (end = seen.at(-1)?.[1].dataset.line)) moved += 1;
      if (frames === wanted) resolve({ frames, blank, moved });
      else requestAnimationFrame(() => port1.postMessage(0));
    };
    requestAnimationFrame(() => port1.postMessage(0));
  }), count);
}

/** The bytes that scripts hold, without what is only not yet collected. */
async function heapOf(page) {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  return (await session.send("Runtime.getHeapUsage")).usedSize;
}

// `FRAMES=3600` looks at a minute of each.
const FRAMES = Number(process.env.FRAMES ?? 150);
for (const [rate, each] of [["2,000", "40"], ["50,000", "1100"]]) {
  test(`following ${rate} lines a second leaves no frame blank, and holds little`, { timeout: 300_000 }, async (t) => {
    const run = await task("noise", [each]);
    await visit(async (page) => {
      await page.waitForFunction(() => document.querySelectorAll(".row").length > 40);
      for (const wraps of [false, true]) {
        if (wraps) await page.locator(".log-window").press("w");
        const { frames, blank, moved } = await watchFrames(page, FRAMES);
        assert.equal(blank, 0, `${blank} of ${frames} frames`);
        assert.ok(moved > frames / 8, `the end moved in ${moved} of ${frames} frames`);
      }
      const heap = await heapOf(page);
      t.diagnostic(`${await page.textContent(".log-bar .count:last-of-type")}, ${heap} bytes`);
      assert.ok(heap < 10_000_000, `${heap} bytes`);
      await page.waitForSelector(".run-head [data-state=running]");
    }, { hash: at(run) }).finally(() => call("POST", `api/runs/${run.run_id}/cancel`));
    await ended(run);
  });
}

test("a long log that still grows is joined at its end", async () => {
  const run = await task("count_on", ["120000"]);
  await until(async () => (await read(run, 120000)) !== "", "all is printed");
  await visit(async (page, context) => {
    const streams = watchStreams(page);
    await page.reload();
    assert.equal(await lineText(page, 120000), "line 120000 of the log");
    assert.deepEqual(streams(), ["events"], "what came before is not read");
    await page.focus(".log-window");
    await page.keyboard.press("Home");
    assert.equal(await lineText(page, 1), "line 1 of the log");
    await page.keyboard.press("End");
    await lineText(page, 120000);
    // The network may go meanwhile.
    await context.setOffline(true);
    await page.waitForSelector(".connection[data-tone=warn]");
    await letEnd(run);
    await context.setOffline(false);
    assert.equal(await lineText(page, 120001), "all 120000 lines told");
    await page.waitForSelector(".run-head [data-state=succeeded]");
    await reads(page, ".log-bar .count:last-of-type", /^120,001 lines$/);
  }, { hash: at(run), allow: [/ERR_/] });
});

test("who wrote what in a long log is found out when it is asked", async () => {
  const run = await task("count_on", ["120000"]);
  await until(async () => (await read(run, 120000)) !== "", "all is printed");
  await visit(async (page) => {
    await lineText(page, 120000);
    await page.selectOption(".log-bar select", "stderr");
    await reads(page, ".log-nothing", /^Nothing is yet written to stderr\.$/);
    await page.selectOption(".log-bar select", "stdout");
    await reads(page, ".log-bar .count:last-of-type", /^120,000 of 120,000 lines$/);
    await letEnd(run);
    await reads(page, ".log-bar .count:last-of-type", /^120,001 of 120,001 lines$/);
    await page.reload();
    assert.match(page.url(), /stream=stdout/);
    await reads(page, ".log-bar .count:last-of-type", /^120,001 of 120,001 lines$/);
    await page.selectOption(".log-bar select", "stderr");
    await reads(page, ".log-nothing", /^Nothing was written to stderr\.$/);
  }, { hash: at(run) });
});

test("what is new while one reads is counted", async () => {
  const run = await task("ticks", ["60"]);
  await visit(async (page) => {
    await lineText(page, 60);
    await page.focus(".log-window");
    await page.keyboard.press("Home");
    await page.waitForSelector(".log-bar button[aria-pressed=false]");
    await page.waitForSelector(".log-fresh:not([hidden])");
    await reads(page, ".log-fresh", /^↓ \d+ new lines?$/);
    await page.click(".log-fresh");
    await page.waitForSelector(".log-bar button[aria-pressed=true]");
    assert.equal(await page.locator(".log-fresh").isVisible(), false);
    await lineText(page, 120);
    // What is being selected does not run away.
    await page.evaluate(() => getSelection().selectAllChildren(document.querySelector(".log-rows .row:last-child .text")));
    await page.waitForSelector(".log-bar button[aria-pressed=false]");
    await letEnd(run);
    await page.waitForSelector(".run-head [data-state=succeeded]");
    assert.equal(await page.locator(".log-fresh").isVisible(), false);
  }, { hash: at(run) });
});

test("long lines wrap, and nothing of them is out of reach", async () => {
  const run = await ended(await task("hostile"));
  await visit(async (page) => {
    const box = () => page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.querySelector(".log-window");
      const row = document.querySelector('.row[data-line="6"]');
      return { isWide: scrollWidth > clientWidth, height: row?.offsetHeight };
    });
    await lineText(page, 6);
    assert.deepEqual(await box(), { isWide: true, height: 20 });
    await page.locator(".log-window").press("w");
    const { isWide, height } = await box();
    assert.equal(isWide, false);
    assert.ok(height >= 200 && height % 20 === 0, `${height}`);
    assert.equal(await page.evaluate(() => [...document.querySelectorAll(".row .text")].every((text) => text.getBoundingClientRect().right <= innerWidth)), true);
    await page.reload();
    await lineText(page, 6);
    assert.equal((await box()).height, height, "it stays as one likes it");
    await page.locator(".log-window").press("w");
    assert.equal((await box()).height, 20);
  }, { hash: at(run), width: 700, height: 500 });
  // Lines of many heights: each step of the wheel is as far as it says, and both ends are reached.
  const tall = await ended(await task("tall", ["3000"]));
  await visit(async (page) => {
    await lineText(page, 1);
    await page.locator(".log-window").press("w");
    await page.waitForFunction(() => document.querySelector('.row[data-line="3"]')?.offsetHeight > 20);
    await page.hover(".log-window");
    const topOf = (line) => page.evaluate((number) => document.querySelector(`.row[data-line="${number}"]`)?.getBoundingClientRect().top, line);
    const middle = () => page.evaluate(() => {
      const view = document.querySelector(".log-window").getBoundingClientRect();
      return document.elementFromPoint(view.left + 10, view.top + view.height / 2).closest(".row").dataset.line;
    });
    for (const by of [300, 300, 300, -200, 300, -300]) {
      const line = await middle();
      const before = await topOf(line);
      await page.mouse.wheel(0, by);
      await page.waitForFunction(([number, wanted]) => Math.abs(document.querySelector(`.row[data-line="${number}"]`).getBoundingClientRect().top - wanted) < 2, [line, before - by]);
    }
    await page.focus(".log-window");
    await page.keyboard.press("End");
    await lineText(page, 3000);
    const isAtBottom = () => page.evaluate(() => {
      const view = document.querySelector(".log-window");
      return Math.abs(view.getBoundingClientRect().top + view.clientHeight - document.querySelector('.row[data-line="3000"]').getBoundingClientRect().bottom) < 2;
    });
    assert.equal(await isAtBottom(), true);
    await page.mouse.wheel(0, -500);
    await page.waitForFunction(() => document.querySelector('.row[data-line="3000"]').getBoundingClientRect().top > innerHeight);
    for (let i = 0; i < 12; i += 1) await page.mouse.wheel(0, 100);
    await until(isAtBottom, "the end is reached by the wheel");
    await page.keyboard.press("Home");
    await lineText(page, 1);
    await page.mouse.wheel(0, 900);
    await page.waitForFunction(() => !document.querySelector('.row[data-line="1"]') || document.querySelector('.row[data-line="1"]').getBoundingClientRect().bottom < 0);
    for (let i = 0; i < 20; i += 1) await page.mouse.wheel(0, -100);
    await page.waitForFunction(() => {
      const row = document.querySelector('.row[data-line="1"]');
      return row && Math.abs(row.getBoundingClientRect().top - document.querySelector(".log-window").getBoundingClientRect().top) < 2;
    });
    await page.evaluate(() => { const box = document.querySelector(".log-window"); box.scrollTop = box.scrollHeight / 2; });
    await page.waitForFunction(() => Math.abs(Number(document.querySelector(".row").dataset.line) - 1500) < 200);
  }, { hash: at(tall), width: 700, height: 500 });
});

test("groups fold, and open for what is in them", async () => {
  const run = await ended(await task("grouped"));
  await visit(async (page) => {
    await lineText(page, 3);
    const shown = async () => (await page.locator(".row").evaluateAll((all) => all.map((row) => Number(row.dataset.line)))).sort((one, other) => one - other);
    assert.equal((await shown()).length, 52);
    await page.getByRole("button", { name: "Fold" }).click();
    await until(async () => (await shown()).length === 4, "all are closed");
    // The last group has no end but that of the log.
    assert.deepEqual(await shown(), [1, 2, 44, 50]);
    assert.match(await page.locator('.row[data-line="2"]').textContent(), /Install41 lines$/);
    // By keyboard, and the focus stays.
    await page.locator('.row[data-line="44"] .fold').press("Enter");
    await until(async () => (await shown()).length === 7, "make's is open");
    assert.deepEqual(await shown(), [1, 2, 44, 45, 48, 49, 50]);
    assert.equal(await page.evaluate(() => document.activeElement.closest(".row").dataset.line), "44");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-expanded")), "true");
    await go(page, at(run, "?line=46"), '.row.chosen[data-line="46"]');
    assert.deepEqual(await shown(), [1, 2, 44, 45, 46, 47, 48, 49, 50]);
    await page.reload();
    await page.waitForSelector('.row.chosen[data-line="46"]');
    await until(async () => !(await shown()).includes(3), "it stays as one likes it");
    await page.getByRole("button", { name: "Fold" }).click();
    await until(async () => (await shown()).length === 52, "all are open");
    // Addresses are links to what they say, and nothing else is one.
    const links = await page.locator(".row .text a").evaluateAll((all) => all.map((a) => [a.href, a.textContent, a.rel, a.target]));
    assert.deepEqual(links, ["https://example.org/a_(b)?c=1&d=2", "http://127.0.0.1:1/x"].map((address) => [address, address, "noopener noreferrer", "_blank"]));
  }, { hash: at(run), height: 1500 });
  const plain = await ended(await task("count", ["10"]));
  await visit(async (page) => {
    await lineText(page, 10);
    await page.getByRole("button", { name: "Fold" }).click();
    await reads(page, "#toasts", /no groups/);
  }, { hash: at(plain) });
});

test("chosen and selected lines are copied", async () => {
  const run = await ended(await task("hostile"));
  await visit(async (page, context) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await lineText(page, 3);
    await page.locator("body").press("y");
    await reads(page, "#toasts", /Choose lines first/);
    await page.locator('.row[data-line="3"] .no').click();
    await page.locator('.row[data-line="4"] .no').click({ modifiers: ["Shift"] });
    await page.getByRole("button", { name: "Copy lines" }).click();
    await reads(page, "#toasts", /2 lines copied/);
    assert.equal(await copied(), "red orange night plain end\nafter\n");
    await page.evaluate(() => getSelection().selectAllChildren(document.querySelector('.row[data-line="2"] .text')));
    await page.locator("body").press("y");
    await until(async () => /svg onload/.test(await copied()), "the selected line");
  }, { hash: at(run) });
});

test("errors are found while a run goes on, and each is a permalink", async () => {
  const run = await task("complains");
  await visit(async (page) => {
    await page.locator(".found li").first().waitFor();
    await page.waitForSelector(".run-head [data-state=running]");
    await page.locator(".log-window").press("e");
    await page.waitForSelector('.row.chosen.error[data-line="1"]');
    assert.match(page.url(), /line=1$/);
    await ended(await task("let_go", [run.run_id], "slow"));
    await page.waitForFunction(() => document.querySelectorAll(".found li").length === 3);
    // Errors first.
    for (const [key, line] of [["e", 203], ["e", 202], ["e", 1], ["E", 202], ["E", 203]]) {
      await page.locator(".log-window").press(key);
      await page.waitForSelector(`.row.chosen.error[data-line="${line}"]`);
      assert.match(page.url(), new RegExp(`line=${line}$`));
      assert.equal(await page.locator(".found [aria-current=true]").count(), 1);
    }
    await ended(await task("let_end", [run.run_id], "slow"));
    await page.waitForSelector(".run-head [data-state=failed]");
    const { about } = await call("GET", `api/runs/${run.run_id}`);
    // Those in the repository lead to it.
    const links = await page.locator(".found .where a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
    assert.deepEqual(links, ["3", "9"].map((line) => `#/workspace/demo/main?${new URLSearchParams({ view: "files", path: "src/main.c", line, at: about.commit })}`));
  }, { hash: at(run) }).finally(() => call("POST", `api/runs/${run.run_id}/cancel`));
  // It opens at its first error, unless the address says otherwise; from the history, too.
  await visit(async (page) => {
    await page.waitForSelector('.row.chosen.error[data-line="1"]');
    assert.match(page.url(), /line=1$/);
    await go(page, at(run, "?line=150"), '.row.chosen[data-line="150"]');
    await go(page, "#/history?branch=main", ".problem-text");
    await reads(page, ".problem-text", /'first' undeclared/);
    await page.locator(".problem-text", { hasText: "'first' undeclared" }).first().click();
    await page.waitForSelector('.row.chosen.error[data-line="1"]');
  }, { hash: at(run) });
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
    // A search through all of it says how far it is.
    await page.evaluate(() => {
      const count = document.querySelector(".log-bar [role=status]");
      window.told = [];
      new MutationObserver(() => window.told.push(count.textContent)).observe(count, { childList: true });
    });
    await page.locator(".log-bar [type=search]").fill("0000 of");
    await reads(page, ".log-bar [role=status]", /^100 of 100$/);
    const told = await page.evaluate(() => window.told);
    assert.equal(told[0], "Searching…");
    assert.ok(told.some((text) => /^\d+ so far, to line [\d,]+ of 1,000,000…$/.test(text)), told.join());
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
    await page.click("[aria-label='Regular expression']");
    await page.locator("body").press("/");
    // As it is typed; what is not whole yet asks nothing.
    await page.keyboard.type("line 2[5");
    await page.keyboard.type("6]00 ");
    await reads(page, ".log-bar [role=status]", /1 of 2/);
    await lineText(page, 2500);
    await page.locator(".log-window").press("n");
    await lineText(page, 2600);
    await page.locator(`.row[data-line="2600"] .no`).click();
    await page.locator(`.row[data-line="2603"] .no`).click({ modifiers: ["Shift"] });
    assert.equal(new URLSearchParams(page.url().split("?")[1]).get("line"), "2600-2603");
    await page.reload();
    await lineText(page, 2603);
    assert.equal(await page.locator(".row.chosen").count(), 4);
    // The address has the search, too.
    await page.waitForSelector('.row.match[data-line="2600"]');
    assert.equal(await page.inputValue(".log-bar [type=search]"), "line 2[56]00 ");
    await page.click("[aria-label='Match case']");
    await reads(page, ".log-bar [role=status]", /of 2/);
    await page.locator(".log-bar [type=search]").fill("LINE 2600");
    await reads(page, ".log-bar [role=status]", /No match/);
    await page.locator(".log-window").press("l");
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
