// A workspace: what it changes, its files, commits and runs, and how one mends a branch without a mouse.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { call, ended, go, key, prepare, reads, served, start, task, until, url, visit } from "./harness.mjs";

const place = (branch) => `api/repos/demo/branches/${encodeURIComponent(branch)}`;
const ask = (branch, what, fields = {}) => call("POST", `${place(branch)}/${what}`, fields);
const write = (branch, path, content) => ask(branch, "write_file", { path, content, mode: "overwrite" });
const at = (branch, query = "") => `#/workspace/demo/${encodeURIComponent(branch)}${query}`;

/** Nothing is left of an earlier try. */
const stamp = Date.now();
const named = (name) => `page/${name}-${stamp}`;

async function tidy(branch) {
  await fetch(`${url}${place(branch)}?force=true`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } });
}

/** A branch of its own, with a commit of each of these files. */
async function branchWith(branch, files, from = "main") {
  await prepare(branch, { from });
  for (const [path, content] of Object.entries(files)) await write(branch, path, content);
  if (Object.keys(files).length > 0) await ask(branch, "git/commit", { message: "Change some files", paths: Object.keys(files) });
}

before(async () => {
  for (const branch of ["main", "feature/login", "broken"]) await prepare(branch);
});

test("a failed branch is found, mended, built, compared and pushed by keyboard alone", async () => {
  const branch = `fix/typo-${stamp}`;
  await branchWith(branch, {}, "broken");
  await ended(await start(branch, "make", { args: "test" }));
  await visit(async (page) => {
    const keys = page.keyboard;
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") || document.activeElement.textContent);
    // Find it among all.
    await page.waitForSelector(`tr[data-branch="${branch}"]`);
    await keys.press("/");
    await keys.type(`failed ${stamp}`);
    await page.waitForSelector("tr[data-branch=main]", { state: "hidden" });
    await page.locator("#main").focus();
    await keys.press("j");
    assert.equal(await focused(), branch);
    await keys.press("Enter");
    // What the branch did: the diff with the mistake in it, and that it failed.
    await page.waitForSelector(".ws-last [data-state=failed]");
    await reads(page, ".diff-file[data-path='src/greet.c'] .line.added", /lenght/);
    // To the first error, in its file.
    await keys.press("e");
    await page.waitForSelector(".line.chosen");
    assert.match(page.url(), /path=src%2Fgreet\.c&line=9/);
    await reads(page, ".line.chosen + .line-note", /error: .*lenght/);
    // The mistake is mended where the cursor is put: on that line.
    await keys.press("i");
    await page.waitForSelector(".ws-editor textarea");
    assert.match(await focused(), /Content of src\/greet\.c/);
    await keys.press("Home");
    await keys.press("Shift+End");
    await keys.type("    if (length < 0 || (size_t)length >= size)");
    await keys.press("Control+s");
    await page.waitForSelector(".ws-editor", { state: "detached" });
    await reads(page, ".chips", /dirty/);
    // Run the same again, and see it green.
    await keys.press("R");
    await page.waitForSelector(".ws-last [data-state=succeeded]");
    // Commit.
    await keys.press("c");
    await page.waitForSelector("dialog textarea");
    await keys.type("Spell length");
    await keys.press("Control+Enter");
    await page.waitForSelector("dialog", { state: "detached" });
    await reads(page, ".run-facts", /Spell length/);
    // Compare with the default branch: the mistake is gone from what the branch adds.
    await keys.press("=");
    await page.waitForSelector(".diff-file");
    assert.match(page.url(), /#\/compare\/demo\?from=main&to=fix/);
    await reads(page, ".columns", /Spell length/);
    assert.equal(await page.locator(".line.added", { hasText: "lenght" }).count(), 0);
    await page.goBack();
    await page.waitForSelector(".ws-last [data-state=succeeded]");
    // Push.
    await keys.press("P");
    await page.waitForSelector("dialog");
    assert.equal(await focused(), "Push");
    await keys.press("Enter");
    await reads(page, ".toasts", /Pushed/);
    await reads(page, ".run-facts", /clean/);
  });
  const { commit } = await call("GET", place(branch));
  const { commits } = await ask("main", "git/log", { revision: `origin/${branch}`, limit: 1 });
  assert.deepEqual([commits[0].subject, commits[0].id], ["Spell length", commit]);
  await tidy(branch);
});

test("what differs is shown file by file: renamed, binary, deleted, new, and with what would mislead made visible", async () => {
  const branch = named("diff");
  await branchWith(branch, { "old name.txt": "one\ntwo\nthree\nfour\n", "gone.txt": "gone\n", "dir/<b>.txt": "<img src=x onerror=\"document.title=1\">\nturned \u202eback\n" });
  await ask(branch, "move_file", { from: "old name.txt", to: "new name.txt" }).catch((error) => assert.fail(error));
  await write(branch, "new name.txt", "one\ntwo\nthree\nfive\n");
  await ask(branch, "delete_file", { path: "gone.txt" });
  await ask(branch, "write_file", { path: "bin.dat", content: Buffer.from([0, 1, 2]).toString("base64"), encoding: "base64" });
  await ask(branch, "git/add", { all: true });
  await visit(async (page) => {
    const file = (path) => page.locator(`.diff-file[data-path="${path}"]`);
    await file("new name.txt").waitFor();
    await reads(page, ".diff-sum", /3 files changed/);
    assert.match(await file("new name.txt").textContent(), /R.*old name\.txt → new name\.txt.*\+1 −1/s);
    assert.deepEqual(await file("new name.txt").locator(".line.deleted .no").allTextContents(), ["4", ""]);
    assert.deepEqual(await file("new name.txt").locator(".line.added .no").allTextContents(), ["", "4"]);
    assert.match(await file("bin.dat").textContent(), /A binary file/);
    assert.match(await file("gone.txt").textContent(), /D.*gone\.txt.*\+0 −1/s);
    // A line leads to the file, and by keyboard one goes from file to file.
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    assert.match(page.url(), /path=gone\.txt/);
    await page.evaluate((to) => { location.hash = to; }, at(branch, "?view=changes&against=base"));
    await reads(page, ".diff-file[data-path='dir/<b>.txt'] .line.added", /<img src=x/);
    assert.equal(await page.locator(".diff-file img").count(), 0);
    await reads(page, ".diff-file[data-path='dir/<b>.txt'] .control", /U\+202E/);
    await page.locator(".diff-file[data-path='dir/<b>.txt'] a.no").first().click();
    await page.waitForSelector(".line.chosen");
    assert.match(page.url(), /view=files&path=dir%2F%3Cb%3E\.txt&line=1/);
  }, { hash: at(branch, "?view=changes&against=files") });
  await tidy(branch);
});

test("a large difference comes in pieces, and none of its lines is missing or twice", async () => {
  const branch = named("large");
  const lines = Array.from({ length: 4_000 }, (_, index) => `line ${index}`);
  const many = Object.fromEntries(Array.from({ length: 230 }, (_, index) => [`many/${String(index).padStart(3, "0")}.txt`, `${index}\n`]));
  await branchWith(branch, { "a-long.txt": `${lines.join("\n")}\n`, ...many });
  await visit(async (page) => {
    await reads(page, ".diff-sum", /231 files changed/);
    assert.equal(await page.locator(".diff-file").count(), 200);
    const long = page.locator(".diff-file[data-path='a-long.txt']");
    assert.equal(await long.evaluate((element) => element.open), false);
    await long.locator("summary").click();
    await long.locator(".line.added").first().waitFor();
    while (await long.getByRole("button", { name: "Show more" }).count() > 0) await long.getByRole("button", { name: "Show more" }).click();
    assert.deepEqual(await long.locator(".line.added .text").allTextContents(), lines);
    await page.getByRole("button", { name: "Show 31 more of 31 files" }).click();
    await until(async () => (await page.locator(".diff-file").count()) === 231, "all files are listed");
  }, { hash: at(branch, "?against=base") });
  await tidy(branch);
});

test("what changed since it was green", async () => {
  const branch = named("green");
  await branchWith(branch, { "src/extra.c": "int extra(void);\nint extra(void) { return 1; }\n" });
  const green = await ended(await start(branch, "make", { args: "all" }));
  assert.equal(green.state, "succeeded");
  await write(branch, "src/extra.c", "int extra(void);\nint extra(void) { return 2 }\n");
  await ask(branch, "git/commit", { message: "Drop a semicolon", all: true });
  const red = await ended(await start(branch, "make", { args: "all" }));
  assert.equal(red.state, "failed");
  await visit(async (page) => {
    await page.waitForSelector(".spark rect");
    assert.deepEqual(await page.locator("select option").allTextContents(), ["all commands", "make all"]);
    assert.equal(await page.inputValue("select"), "make all");
    assert.deepEqual(await page.locator(".spark rect").evaluateAll((all) => all.map((bar) => bar.dataset.state)), ["succeeded", "failed"]);
    await page.getByRole("link", { name: "What changed since it was green" }).click();
    await reads(page, ".ws-about", /make all was green last/);
    await reads(page, ".ws-commits", /1 commit.*Drop a semicolon/);
    assert.deepEqual(await page.locator(".diff-file").evaluateAll((all) => all.map((file) => file.dataset.path)), ["src/extra.c"]);
    await reads(page, ".line.deleted .text", /return 1;/);
    await reads(page, ".line.added .text", /return 2 }/);
    // The head says what is wrong, and where.
    await page.locator(".ws-first a").click();
    await page.waitForSelector(".line.chosen + .line-note");
  }, { hash: at(branch, "?view=runs") });
  await tidy(branch);
});

