//! What the tools of Go and Java printed; only directories were given plainer names.

use super::recorded::assert_told;

#[test]
fn what_tools_print_is_understood() {
    assert_told(&[
        // Go 1.19.8; `build`, `vet`, `vet` of what does not compile, and `build` without a dependency.
        (
            "go",
            &[
                r#"2: error go broken/a.go:3:8 imported and not used: "os""#,
                "3: error go broken/a.go:6:2 x declared but not used",
                "4: error go broken/a.go:7:2 undefined: nothing",
                "5: error go broken/a.go:8:17 cannot use 2 (untyped int constant) as string value in variable declaration",
                r#"7: error go ./a.go:6:2 fmt.Printf format %d has arg "x" of wrong type string"#,
                "8: error go ./a.go:8:2 unreachable code",
                "10: error go broken/a.go:7:2 undeclared name: nothing",
                "11: error go dep/a.go:4:2 no required module provides package example.org/nowhere; to add it:",
                "13: error go dep/a.go:5:2 package nonesuch is not in GOROOT (/usr/lib/go-1.19/src/nonesuch)",
            ],
        ),
        // `go test`, and with `-v`.
        (
            "go-test",
            &[
                "4: error go a_test.go:8 TestAdd: Add(1, 2) = -1, want 3",
                "8: error go a_test.go:20 TestTable/two: two is wrong",
                "9: error go - TestSilent: failed",
            ],
        ),
        (
            "go-test-verbose",
            &[
                "23: error go a_test.go:8 TestAdd: Add(1, 2) = -1, want 3",
                "32: error go a_test.go:20 TestTable/two: two is wrong",
                "40: error go - TestSilent: failed",
            ],
        ),
        // `go test` and `go run`.
        (
            "go-test-panic",
            &[
                "2: error go /build/ptest/a_test.go:11 TestNil: panic: runtime error: invalid memory address or nil pointer dereference",
            ],
        ),
        (
            "go-panic",
            &[
                "1: error go /build/pan/a.go:5 panic: runtime error: index out of range [10] with length 3",
                "17: error go /build/deadlock/a.go:3 fatal error: all goroutines are asleep - deadlock!",
            ],
        ),
        // javac 17.0.15 with `-Xlint:all`.
        (
            "javac",
            &[
                "1: error javac A.java:4:14 incompatible types: String cannot be converted to int",
                "4: error javac A.java:6:16 cannot find symbol, symbol: variable nothing, location: class A",
                "9: error javac A.java:6:26 method g in class A cannot be applied to given types, required: no arguments, found: int, reason: actual and formal argument lists differ in length",
                "35: error javac A.java:13:28 incompatible types: lambda body is not compatible with a void functional interface",
                "41: error javac B.java:2:14 ';' expected",
                "15: warning javac A.java:10:18 [deprecation] Date(int,int,int) in Date has been deprecated",
                "18: warning javac A.java:11:9 [rawtypes] found raw type: List",
                "24: warning javac A.java:11:24 [rawtypes] found raw type: ArrayList",
                "30: warning javac A.java:12:16 [unchecked] unchecked call to add(E) as a member of the raw type List",
            ],
        ),
        // Maven 3.8.7 with maven-compiler-plugin 3.10.1; Gradle 4.4.1.
        (
            "maven",
            &[
                "27: error javac /build/mvn/src/main/java/app/A.java:5:21 incompatible types: java.lang.String cannot be converted to int",
                "28: error javac /build/mvn/src/main/java/app/A.java:7:16 cannot find symbol, symbol: variable nothing, location: class app.A",
                "31: error javac /build/mvn/src/main/java/app/A.java:7:26 method g in class app.A cannot be applied to given types, required: no arguments, found: int, reason: actual and formal argument lists differ in length",
                "35: error javac /build/mvn/src/main/java/app/A.java:14:28 incompatible types: lambda body is not compatible with a void functional interface",
                "16: warning javac /build/mvn/src/main/java/app/A.java:11:18 Date(int,int,int) in java.util.Date has been deprecated",
                "17: warning javac /build/mvn/src/main/java/app/A.java:12:9 found raw type: java.util.List",
                "19: warning javac /build/mvn/src/main/java/app/A.java:12:24 found raw type: java.util.ArrayList",
                "21: warning javac /build/mvn/src/main/java/app/A.java:13:16 unchecked call to add(E) as a member of the raw type java.util.List",
            ],
        ),
        (
            "maven-colour",
            &[
                "27: error javac /build/mvn/src/main/java/app/A.java:5:21 incompatible types: java.lang.String cannot be converted to int",
                "28: error javac /build/mvn/src/main/java/app/A.java:7:16 cannot find symbol, symbol: variable nothing, location: class app.A",
                "31: error javac /build/mvn/src/main/java/app/A.java:7:26 method g in class app.A cannot be applied to given types, required: no arguments, found: int, reason: actual and formal argument lists differ in length",
                "35: error javac /build/mvn/src/main/java/app/A.java:14:28 incompatible types: lambda body is not compatible with a void functional interface",
                "16: warning javac /build/mvn/src/main/java/app/A.java:11:18 Date(int,int,int) in java.util.Date has been deprecated",
                "17: warning javac /build/mvn/src/main/java/app/A.java:12:9 found raw type: java.util.List",
                "19: warning javac /build/mvn/src/main/java/app/A.java:12:24 found raw type: java.util.ArrayList",
                "21: warning javac /build/mvn/src/main/java/app/A.java:13:16 unchecked call to add(E) as a member of the raw type java.util.List",
            ],
        ),
        (
            "gradle",
            &[
                "4: error javac /build/gradle/src/main/java/A.java:4:14 incompatible types: String cannot be converted to int",
                "7: error javac /build/gradle/src/main/java/A.java:6:16 cannot find symbol, symbol: variable nothing, location: class A",
                "12: error javac /build/gradle/src/main/java/A.java:6:26 method g in class A cannot be applied to given types, required: no arguments, found: int, reason: actual and formal argument lists differ in length",
                "38: error javac /build/gradle/src/main/java/A.java:13:28 incompatible types: lambda body is not compatible with a void functional interface",
                "18: warning javac /build/gradle/src/main/java/A.java:10:18 [deprecation] Date(int,int,int) in Date has been deprecated",
                "21: warning javac /build/gradle/src/main/java/A.java:11:9 [rawtypes] found raw type: List",
                "27: warning javac /build/gradle/src/main/java/A.java:11:24 [rawtypes] found raw type: ArrayList",
                "33: warning javac /build/gradle/src/main/java/A.java:12:16 [unchecked] unchecked call to add(E) as a member of the raw type List",
            ],
        ),
        // Go 1.19.8; tests that pass, with remarks and a stack trace.
        ("fine-go", &[]),
    ]);
}
