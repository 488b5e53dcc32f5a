//! What real tools printed; only directories were given plainer names.

use super::told;

#[test]
fn what_tools_print_is_understood() {
    assert_told(&[
        (
            "cargo",
            &[
                "10: error rustc src/main.rs:4:18 mismatched types [E0308]",
                "18: error rustc src/main.rs:5:5 cannot find function `nothing` in this scope [E0425]",
                "2: warning rustc src/main.rs:1:5 unused import: `std::fmt`",
            ],
        ),
        (
            "gcc-colour",
            &["2: warning gcc warn.c:1:20 unused variable 'unused' [-Wunused-variable]"],
        ),
        (
            "gcc-drivers",
            &[
                "2: error gcc /build/c/link.c:2 multiple definition of `main'; l.o:/build/c/link.c:2: first defined here",
                "4: error gcc /build/c/link.c:2 undefined reference to `missing'",
                "8: error gcc - cannot find -lnothere: No such file or directory",
                "10: error gcc - nofile.c: No such file or directory",
            ],
        ),
        (
            "gcc-header",
            &["2: error gcc nohdr.c:1:10 nowhere.h: No such file or directory"],
        ),
        (
            "gcc-link",
            &["3: error gcc link.c undefined reference to `missing'"],
        ),
        (
            "gcc-recursive",
            &[
                "6: error gcc util.h:1:50 'c' undeclared (first use in this function)",
                "11: error gcc main.c:5:20 'undeclared' undeclared (first use in this function)",
                "14: error gcc main.c:6:21 expected ';' before '}' token",
                "20: warning gcc main.c:4:9 unused variable 'unused' [-Wunused-variable]",
                "24: warning gcc util.h:1:53 control reaches end of non-void function [-Wreturn-type]",
            ],
        ),
        (
            "make-false",
            &["4: error make b1a.mk:2 [b1a.mk:2: all] Error 1"],
        ),
        (
            "make-files",
            &[
                "1: error make bad.mk:2 missing separator.",
                "2: error make - No rule to make target 'x', needed by 'all'.",
                "3: error make b3.mk:1 boom.",
                "12: error make - nosuchcmd: No such file or directory",
                "5: warning make b4.mk:7 overriding recipe for target 'a'",
                "6: warning make b4.mk:5 ignoring old recipe for target 'a'",
            ],
        ),
        (
            "make-shell",
            &[r#"2: error generic - Syntax error: "then" unexpected"#],
        ),
        (
            "pytest",
            &[
                "14: error pytest tests/test_calc.py:15 test_fixture: RuntimeError: no fixture",
                "22: error pytest tests/test_calc.py:8 test_wrong: AssertionError: six by three",
                "40: error pytest calc.py:2 test_raises: ZeroDivisionError: division by zero",
                "50: error pytest tests/test_calc.py:22 test_param[1]: assert 1 == 2",
                "60: error pytest tests/test_calc.py:27 TestThing.test_method: AssertionError: assert {'a': 1} == {'a': 2}",
            ],
        ),
        (
            "pytest-chain",
            &["25: error pytest chain.py:5 test_chain: RuntimeError: later"],
        ),
        (
            "pytest-collect",
            &[
                "16: error pytest tests/test_broken.py:1 ModuleNotFoundError: No module named 'nonesuch'",
                "44: error pytest /build/pt/tests/test_syn.py:1 SyntaxError: invalid syntax",
            ],
        ),
        (
            "pytest-colour",
            &[
                "13: error pytest tests/test_calc.py:8 test_wrong: AssertionError: six by three",
                "31: error pytest calc.py:2 test_raises: ZeroDivisionError: division by zero",
            ],
        ),
        (
            "pytest-line",
            &[
                "10: error pytest tests/test_calc.py test_fixture: RuntimeError: no fixture",
                "12: error pytest /build/pt/tests/test_calc.py:8 test_wrong: AssertionError: six by three",
                "16: error pytest /build/pt/calc.py:2 test_raises: ZeroDivisionError: division by zero",
                "18: error pytest /build/pt/tests/test_calc.py:22 test_param[1]: assert 1 == 2",
                "20: error pytest /build/pt/tests/test_calc.py:27 TestThing.test_method: AssertionError: assert {'a': 1} == {'a': 2}",
            ],
        ),
        (
            "pytest-native",
            &[
                "65: error pytest /build/pt/calc.py:2 test_raises: ZeroDivisionError: division by zero",
            ],
        ),
        (
            "pytest-no",
            &[
                "9: error pytest tests/test_calc.py test_wrong: AssertionError: six by three",
                "10: error pytest tests/test_calc.py test_raises: ZeroDivisionError: division by zero",
                "11: error pytest tests/test_calc.py test_param[1]: assert 1 == 2",
                "12: error pytest tests/test_calc.py TestThing.test_method: AssertionError: assert {'...",
                "13: error pytest tests/test_calc.py test_fixture: RuntimeError: no fixture",
            ],
        ),
        (
            "pytest-short",
            &[
                "6: error pytest tests/test_calc.py:15 test_fixture: RuntimeError: no fixture",
                "11: error pytest tests/test_calc.py:8 test_wrong: AssertionError: six by three",
                "20: error pytest calc.py:2 test_raises: ZeroDivisionError: division by zero",
                "24: error pytest tests/test_calc.py:22 test_param[1]: assert 1 == 2",
                "28: error pytest tests/test_calc.py:27 TestThing.test_method: AssertionError: assert {'a': 1} == {'a': 2}",
            ],
        ),
        (
            "python",
            &[
                "25: error python /build/py/tb.py:8 RuntimeError: cannot load",
                "29: error python /build/py/syn.py:1 SyntaxError: invalid syntax",
                "35: error python /build/py/exc.py:3 AppError: two",
                "40: error python /build/py/ind.py:2 IndentationError: expected an indented block after function definition on line 1",
                "44: error python /build/py/imp.py:1 ModuleNotFoundError: No module named 'nonesuch'",
                "49: error python /build/py/bare.py:2 AssertionError",
                "57: error python /build/py/warn.py:4 KeyboardInterrupt",
                "61: error python /build/py/grp.py:1 ExceptionGroup: many (2 sub-exceptions)",
                "74: error python /build/py/ut.py:6 ValueError: b",
                "82: error python /build/py/ut.py:4 AssertionError: 1 != 2",
                "50: warning python /build/py/warn.py:2 DeprecationWarning: old thing",
                "52: warning python /build/py/warn.py:3 UserWarning: a user warning",
            ],
        ),
        (
            "rust-tests",
            &[
                "12: error rustc ok.rs:3:5 assertion `left == right` failed, left: 2, right: 3",
                "20: error rustc ok.rs:8:10 a number",
            ],
        ),
        (
            "rustc",
            &[
                "9: error rustc bad.rs:4:18 mismatched types [E0308]",
                "17: error rustc bad.rs:5:5 cannot find function `nothing` in this scope [E0425]",
                "1: warning rustc bad.rs:1:5 unused import: `std::fmt`",
            ],
        ),
        (
            "rustc-colour",
            &[
                "9: error rustc bad.rs:4:18 mismatched types [E0308]",
                "17: error rustc bad.rs:5:5 cannot find function `nothing` in this scope [E0425]",
                "1: warning rustc bad.rs:1:5 unused import: `std::fmt`",
            ],
        ),
        (
            "rustc-link",
            &[
                "1: error rustc - linking with `cc` failed: exit status: 1",
                "5: error gcc - undefined symbol: nowhere",
            ],
        ),
        (
            "rustc-short",
            &[
                "2: error rustc bad.rs:4:18 mismatched types: expected `u32`, found `&str` [E0308]",
                "3: error rustc bad.rs:5:5 cannot find function `nothing` in this scope: not found in this scope [E0425]",
                "1: warning rustc bad.rs:1:5 unused import: `std::fmt`",
            ],
        ),
    ]);
}

/// Each recording by its name, and what is told of it.
pub(super) fn assert_told(cases: &[(&str, &[&str])]) {
    for (name, expected) in cases {
        let path = format!(
            "{}/../../fixtures/logs/{name}.log",
            env!("CARGO_MANIFEST_DIR")
        );
        assert_eq!(told(std::fs::read(path).unwrap()), *expected, "{name}");
    }
}