test("files are browsed, searched, blamed and linked to, now and at a commit", async () => {
  const branch = named("files");
  await branchWith(branch, { "deep/er/long.txt": `${Array.from({ length: 5_000 }, (_, index) => `word ${index + 1}.`).join("\n")}\n` });
  const before = (await call("GET", place(branch))).commit;
  await write(branch, "deep/er/long.txt", "short now\n");
  await visit(async (page) => {
    const crumbs = () => page.textContent(".crumbs");
    await page.locator("a.entry", { hasText: "deep/" }).click();
    await page.locator("a.entry", { hasText: "er/" }).click();
    await page.locator("a.entry", { hasText: "long.txt" }).click();
    await reads(page, ".line .text", /^short now$/);
    assert.equal(await crumbs(), "demo / deep / er / long.txt");
    // At the commit it is long: a link to a line far down shows that line, and the lines around it on demand.
    await go(page, at(branch, `?view=files&path=deep/er/long.txt&at=${before}&line=4321`), ".line.chosen");
    assert.equal(await page.textContent(".line.chosen .text"), "word 4321.");
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
    assert.match(await crumbs(), new RegExp(`as of ${before.slice(0, 8)}`));
    await page.getByRole("button", { name: "Show the lines before" }).click();
    await page.waitForSelector("[data-line='2001']");
    await page.keyboard.press("b");
    await reads(page, ".line .who", new RegExp(before.slice(0, 8)));
    await page.keyboard.press("b");
    await page.waitForSelector(".line .who", { state: "detached" });
    // A search takes words as they are, and regular expressions where it is told so.
    await go(page, at(branch, "?view=files"), "a.entry");
    await page.keyboard.press("/");
    await page.keyboard.type("GREET(char *buf");
    await page.keyboard.press("Enter");
    await page.waitForSelector("h2.mono");
    assert.deepEqual(await page.locator("h2.mono").allTextContents(), ["src/greet.c", "src/greet.h"]);
    await page.getByLabel("Match case").check();
    await page.getByRole("button", { name: "Search" }).click();
    await reads(page, ".ws-body .empty", /Nothing was found/);
    await page.getByLabel("Match case").uncheck();
    await page.getByLabel("Regular expression").check();
    await page.fill("input[name=q]", "^int gre+t");
    await page.getByRole("button", { name: "Search" }).click();
    await page.locator("a.no", { hasText: "5" }).first().click();
    await page.waitForSelector(".line.chosen");
    assert.match(page.url(), /path=src%2Fgreet\.c&line=5/);
    await page.keyboard.press("y");
    await reads(page, ".crumbs", new RegExp(`as of ${before.slice(0, 8)}`));
  }, { hash: at(branch, "?view=files") });
  await tidy(branch);
});

