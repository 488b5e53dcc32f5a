//! Real builds under `standard`, with the caches of their tools bound.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::options;
use crate::support::{Options, Yard, text_of};

/// A yard with these files on `main`.
async fn yard(options: Options, files: &[(&str, &str)]) -> Yard {
    let mut yard = Yard::asleep(options);
    for (path, content) in files {
        yard.origin.write(path, content);
    }
    yard.origin.commit("a real build");
    yard.origin.push("main");
    yard.start().await;
    yard
}

/// What a program prints on one line; `None` where it is missing.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_c_program() {
    let mut yard = yard(
        options("standard", ""),
        &[
            ("lib/sum.h", "int sum(int, int);\n"),
            (
                "lib/sum.c",
                "#include \"sum.h\"\nint sum(int a, int b) { return a + b; }\n",
            ),
            (
                "main.c",
                "#include <stdio.h>\n#include <math.h>\n#include \"lib/sum.h\"\n\
              int main(void) { printf(\"%d %.0f\\n\", sum(1, 2), sqrt(49)); return 0; }\n",
            ),
            (
                "Makefile",
                "CFLAGS = -O2 -g -Wall -Werror\nall: program\n\t@./program\n\
              program: main.o libsum.a\n\t@$(CC) -o $@ $^ -lm\n\
              libsum.a: lib/sum.o\n\t@$(AR) rcs $@ $^\n\
              %.o: %.c\n\t@$(CC) $(CFLAGS) -c -o $@ $<\n",
            ),
        ],
    )
    .await;
    let events = yard.make("main", &["-j2"]).await;
    assert_eq!(text_of(&events), "3 7\n", "{events:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cargo_crate() {
    let sysroot = said("rustc", &["--print", "sysroot"]).map(PathBuf::from);
    let Some(sysroot) = sysroot.filter(|dir| dir.join("bin/cargo").is_file()) else {
        return println!("skipped: there is no cargo here");
    };
    let options = Options {
        // The toolchain to read, its cache to share.
        repo: format!("[repos.demo.sandbox]\nbinds_read_only = [{sysroot:?}]\n"),
        ..options("standard", "binds_writable = [\"~/cargo\"]")
    };
    let mut yard = Yard::asleep(options);
    let cache = yard.dir.path().join("cargo");
    std::fs::create_dir(&cache).unwrap();
    for (path, content) in [
        (
            "Cargo.toml",
            "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        ),
        (
            "src/main.rs",
            "fn main() { println!(\"{}\", demo::twice(21)); }\n",
        ),
        (
            "src/lib.rs",
            "pub fn twice(n: u32) -> u32 { 2 * n }\n#[test]\nfn it_doubles() { assert_eq!(twice(2), 4); }\n",
        ),
        (
            "build.rs",
            "fn main() { println!(\"cargo:rerun-if-changed=build.rs\"); }\n",
        ),
    ] {
        yard.origin.write(path, content);
    }
    let makefile = format!(
        "export CARGO_HOME = {}\nexport PATH := {}:$(PATH)\nall:\n\t@cargo run -q --offline\n\t@cargo test -q --offline --lib | grep -o '1 passed'\n",
        cache.display(),
        sysroot.join("bin").display(),
    );
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("a crate");
    yard.origin.push("main");
    yard.start().await;
    let events = yard.make("main", &[]).await;
    assert_eq!(text_of(&events), "42\n1 passed\n", "{events:?}");
    assert!(yard.workspace("main").join("target/debug/demo").is_file());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_npm_package_with_its_cache() {
    let Some(version) = said("npm", &["--version"]) else {
        return println!("skipped: there is no npm here");
    };
    println!("npm {version}");
    let options = options("standard", "binds_writable = [\"~/.npm\"]");
    let yard = Yard::asleep(options);
    let cache = yard.dir.path().join(".npm");
    let packed = pack(yard.dir.path(), &cache);
    let mut yard = yard;
    yard.origin.write("vendor/doubling-1.0.0.tgz", packed);
    for (path, content) in [
        (
            "package.json",
            r#"{"name": "demo", "version": "1.0.0", "private": true,
            "scripts": {"postinstall": "node -e \"require('fs').writeFileSync('installed', 'yes\\n')\"", "test": "node test.js"},
            "dependencies": {"doubling": "file:vendor/doubling-1.0.0.tgz"}}"#,
        ),
        ("test.js", "console.log(require('doubling')(21));\n"),
        (
            "Makefile",
            "all:\n\t@npm install --offline --no-audit --no-fund --silent\n\t@npm test --silent\n\t@cat installed; [ -d $$HOME/.npm/_cacache ] && echo cached\n",
        ),
        (".gitignore", "node_modules\n"),
    ] {
        yard.origin.write(path, content);
    }
    yard.origin.commit("a package");
    yard.origin.push("main");
    yard.start().await;
    let events = yard.make("main", &[]).await;
    assert_eq!(text_of(&events), "42\nyes\ncached\n", "{events:?}");
    assert!(cache.join("_cacache").is_dir(), "what npm keeps is kept");
    yard.stop().await;
}

/// A package as npm packs it.
fn pack(dir: &Path, cache: &Path) -> Vec<u8> {
    std::fs::create_dir(cache).unwrap();
    let package = dir.join("doubling");
    std::fs::create_dir(&package).unwrap();
    let description = r#"{"name": "doubling", "version": "1.0.0", "main": "index.js"}"#;
    std::fs::write(package.join("package.json"), description).unwrap();
    std::fs::write(package.join("index.js"), "module.exports = n => 2 * n;\n").unwrap();
    let packed = Command::new("npm")
        .args(["pack", "--silent", "--offline"])
        .env("npm_config_cache", cache)
        .current_dir(&package)
        .output()
        .unwrap();
    assert!(packed.status.success(), "{packed:?}");
    std::fs::read(package.join("doubling-1.0.0.tgz")).unwrap()
}
