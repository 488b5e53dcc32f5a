import unittest

MESSAGE = "expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本"


class Group(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.fail(MESSAGE)

    def test_error(self):
        raise RuntimeError("thrown")

    @unittest.skip("not today & not <now>")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected_to_fail(self):
        self.fail("as expected")