test("an edit that would overwrite another is refused, and what was typed is kept", async () => {
  const branch = named("edit");
  await branchWith(branch, { "dos.txt": "one\r\ntwo\r\n" });
  await visit(async (page) => {
    await page.waitForSelector(".line");
    await page.keyboard.press("i");
    await page.waitForSelector("textarea");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("three");
    await write(branch, "dos.txt", "other\r\n");
    await page.keyboard.press("Control+s");
    await page.waitForSelector(".ws-editor .problem");
    assert.equal(await page.inputValue("textarea"), "one\ntwo\nthree");
    await page.getByRole("button", { name: "Cancel" }).click();
    await reads(page, ".line .text", /^other/);
    await page.keyboard.press("i");
    await page.waitForSelector("textarea");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("more");
    // It is still there when one comes back.
    await go(page, at(branch, "?view=commits"), ".commit-list");
    await go(page, at(branch, "?view=files&path=dos.txt"), ".line");
    await page.keyboard.press("i");
    await page.waitForSelector("textarea");
    assert.equal(await page.inputValue("textarea"), "other\nmore");
    await page.keyboard.press("Control+s");
    await page.waitForSelector("textarea", { state: "detached" });
  }, { hash: at(branch, "?view=files&path=dos.txt"), allow: [/status of 409/] });
  assert.equal((await ask(branch, "read_file", { path: "dos.txt" })).text, "other\r\nmore");
  await tidy(branch);
});

