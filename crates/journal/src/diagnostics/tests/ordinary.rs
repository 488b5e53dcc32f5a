//! What builds print when all is well, and what only resembles a complaint of one of the tools.

use super::told;

#[test]
fn ordinary_logs_complain_about_nothing() {
    for log in [
        "npm warn deprecated request@2.88.2: request has been deprecated, see https://github.com/request/request/issues/3142\n\nadded 48 packages, and audited 49 packages in 8s\n\n3 packages are looking for funding\n  run `npm fund` for details\n\nfound 0 vulnerabilities",
        "=== RUN   TestX\n    a_test.go:7: cannot connect: error: expected\n--- PASS: TestX (0.00s)\nPASS\nok  \texample.com/app\t0.010s",
        "=== RUN   TestX\n    a_test.go:7: later\n--- SKIP: TestX (0.00s)\nPASS",
        "goroutine 18 [running]:\nmain.main()\n\t/x/a.go:7 +0x1d",
        "panic: no trace follows\nmain.main()\n\t/x/a.go:7 +0x1d",
        "2024/01/01 12:30:45 http: panic serving 127.0.0.1:80: boom\ngoroutine 7 [running]:\n\t/x/a.go:7 +0x1d",
        "    a_test.go:7: below no verdict",
        "a_test.go:7: a remark of a logger",
        "--- FAIL: not a verdict\n    a_test.go:7: no",
        "--- a/x.go: (0.00s)\n+++ b/x.go",
        "go: downloading example.org/x v1.0.0\ngo: finding module for package error: x",
        "# example.com/app\n./a.go:12:2: too many errors",
        "-- Found ZLIB: /usr/lib/libz.so (found version \"1.2.13\")\n-- Could NOT find Thing (missing: Thing_LIBRARY)\n-- Looking for error: - not found\n-- Configuring done",
        "  CMake Error at CMakeLists.txt:3 (quoted):\n  bad",
        "CMake Errors are told at the end: 0",
        "FAILED: 0 tests\nninja: no work to do.",
        "ninja: Entering directory `build'",
        "[1/2] Building C object error.c.o",
        "Found 0 errors. Watching for file changes.\n[12:30:45] Found 0 errors: TS2304",
        "Files:  src/a.ts(3,5)\nTS2304: no severity",
        // Tables that are like ESLint's.
        "  3:5  error  of a table  no-file",
        "Results:\n  3:5  error  of a table  no-file",
        "/build/a.js\n\n  3:5  error  of a table  no-file",
        "/build/a.js\n  3:5  errors  2  none\n  12:30  error-free  all  fine",
        "/usr/bin/data\n  3:5  error  about no source  no-file",
        "host: line 3, col 5, Error - about no source (none)",
        "\u{2716} 2 problems (1 error, 1 warning)",
        "[Error/x] no place\nhttps://example.com:80:90: fine [Error/x]",
        // Java.
        "\tat app.A.f(A.java:12)\n\tat app.A.main(A.java:3) ~[app.jar:1.0]",
        "Note: A.java uses unchecked or unsafe operations.\n1 error\n2 warnings",
        "[INFO] /x/A.java:[3,5] a remark\n[ERROR] COMPILATION ERROR : ",
        "[ERROR] /x/a.txt:[3,5] not Java's",
        "12:30:45.123 [main] ERROR app.A - A.java:12: failed as expected",
        // cargo's JSON.
        r#"{"reason":"compiler-artifact","package_id":"error: x","fresh":true}"#,
        r#"{"reason":"build-finished","success":true}"#,
        r#"{"reason":"compiler-message","message":{"level":"failure-note","message":"For more information","spans":[]}}"#,
        r#"{"reason":"compiler-message","message":{"level":"warning","message":"2 warnings emitted","spans":[]}}"#,
        r#"{"reason":"compiler-message","message":{"level":"error","#,
        r#"{"level":"error","reason":"compiler-message","message":"x.c:3:5: error: a log"}"#,
    ] {
        assert_eq!(told(log), [""; 0], "{log}");
    }
}
