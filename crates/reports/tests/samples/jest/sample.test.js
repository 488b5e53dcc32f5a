const MESSAGE = "expected <a> & <b>\n  got: \u001b[31mred\u001b[0m übel ✗ 日本";

describe("group", () => {
  test("passes", () => {
    expect(1).toBe(1);
  });

  describe("inner", () => {
    test("fails", () => {
      throw new Error(MESSAGE);
    });
  });

  test.skip("is skipped", () => {});
});

test("compares", () => {
  expect({ a: "<1>" }).toEqual({ a: "<2>" });
});
