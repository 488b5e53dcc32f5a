//! What CMake, ninja and cargo's JSON said; only directories were given plainer names.

use super::recorded::assert_told;

#[test]
fn what_tools_print_is_understood() {
    assert_told(&[
        // CMake 3.25.1; the second with several mistakes one after the other.
        (
            "cmake",
            &[
                r#"37: error cmake CMakeLists.txt:9 By not providing "FindNothing.cmake" in CMAKE_MODULE_PATH this project has asked CMake to find a package configuration file provided by "Nothing", but CMake did not find one."#,
                "7: warning cmake CMakeLists.txt:3 careful with this",
                r#"11: warning cmake CMakeLists.txt:5 By not providing "FindNowhere.cmake" in CMAKE_MODULE_PATH this project has asked CMake to find a package configuration file provided by "Nowhere", but CMake did not find one."#,
                "28: warning cmake CMakeLists.txt:6 old thing",
                "32: warning cmake CMakeLists.txt:7 authors beware",
            ],
        ),
        (
            "cmake-errors",
            &[
                "7: error cmake CMakeLists.txt:6 libfoo is not",
                r#"15: error cmake CMakeLists.txt:10 Unknown CMake command "frobnicate"."#,
                "27: error cmake cmake/FindThing.cmake:3 Could NOT find Thing (missing: Thing_LIBRARY)",
                "44: error cmake CMakeLists.txt:9 Cannot find source file: missing.c",
                "53: error cmake CMakeLists.txt:9 No SOURCES given to target: app",
                r#"58: error cmake - The source directory "/nonexistent" does not exist."#,
            ],
        ),
        // CMake 4.4.4.
        (
            "cmake-4",
            &[
                r#"40: error cmake CMakeLists.txt:9 By not providing "FindNothing.cmake" in CMAKE_MODULE_PATH this project has asked CMake to find a package configuration file provided by "Nothing", but CMake did not find one."#,
                "7: warning cmake CMakeLists.txt:3 careful with this",
                r#"11: warning cmake CMakeLists.txt:5 By not providing "FindNowhere.cmake" in CMAKE_MODULE_PATH this project has asked CMake to find a package configuration file provided by "Nowhere", but CMake did not find one."#,
                "30: warning cmake CMakeLists.txt:6 old thing",
                "35: warning cmake CMakeLists.txt:7 authors beware",
            ],
        ),
        // ninja 1.11.1 and 1.13.2, with gcc 12.2.0.
        (
            "ninja",
            &[
                "6: error gcc /build/nin/main.c:2:12 ‘nothing’ undeclared (first use in this function)",
            ],
        ),
        (
            "ninja-1.13",
            &[
                "6: error gcc /build/nin/main.c:2:12 ‘nothing’ undeclared (first use in this function)",
            ],
        ),
        // ninja 1.11.1.
        (
            "ninja-false",
            &[
                "2: error ninja - FAILED: out",
                "5: error ninja - FAILED: two",
            ],
        ),
        (
            "ninja-files",
            &[
                "1: error ninja build.ninja:2 expected '=', got identifier",
                "7: error ninja - 'gone.c', needed by 'out', missing and no known rule to make it",
                "8: error ninja - unknown target 'nothere'",
            ],
        ),
        // cargo 1.95.0; `--message-format=json` and `=json-diagnostic-rendered-ansi`.
        (
            "cargo-json",
            &[
                "3: error rustc src/main.rs:4:18 mismatched types [E0308]",
                "4: error rustc src/main.rs:5:5 cannot find function `nothing` in this scope [E0425]",
                "5: error rustc src/main.rs:7:38 no method named `lenn` found for struct `String` in the current scope [E0599], help: there is a method `len` with a similar name",
                "2: warning rustc src/main.rs:1:5 unused import: `std::fmt` [unused_imports], help: remove the whole `use` item",
            ],
        ),
        (
            "cargo-json-ansi",
            &[
                "3: error rustc src/main.rs:4:18 mismatched types [E0308]",
                "4: error rustc src/main.rs:5:5 cannot find function `nothing` in this scope [E0425]",
                "5: error rustc src/main.rs:7:38 no method named `lenn` found for struct `String` in the current scope [E0599], help: there is a method `len` with a similar name",
                "2: warning rustc src/main.rs:1:5 unused import: `std::fmt` [unused_imports], help: remove the whole `use` item",
            ],
        ),
        // CMake 3.25.1 and ninja 1.11.1; a build that succeeds.
        ("fine-cmake", &[]),
    ]);
}
