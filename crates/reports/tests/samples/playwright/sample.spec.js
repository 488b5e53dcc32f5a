const { expect, test } = require("@playwright/test");

const MESSAGE = "expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本";

test.describe("group", () => {
  test("passes", () => {});
  test("fails", () => {
    throw new Error(MESSAGE);
  });
  test.skip("is skipped", () => {});
});

test("is flaky", ({}, info) => {
  expect(info.retry).toBe(1);
});
