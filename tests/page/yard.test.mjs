// The yard and what surrounds it: filters, keys, many at once, the queue, the palette, notices and the wall.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { call, ended, go, key, prepare, reads, start, task, until, url, visit } from "./harness.mjs";

const row = (branch) => `tr[data-branch="${branch}"]`;
const shown = (page) => page.locator("tr[data-branch]").evaluateAll((rows) => rows.map(({ dataset }) => dataset.branch));
const chip = (name) => `[data-filter=${name}]`;

let failed;
before(async () => {
  for (const branch of ["main", "feature/login", "broken", "slow"]) await prepare(branch);
  await ended(await start("main", "make", { args: "all" }));
  failed = await ended(await start("broken", "make", { args: "test" }));
  await tidy("yard/new");
  await prepare("yard/new", { from: "main" });
});

async function tidy(...branches) {
  for (const branch of branches) {
    await fetch(`${url}api/repos/demo/branches/${encodeURIComponent(branch)}?force=true`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
  }
}

async function commitEmpty(branch) {
  await ended(await start(branch, "git", { operation: "commit", args: ["--allow-empty", "-m", "Something that nobody else has"] }));
}

/** Answers the list of workspaces with so many that were made up, as if there were. */
async function makeUp(page, count, change = () => ({})) {
  const { items: [like] } = await call("GET", "api/repos/demo/branches?limit=1");
  const all = Array.from({ length: count }, (_, n) => ({ ...like, branch: `many/${String(n).padStart(4, "0")}`, last_run: null, ...change(n) }));
  await page.route(/\/api\/repos\/demo\/branches\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const from = query.get("after") ? all.findIndex(({ branch }) => branch === query.get("after")) + 1 : 0;
    const items = all.slice(from, from + Number(query.get("limit")));
    const next = from + items.length < all.length ? items.at(-1).branch : null;
    return route.fulfill({ json: { items, next } });
  });
}

test("states are counted, and each count is a filter that the address keeps", async () => {
  await visit(async (page) => {
    await page.waitForSelector(row("broken"));
    const count = Number(await page.textContent(`${chip("failed")} b`));
    assert.equal(count, await page.locator("td.ws-run [data-state=failed]").count());
    await page.click(chip("failed"));
    await page.waitForSelector(row("main"), { state: "detached" });
    assert.match(page.url(), /state=failed/);
    assert.equal((await shown(page)).length, count);
    await page.reload();
    await page.waitForSelector(row("broken"));
    assert.equal(await page.getAttribute(chip("failed"), "aria-pressed"), "true");
    assert.equal(await page.locator(row("main")).count(), 0);
    await page.click(chip("never"));
    await page.waitForSelector(row("yard/new"));
    await reads(page, `${row("yard/new")} .ws-run`, /^Never built$/);
    await page.getByRole("button", { name: "Clear filters" }).click();
    await page.waitForSelector(row("main"));
    assert.doesNotMatch(page.url(), /state=/);
    // A link to the same view with other filters is followed.
    await go(page, "#/?state=never&q=main", "main .empty");
    assert.equal(await page.locator("tr[data-branch]").count(), 0);
  });
});

test("work is told in words, and is a filter", async () => {
  await tidy("yard/ahead");
  await prepare("yard/ahead", { from: "main" });
  await commitEmpty("yard/ahead");
  await visit(async (page) => {
    await reads(page, `${row("yard/ahead")} .ws-work`, /unpushed commit/);
    await page.click(chip("ahead"));
    await page.waitForSelector(row("main"), { state: "detached" });
    assert.match(page.url(), /has=ahead/);
    assert.ok((await shown(page)).includes("yard/ahead"));
    await page.click(chip("ahead"));
    await page.fill("input[type=search]", "ahead");
    await page.waitForSelector(row("main"), { state: "detached" });
    await page.waitForSelector(row("yard/ahead"));
  });
  await tidy("yard/ahead");
});

