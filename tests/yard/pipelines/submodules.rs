//! Submodules in the worktrees of jobs: filled, moved, and never where a branch would have them lead.

use serde_json::{Value, json};

use super::{contained, text};
use crate::support::beside::{Beside, add, record, work};
use crate::support::{Options, Yard, git};

fn job(script: &str) -> String {
    format!(
        "  one:\n    runs-on: linux\n    steps: [{{run: {}}}]\n",
        json!(script)
    )
}

/// A `.gitmodules` with these lines for the submodule at `sub`, which is recorded at `commit`.
fn declare(yard: &Yard, name: &str, lines: &str, commit: &str) {
    let file = format!("[submodule \"{name}\"]\n\tpath = sub\n{lines}\n");
    yard.origin.write(".gitmodules", file);
    yard.origin.git(&["add", ".gitmodules"]);
    record(yard, "sub", commit);
}

fn warnings(job: &Value) -> String {
    job["warnings"].to_string()
}

#[tokio::test]
async fn jobs_have_the_files_of_submodules_and_of_those_in_them() {
    for options in [Options::default(), contained()] {
        let mut yard = Yard::with(options).await;
        let (inner, lib) = (Beside::new(&yard, "inner"), Beside::new(&yard, "lib"));
        add(&lib.work, "../inner.git", "deep/inner");
        let commit = lib.record();
        add(&work(&yard), "../lib.git", "vendor/lib");
        let script = "cat vendor/lib/file vendor/lib/deep/inner/file; echo; git status --porcelain --ignored; \
                      git submodule status --recursive | cut -c1; git -C vendor/lib rev-parse HEAD; \
                      git -C vendor/lib/deep/inner log -1 --format=%s; echo junk > vendor/lib/junk; \
                      (git -C vendor/lib commit -q --allow-empty -m evil 2> /dev/null || true)";
        yard.jobs(&job(script));
        for _ in 0..2 {
            let again = format!("{script} # {}", uuid::Uuid::now_v7());
            yard.jobs(&job(&again));
            let ended = yard.pipeline(json!({})).await.green();
            let printed = yard.step_log(&ended, "one", 1).await;
            let expected = format!("libinner\n \n \n{commit}\na change\n");
            assert_eq!(printed, expected);
            assert_eq!(ended.job("one")["warnings"], Value::Null);
        }
        // One worktree, and one store for each, whoever made how many commits in them.
        assert_eq!(yard.scratch_worktrees().len(), 1);
        let stores = std::fs::read_dir(yard.store().join("modules")).unwrap();
        assert_eq!(stores.count(), 2);
        drop(inner);
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_worktree_that_is_moved_has_the_submodules_of_each_commit_alone() {
    let mut yard = Yard::new().await;
    let (lib, other) = (Beside::new(&yard, "lib"), Beside::new(&yard, "other"));
    add(&work(&yard), "../lib.git", "lib");
    let script = "head -v -n1 */file 2> /dev/null; git status --porcelain --ignored; touch lib/ignored.o lib/new";
    let print = async |expected: &[&str]| {
        yard.jobs(&job(&format!("{script} # {}", uuid::Uuid::now_v7())));
        let ended = yard.pipeline(json!({})).await.green();
        let printed = yard.step_log(&ended, "one", 1).await;
        let lines: Vec<_> = printed.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(lines, expected);
    };
    print(&["==> lib/file <==", "lib"]).await;
    // Another commit of it, and one more.
    let newer = lib.commit("newer");
    record(&yard, "lib", &newer);
    add(&work(&yard), "../other.git", "other");
    print(&["==> lib/file <==", "newer", "==> other/file <==", "other"]).await;
    // A commit that no branch leads to any more.
    git(&lib.work, &["push", "-q", "-f", "origin", "HEAD~1:main"]);
    let lost = git(
        &lib.work,
        &["commit-tree", "-p", "HEAD", "-m", "lost", "HEAD^{tree}"],
    );
    git(
        &lib.work,
        &["push", "-q", "origin", &format!("{lost}:refs/hidden/lost")],
    );
    record(&yard, "lib", &lost);
    print(&["==> lib/file <==", "newer", "==> other/file <==", "other"]).await;
    // A directory in the place of one, and one in the place of a directory.
    yard.origin.git(&["rm", "-q", "-f", "lib"]);
    yard.origin.write("lib/file", "tracked\n");
    yard.origin.git(&["mv", "other", "moved"]);
    print(&["==> lib/file <==", "tracked", "==> moved/file <==", "other"]).await;
    drop(other);
    yard.stop().await;
}

#[tokio::test]
async fn what_a_branch_must_not_name_is_left_empty_and_told() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    let commit = lib.commit("lib");
    let canary = yard.mark("canary");
    let touch = format!("touch {}", canary.display());
    // Another repository on this machine, which is none of the branch's business.
    let secret = yard.dir.path().join("elsewhere");
    std::fs::create_dir(&secret).unwrap();
    git(
        &secret,
        &[
            "clone",
            "-q",
            "--bare",
            lib.work.to_str().unwrap(),
            "lib.git",
        ],
    );
    let secret = secret.join("lib.git");
    for (name, lines, why) in [
        ("../x", "url = ../lib.git".to_owned(), "name"),
        ("a/../../hooks", "url = ../lib.git".to_owned(), "name"),
        ("-x", "url = ../lib.git".to_owned(), "name"),
        ("a", format!("url = \"ext::sh -c {touch}\""), "space"),
        ("a", format!("url = ext::{}", canary.display()), "helper"),
        (
            "a",
            format!("url = file://{}", secret.display()),
            "not beside",
        ),
        (
            "a",
            secret.display().to_string().replacen("", "url = ", 1),
            "not beside",
        ),
        (
            "a",
            format!("url = ../lib.git\n\tupdate = !{touch}"),
            "command",
        ),
        ("a", format!("url = --upload-pack={touch}"), "no URL"),
        ("a", format!("url = \"-oProxyCommand={touch}\""), "no URL"),
        (
            "a",
            "url = ssh://-oProxyCommand=x/y".to_owned(),
            "cannot be used",
        ),
        (
            "a",
            "url = http://127.0.0.1:1/lib.git".to_owned(),
            "cannot be used",
        ),
        ("a", "url = https://10.0.0.1/lib.git".to_owned(), "inner"),
        (
            "a",
            "url = ../../../../../../lib.git".to_owned(),
            "leads out",
        ),
    ] {
        declare(&yard, name, &lines, &commit);
        let unique = format!("ls -A sub # {}", uuid::Uuid::now_v7());
        let ended = yard.run_jobs(&job(&unique)).await.green();
        assert_eq!(yard.step_log(&ended, "one", 1).await, "", "{lines}");
        let warnings = warnings(ended.job("one"));
        for words in ["submodules_empty", "sub (", why] {
            assert!(warnings.contains(words), "{lines}: {warnings}");
        }
    }
    assert!(!canary.exists());
    // A submodule that no file names.
    yard.origin.git(&["rm", "-q", "--cached", ".gitmodules"]);
    std::fs::remove_file(work(&yard).join(".gitmodules")).unwrap();
    let ended = yard.run_jobs(&job("ls -A sub")).await.green();
    assert!(warnings(ended.job("one")).contains("does not name it"));
    assert!(!yard.store().join("modules").exists());
    yard.stop().await;
}

#[tokio::test]
async fn the_operator_may_require_submodules_or_do_without() {
    for (rule, state, words) in [("off", "succeeded", ""), ("require", "rejected", "name")] {
        let mut yard = Yard::with(Options {
            repo: format!("submodules = \"{rule}\""),
            ..Options::default()
        })
        .await;
        let lib = Beside::new(&yard, "lib");
        declare(&yard, "../x", "url = ../lib.git", &lib.commit("lib"));
        let ended = yard.run_jobs(&job("ls -A sub")).await;
        let one = ended.job("one");
        assert_eq!(one["state"], state, "{one:#}");
        assert_eq!(one["warnings"], Value::Null);
        if state == "rejected" {
            assert_eq!(one["error"]["code"], "submodule_refused");
            assert!(text(&one["error"]["detail"]).contains(words), "{one:#}");
        } else {
            assert_eq!(yard.step_log(&ended, "one", 1).await, "");
        }
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_commit_that_is_nowhere_ends_the_job_and_a_remote_that_refuses_does_not() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    let nowhere = "1".repeat(40);
    declare(&yard, "a", "url = ../lib.git", &nowhere);
    let ended = yard.run_jobs(&job("ls -A sub")).await;
    let error = &ended.job("one")["error"];
    assert_eq!(ended.states(), ["one rejected"], "{error:#}");
    assert_eq!(error["code"], "submodule_commit_missing", "{error:#}");
    assert!(text(&error["detail"]).contains(&nowhere), "{error:#}");
    declare(&yard, "a", "url = ../gone.git", &nowhere);
    let ended = yard.run_jobs(&job("ls -A sub # gone")).await.green();
    assert_eq!(yard.step_log(&ended, "one", 1).await, "");
    let warnings = warnings(ended.job("one"));
    assert!(warnings.contains("sub ("), "{warnings}");
    // What was missing is pushed: the retry finds it.
    declare(&yard, "a", "url = ../lib.git", &lib.commit("there"));
    let ended = yard.run_jobs(&job("cat sub/file")).await.green();
    assert_eq!(yard.step_log(&ended, "one", 1).await, "there");
    yard.stop().await;
}

/// A job with `inputs` sees another commit of a submodule, and the same one answers.
#[tokio::test]
async fn another_commit_of_a_submodule_is_seen_by_inputs() {
    let mut yard = Yard::new().await;
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "vendor/lib");
    let jobs =
        job("cat vendor/lib/file").replace("runs-on", "inputs: ['vendor/lib/**']\n    runs-on");
    let first = yard.run_jobs(&jobs).await.green();
    yard.origin.write("elsewhere.txt", "changed");
    let same = yard.run_jobs(&jobs).await.green();
    assert_eq!(same.states(), ["one reused"]);
    let newer = lib.commit("newer");
    record(&yard, "vendor/lib", &newer);
    let other = yard.run_jobs(&jobs).await.green();
    assert_eq!(other.states(), ["one succeeded"]);
    assert_eq!(yard.step_log(&first, "one", 1).await, "lib");
    assert_eq!(yard.step_log(&other, "one", 1).await, "newer");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_while_a_submodule_is_made_costs_nothing() {
    let mut yard = Yard::asleep(Options::default());
    let lib = Beside::new(&yard, "lib");
    add(&work(&yard), "../lib.git", "lib");
    yard.jobs(&job("cat lib/file; git status --porcelain"));
    let crash = [("BRANCHYARD_CRASH_AT", "submodule-registered")];
    let mut daemon = yard.start_binary(&crash).await;
    let request = yard.request(reqwest::Method::POST, super::PIPELINES);
    let _ = request.json(&json!({})).send().await;
    assert!(!daemon.ended().await.success());
    let mut daemon = yard.start_binary(&[]).await;
    let listed = yard.get_json(super::PIPELINES).await;
    let id = text(&listed["items"][0]["pipeline_id"]).to_owned();
    let ended = yard.pipeline_ended(&id).await.green();
    assert_eq!(yard.step_log(&ended, "one", 1).await, "lib");
    drop(lib);
    daemon.stop().await;
}
