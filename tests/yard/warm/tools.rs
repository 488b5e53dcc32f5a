//! Other tools than make, with records of their own of what was built.

use super::project::{build, push, warm};
use crate::support::{Options, Yard, text_of};

/// A yard whose `main` has these files and a `Makefile` that runs one command.
async fn yard(command: &str, files: &[(&str, &str)]) -> Yard {
    let mut yard = Yard::asleep(Options {
        repo: "warm = \"nearest\"".into(),
        ..Options::default()
    });
    yard.origin
        .write("Makefile", format!("all:\n\t@{command}\n"));
    for (path, content) in files {
        yard.origin.write(path, content);
    }
    yard.origin.commit("a project");
    yard.origin.push("main");
    yard.start().await;
    yard
}

#[tokio::test(flavor = "multi_thread")]
async fn cargo_compiles_only_the_crate_that_differs() {
    let manifest = "[package]\nname = \"NAME\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let app = manifest.replace("NAME", "app") + "[dependencies]\nlib = { path = \"lib\" }\n";
    // Not the one that asks the user's settings which toolchain is meant: builds have a home of their own.
    let tools = std::path::Path::new(env!("CARGO")).parent().unwrap();
    let mut yard = yard(
        &format!(
            "PATH=\"{}:$$PATH\" cargo build --offline --verbose 2>&1",
            tools.display()
        ),
        &[
            (".gitignore", "/target\n/Cargo.lock\n"),
            ("Cargo.toml", &app),
            (
                "src/main.rs",
                "fn main() { println!(\"{}\", lib::seven()); }\n",
            ),
            ("lib/Cargo.toml", &manifest.replace("NAME", "lib")),
            ("lib/src/lib.rs", "pub fn seven() -> u32 { 7 }\n"),
        ],
    )
    .await;
    let first = text_of(&build(&yard, "main").await);
    assert!(first.contains("Compiling lib"), "{first}");
    push(
        &yard,
        "topic",
        &[("src/main.rs", "fn main() { println!(\"topic\"); }\n")],
    );
    let events = build(&yard, "topic").await;
    assert_eq!(warm(&events)["branch"], "main");
    let said = text_of(&events);
    assert!(said.contains("Fresh lib"), "{said}");
    assert!(said.contains("Compiling app"), "{said}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ninja_compiles_only_the_file_that_differs() {
    let rules = "rule cc\n  command = cc -MMD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n\
        build out/a.o: cc a.c\nbuild out/b.o: cc b.c\nbuild out/c.o: cc c.c\n";
    let mut yard = yard(
        "ninja --verbose",
        &[
            (".gitignore", "/out\n/.ninja_*\n"),
            ("build.ninja", rules),
            ("a.h", "#define A 1\n"),
            ("a.c", "#include \"a.h\"\nint a = A;\n"),
            ("b.c", "int b;\n"),
            ("c.c", "#include \"a.h\"\nint c = A;\n"),
        ],
    )
    .await;
    let first = text_of(&build(&yard, "main").await);
    assert!(first.contains("[3/3]"), "{first}");
    push(&yard, "topic", &[("b.c", "int b = 2;\n")]);
    let events = build(&yard, "topic").await;
    assert_eq!(warm(&events)["branch"], "main");
    let said = text_of(&events);
    assert!(said.contains("[1/1]") && said.contains("b.c"), "{said}");
    // Ninja knows from its own notes who includes the header.
    push(&yard, "header", &[("a.h", "#define A 2\n")]);
    let said = text_of(&build(&yard, "header").await);
    assert!(said.contains("[2/2]") && !said.contains("b.c"), "{said}");
    yard.stop().await;
}