test("what failed comes first where that is chosen, with its first error", async () => {
  await visit(async (page) => {
    await page.waitForSelector(row("main"));
    await page.selectOption("select[aria-label=Order]", "failed");
    await page.waitForFunction((states) => states.includes(document.querySelector("tr[data-branch] .state")?.dataset.state), ["failed", "timed_out", "signalled", "lost", "rejected"]);
    assert.match(page.url(), /order=failed/);
    // The record of the run itself has it, whatever lists say.
    await start("broken", "make", { args: "test" });
    const error = page.locator(`${row("broken")} .first-error`);
    await error.waitFor();
    assert.match(await error.textContent(), /src\/greet\.c:\d+.*lenght/);
    assert.match(await error.getAttribute("href"), /#\/run\/.*line=\d+/);
    await page.getByRole("button", { name: "Compact" }).click();
    await page.waitForSelector(".yard.compact");
    assert.match(page.url(), /rows=compact/);
    const { height } = await page.locator(row("main")).boundingBox();
    assert.ok(height < 36, `${height} px`);
    await page.reload();
    await page.waitForSelector(`.yard.compact ${row("broken")}`);
  });
});

test("of a thousand workspaces only those in sight are elements", async () => {
  await visit(async (page) => {
    await makeUp(page, 1000);
    await page.reload();
    await page.waitForSelector(row("many/0000"));
    await page.waitForSelector("table[aria-rowcount='1001']");
    const rows = () => page.locator("tr[data-branch]").count();
    assert.ok(await rows() < 150, `${await rows()} rows`);
    assert.equal(await page.getAttribute(row("many/0007"), "aria-rowindex"), "9");
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForSelector(row("many/0999"));
    assert.equal(await page.locator(row("many/0000")).count(), 0);
    assert.ok(await rows() < 150, `${await rows()} rows`);
    // Keys go on where no row is yet.
    await page.evaluate(() => scrollTo(0, 0));
    await page.waitForSelector(row("many/0000"));
    for (let step = 0; step < 90; step += 1) await page.keyboard.press("j");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "many/0089");
    // The one with the focus stays, however far one scrolls.
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    await page.waitForSelector(row("many/0999"));
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "many/0089");
    await page.keyboard.press("k");
    await page.waitForFunction(() => document.activeElement.textContent === "many/0088");
    await page.fill("input[type=search]", "many/05 many");
    await page.waitForSelector("table[aria-rowcount='101']");
    await page.waitForSelector(row("many/0500"));
  });
});

test("rows have keys, and the help lists them", async () => {
  await visit(async (page) => {
    await page.waitForSelector(row("main"));
    await page.fill("input[type=search]", "main");
    await page.waitForSelector(row("broken"), { state: "detached" });
    await page.locator("#main").focus();
    await page.keyboard.press("b"); // no row has the focus
    await page.keyboard.press("j");
    assert.equal(await page.locator("dialog").count(), 0);
    await page.keyboard.press("x");
    await page.waitForSelector(`${row("main")}.is-chosen`);
    await page.keyboard.press("x");
    await page.waitForSelector(".bulk", { state: "detached" });
    await page.keyboard.press("b");
    await page.waitForSelector("dialog[aria-label='Make main']");
    await page.keyboard.press("Escape");
    await page.keyboard.press("#");
    await page.waitForSelector("dialog[aria-label^='Remove the workspace of main']");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.keyboard.press("?");
    await reads(page, "dialog", /Build the workspace.*Remove the workspace/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.locator(`${row("main")} a.name`).focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash === "#/workspace/demo/main");
    await page.goBack();
    await page.waitForSelector(row("main"));
    await page.locator(`${row("main")} a.name`).focus();
    await page.keyboard.press("l");
    await page.waitForSelector(".run-head");
  });
});

