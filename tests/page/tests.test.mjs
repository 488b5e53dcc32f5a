// The tests of a run: counted, listed page by page, and shown as text whatever they are called.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { ended, prepare, reads, start, task, until, visit } from "./harness.mjs";

const HOSTILE = '<img src=x onerror="document.title=1">';
/** Runs of `suite`: that of main is the base, and that of the other branch fails once more. */
let base, more;

function tested(name, args = [], branch = "main") {
  return start(branch, "task", { task: name, args, sync: "none", tests: true });
}

before(async () => {
  for (const branch of ["main", "feature/login"]) await prepare(branch);
  base = await ended(await tested("suite"));
  more = await ended(await tested("suite", ["all"], "feature/login"));
});

const at = (run) => `#/run/${run.run_id}`;
const rows = (page) => page.locator(".tests tbody tr");
const names = (page) => page.locator(".tests td.name .mono").allTextContents();
const chips = (page) => page.locator(".tests > summary .chip").allTextContents();
/** What the page asked for the tests of a run. */
function watchAsked(page) {
  const asked = [];
  page.on("request", (request) => /\/tests(\?|$)/.test(request.url()) && asked.push(new URL(request.url()).search));
  return asked;
}

test("what failed comes first, with why and where, and the rest page by page", async () => {
  await visit(async (page) => {
    const asked = watchAsked(page);
    await page.waitForSelector(".tests tbody tr");
    assert.deepEqual(await chips(page), ["3 failed", "1 new", "2 known", "1 flaky", "116 passed", "1 skipped"]);
    assert.equal(await rows(page).count(), 100);
    assert.deepEqual((await names(page)).slice(0, 5), ["fails here", HOSTILE, "fails each time", "comes and goes", "test 1"]);
    assert.match(await rows(page).nth(0).textContent(), /failed.*new.*odd.*only here/);
    assert.match(await rows(page).nth(2).textContent(), /failed.*known.*2 is not 3/);
    assert.match(await rows(page).nth(3).textContent(), /passed.*flaky/);
    assert.match(await rows(page).nth(4).textContent(), /1\sms$/);
    // The rows that are there stay, with what was unfolded in them.
    const folded = rows(page).nth(1).locator("details");
    await folded.locator("summary").click();
    const button = page.getByRole("button", { name: "Show more" });
    await button.focus();
    await page.keyboard.press("Enter");
    await until(async () => (await rows(page).count()) === 120, "the second page");
    assert.equal(await folded.getAttribute("open"), "");
    assert.equal(await button.count(), 0, "there are no more");
    assert.match(await rows(page).nth(119).textContent(), /skipped.*not here.*no network/);
    assert.deepEqual(asked.filter((query) => !query.includes("from=0&")), ["?from=100&limit=100"]);
  }, { hash: at(more) });
});

test("names, suites, messages and places are text", async () => {
  await visit(async (page) => {
    const hostile = rows(page).filter({ hasText: "onerror" });
    await hostile.waitFor();
    assert.equal(await hostile.locator("td.name .mono").textContent(), HOSTILE);
    assert.equal(await hostile.locator("td.name .muted").textContent(), "<b>odd</b>");
    assert.match(await hostile.textContent(), /src\/<i>\.c:7/);
    assert.match(await hostile.textContent(), /1\.5\ss$/);
    const message = hostile.locator("pre");
    assert.equal(await message.isVisible(), false);
    await hostile.locator("summary").focus();
    await page.keyboard.press("Enter");
    await message.waitFor();
    assert.match(await message.textContent(), /^expected <script>document\.title=2<\/script>[^]*detail 60/);
    assert.equal(await page.locator(".tests :is(img, script, b, i)").count(), 0);
    assert.match(await page.title(), /Branchyard/);
  }, { hash: at(base) });
});

test("the history says how many tests failed", async () => {
  await visit(async (page) => {
    const list = (run) => page.locator("tr", { has: page.locator(`a[href="${at(run)}"]`) });
    await list(more).waitFor();
    assert.match(await list(more).textContent(), /3 failed of 120 tests/);
    assert.match(await list(base).textContent(), /2 failed of 120 tests/);
  }, { hash: "#/history" });
});

