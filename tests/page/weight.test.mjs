// What a person waits for at the first visit.

import assert from "node:assert/strict";
import { test } from "node:test";
import { visit } from "./harness.mjs";

const MOST = 80_000;

test("a cold load of the yard transfers less than 80 KB", async () => {
  await visit(async (page) => {
    await page.waitForSelector("main section.repo");
    const sent = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => !/\/(api|stream)\//.test(name))
      .map(({ name, transferSize }) => [name, transferSize]));
    assert.ok(sent.length > 10 && sent.every(([, size]) => size > 0), JSON.stringify(sent));
    const total = sent.reduce((sum, [, size]) => sum + size, 0);
    assert.ok(total < MOST, `${total} bytes: ${JSON.stringify(sent)}`);
  });
});
