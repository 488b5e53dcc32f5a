test("passes elsewhere", () => {});