test("commits ahead and behind, and what one of them changed", async () => {
  const branch = named("commits");
  await branchWith(branch, { "one.txt": "1\n" });
  await visit(async (page) => {
    await reads(page, ".ws-body", /The remote does not have this branch yet/);
    await ask(branch, "git/push");
    await write(branch, "one.txt", "2\n");
    await ask(branch, "git/commit", { message: "Count on", all: true });
    // What changed is shown: nothing that is read is in the way.
    await reads(page, "section.card li", /Count on.*unpushed/);
    await reads(page, "section.card", /Here and not on main.*Change some files/s);
    assert.equal(await page.locator("section.card li .chip").count(), 2);
    await page.evaluate((to) => { location.hash = to; }, at(branch, "?view=changes&against=remote"));
    await reads(page, ".ws-commits", /^1 commit/);
    await page.evaluate((to) => { location.hash = to; }, at(branch, "?view=commits"));
    await page.waitForSelector(".stack .commit-list a");
    await page.locator(".commit-list a").first().click();
    await reads(page, ".diff-file", /one\.txt/);
    // The first commit of all has nothing before it.
    const { commits } = await ask(branch, "git/log", { limit: 100 });
    await go(page, at(branch, `?view=commits&commit=${commits.at(-1).id}`), ".diff-file[data-path='README.md'] .line.added");
    await reads(page, "h2", /Say what this is/);
  }, { hash: at(branch, "?view=commits") });
  await tidy(branch);
});

test("two branches are compared, either way", async () => {
  await visit(async (page) => {
    await reads(page, ".columns", /feature\/login/);
    await reads(page, ".columns", /Ask for a code before greeting/);
    await reads(page, ".diff-sum", /files changed/);
    const files = await page.locator(".diff-file").count();
    await page.getByRole("button", { name: "Swap" }).click();
    // Since they parted, the other one did nothing.
    await reads(page, ".diff", /Nothing differs/);
    await page.selectOption("select[name=how]", "direct");
    await page.waitForSelector(".diff-file");
    assert.equal(await page.locator(".diff-file").count(), files);
    assert.match(page.url(), /from=feature%2Flogin&to=main&how=direct/);
    await page.fill("input[name=to]", "broken");
    await page.keyboard.press("Enter");
    await reads(page, ".columns", /Rename a variable in haste/);
  }, { hash: "#/compare/demo?from=main&to=feature%2Flogin" });
});

test("make offers the targets and remembers what was asked for", async () => {
  await visit(async (page) => {
    // Also a daemon that does not know of targets is one to work with.
    await page.route(/\/make_targets$/, (route) => route.fulfill({ json: { items: ["all", "test", "clean"], truncated: false } }));
    await page.waitForSelector(".ws-last");
    await page.keyboard.press("m");
    await page.getByRole("button", { name: "test", exact: true }).click();
    await page.getByRole("button", { name: "all", exact: true }).click();
    assert.equal(await page.inputValue("dialog [name=args]"), "test all");
    await page.getByRole("button", { name: "test", exact: true }).click();
    assert.equal(await page.inputValue("dialog [name=args]"), "all");
    await page.locator("dialog [name=args]").press("Enter");
    await page.waitForSelector(".run [data-state=succeeded]");
    await go(page, at("feature/login"), ".ws-last");
    await page.keyboard.press("m");
    assert.equal(await page.inputValue("dialog [name=args]"), "all");
    assert.equal(await page.getByRole("button", { name: "all", exact: true }).getAttribute("aria-pressed"), "true");
    await page.keyboard.press("Escape");
  }, { hash: at("main") });
});

