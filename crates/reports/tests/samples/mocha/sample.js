const assert = require("node:assert");

const MESSAGE = "expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本";

describe("group", function () {
  it("passes", function () {});

  describe("inner", function () {
    it("fails", function () {
      throw new Error(MESSAGE);
    });
  });

  it.skip("is skipped", function () {});

  let tries = 0;
  it("is flaky", function () {
    this.retries(2);
    tries += 1;
    assert.ok(tries > 1);
  });
});

it("compares", function () {
  assert.deepStrictEqual({ a: "<1>" }, { a: "<2>" });
});
