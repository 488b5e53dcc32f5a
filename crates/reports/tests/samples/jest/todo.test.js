test.todo("is to do");

test("passes beside it", () => {});
