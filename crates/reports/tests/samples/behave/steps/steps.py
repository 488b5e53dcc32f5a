from behave import given, when


@given("a step that passes")
def passes(context):
    pass


@when("a step fails")
def fails(context):
    assert False, "expected <a> & <b>\n  got: \x1b[31mred\x1b[0m übel ✗ 日本"
