//! A project in C to build, and what a run of it says.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Event, Options, Yard, git, text_of};

/// Objects beside their sources with dependency files, a program, and what else builds leave: a link, a second
/// name, a script, a wrapper that names its place, and an object that does.
const MAKEFILE: &str = r#"OBJS := $(sort $(patsubst %.c,%.o,$(wildcard src/*.c)))
all: prog out/tool out/wrapper abs.o
prog: $(OBJS)
	@echo LD
	@cc -o $@ $^
%.o: %.c
	@echo CC $<
	@cc -O0 -Iinclude -MMD -MP -c -o $@ $<
abs.o: abs/abs.c
	@echo CC $<
	@cc -O0 -I$(CURDIR)/include -MMD -MP -c -o $@ $(CURDIR)/$<
out/tool: prog
	@mkdir -p out/deep
	@printf '#!/bin/sh\necho tool\n' > $@ && chmod 755 $@
	@ln -sf ../prog out/link && ln -sf $(CURDIR)/prog out/away && ln -f prog out/hard
	@echo deep > out/deep/file
out/wrapper: prog
	@printf '#!/bin/sh\nexec $(CURDIR)/prog\n' > $@ && chmod 755 $@
wait:
	@touch waiting; while [ ! -e go ]; do sleep 0.01; done; rm waiting
who:
	@cat name.txt
-include $(OBJS:.o=.d) abs.d
"#;

/// A yard with the project on `main`, and warm starts.
pub async fn yard() -> Yard {
    let mut yard = asleep();
    yard.start().await;
    yard
}

/// The same, without a daemon yet.
pub fn asleep() -> Yard {
    let yard = Yard::asleep(Options {
        repo: "warm = \"nearest\"".into(),
        ..Options::default()
    });
    let origin = &yard.origin;
    origin.write("Makefile", MAKEFILE);
    origin.write(
        ".gitignore",
        "*.o\n*.d\n/prog\n/out/\n.env\n/waiting\n/go\n",
    );
    origin.write("include/a.h", "#define A 1\n");
    origin.write("include/b.h", "#define B 1\n");
    origin.write(
        "abs/abs.c",
        "#include \"a.h\"\nconst char *abs_file = __FILE__;\nint abs_a = A;\n",
    );
    origin.write("src/a.c", "#include \"a.h\"\nint a(void) { return A; }\n");
    origin.write("src/b.c", "#include \"b.h\"\nint b(void) { return B; }\n");
    origin.write("src/main.c", "#include <stdio.h>\nint a(void), b(void);\nint main(void) { printf(\"%d %d\\n\", a(), b()); return 0; }\n");
    origin.commit("a project");
    origin.push("main");
    yard
}

/// Pushes a branch whose files are main's, but for these; an empty text means that there is none.
pub fn push(yard: &Yard, branch: &str, files: &[(&str, &str)]) {
    yard.origin.at("main");
    for (path, content) in files {
        match content.is_empty() {
            true => drop(yard.origin.git(&["rm", "-q", path])),
            false => yard.origin.write(path, content),
        }
    }
    yard.origin.commit(branch);
    yard.origin.push(branch);
}

pub async fn build(yard: &Yard, branch: &str) -> Vec<Event> {
    let events = yard.run("make", branch, json!({"args": []})).await;
    let last = &events.last().unwrap().data;
    assert_eq!(last["state"], "succeeded", "{branch}: {}", text_of(&events));
    events
}

/// What was made, a word for each step.
pub fn made(events: &[Event]) -> Vec<String> {
    let text = text_of(events);
    text.lines().map(|line| line.replace("CC ", "")).collect()
}

/// What the stream says about a warm start; null if there was none.
pub fn warm(events: &[Event]) -> Value {
    let told: Vec<_> = events
        .iter()
        .filter(|event| event.kind == "status" && event.data["warm"].is_object())
        .map(|event| event.data["warm"].clone())
        .collect();
    assert!(told.len() <= 1, "{told:?}");
    told.into_iter().next().unwrap_or_default()
}

/// The index is true: git finds nothing to say about the tracked files, nor does it have to look into them.
pub fn assert_clean(workspace: &Path) {
    assert_eq!(git(workspace, &["status", "--porcelain"]), "");
    assert_eq!(git(workspace, &["diff-files", "--name-only"]), "");
    assert_eq!(git(workspace, &["diff-index", "--cached", "HEAD"]), "");
}
