//! `ls`, `cat`, `env` and `machine`.

use serde_json::Value;

use super::{Said, cli};
use crate::file_parts::{bytes_of, of_sizes, samples, yard_with};
use crate::support::Yard;

fn paths(said: &Said) -> Vec<&str> {
    said.cells().iter().map(|row| row[3]).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_listed_in_columns_that_cut_understands() {
    let mut yard = Yard::new().await;
    let top = cli(&yard, &["ls", "demo", "main"]).await.ok();
    assert_eq!(paths(&top), ["Makefile", "name.txt"]);
    assert_eq!(top.cells()[1], ["file", "0644", "5", "name.txt", ""]);
    let all = cli(&yard, &["ls", "demo", "main", "-a"]).await.ok();
    assert_eq!(paths(&all), [".gitignore", "Makefile", "name.txt"]);

    yard.origin.at("main");
    yard.origin.write("src/deep/a.c", "");
    yard.origin.commit("deep");
    yard.origin.push("deep");
    let deep = cli(&yard, &["ls", "demo", "deep", "src", "-R"]).await.ok();
    assert_eq!(paths(&deep), ["src/deep", "src/deep/a.c"]);
    let nothing = cli(&yard, &["ls", "demo", "main", "nothing"]).await;
    nothing.refused(125, &["nothing"]);
    cli(&yard, &["ls", "demo", "main", "../.."])
        .await
        .refused(125, &["error: "]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cat_prints_exactly_the_bytes() {
    let mut yard = Yard::new().await;
    let bytes: Vec<u8> = (0..=255).rev().collect();
    yard.origin.at("main");
    yard.origin.write("blob", &bytes);
    yard.origin
        .write("text", "one\r\ntwo\n\nfour, ünd kein Ende");
    yard.origin.commit("files");
    yard.origin.push("main");
    let blob = cli(&yard, &["cat", "demo", "main", "blob"]).await.ok();
    assert_eq!(blob.stdout, bytes);
    for (lines, expected) in [
        ("1-", "one\r\ntwo\n\nfour, ünd kein Ende"),
        ("2", "two\n"),
        ("-2", "one\r\ntwo\n"),
        ("3-4", "\nfour, ünd kein Ende"),
    ] {
        let cut = cli(&yard, &["cat", "demo", "main", "text", "--lines", lines])
            .await
            .ok();
        assert_eq!(cut.text(), expected, "{lines}");
    }
    cli(&yard, &["cat", "demo", "main", "none"])
        .await
        .refused(125, &["none"]);
    cli(&yard, &["cat", "demo", "main", "/etc/passwd"])
        .await
        .refused(2, &["error: "]);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cat_prints_a_file_of_any_size() {
    let files = samples();
    let mut yard = yard_with(&files).await;
    let cat = async |arguments: &[&str]| {
        let words = [&["cat", "demo", "main"], arguments].concat();
        cli(&yard, &words).await.ok().stdout
    };
    for (name, bytes) in &files {
        assert!(cat(&[name]).await == *bytes, "{name}");
        // By another way to the same file, and in parts.
        assert!(cat(&[&format!("./{name}")]).await == *bytes, "{name}");
    }
    let text = &files.iter().find(|(name, _)| *name == "text").unwrap().1;
    let rest = text.split_inclusive(|byte| *byte == b'\n').skip(9);
    assert!(cat(&["text", "--lines", "10-"]).await == rest.collect::<Vec<_>>().concat());
    let lines = cat(&["--json", "text"]).await;
    let parts = serde_json::Deserializer::from_slice(&lines).into_iter::<Value>();
    let parts: Vec<_> = parts.map(|part| bytes_of(&part.unwrap())).collect();
    assert!(parts.len() == 2 && parts.concat() == *text);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute: make soak"]
async fn soak_cat_prints_a_hundred_megabytes() {
    let files = of_sizes(&[1, 1_000, 1 << 20, 10 << 20, 100_000_000]);
    let mut yard = yard_with(&files).await;
    for (name, bytes) in &files {
        // The second is another way to the same file, and is read in parts.
        for path in [(*name).to_owned(), format!("./{name}")] {
            let said = cli(&yard, &["cat", "demo", "main", &path]).await.ok();
            assert!(said.stdout == *bytes, "{path}");
        }
    }
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn env_shows_what_a_build_finds() {
    let mut yard = Yard::new().await;
    let env = cli(&yard, &["env", "demo", "main"]).await.ok();
    let rows = env.cells();
    let has = |what: &str, name: &str, value: &str| {
        rows.iter()
            .any(|row| row[0] == what && row[1] == name && row[2].starts_with(value))
    };
    assert!(has("machine", "os", "Linux "), "{rows:?}");
    assert!(has("tool", "git", "git version "), "{rows:?}");
    assert!(has("tool", "make", "GNU Make "), "{rows:?}");
    assert!(has("env", "BRANCHYARD_BRANCH", "main"), "{rows:?}");
    assert!(has("env", "CI", "true"), "{rows:?}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn machine_shows_how_busy_it_is() {
    let mut yard = Yard::new().await;
    cli(&yard, &["make", "demo", "main", "--", "who"])
        .await
        .ok();
    let machine = cli(&yard, &["machine"]).await.ok();
    let rows = machine.cells();
    let value = |what: &str, name: &str| {
        let found = rows.iter().find(|row| row[0] == what && row[1] == name);
        found.unwrap_or_else(|| panic!("{what} {name}: {rows:?}"))[2].to_owned()
    };
    assert_eq!(value("runs", "running"), "0");
    assert!(value("disk", "free").parse::<u64>().unwrap() > 0);
    assert!(
        rows.iter()
            .any(|row| row[0] == "background" && row[2] == "running")
    );
    value("repo", "demo");
    let json = cli(&yard, &["machine", "--json"]).await.ok();
    assert_eq!(json.json()["cores"].to_string(), value("machine", "cores"));
    yard.stop().await;
}