test("the tests of a run under way are there when it ends", async () => {
  const run = await tested("tap");
  await visit(async (page) => {
    const asked = watchAsked(page);
    await reads(page, ".log-rows", /takes away/);
    assert.equal(await page.locator(".tests").isVisible(), false);
    await ended(await task("let_end", [run.run_id], "feature/login"));
    await page.waitForSelector(".run-head [data-state=succeeded]");
    await page.locator(".tests").waitFor();
    assert.deepEqual(await chips(page), ["2 passed"]);
    // Where none failed, the list is asked for when it is opened.
    assert.deepEqual(asked, []);
    await page.locator(".tests > summary").focus();
    await page.keyboard.press("Enter");
    await rows(page).first().waitFor();
    assert.deepEqual(await names(page), ["adds", "takes away"]);
    assert.equal(asked.length, 1);
  }, { hash: at(run) });
});

test("a run without tests shows none, and one that reports none says so", async () => {
  const plain = await ended(await task("count", ["3"]));
  await visit(async (page) => {
    const asked = watchAsked(page);
    await page.reload();
    await reads(page, ".log-rows", /line 3/);
    assert.equal(await page.locator(".tests").isVisible(), false);
    assert.deepEqual(asked, []);
  }, { hash: at(plain) });
  const none = await ended(await tested("count", ["3"]));
  await visit(async (page) => {
    await page.locator(".tests").waitFor();
    assert.deepEqual(await chips(page), ["none found"]);
    await page.locator(".tests > summary").click();
    await page.locator(".tests .empty").waitFor();
    assert.equal(await page.locator(".tests table").isVisible(), false);
  }, { hash: at(none) });
});

test("tests that are counted and not named are said to be left out", async () => {
  const run = await ended(await tested("pytest"));
  await visit(async (page) => {
    await reads(page, ".tests .empty", /not listed: 3 tests/);
    assert.deepEqual(await chips(page), ["1 failed", "3 passed"]);
    assert.match(await rows(page).first().textContent(), /test_fails.*assert 2 == 3/);
    assert.equal(await rows(page).count(), 1);
  }, { hash: at(run) });
});

test("tests that cannot be had are said to be so, and asked for again", async () => {
  await visit(async (page) => {
    // What the first look asks for is answered by then, and takes none of the two failures.
    await rows(page).first().waitFor();
    await page.route(/\/tests\?/, (route) => route.fulfill({
      status: 500, contentType: "application/problem+json",
      body: JSON.stringify({ code: "tests_unreadable", detail: "the tests of the run cannot be read" }),
    }), { times: 2 });
    await page.reload();
    await reads(page, ".tests .problem", /cannot be read/);
    // Once more in vain, and then not.
    await page.getByRole("button", { name: "Try again" }).click();
    await reads(page, ".tests .problem", /cannot be read/);
    await page.getByRole("button", { name: "Try again" }).click();
    await rows(page).first().waitFor();
    assert.equal(await page.locator(".tests .problem").count(), 0);
    assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 1);
  }, { hash: at(base), allow: [/status of 500.*\/tests/] });
});

test("over time, tests that fail come first, and lead to where they failed", async () => {
  await visit(async (page) => {
    const first = page.locator("tbody tr").first();
    await first.waitFor();
    assert.match(await first.textContent(), /failed.*new/);
    assert.equal(await page.title(), "Tests · Branchyard", "names are text");
    assert.equal(await page.locator("tbody tr").count(), 50);
    await page.getByRole("button", { name: "Show more" }).click();
    await until(async () => (await page.locator("tbody tr").count()) > 50, "the second page");
    await page.selectOption("select[name=flaky]", "true");
    await until(async () => (await page.locator("tbody tr").count()) < 50, "only those that are flaky");
    await reads(page, "tbody", /comes and goes/);
    await page.selectOption("select[name=flaky]", "");
    await page.fill("input[name=q]", "FAILS HERE");
    await until(async () => /q=FAILS/.test(page.url()), "a permalink");
    const rows = () => page.locator("tbody tr").allTextContents();
    await until(async () => (await rows()).every((row) => /fails here/i.test(row)), "the one of that name");
    await page.fill("input[name=q]", "no test is called so");
    await reads(page, "main", /No tests/);
    await page.fill("input[name=q]", "fails here");
    await page.click("tbody td a");
    await page.waitForSelector(".tests tbody tr");
    assert.ok(page.url().includes(more.run_id));
  }, { hash: "#/tests/demo" });
});