test("many workspaces are built, prepared and removed at once, each with its result", async () => {
  const [one, two, three] = ["yard/bulk-1", "yard/bulk-2", "yard/bulk-3"];
  await tidy(one, two, three);
  for (const branch of [one, two, three]) await prepare(branch, { from: "main" });
  await commitEmpty(two);
  await call("PUT", `api/repos/demo/branches/${encodeURIComponent(three)}/pin`, { reason: "for the fair" });
  await visit(async (page) => {
    await page.fill("input[type=search]", "yard/bulk");
    await page.waitForFunction(() => document.querySelectorAll("tr[data-branch]").length === 3);
    await page.getByRole("checkbox", { name: "Select all shown of demo" }).check();
    await reads(page, ".bulk", /3 workspaces selected/);
    await page.getByRole("button", { name: "Build…" }).click();
    await page.fill("dialog [name=args]", "all");
    await page.getByRole("button", { name: "Start 3 runs" }).click();
    await reads(page, "dialog [role=status]", /^3 workspaces done$/);
    assert.equal(await page.locator("dialog .outcomes .ok a").count(), 3);
    await page.getByRole("button", { name: "Close" }).click();
    await page.waitForFunction(() => document.querySelectorAll("td.ws-run [data-state=succeeded]").length === 3);
    await page.getByRole("button", { name: "Bring up to date…" }).click();
    await page.getByRole("button", { name: "Bring 3 workspaces up to date" }).click();
    await reads(page, "dialog [role=status]", /3 workspaces done/);
    await page.getByRole("button", { name: "Close" }).click();
    // Without a word, work stays.
    await page.getByRole("button", { name: "Remove…" }).click();
    await reads(page, "dialog", /1 workspace of them has work that is nowhere else.*1 workspace is pinned and stays/);
    await page.getByRole("button", { name: "Remove 3 workspaces" }).click();
    await reads(page, "dialog [role=status]", /^1 workspace done, 2 failed$/);
    assert.deepEqual(await page.locator("dialog .outcomes li").evaluateAll((items) => items.map(({ className }) => className)), ["ok", "bad", "bad"]);
    await page.getByRole("button", { name: "Close" }).click();
    await page.waitForSelector(row(one), { state: "detached" });
    await page.waitForSelector(row(two));
    await reads(page, ".bulk", /2 workspaces selected/);
    await page.getByRole("checkbox", { name: `Select ${three}` }).uncheck();
    await page.getByRole("button", { name: "Remove…" }).click();
    await page.getByLabel("Save that work").check();
    await page.getByRole("button", { name: "Remove 1 workspace" }).click();
    await reads(page, "dialog .outcomes .ok", /its work was saved/);
    await page.getByRole("link", { name: "its work was saved" }).click();
    await reads(page, "main", new RegExp(two));
    assert.equal(await page.locator("dialog").count(), 0);
  }, { allow: [/404 .*branches\/yard%2Fbulk/] });
  await tidy(one, two, three);
});

test("a fan-out starts empty, counts, asks above twenty, and retries what failed", async () => {
  await visit(async (page) => {
    assert.equal(await page.inputValue("textarea[name=branches]"), "");
    assert.equal(await page.isDisabled(".fan-form [type=submit]"), true);
    await page.fill("textarea[name=branches]", "main broken");
    await page.fill("textarea[name=targets]", Array.from({ length: 11 }, (_, n) => `all N=${n}`).join("\n"));
    await page.getByRole("button", { name: "Start 22 runs" }).click();
    await page.waitForSelector("dialog[aria-label='Start 22 runs?']");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.fill("textarea[name=targets]", "test");
    await page.getByRole("button", { name: "Start 2 runs" }).click();
    await page.waitForSelector(".cell[data-state=succeeded]");
    await page.waitForSelector(".cell[data-state=failed]");
    const before = await page.getAttribute(".cell[data-state=failed]", "href");
    await page.getByRole("button", { name: "Retry 1 failed" }).click();
    await page.waitForFunction((old) => /groups=[0-9a-f-]+\.[0-9a-f-]+/.test(location.hash) && !document.querySelector(`a.cell[href="${old}"]`), before);
    await page.waitForSelector(".cell[data-state=failed]");
    assert.deepEqual(await page.locator(".matrix thead th").allTextContents(), ["Branch", "test"]);
    assert.equal(await page.locator(".matrix .cell").count(), 2);
    const [, group] = new URLSearchParams(new URL(page.url()).hash.split("?")[1]).get("groups").split(".");
    const again = await call("GET", `api/groups/${group}`);
    assert.deepEqual(again.members.map(({ branch }) => branch), ["broken"]);
  }, { hash: "#/fanout" });
});

test("the queue says what each run waits for, and lets one cancel", async () => {
  const holder = await task("forever", [], "slow");
  await until(async () => (await call("GET", `api/runs/${holder.run_id}`)).state === "running", "it runs");
  const second = await task("count", ["1"], "slow");
  // As many as there are slots, so that the next one of another workspace waits for one.
  const { runs: { at_once: slots } } = await call("GET", "api/machine");
  const fillers = [];
  for (let n = 1; n < slots; n += 1) {
    await prepare(`yard/slot-${n}`, { from: "main" });
    fillers.push(await task("forever", [], `yard/slot-${n}`));
  }
  for (const run of fillers) await until(async () => (await call("GET", `api/runs/${run.run_id}`)).state === "running", "it runs");
  const third = await task("count", ["1"], "feature/login");
  await visit(async (page) => {
    const waits = (run) => page.locator("section[aria-label=Waiting] tr", { has: page.locator(`a[href$="${run.run_id}"]`) });
    await waits(second).waitFor();
    assert.match(await waits(second).textContent(), /the workspace, held by .*sleep|the workspace, held by .*forever/s);
    await waits(third).waitFor();
    assert.match(await waits(third).textContent(), new RegExp(`a slot: all ${slots} are in use`));
    await page.locator(`[data-run="${holder.run_id}"]`).click();
    await waits(second).waitFor({ state: "detached" });
    for (const run of fillers) await call("POST", `api/runs/${run.run_id}/cancel`, {});
    await reads(page, "section[aria-label=Waiting]", /Nothing waits/);
    await reads(page, "section[aria-label=Running]", /Nothing runs/);
  }, { hash: "#/queue" });
  await Promise.all([holder, second, third, ...fillers].map(ended));
  for (let n = 1; n < slots; n += 1) await tidy(`yard/slot-${n}`);
});