test("who is at work, and what a reader is not offered", async () => {
  const run = await task("forever", [], "feature/login");
  await visit(async (page) => {
    await page.route(/\/activity$/, (route) => route.fulfill({ json: {
      items: [{ principal: "ada", client: "claude-code", last_call: "git.commit", last_at: new Date().toISOString(), calls: 7 }],
      waiting: [{ who: "brook", what: "make all", since: new Date().toISOString() }] } }));
    await go(page, at("feature/login", "?view=people"), ".ws-last");
    await reads(page, ".ws-body", /At work.*task forever|At work.*sh -c/s);
    await reads(page, ".ws-body", /brook: make all/);
    await reads(page, ".ws-body", /claude-code/);
    await reads(page, ".ws-body", /Brook Example · 1 commit/);
    await call("POST", `api/runs/${run.run_id}/cancel`, {});
    await page.waitForFunction(() => !/forever/.test(document.querySelector(".run-facts").textContent));
  }, { hash: "#/history" });
  const { token } = await call("POST", "api/tokens", { role: "ui", name: `reader-${Date.now()}` });
  await visit(async (page) => {
    await page.waitForSelector(".ws-last");
    for (const name of ["Make", "Commit", "Push", "Merge", "Run again"]) assert.equal(await page.getByRole("button", { name, exact: true }).count(), 0, name);
    await go(page, at("main", "?view=files&path=Makefile"), ".line");
    assert.equal(await page.getByRole("button", { name: "Edit" }).count(), 0);
    await page.keyboard.press("i");
    assert.equal(await page.locator("textarea").count(), 0);
  }, { hash: at("main"), as: token });
});

test("a branch without a workspace gets one, and one that is removed says so", async () => {
  await tidy("slow");
  await visit(async (page) => {
    await page.getByRole("button", { name: "Make the workspace ready" }).click();
    await page.waitForSelector(".diff-file");
    await tidy("slow");
    await reads(page, ".run-notes", /The workspace was removed/);
  }, { hash: at("slow"), allow: [/404 .*branches\/slow$/] });
});

test("a merge that stops at a conflict is told, and put back; a push to a protected branch is asked about twice", async () => {
  const [branch, other] = [named("ours"), named("theirs")];
  await branchWith(branch, { "same.txt": "ours\n" });
  await branchWith(other, { "same.txt": "theirs\n" });
  await visit(async (page) => {
    await page.waitForSelector(".diff-file");
    await page.keyboard.press("M");
    await page.fill("dialog [name=other]", other);
    await page.keyboard.press("Enter");
    await reads(page, ".toasts", /The merge stopped: conflicts in same\.txt/);
    await reads(page, ".run-notes", /A merge waits to be finished/);
    await page.getByRole("button", { name: "Abort" }).click();
    await reads(page, ".toasts", /All is as it was before/);
    await page.waitForFunction(() => !document.querySelector(".run-notes").textContent.includes("waits"));
    await page.keyboard.press("M");
    await page.fill("dialog [name=other]", "origin/feature/login");
    await page.keyboard.press("Enter");
    await reads(page, ".toasts", /Merged: 1 commit/);
    await reads(page, ".ws-commits", /Ask for a code before greeting/);
  }, { hash: at(branch) });
  await visit(async (page) => {
    await page.waitForSelector(".ws-last");
    await page.keyboard.press("P");
    await page.keyboard.press("Enter");
    await reads(page, "dialog", /although the branch is protected/);
    await page.locator("dialog [name=allow_protected]").check();
    await page.locator("dialog [type=submit]").click();
    await reads(page, ".toasts", /The remote had it all/);
  }, { hash: at("main"), allow: [/status of 403/] });
  await tidy(branch);
  await tidy(other);
});

test("what could not be had while the daemon was away is asked for again", async () => {
  await visit(async (page, context) => {
    await page.waitForSelector(".diff-file");
    await context.setOffline(true);
    await reads(page, ".connection", /Reconnecting|Offline/i);
    await page.keyboard.press("3");
    await page.waitForSelector(".ws-body .problem");
    await context.setOffline(false);
    await page.waitForSelector(".ws-body .commit-list");
  }, { hash: at("broken"), allow: [/ERR_INTERNET_DISCONNECTED|ERR_NETWORK/] });
});

test("a restart of the daemon is survived in place", { skip: !process.env.BRANCHYARD_RESTART }, async () => {
  const branch = named("restart");
  await branchWith(branch, {});
  await visit(async (page) => {
    await reads(page, ".ws-last", /Never built/);
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("BRANCHYARD_")));
    await promisify(execFile)("sh", ["-c", process.env.BRANCHYARD_RESTART], { env });
    await served();
    // What happens while the page is not connected is seen afterwards.
    await ended(await start(branch, "make", { args: "all" }));
    await page.waitForSelector(".ws-last [data-state=succeeded]");
    await page.waitForSelector(".spark rect");
    await write(branch, "README.md", "after\n");
    await reads(page, ".chips", /dirty/);
  }, { hash: at(branch, "?view=runs"), allow: [/ERR_/, /status of 50[234]/] });
  await tidy(branch);
});
