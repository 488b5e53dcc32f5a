// What a person waits for: at the first visit, and in all views together.

import assert from "node:assert/strict";
import { get } from "node:http";
import { test } from "node:test";
import { url, visit } from "./harness.mjs";

const MOST_AT_FIRST = 80_000;
const MOST_IN_ALL = 175_000;

test("a cold load of the yard transfers less than 80 KB", async () => {
  await visit(async (page) => {
    await page.waitForSelector("main section.repo");
    const sent = await page.evaluate(() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
      .filter(({ name }) => !/\/(api|stream)\//.test(name))
      .map(({ name, transferSize }) => [name, transferSize]));
    assert.ok(sent.length > 10 && sent.every(([, size]) => size > 0), JSON.stringify(sent));
    const total = sent.reduce((sum, [, size]) => sum + size, 0);
    console.log(`${sent.length} files, ${total} bytes at first`);
    assert.ok(total < MOST_AT_FIRST, `${total} bytes: ${JSON.stringify(sent)}`);
  });
});

test("all files of the page, as they are sent, weigh less than 175 KB", async () => {
  const known = new Map();
  const wanted = ["index.html", "api.html"];
  while (wanted.length > 0) {
    const path = wanted.pop();
    if (known.has(path)) continue;
    known.set(path, await weigh(path));
    const text = await (await fetch(url + (path === "index.html" ? "" : path), { headers: { accept: "text/html,*/*" } })).text();
    const names = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*"([^"]+)"|(?:src|href)="([^"#]+)"/g)];
    for (const [, imported, linked] of names) {
      if (imported && !imported.startsWith(".")) continue;
      if (imported || /\.(js|css|svg)$/.test(linked)) wanted.push(new URL(imported ?? linked, url + path).href.slice(url.length));
    }
  }
  const total = [...known.values()].reduce((sum, size) => sum + size, 0);
  console.log(`${known.size} files, ${total} bytes in all`);
  assert.ok(known.size > 60, `${[...known.keys()]}`);
  assert.ok(total < MOST_IN_ALL, `${total} bytes`);
});

/** Bytes of a file as they go over the line to a browser. */
function weigh(path) {
  return new Promise((resolve, reject) => {
    const headers = { accept: "text/html,*/*", "accept-encoding": "gzip" };
    get(url + (path === "index.html" ? "" : path), { headers }, (answer) => {
      if (answer.statusCode !== 200) return reject(new Error(`${path}: ${answer.statusCode}`));
      let size = 0;
      answer.on("data", (part) => { size += part.length; }).on("end", () => resolve(size)).on("error", reject);
    }).on("error", reject);
  });
}
