import os

import pytest

MESSAGE = "expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本"


class TestGroup:
    def test_passes(self):
        assert True

    def test_fails(self):
        assert False, MESSAGE


@pytest.mark.parametrize("value", [1, 2, "a - b"])
def test_parameter(value):
    assert value != 2


@pytest.mark.skip(reason="not today & not <now>")
def test_skipped():
    assert False


@pytest.mark.xfail
def test_expected_to_fail():
    assert False


@pytest.mark.xfail
def test_unexpectedly_passes():
    assert True


@pytest.fixture
def broken():
    raise RuntimeError("no fixture today")


def test_error(broken):
    pass


@pytest.mark.flaky(reruns=2)
def test_flaky():
    first = not os.path.exists("was-here")
    open("was-here", "w").close()
    assert not first
