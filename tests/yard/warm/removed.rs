//! What is made of something that the new branch lacks is not taken over: its first build is not falsely green.

use serde_json::json;

use super::project::{build, warm};
use crate::support::{Event, Options, Yard, text_of};

/// An archive that is only added to, as many projects have it, and a program that needs all of it.
const MAKEFILE: &str = r"OBJS := $(patsubst %.c,%.o,$(sort $(wildcard lib/*.c)))
all: prog
lib.a: $(OBJS)
	@ar rc $@ $^
prog: main.o lib.a
	@cc -o $@ main.o lib.a
%.o: %.c
	@cc -Iinclude -MMD -c -o $@ $<
-include $(OBJS:.o=.d) main.d
";

async fn yard() -> Yard {
    let mut yard = Yard::asleep(Options {
        repo: "warm = \"nearest\"".into(),
        ..Options::default()
    });
    let origin = &yard.origin;
    for (path, content) in [
        ("Makefile", MAKEFILE),
        (".gitignore", "*.o\n*.d\n*.a\n/prog\n"),
        ("include/a.h", "int a(void);\n"),
        ("include/b.h", "int b(void);\n"),
        ("lib/a.c", "#include \"a.h\"\nint a(void) { return 1; }\n"),
        ("lib/b.c", "#include \"b.h\"\nint b(void) { return 2; }\n"),
        ("lib/c.c", "int c(void) { return 3; }\n"),
        (
            "main.c",
            "int a(void), b(void);\nint main(void) { return a() - b(); }\n",
        ),
    ] {
        origin.write(path, content);
    }
    origin.commit("a project");
    origin.push("main");
    yard.start().await;
    build(&yard, "main").await;
    yard
}

/// A branch without these files, and what its first build says.
async fn without(yard: &Yard, branch: &str, files: &[&str]) -> Vec<Event> {
    yard.origin.at("main");
    for file in files {
        yard.origin.git(&["rm", "-q", file]);
    }
    yard.origin.commit(branch);
    yard.origin.push(branch);
    let events = yard.run("make", branch, json!({ "args": [] })).await;
    assert!(warm(&events).is_object(), "it is made from a sibling");
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_linked_fails_at_once() {
    let mut yard = yard().await;
    let events = without(&yard, "unlinked", &["lib/b.c"]).await;
    let last = &events.last().unwrap().data;
    assert_eq!(last["state"], "failed", "{}", text_of(&events));
    assert!(text_of(&events).contains("undefined reference to `b'"));
    assert!(!yard.workspace("unlinked").join("lib/b.o").exists());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_none_of_it_is_built_upon_the_rest() {
    let mut yard = yard().await;
    let object = yard.workspace("main").join("lib/a.o");
    let before = std::fs::metadata(&object).unwrap().modified().unwrap();
    let events = without(&yard, "fewer", &["lib/c.c"]).await;
    let last = &events.last().unwrap().data;
    assert_eq!(last["state"], "succeeded", "{}", text_of(&events));
    assert_eq!(last["incremental"], true);
    let copied = yard.workspace("fewer").join("lib/a.o");
    let copied = std::fs::metadata(copied).unwrap().modified().unwrap();
    assert_eq!(copied, before, "what is not concerned is not made again");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_is_gone_does_not_stop_make() {
    let mut yard = yard().await;
    yard.origin.at("main");
    yard.origin.git(&["rm", "-q", "include/b.h"]);
    yard.origin.write("lib/b.c", "int b(void) { return 2; }\n");
    yard.origin.commit("without a header");
    yard.origin.push("headless");
    let events = build(&yard, "headless").await;
    assert!(warm(&events).is_object());
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_made_in_another_way_is_made_anew() {
    let mut yard = yard().await;
    yard.origin.at("main");
    let strict = MAKEFILE.replace("cc -Iinclude", "cc -DSTRICT -Iinclude");
    yard.origin.write("Makefile", strict);
    yard.origin.commit("with another flag");
    yard.origin.push("strict");
    let events = build(&yard, "strict").await;
    assert!(warm(&events).is_object());
    let object = |branch: &str| {
        let path = yard.workspace(branch).join("lib/a.o");
        std::fs::metadata(path).unwrap().modified().unwrap()
    };
    assert!(object("strict") > object("main"));
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cold_takes_nothing_from_anywhere() {
    let mut yard = yard().await;
    for branch in ["new", "taken"] {
        yard.origin.at("main");
        yard.origin.write("note", branch);
        yard.origin.commit(branch);
        yard.origin.push(branch);
    }
    let cold = json!({ "args": [], "cold": true });
    let events = yard.run("make", "new", cold.clone()).await;
    let last = &events.last().unwrap().data;
    assert!(warm(&events).is_null());
    assert_eq!(
        (&last["state"], &last["incremental"]),
        (&json!("succeeded"), &json!(false))
    );
    // One that was made from a sibling is cleaned.
    let taken = build(&yard, "taken").await;
    assert_eq!(taken.last().unwrap().data["incremental"], true);
    assert!(taken.last().unwrap().data["warm"]["branch"].is_string());
    let events = yard.run("make", "taken", cold).await;
    let last = &events.last().unwrap().data;
    assert_eq!(
        (&last["state"], &last["incremental"]),
        (&json!("succeeded"), &json!(false))
    );
    // Its own output it keeps.
    let again = build(&yard, "taken").await;
    assert_eq!(again.last().unwrap().data["incremental"], true);
    let run = yard
        .start_detached("taken", json!({ "args": [], "detach": true }))
        .await;
    assert_eq!(yard.ended(&run).await["incremental"], true);
    yard.stop().await;
}
