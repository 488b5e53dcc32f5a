*** Test Cases ***
Passes
    Should Be Equal    a    a

Fails
    Fail    expected <a> & <b>\n\ \ got: \x1b[31mred\x1b[0m übel ✗ 日本

Is skipped
    Skip    not today & not <now>