test("the palette goes to views, branches and runs, and does things", async () => {
  await visit(async (page) => {
    await page.waitForSelector(row("main"));
    const palette = async (text) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to" }).fill(text);
    };
    await palette("mach");
    await reads(page, ".palette li[aria-selected=true]", /Machine/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".tile .figure");
    await palette(failed.run_id.slice(-6));
    await reads(page, ".palette li[aria-selected=true]", /make test on broken/);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".run-head");
    await palette("demo / broken");
    await reads(page, ".palette li[aria-selected=true]", /Branch/);
    await page.keyboard.press("ArrowDown");
    await reads(page, ".palette li[aria-selected=true]", /Build demo \/ broken/);
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog[aria-label='Make broken']");
    await page.keyboard.press("Escape");
    // Also while one types, and it leaves no trace.
    await go(page, "#/", row("main"));
    await page.focus("input[type=search]");
    await page.keyboard.press("Control+k");
    await page.waitForSelector(".palette");
    await page.keyboard.press("Escape");
    await page.waitForSelector(".palette", { state: "detached" });
    assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  });
});

test("who started a run is told of its end, also in a hidden tab and without a stream", async () => {
  await prepare("slow");
  await visit(async (page) => {
    await page.evaluate(() => {
      window.notices = [];
      window.Notification = class {
        static permission = "default";
        static async requestPermission() { this.permission = "granted"; return "granted"; }
        constructor(name) { window.notices.push(name); }
      };
    });
    const hide = (isHidden) => page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, isHidden);
    await page.waitForSelector(row("slow"));
    assert.deepEqual(await page.evaluate(() => window.notices), []);
    await page.click(".who");
    await page.getByRole("menuitem", { name: "Notify me when my runs end" }).click();
    // One that somebody else started is watched by choice.
    const run = await task("ticks", ["1"], "slow");
    await go(page, `#/run/${run.run_id}`, ".run-head");
    await page.getByRole("button", { name: "Watch", exact: true }).click();
    await page.getByRole("button", { name: "Watching" }).waitFor();
    await go(page, "#/", row("slow"));
    const before = await page.title();
    await hide(true);
    await ended(await task("let_end", [run.run_id], "main"));
    await ended(run);
    await page.waitForFunction(() => document.title.startsWith("✓ task ticks on slow: succeeded"));
    assert.deepEqual(await page.evaluate(() => window.notices), ["task ticks on slow: succeeded"]);
    await hide(false);
    await page.waitForFunction((title) => document.title === title, before);
    // What one starts is watched without a word, and a reload forgets nothing. Where one looks, a line in the corner is enough.
    await go(page, `#/run/${run.run_id}`, ".run-head");
    await page.getByRole("button", { name: "Run again" }).click();
    await page.waitForFunction((old) => location.hash.startsWith("#/run/") && !location.hash.includes(old), run.run_id);
    const again = page.url().split("/").at(-1);
    await page.getByRole("button", { name: "Watching" }).waitFor();
    await go(page, "#/history", "tbody tr");
    await page.reload();
    await page.waitForSelector("tbody tr");
    await until(async () => (await call("GET", `api/runs/${again}`)).state === "running", "it runs again");
    await ended(await task("let_end", [again], "main"));
    await page.locator(".toast", { hasText: "task ticks on slow: succeeded" }).waitFor();
  });
});

test("who started a fan-out is told once of its end", async () => {
  const holder = await task("ticks", ["1"], "main");
  await until(async () => (await call("GET", `api/runs/${holder.run_id}`)).state === "running", "it runs");
  await visit(async (page) => {
    await page.fill("textarea[name=branches]", "main feature/login");
    await page.getByRole("button", { name: "Start 2 runs" }).click();
    await page.waitForSelector(".matrix");
    await go(page, "#/history", "tbody tr");
    await ended(await task("let_end", [holder.run_id], "slow"));
    await page.locator(".toast", { hasText: "Fan-out in demo: succeeded" }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll(".toast").length === 1);
    await page.locator(".toast a").click();
    await page.waitForSelector(".cell[data-state=succeeded]");
  }, { hash: "#/fanout" });
});

