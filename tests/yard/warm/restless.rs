//! Siblings whose files come and go while they are copied, and those that were trusted with a secret.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::Value;

use super::project::{asleep, assert_clean, build, push, warm, yard};
use crate::support::Options;

/// Takes files of the build's away and puts others there, until it is told to stop; how often it did.
fn stir(out: &Path, is_over: &AtomicBool, turns: &AtomicUsize) {
    while !is_over.load(Ordering::Relaxed) {
        let turn = turns.fetch_add(1, Ordering::Relaxed);
        let dir = out.join(format!("deep-{}", turn % 3));
        fs::create_dir_all(&dir).unwrap();
        for n in 0..20 {
            fs::write(dir.join(format!("{n}.o")), vec![b'x'; 10_000]).unwrap();
        }
        fs::remove_dir_all(out.join(format!("deep-{}", (turn + 1) % 3))).unwrap_or_default();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_vanish_while_they_are_copied_hurt_nobody() {
    let mut yard = yard().await;
    build(&yard, "main").await;
    let out = yard.workspace("main").join("out");
    let (is_over, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| stir(&out, &is_over, &turns));
        let making = async {
            for n in 0..10 {
                let branch = format!("new-{n}");
                let source = format!("int b(void) {{ return {n}; }}\n");
                push(&yard, &branch, &[("src/b.c", &source)]);
                build(&yard, &branch).await;
                let workspace = yard.workspace(&branch);
                assert_clean(&workspace);
                let ran = std::process::Command::new(workspace.join("prog")).output();
                let said = String::from_utf8(ran.unwrap().stdout).unwrap();
                assert_eq!(said, format!("1 {n}\n"));
            }
        };
        let here = tokio::runtime::Handle::current();
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tokio::task::block_in_place(|| here.block_on(making));
        }));
        is_over.store(true, Ordering::Relaxed);
        made.unwrap();
    });
    assert!(turns.into_inner() > 10);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_built_with_a_secret_stays_where_it_was() {
    let mut yard = asleep();
    let file = yard.dir.path().join("token");
    fs::write(&file, "a-secret-of-the-yard").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    yard.configure(Options {
        tables: format!("[secrets.token]\nfile = {file:?}\nbranches = [\"main\"]\n"),
        repo: "warm = \"nearest\"\nsecrets = { make = { TOKEN = \"token\" } }".to_owned(),
        ..Options::default()
    });
    yard.start().await;
    build(&yard, "main").await;
    push(&yard, "topic", &[("new.txt", "new\n")]);
    let events = build(&yard, "topic").await;
    assert_eq!(warm(&events), Value::Null);
    yard.stop().await;
}
