// Each view, as somebody would use it.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { call, ended, go, key, prepare, reads, start, task, until, url, visit } from "./harness.mjs";

before(async () => {
  for (const branch of ["main", "feature/login", "broken"]) await prepare(branch);
});

const row = (branch) => `tr[data-branch="${branch}"]`;

/** Removes a workspace that a test made, whatever is in it. */
async function tidy(branch) {
  await fetch(`${url}api/repos/demo/branches/${encodeURIComponent(branch)}?force=true`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
}

test("log in with a key, and log out", async () => {
  await visit(async (page, context) => {
    await page.fill("input[name=key]", "not-the-key-of-anybody");
    await page.click("button[type=submit]");
    await reads(page, ".login .problem", /^Unknown key or token$/);
    await page.fill("input[name=name]", "Ada of the tests");
    await page.fill("input[name=key]", `Authorization: Bearer ${key}`);
    await page.keyboard.press("Enter");
    await page.waitForSelector(row("main"));
    const [cookie] = await context.cookies();
    assert.equal(cookie.httpOnly, true);
    assert.equal(cookie.sameSite, "Strict");
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.reload();
    await page.waitForSelector(row("main"));
    await page.click(".who");
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.waitForSelector(".login");
    assert.equal(await page.inputValue("input[name=name]"), "Ada of the tests");
    assert.deepEqual((await (await context.request.get(`${url}api/session`)).json()).principal, null);
  }, { as: null, allow: [/status of 401/] });
});

test("the yard shows what changes, and filters", async () => {
  await tidy("page/fresh");
  await visit(async (page) => {
    await page.waitForSelector(row("feature/login"));
    await page.waitForSelector(`${row("main")} .ws-branch .subject`);
    await prepare("page/fresh", { from: "main" });
    await page.waitForSelector(row("page/fresh"));
    await page.fill("input[type=search]", "page fresh");
    await page.waitForSelector(row("main"), { state: "hidden" });
    assert.match(page.url(), /q=page\+fresh/);
    await page.fill("input[type=search]", "");
    await page.waitForSelector(row("main"));
    await ended(await start("main", "make", { args: "all" }));
    await page.waitForSelector(`${row("main")} [data-state=succeeded]`);
    await tidy("page/fresh");
    await page.waitForSelector(row("page/fresh"), { state: "detached" });
    // It may go between an event of it and the look at it.
  }, { allow: [/status of 404.*page%2Ffresh/] });
});

test("a branch of the remote gets a workspace, is pinned, and built", async () => {
  await tidy("feature-login");
  await visit(async (page) => {
    await page.waitForSelector(row("main"));
    await page.getByRole("button", { name: "New workspace" }).click();
    await page.locator("dialog .pick label", { hasText: /^feature-login$/ }).click();
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.waitForSelector(row("feature-login"));
    await page.click(`${row("feature-login")} [aria-haspopup=menu]`);
    await page.getByRole("menuitem", { name: "Pin…" }).click();
    await page.fill("dialog [name=reason]", "for the fair");
    await page.click("dialog [type=submit]");
    await reads(page, `${row("feature-login")} .pinned`, /for the fair/);
    await page.click(`${row("feature-login")} [aria-haspopup=menu]`);
    await page.getByRole("menuitem", { name: "Unpin" }).click();
    await page.waitForSelector(`${row("feature-login")} .pinned`, { state: "detached" });
    await page.getByRole("button", { name: "Make feature-login" }).click();
    await page.fill("dialog [name=args]", "all");
    await page.click("dialog [type=submit]");
    await page.waitForSelector(".run-head [data-state=succeeded]");
    assert.match(page.url(), /#\/run\//);
  });
});

test("removing shows what would be lost, and saves it", async () => {
  await tidy("page/work");
  await tidy("page/back");
  await prepare("page/work", { from: "main" });
  await ended(await start("page/work", "git", { operation: "commit", args: ["--allow-empty", "-m", "Something that nobody else has"] }));
  await visit(async (page) => {
    await page.waitForSelector(row("page/work"));
    await page.click(`${row("page/work")} [aria-haspopup=menu]`);
    await page.getByRole("menuitem", { name: "Remove…" }).click();
    await reads(page, "dialog li", /commit/);
    await page.getByRole("button", { name: "Save it and remove" }).click();
    await page.waitForSelector(row("page/work"), { state: "detached" });
    await page.getByRole("link", { name: "What was saved" }).click();
    await reads(page, "main", /page\/work/);
    await page.getByRole("button", { name: "Restore" }).click();
    await page.fill("dialog [name=branch]", "page/back");
    await page.click("dialog [type=submit]");
    await page.getByRole("link", { name: "Show it" }).click();
    await page.waitForSelector(row("page/back"));
    await go(page, "#/salvage", "table.list");
    const count = await page.locator("tbody tr").count();
    await page.locator("tr", { hasText: "page/work" }).first().getByRole("button", { name: "Drop" }).click();
    await page.getByRole("button", { name: "Drop it" }).click();
    await until(async () => (await page.locator("tbody tr").count()) < count, "the salvage is dropped");
    // A removal locks the workspace first. If it then takes long, the page asks what changed, and the browser notes a 404.
  }, { allow: [/404 .*branches\/page%2Fwork$/] });
  await tidy("page/back");
});

test("a pinned workspace is removed after a second thought", async () => {
  await tidy("page/pinned");
  await prepare("page/pinned", { from: "main" });
  await call("PUT", `api/repos/demo/branches/${encodeURIComponent("page/pinned")}/pin`, { reason: "for the fair" });
  await visit(async (page) => {
    await page.click(`${row("page/pinned")} [aria-haspopup=menu]`);
    await page.getByRole("menuitem", { name: "Remove…" }).click();
    await reads(page, "dialog label.check", /pinned by .*for the fair/);
    await page.click("dialog [type=submit]");
    assert.equal(await page.locator("dialog input:invalid").count(), 1);
    assert.equal(await page.locator(row("page/pinned")).count(), 1);
    await page.check("dialog label.check input");
    await page.click("dialog [type=submit]");
    await page.waitForSelector(row("page/pinned"), { state: "detached" });
  }, { allow: [/404 .*branches\/page%2Fpinned$/] });
});

test("a log-in link works once, and says so", async () => {
  const { path } = await call("POST", "api/session/ticket");
  const link = path.replace(/^\//, "");
  await visit(async (page) => {
    await page.goto(url + link);
    await page.waitForSelector(row("main"));
  }, { as: null });
  await visit(async (page) => {
    await page.goto(url + link);
    await reads(page, ".login", /used already/);
    assert.equal(await page.locator("input[name=key]").count(), 1);
  }, { as: null, allow: [/status of 401/] });
});

test("what a run took is told without its wait for a turn", async () => {
  await prepare("slow");
  const first = await task("ticks", ["20"], "slow");
  const queued = await task("count", ["1"], "slow");
  await until(async () => (await call("GET", `api/runs/${first.run_id}`)).state === "running", "the first runs");
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  await ended(await task("let_end", [first.run_id], "main"));
  const run = await ended(queued);
  assert.ok(run.duration_ms > 1_500, "it waited");
  await visit(async (page) => {
    const age = page.locator("tr", { has: page.locator(`a[href*="${run.run_id}"]`) }).first();
    await age.waitFor();
    const [, number, unit] = (await age.textContent()).match(/(\d+(?:\.\d+)?)\s?(ms|s)/) ?? [];
    const shown = Number(number) * (unit === "ms" ? 1 : 1_000);
    assert.ok(Math.abs(shown - (Date.parse(run.ended_at) - Date.parse(run.started_at))) < 500, await age.textContent());
    // That it waited is told apart.
    const queued = Date.parse(run.started_at) - Date.parse(run.created_at);
    assert.equal(await age.locator(".queued").textContent(), ` · queued ${(queued / 1000).toFixed(1)}\u00a0s`);
    assert.deepEqual(await page.locator("thead th").allTextContents(), ["State", "Command", "Branch", "Problems", "By", "Took", "Requested"]);
  }, { hash: "#/history?branch=slow" });
});

test("the history has filters and pages", async () => {
  await Promise.all(Array.from({ length: 52 }, () => start("main", "git", { operation: "status", sync: "none" }))).then((runs) => Promise.all(runs.map(ended)));
  await visit(async (page) => {
    await page.waitForSelector("table.list");
    assert.equal(await page.locator("tbody tr").count(), 50);
    await page.getByRole("button", { name: "Show more" }).click();
    await until(async () => (await page.locator("tbody tr").count()) > 50, "the second page");
    await page.selectOption("select[name=kind]", "make");
    await page.waitForFunction(() => /kind=make/.test(location.hash) && ![...document.querySelectorAll("tbody a.mono")].some((a) => a.textContent.startsWith("git")));
    await page.reload();
    await page.waitForSelector("tbody a.mono");
    assert.equal(await page.inputValue("select[name=kind]"), "make");
    await go(page, "#/history?branch=broken", "main .list, main .empty");
    await page.waitForFunction(() => document.querySelector("[name=branch]").value === "broken");
  }, { hash: "#/history" });
});

test("a fan-out is a grid of branch and target, live", async () => {
  await visit(async (page) => {
    await page.fill("textarea[name=branches]", "main\nfeature/*");
    await page.fill("textarea[name=targets]", "all\ntest");
    await reads(page, ".fan-form [role=status]", /2 branches/);
    await page.getByRole("button", { name: "Start 4 runs" }).click();
    await page.waitForSelector(".matrix");
    assert.match(page.url(), /groups=/);
    await until(async () => (await page.locator(".cell[data-state=succeeded]").count()) === 4, "all four succeed");
    assert.deepEqual(await page.locator(".matrix thead th").allTextContents(), ["Branch", "all", "test"]);
    await page.reload();
    await page.waitForSelector(".cell[data-state=succeeded]");
    await page.locator(".cell").first().click();
    await page.waitForSelector(".log");
  }, { hash: "#/fanout" });
});

test("a cell of a fan-out whose run ends before anybody listens is told all the same", async () => {
  await visit(async (page) => {
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route(/\/stream\/(events|groups)/, async (route) => {
      await held;
      await route.continue();
    });
    await page.reload();
    await page.fill("textarea[name=branches]", "main");
    await page.fill("textarea[name=targets]", "all");
    await page.getByRole("button", { name: "Start 1 run" }).click();
    await page.waitForSelector(".matrix");
    const [group] = page.url().match(/groups=([0-9a-f-]+)/).slice(1);
    await until(async () => (await call("GET", `api/groups/${group}?wait=20s`)).state !== "running", "the build ends");
    release();
    await page.waitForSelector(".cell[data-state=succeeded]");
  }, { hash: "#/fanout" });
});

test("the machine, its queue and its reaper", async () => {
  await visit(async (page) => {
    await page.waitForSelector(".tile .figure");
    await page.waitForSelector(".chart-row");
    await page.waitForSelector(".spark rect");
    await page.getByRole("heading", { name: "Next to be removed" }).waitFor();
    const run = await start("main", "task", { task: "forever", sync: "none" });
    await page.locator(`a[href="#/run/${run.run_id}"]`).waitFor();
    const next = await start("main", "make", { args: "all" });
    await page.locator(`section[aria-label=Waiting] a[href="#/run/${next.run_id}"]`).waitFor();
    await call("POST", `api/runs/${run.run_id}/cancel`, {});
    await page.locator(`section[aria-label=Running] a[href="#/run/${run.run_id}"]`).waitFor({ state: "detached" });
    await ended(next);
  }, { hash: "#/machine" });
});

test("a token is shown once, bounds what one sees, and is revoked; the audit knows", async () => {
  const name = `page-${Date.now()}`;
  let token;
  await visit(async (page) => {
    await page.getByRole("button", { name: "Create token" }).click();
    await reads(page, "dialog", /ends when you log out/);
    await page.fill("dialog [name=name]", name);
    await page.selectOption("dialog [name=role]", "ui");
    await page.click("dialog [type=submit]");
    token = await page.textContent(".secret");
    await page.getByRole("button", { name: "Close" }).click();
    await page.locator("tr", { hasText: name }).waitFor();
    assert.ok(!(await page.content()).includes(token));
    await visit(async (other) => {
      await other.waitForSelector(row("main"));
      const places = await other.locator(".nav a").allTextContents();
      assert.deepEqual(places, ["Yard", "Pipelines", "History", "Queue", "Machine", "Salvage"]);
      await other.getByRole("button", { name: "Admin" }).click();
      assert.deepEqual(await other.getByRole("menuitem").allTextContents(), ["Tokens", "API"]);
      await other.keyboard.press("Escape");
      assert.equal(await other.getByRole("button", { name: /^Make / }).count(), 0);
      await go(other, "#/audit", ".empty");
    }, { as: token });
    await page.getByRole("button", { name: `Revoke ${name}` }).click();
    await page.locator("dialog").getByRole("button", { name: "Revoke" }).click();
    await page.locator("tr", { hasText: name }).waitFor({ state: "detached" });
    await go(page, "#/audit?action=token.revoke", "main .list");
    await reads(page, "tbody", /token\.revoke/);
  }, { hash: "#/tokens" });
});

test("the API's documents, within and by themselves", async () => {
  await visit(async (page, context) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.waitForSelector("details.op");
    await page.fill("input[type=search]", "cancel");
    await page.waitForFunction(() => [...document.querySelectorAll("details.op:not([hidden])")].every((op) => op.textContent.includes("cancel")));
    await page.locator("details.op:visible summary").first().click();
    await page.locator("details.op:visible .op-body").first().waitFor();
    await page.getByRole("button", { name: "Copy as curl" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(copied, /^curl -H @"\$AUTH_HEADER" -X POST 'http:\/\/127\.0\.0\.1:\d+\/api\/.*cancel'$/);
    await page.goto(`${url}api.html`);
    await page.waitForSelector("details.op");
  }, { hash: "#/api" });
});

test("what a branch holds cannot call the API", async () => {
  await prepare("main");
  await ended(await task("plant"));
  await visit(async (page, context) => {
    const asked = [];
    context.on("request", (request) => asked.push(request.url()));
    for (const [name, kind] of [["evil.html", "text/html"], ["evil.svg", "image/svg+xml"]]) {
      const raw = `${url}api/repos/demo/branches/main/raw/${name}`;
      // Somebody who goes there saves a file.
      const tab = await context.newPage();
      const download = tab.waitForEvent("download");
      await tab.goto(raw).catch(() => {}); // it is no document
      assert.equal((await download).suggestedFilename(), name);
      await tab.close();
      // And if a browser were made to show it, it would still run nothing.
      const shown = await context.newPage();
      await shown.route(raw, async (route) => {
        const response = await route.fetch();
        const headers = { ...response.headers(), "content-type": kind };
        delete headers["content-disposition"];
        await route.fulfill({ response, headers });
      });
      await shown.goto(raw);
      assert.equal(await shown.evaluate(() => document.documentElement.dataset.ran ?? null), null);
      await shown.close();
    }
    assert.deepEqual(asked.filter((address) => address.includes("by=branch")), []);
    assert.equal(asked.filter((address) => address.includes("/raw/")).length, 4);
  });
});
