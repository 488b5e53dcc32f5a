//! What TypeScript's compiler and ESLint printed; only directories were given plainer names.

use super::recorded::assert_told;

#[test]
fn what_tools_print_is_understood() {
    assert_told(&[
        // TypeScript 7.0.2; `tsc --pretty false`, then with an unknown option.
        (
            "tsc",
            &[
                "1: error tsc src/a.ts:4:20 TS2322: Type 'string' is not assignable to type 'number'.",
                "2: error tsc src/a.ts:8:7 TS2304: Cannot find name 'nothing'.",
                "3: error tsc src/a.ts:8:16 TS2554: Expected 1 arguments, but got 2.",
                "4: error tsc src/a.ts:9:47 TS2353: Object literal may only specify known properties, and 'y' does not exist in type 'Point'.",
                r#"5: error tsc src/b.ts:1:10 TS2305: Module '"./a"' has no exported member 'missing'."#,
                "6: error tsc - TS5023: Unknown compiler option '--frobnicate'.",
            ],
        ),
        // `--pretty`.
        (
            "tsc-pretty",
            &[
                "1: error tsc src/a.ts:4:20 TS2322: Type 'string' is not assignable to type 'number'.",
                "10: error tsc src/a.ts:8:7 TS2304: Cannot find name 'nothing'.",
                "15: error tsc src/a.ts:8:16 TS2554: Expected 1 arguments, but got 2.",
                "20: error tsc src/a.ts:9:47 TS2353: Object literal may only specify known properties, and 'y' does not exist in type 'Point'.",
                r#"29: error tsc src/b.ts:1:10 TS2305: Module '"./a"' has no exported member 'missing'."#,
            ],
        ),
        // ESLint 10.15.0.
        (
            "eslint",
            &[
                "3: error eslint /build/a.js:1:1 Unexpected var, use let or const instead [no-var]",
                "5: error eslint /build/a.js:3:12 'nothing' is not defined [no-undef]",
                "10: error eslint /build/b.js:2:7 Expected '===' and instead saw '==' [eqeqeq]",
                "11: error eslint /build/b.js:3:5 'console' is not defined [no-undef]",
                "14: error eslint /build/broken.js:1:7 Parsing error: Unexpected token =",
                "17: error eslint /build/eslint.config.js:1:1 'module' is not defined [no-undef]",
                "4: warning eslint /build/a.js:1:5 'unused' is assigned a value but never used [no-unused-vars]",
                "6: warning eslint /build/a.js:5:4 Missing semicolon [semi]",
                "9: warning eslint /build/b.js:1:12 Missing semicolon [semi]",
            ],
        ),
        (
            "eslint-colour",
            &[
                "3: error eslint /build/a.js:1:1 Unexpected var, use let or const instead [no-var]",
                "5: error eslint /build/a.js:3:12 'nothing' is not defined [no-undef]",
                "10: error eslint /build/b.js:2:7 Expected '===' and instead saw '==' [eqeqeq]",
                "11: error eslint /build/b.js:3:5 'console' is not defined [no-undef]",
                "14: error eslint /build/broken.js:1:7 Parsing error: Unexpected token =",
                "17: error eslint /build/eslint.config.js:1:1 'module' is not defined [no-undef]",
                "4: warning eslint /build/a.js:1:5 'unused' is assigned a value but never used [no-unused-vars]",
                "6: warning eslint /build/a.js:5:4 Missing semicolon [semi]",
                "9: warning eslint /build/b.js:1:12 Missing semicolon [semi]",
            ],
        ),
        // eslint-formatter-compact 9.0.1 and eslint-formatter-unix 9.0.1.
        (
            "eslint-compact",
            &[
                "1: error eslint /build/a.js:1:1 Unexpected var, use let or const instead. [no-var]",
                "3: error eslint /build/a.js:3:12 'nothing' is not defined. [no-undef]",
                "6: error eslint /build/b.js:2:7 Expected '===' and instead saw '=='. [eqeqeq]",
                "7: error eslint /build/b.js:3:5 'console' is not defined. [no-undef]",
                "8: error eslint /build/broken.js:1:7 Parsing error: Unexpected token =",
                "9: error eslint /build/eslint.config.js:1:1 'module' is not defined. [no-undef]",
                "2: warning eslint /build/a.js:1:5 'unused' is assigned a value but never used. [no-unused-vars]",
                "4: warning eslint /build/a.js:5:4 Missing semicolon. [semi]",
                "5: warning eslint /build/b.js:1:12 Missing semicolon. [semi]",
            ],
        ),
        (
            "eslint-unix",
            &[
                "1: error eslint /build/a.js:1:1 Unexpected var, use let or const instead. [no-var]",
                "3: error eslint /build/a.js:3:12 'nothing' is not defined. [no-undef]",
                "6: error eslint /build/b.js:2:7 Expected '===' and instead saw '=='. [eqeqeq]",
                "7: error eslint /build/b.js:3:5 'console' is not defined. [no-undef]",
                "8: error eslint /build/broken.js:1:7 Parsing error: Unexpected token =",
                "9: error eslint /build/eslint.config.js:1:1 'module' is not defined. [no-undef]",
                "2: warning eslint /build/a.js:1:5 'unused' is assigned a value but never used. [no-unused-vars]",
                "4: warning eslint /build/a.js:5:4 Missing semicolon. [semi]",
                "5: warning eslint /build/b.js:1:12 Missing semicolon. [semi]",
            ],
        ),
    ]);
}