test("a wall shows large tiles, live, to who may only read", async () => {
  const { token } = await call("POST", "api/tokens", { role: "ui", name: `wall-${Date.now()}`, expires: "1h" });
  await visit(async (page) => {
    await go(page, "#/wall", ".wall-tile");
    assert.equal(await page.locator("header.shell").isVisible(), false);
    assert.equal(await page.locator("main :is(a, button, input)").count(), 0);
    assert.ok(["failed", "rejected", "timed_out", "lost", "signalled"].includes(await page.locator(".wall-tile").first().getAttribute("data-state")));
    const size = await page.locator(".wall-name").first().evaluate((name) => parseFloat(getComputedStyle(name).fontSize));
    assert.ok(size >= 20, `${size} px`);
    const run = await task("forever", [], "slow");
    const tile = page.locator(".wall-tile", { hasText: "slow" });
    await page.waitForFunction(() => [...document.querySelectorAll(".wall-tile")].some((one) => one.dataset.state === "running" && one.textContent.includes("slow")));
    await call("POST", `api/runs/${run.run_id}/cancel`, {});
    await page.waitForFunction(() => [...document.querySelectorAll(".wall-tile")].some((one) => one.dataset.state === "cancelled" && one.textContent.includes("slow")));
    assert.equal(await tile.count(), 1);
    await go(page, "#/wall?by=repo", ".wall-tile");
    await page.waitForFunction(() => document.querySelectorAll(".wall-tile").length === 1);
    await reads(page, ".wall-tile", /^demo/);
  }, { as: token, width: 1920, height: 1080 });
});

test("log-ins are listed apart from tokens, and actions are a person's", async () => {
  await visit(async (page) => {
    await page.waitForSelector("table[aria-label=Log-ins] tbody tr");
    assert.doesNotMatch(await page.textContent("table[aria-label=Log-ins] tbody b"), /^page-/);
    await page.getByRole("button", { name: "Admin" }).click();
    assert.deepEqual(await page.getByRole("menuitem").allTextContents(), ["Tokens", "Audit", "API"]);
    await page.getByRole("menuitem", { name: "Audit" }).click();
    await page.waitForSelector("main .list");
    assert.equal(await page.getByRole("button", { name: "Admin" }).getAttribute("aria-current"), "page");
    assert.equal(await page.locator("tbody td:nth-child(2)", { hasText: /page-[0-9a-f]{12}$/ }).count(), 0);
  }, { hash: "#/tokens" });
});

test("offline, unreachable and draining are told apart", async () => {
  await visit(async (page, context) => {
    await page.waitForSelector(".connection[data-tone=live]");
    await context.setOffline(true);
    await reads(page, ".banner:not([hidden])", /This device is offline/);
    await reads(page, ".connection", /^Offline/);
    await context.setOffline(false);
    await page.waitForSelector(".banner", { state: "hidden" });
    await page.route("**/stream/events", (route) => route.abort());
    // The stream that there is goes with the tab.
    await page.evaluate(() => dispatchEvent(new Event("offline")));
    await reads(page, ".banner:not([hidden])", /cannot be reached/);
    await page.unroute("**/stream/events");
    await page.waitForSelector(".connection[data-tone=live]");
    await page.waitForSelector(".banner", { state: "hidden" });
    await page.route("**/branches/main/make", (route) => route.fulfill({
      status: 503, contentType: "application/problem+json", body: JSON.stringify({ code: "draining", detail: "the daemon is shutting down", status: 503 }) }));
    await page.getByRole("button", { name: "Make main" }).click();
    await page.click("dialog [type=submit]");
    await page.waitForSelector("dialog .problem");
    await reads(page, ".banner:not([hidden])", /takes no new runs/);
    await reads(page, ".connection", /^Draining/);
  }, { allow: [/ERR_INTERNET_DISCONNECTED|ERR_FAILED|status of 503|net::/] });
});

test("a yard that could not be had is asked for again once the daemon is back", async () => {
  await visit(async (page) => {
    await page.route("**/api/repos", (route) => route.abort());
    await page.reload();
    await page.waitForSelector("main .problem");
    await page.unroute("**/api/repos");
    // The stream that there is goes, and comes back.
    await page.evaluate(() => dispatchEvent(new Event("offline")));
    await page.waitForSelector('tr[data-branch="main"]');
    assert.equal(await page.locator("main .problem").count(), 0);
  }, { allow: [/ERR_FAILED/] });
});
