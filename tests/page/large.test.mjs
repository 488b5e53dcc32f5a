// A yard that has been used for a while: two hundred workspaces and ten thousand runs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { call, until, url, visit } from "./harness.mjs";

/** How many runs a list has in all. */
async function runs() {
  let [count, before] = [0, null];
  do {
    const page = await call("GET", `api/runs?limit=1000${before ? `&before=${before}` : ""}`);
    count += page.items.length;
    before = page.next;
  } while (before);
  return count;
}

test("the yard is on the screen within a second", async (t) => {
  await until(async () => (await runs()) === 10_000, "the history is whole");
  await visit(async (page) => {
    const times = [];
    for (let round = 0; round < 5; round += 1) {
      await page.goto("about:blank");
      await page.goto(url);
      // From the navigation until a screen full of branches, with their commits, has been painted.
      const shown = await page.waitForFunction(() => {
        const row = document.querySelectorAll("tr[data-branch] .subject");
        return row.length >= 40 && performance.now();
      });
      times.push(Math.round(await shown.jsonValue()));
      await page.waitForFunction(() => document.querySelectorAll("tr[data-branch]").length === 200);
    }
    t.diagnostic(`useful after ${times.join(", ")} ms`);
    times.sort((a, b) => a - b);
    assert.ok(times[2] <= 1000, `${times} ms`);
  });
});
