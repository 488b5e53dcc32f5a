//! Arguments for make, and repositories whose files are hostile.

use serde_json::{Value, json};

use super::{Marker, find, untouched};
use crate::support::{Options, Yard, git, problem_of, text_of};

const MAKE: &str = "/stream/repos/demo/branches/main/make";

pub(super) fn hostile() -> Vec<Value> {
    vec![
        json!(["-f", "/x"]),
        json!(["-f/x"]),
        json!(["-kf", "/x"]),
        json!(["--file=/x"]),
        json!(["--fil=/x"]),
        json!(["--makefile", "../x"]),
        json!(["-f", "~root/x"]),
        json!(["-f", "-"]),
        json!(["-C", ".."]),
        json!(["-C.."]),
        json!(["-C", "a", "-C", "../.."]),
        json!(["-C", "a", "-f", "../../x"]),
        json!(["--directory=/"]),
        json!(["-I/x"]),
        json!(["-I", "x"]),
        json!(["--include-dir=/x"]),
        json!(["--eval=$(shell id)"]),
        json!(["--eval", "x:;id"]),
        json!(["--ev=x"]),
        json!(["-E", "x:;id"]),
        json!(["-Ex:;id"]),
        json!(["-e"]),
        json!(["-ke"]),
        json!(["SHELL=/tmp/sh"]),
        json!([".SHELLFLAGS=-c id"]),
        json!(["SHELL:=/tmp/sh"]),
        json!(["SHELL+=x"]),
        json!(["SHELL!=id"]),
        json!(["override SHELL=x"]),
        json!(["MAKEFLAGS=--eval=x"]),
        json!(["GNUMAKEFLAGS=x"]),
        json!(["MAKEFILES=/x"]),
        json!(["MAKE=id"]),
        json!(["PATH=/tmp"]),
        json!(["LD_PRELOAD=/tmp/x"]),
        json!(["V=$(shell id)"]),
        json!(["V=${shell id}"]),
        json!(["V:=$(shell id)"]),
        json!(["V!=id"]),
        json!(["../../x"]),
        json!(["/etc/passwd"]),
        json!(["a/../../x"]),
        json!(["$(shell id)"]),
        json!(["--", "../../x"]),
        json!(["--", "SHELL=x"]),
        json!(["-j", "-1"]),
        json!(["-j0"]),
        json!(["-jx"]),
        json!(["--no-such-option"]),
        json!(["-Z"]),
        json!(["a\0b"]),
        json!(["a\nb"]),
        json!("-f /x"),
        json!("'-f' \"/x\""),
        json!("--ev'al'=x"),
        json!("'open"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn make_arguments_that_lead_out_or_run_something_are_refused() {
    let mut yard = Yard::new().await;
    for args in hostile() {
        let answer = yard.post(MAKE, json!({"args": args})).await;
        let (status, problem) = problem_of(answer).await;
        assert_eq!(
            (status, &problem["field"]),
            (400, &json!("args")),
            "make {args}: {problem}"
        );
    }
    untouched(&yard).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_make_arguments_pass_as_they_are() {
    let mut yard = Yard::new().await;
    yard.origin.write(
        "Makefile",
        "say:\n\t@printf '[%s]' '$(V)' '$(T)'\nfoo+bar:\n\t@printf plus\nx\\:y:\n\t@printf colon\ngo/deep:\n\t@printf deep\n",
    );
    yard.origin
        .write("sub/Makefile", "where:\n\t@cat here.txt\n");
    yard.origin.write("sub/here.txt", "in sub");
    yard.origin
        .write("sub/Other.mk", "where:\n\t@printf other\n");
    yard.origin.commit("targets");
    yard.origin.push("main");
    for (args, said) in [
        (json!(["say", "V=a,b", "T=a@b"]), "[a,b][a@b]"),
        (json!("say V='a  b' T=x:y"), "[a  b][x:y]"),
        (json!(["foo+bar"]), "plus"),
        (json!(["x:y"]), "colon"),
        (json!(["-j4", "-k", "foo+bar"]), "plus"),
        (json!(["-s", "--", "go/deep"]), "deep"),
        (
            json!(["--no-print-directory", "-C", "sub", "where"]),
            "in sub",
        ),
        (json!(["-f", "sub/Other.mk", "where"]), "other"),
        (
            json!([
                "--no-print-directory",
                "-C",
                "sub",
                "-f",
                "../sub/Other.mk",
                "where"
            ]),
            "other",
        ),
        (
            json!(["--no-print-directory", "--directory=sub", "--file=Other.mk"]),
            "other",
        ),
    ] {
        let events = yard.run("make", "main", json!({"args": args})).await;
        let last = &events.last().unwrap().data;
        assert_eq!(last["state"], "succeeded", "make {args}: {events:?}");
        assert_eq!(text_of(&events), said, "make {args}");
    }
    yard.stop().await;
}

/// Arguments, and what becomes of them where three jobs are the most.
pub(super) fn jobs() -> Vec<(Value, String)> {
    let cores = std::thread::available_parallelism().unwrap().get();
    // Without a number it is a share of the cores, and no other run is there to share them.
    let share = cores.min(3);
    [
        (json!(["-j", "flags"]), share),
        (json!(["-j99999", "flags"]), 3),
        (json!(["-j", "99999", "flags"]), 3),
        (json!(["-kj99999", "flags"]), 3),
        (json!(["-kj", "flags"]), share),
        (json!(["--jobs", "flags"]), share),
        (json!(["--jobs=99999999999999999999", "flags"]), 3),
        (json!(["-j3", "-j", "flags"]), share),
        (json!(["-j2", "flags"]), 2),
        (json!(["--jobs=3", "flags"]), 3),
    ]
    .map(|(args, jobs)| (args, format!("-j{jobs}")))
    .into()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_jobs_is_clamped() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_jobs = 3\n".to_owned(),
        ..Options::default()
    })
    .await;
    yard.origin
        .write("Makefile", "flags:\n\t@echo 'flags: $(MAKEFLAGS)'\n");
    yard.origin.commit("flags");
    yard.origin.push("main");
    for (args, jobs) in jobs() {
        let events = yard.run("make", "main", json!({"args": args})).await;
        let said = text_of(&events);
        let words: Vec<_> = said.split_whitespace().collect();
        assert!(words.contains(&&*jobs), "make {args} ran with {said:?}");
        let others: Vec<_> = words
            .iter()
            .filter(|w| w.starts_with("-j") && **w != jobs)
            .collect();
        assert!(others.is_empty(), "make {args} ran with {said:?}");
    }
    yard.stop().await;
}

/// By its letters the path is inside; where it really leads is seen when the run starts.
#[tokio::test(flavor = "multi_thread")]
async fn make_does_not_follow_a_link_out_of_the_workspace() {
    let mut yard = Yard::new().await;
    let marker = Marker::new(&yard);
    let outside = yard.dir.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let evil = format!("$(shell {})\nall:\n\t@{}\n", marker.touch(), marker.touch());
    std::fs::write(outside.join("Makefile"), &evil).unwrap();
    for (link, target) in [
        ("away", outside.to_str().unwrap()),
        ("up", "../.."),
        ("evil.mk", outside.join("Makefile").to_str().unwrap()),
        ("round", "sub/../../../../outside"),
        ("twice", "away"),
        ("proc", "/proc/self/cwd"),
    ] {
        std::os::unix::fs::symlink(target, yard.dir.path().join("origin-work").join(link)).unwrap();
    }
    yard.origin.write("sub/Makefile", "all:\n\t@echo honest\n");
    std::os::unix::fs::symlink("sub", yard.dir.path().join("origin-work/inner")).unwrap();
    yard.origin.commit("links");
    yard.origin.push("main");
    for args in [
        json!(["-C", "away"]),
        json!(["-C", "up"]),
        json!(["-C", "round"]),
        json!(["-C", "twice"]),
        json!(["-C", "proc"]),
        json!(["-C", "sub", "-C", "../away"]),
        json!(["-f", "evil.mk"]),
        json!(["-f", "away/Makefile"]),
        json!(["-f", "twice/Makefile"]),
        json!(["-C", "sub", "-f", "../evil.mk"]),
        json!(["--file=round/Makefile"]),
    ] {
        let input = format!("make {args}");
        let mut run = yard.start_run("make", "main", json!({"args": args})).await;
        let end = run.end().await;
        assert_eq!(end.kind, "error", "{input}: {end:?}");
        assert_eq!(end.data["field"], "args", "{input}: {end:?}");
        let record = yard.get_json(&format!("/api/runs/{}", run.run_id())).await;
        assert_eq!(record["state"], "rejected", "{input}: {record}");
        assert_eq!(record["started_at"], json!(null), "{input}: {record}");
        marker.assert_absent(&input);
    }
    let events = yard
        .run("make", "main", json!({"args": ["-s", "-C", "inner"]}))
        .await;
    assert_eq!(
        text_of(&events),
        "honest\n",
        "a link that stays inside is followed"
    );
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn submodules_are_never_recursed_into() {
    let mut yard = Yard::new().await;
    let marker = Marker::new(&yard);
    let touch = marker.touch().replace(' ', "% ");
    yard.origin.write(
        ".gitmodules",
        format!(
            "[submodule \"../../evil\"]\n\tpath = sub\n\turl = ext::sh -c {touch}\n\tupdate = !{}\n\tfetchRecurseSubmodules = true\n",
            marker.touch()
        ),
    );
    let commit = yard.origin.head();
    let link = format!("160000,{commit},sub");
    yard.origin
        .git(&["update-index", "--add", "--cacheinfo", &link]);
    yard.origin.git(&["add", ".gitmodules"]);
    yard.origin.git(&["commit", "-q", "-m", "submodule"]);
    yard.origin.push("main");
    let events = yard.make("main", &["who"]).await;
    assert_eq!(
        events.last().unwrap().data["state"],
        "succeeded",
        "{events:?}"
    );

    yard.origin.write("name.txt", "second\n");
    yard.origin.git(&["add", "name.txt"]);
    yard.origin.git(&["commit", "-q", "-m", "second"]);
    yard.origin.push("main");
    assert_eq!(text_of(&yard.make("main", &["who"]).await), "second\n");
    for operation in ["status", "diff", "fetch", "pull"] {
        let events = yard
            .run("git", "main", json!({"operation": operation}))
            .await;
        let state = &events.last().unwrap().data["state"];
        assert_eq!(state, "succeeded", "git {operation}: {events:?}");
        marker.assert_absent(operation);
    }
    let sub = yard.workspace("main").join("sub");
    assert_eq!(std::fs::read_dir(sub).unwrap().count(), 0);
    assert!(!yard.store().join("modules").exists());
    assert_eq!(
        find(&yard.workspaces, "evil"),
        Vec::<std::path::PathBuf>::new()
    );
    assert_eq!(git(&yard.workspace("main"), &["status", "--porcelain"]), "");
    yard.stop().await;
}
