import { describe, expect, test } from "vitest";

const MESSAGE = "expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本";
let tries = 0;

describe("group", () => {
  test("passes", () => {});
  test("fails", () => {
    throw new Error(MESSAGE);
  });
  test.skip("is skipped", () => {});
  test("is flaky", { retry: 2 }, () => {
    tries += 1;
    expect(tries).toBeGreaterThan(1);
  });
});
