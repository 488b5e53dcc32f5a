//! Small projects that fail to build, one per family of tools, as (path, content). Each has a Makefile
//! whose first target fails, and needs no network.

type Files = Vec<(&'static str, &'static str)>;

/// gcc: an error in `src/main.c`, line 5, and a warning in line 4.
pub fn c() -> Files {
    vec![
        (
            "Makefile",
            "main.o: src/main.c\n\tgcc -Wall -c src/main.c -o main.o\n",
        ),
        (
            "src/main.c",
            "#include <stdio.h>\n\nint main(void) {\n    int unused;\n    printf(\"%d\\n\", missing);\n    return 0;\n}\n",
        ),
    ]
}

/// rustc: an error in `src/main.rs`, line 3, column 18, and a warning in line 2.
pub fn rust() -> Files {
    vec![
        (
            "Makefile",
            "main: src/main.rs\n\trustc --edition 2021 -o main src/main.rs\n",
        ),
        (
            "src/main.rs",
            "fn main() {\n    let unused = 1;\n    let x: u32 = \"text\";\n    println!(\"{x}\");\n}\n",
        ),
    ]
}

/// Python: a `ValueError` in `app/parse.py`, line 2, which becomes a `RuntimeError` in `main.py`, line 6.
pub fn python() -> Files {
    vec![
        ("Makefile", "all:\n\tpython3 -B main.py\n"),
        ("app/parse.py", "def number(text):\n    return int(text)\n"),
        (
            "main.py",
            "from app.parse import number\n\ntry:\n    number(\"six\")\nexcept ValueError as cause:\n    raise RuntimeError(\"no number\") from cause\n",
        ),
    ]
}

/// pytest: of three tests, one fails in `tests/test_calc.py`, line 10, and one in `calc.py`, line 2.
pub fn pytest() -> Files {
    vec![
        (
            "Makefile",
            "test:\n\tPYTHONDONTWRITEBYTECODE=1 pytest -p no:cacheprovider\n",
        ),
        ("conftest.py", ""),
        ("calc.py", "def div(a, b):\n    return a / b\n"),
        (
            "tests/test_calc.py",
            "from calc import div\n\n\ndef test_right():\n    assert div(6, 3) == 2\n\n\ndef test_wrong():\n    six = 6\n    assert div(six, 3) == 3\n\n\ndef test_zero():\n    div(1, 0)\n",
        ),
    ]
}
