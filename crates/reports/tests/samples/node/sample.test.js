const assert = require("node:assert");
const { describe, it, test } = require("node:test");

const MESSAGE = "expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本";

describe("group", () => {
  it("passes", () => {});
  it("fails", () => {
    throw new Error(MESSAGE);
  });
  describe("inner", () => {
    it("passes", () => {});
    it.skip("is skipped", () => {});
  });
});

test("compares # and \\ hashes", () => {
  assert.strictEqual("<1>", "<2>");
});

test.todo("is to do");

test("has subtests", async (t) => {
  await t.test("one", () => {});
  await t.test("two", () => {});
});
