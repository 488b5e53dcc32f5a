//! deliver: commits reach a shared branch whose workspace is not needed, by the git of the machine and by Debian's own.

use std::process::Command;

use reqwest::Response;
use serde_json::{Value, json};

use crate::support::{Binary, Options, PROGRAM, Yard, git, json_of, problem_of};

/// Each git that is here, by the `PATH` that leads to it first.
fn gits() -> Vec<String> {
    let path = std::env::var("PATH").unwrap();
    let debians = format!("/usr/bin:{path}");
    let version = |path: &str| {
        let said = Command::new("sh")
            .args(["-c", "git version"])
            .env("PATH", path)
            .output();
        String::from_utf8(said.unwrap().stdout).unwrap()
    };
    let (usual, other) = (version(&path), version(&debians));
    print!("{usual}{other}");
    match usual == other {
        true => vec![path],
        false => vec![path, debians],
    }
}

/// A yard with `shared` on the remote, and a workspace for each of `branches`, which all begin there.
async fn yard_with(path: &str, branches: &[&str]) -> (Yard, Binary) {
    let mut yard = Yard::asleep(Options::default());
    yard.origin.write("f", "1\n2\n3\n");
    yard.origin.commit("base");
    yard.origin.push("shared");
    for branch in branches {
        yard.origin.push(branch);
    }
    let daemon = yard.start_program(PROGRAM, &[("PATH", path)]).await;
    for branch in branches {
        let made = yard
            .put(&format!("/api/repos/demo/branches/{branch}"), json!({}))
            .await;
        assert!(made.status().is_success(), "{branch}");
    }
    (yard, daemon)
}

async fn commit(yard: &Yard, branch: &str, name: &str, content: &str) -> String {
    std::fs::write(yard.workspace(branch).join(name), content).unwrap();
    let message = format!("{name} of {branch}");
    let asked = json!({"message": message, "paths": [name], "author": "Ann <ann@example.org>"});
    let made = yard.verb(branch, "commit", asked).await;
    made["commit"].as_str().unwrap().to_owned()
}

async fn deliver(yard: &Yard, branch: &str, how: &str) -> Value {
    let asked = json!({"into": "shared", "how": how});
    yard.verb(branch, "deliver", asked).await
}

/// The answer to a verb that the holder of a token calls.
async fn as_ann(yard: &Yard, token: &str, branch: &str, verb: &str, body: Value) -> Response {
    let path = format!("{}/api/repos/demo/branches/{branch}/git/{verb}", yard.url);
    let request = yard.client.post(path).bearer_auth(token).json(&body);
    request.send().await.unwrap()
}

fn at_remote(yard: &Yard, args: &[&str]) -> String {
    git(&yard.origin.bare, args)
}

fn file(yard: &Yard, name: &str) -> String {
    at_remote(yard, &["show", &format!("shared:{name}")])
}

#[tokio::test(flavor = "multi_thread")]
async fn what_two_branches_have_comes_together_on_a_third() {
    for path in gits() {
        let (yard, mut daemon) = yard_with(&path, &["one", "two", "three"]).await;
        let first = commit(&yard, "one", "a", "a\n").await;
        let forward = deliver(&yard, "one", "merge").await;
        assert_eq!(forward["state"], "delivered", "{forward}");
        assert_eq!(forward["remote_commit"], first, "nothing else was there");

        let second = commit(&yard, "two", "b", "b\n").await;
        let merged = deliver(&yard, "two", "merge").await;
        assert_eq!(merged["state"], "delivered", "{merged}");
        let parents = at_remote(&yard, &["log", "-1", "--format=%P", "shared"]);
        assert_eq!(parents, format!("{first} {second}"));
        let subject = at_remote(&yard, &["log", "-1", "--format=%s", "shared"]);
        assert_eq!(subject, "Merge branch 'two' into shared");

        commit(&yard, "three", "c", "c\n").await;
        commit(&yard, "three", "d", "d\n").await;
        let rebased = deliver(&yard, "three", "rebase").await;
        assert_eq!(rebased["state"], "delivered", "{rebased}");
        assert_eq!(rebased["outgoing"].as_array().unwrap().len(), 2);
        let log = at_remote(&yard, &["log", "-2", "--format=%an <%ae> %s", "shared"]);
        let ann = "Ann <ann@example.org>";
        assert_eq!(log, format!("{ann} d of three\n{ann} c of three"));
        for name in ["a", "b", "c", "d"] {
            assert_eq!(file(&yard, name), name);
        }
        // To say it again changes nothing, though the commits of a rebase are others.
        let tip = at_remote(&yard, &["rev-parse", "shared"]);
        for (branch, how) in [("one", "merge"), ("two", "merge"), ("three", "rebase")] {
            let again = deliver(&yard, branch, how).await;
            assert_eq!(
                (&again["state"], &again["remote_commit"]),
                (&json!("up_to_date"), &json!(tip))
            );
        }
        assert!(
            !yard.workspace("shared").exists(),
            "a delivery needs no workspace of the target"
        );
        assert_eq!(
            git(&yard.workspace("three"), &["status", "--porcelain"]),
            ""
        );
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_all_arrive_and_a_no_of_the_remote_is_tried_again() {
    for path in gits() {
        let branches = ["b1", "b2", "b3", "b4", "b5", "b6"];
        let (yard, mut daemon) = yard_with(&path, &branches).await;
        for branch in branches {
            commit(&yard, branch, branch, "x\n").await;
        }
        crate::git::push::hook(
            &yard,
            "pre-receive",
            "[ -e refused ] && exit 0; touch refused; echo not yet; exit 1",
        );
        let each = branches
            .iter()
            .enumerate()
            .map(|(number, branch)| deliver(&yard, branch, ["merge", "rebase"][number % 2]));
        let all = crate::first_clones::join_all(each).await;
        assert!(all.iter().all(|one| one["state"] == "delivered"), "{all:?}");
        let most = all
            .iter()
            .map(|one| one["attempts"].as_u64().unwrap())
            .max();
        assert!(most > Some(1), "{all:?}");
        for branch in branches {
            assert_eq!(file(&yard, branch), "x");
        }
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conflict_waits_in_the_callers_workspace_and_says_whose_it_is() {
    for path in gits() {
        for how in ["merge", "rebase"] {
            let (yard, mut daemon) = yard_with(&path, &["one", "two"]).await;
            commit(&yard, "one", "f", "1\none\n3\n").await;
            deliver(&yard, "one", "merge").await;
            let before = at_remote(&yard, &["rev-parse", "shared"]);
            commit(&yard, "two", "f", "1\ntwo\n3\n").await;

            // Changes in the way are the caller's to settle first.
            std::fs::write(yard.workspace("two").join("f"), "unsaved\n").unwrap();
            let asked = json!({"into": "shared", "how": how});
            let refused = yard.try_verb("two", "deliver", asked.clone()).await;
            let (_, problem) = problem_of(refused).await;
            assert_eq!(problem["code"], "conflicts", "{problem}");
            assert!(
                problem["detail"].as_str().unwrap().contains("changed f"),
                "{problem}"
            );
            let text = std::fs::read_to_string(yard.workspace("two").join("f")).unwrap();
            assert_eq!(text, "unsaved\n");
            git(&yard.workspace("two"), &["checkout", "-q", "f"]);

            let token = yard
                .token(json!({"name": "ann", "role": "dev", "repos": ["demo"]}))
                .await;
            let post =
                async |verb: &str, body: Value| as_ann(&yard, &token, "two", verb, body).await;
            let stopped = json_of(post("deliver", asked.clone()).await).await;
            assert_eq!(stopped["state"], "conflicts", "{stopped}");
            assert_eq!(stopped["conflicts"][0]["path"], "f");
            assert_eq!(
                stopped["conflicts"][0]["hunks"].as_array().unwrap().len(),
                1
            );
            assert_eq!(at_remote(&yard, &["rev-parse", "shared"]), before);

            // Others are told by whom, and since when.
            let refused = yard.try_verb("two", "deliver", asked.clone()).await;
            let (_, problem) = problem_of(refused).await;
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("have conflicts"), "{detail}");
            assert!(detail.contains("begun by token:ann "), "{detail}");
            let status = yard.verb("two", "status", json!({})).await;
            assert_eq!(status["operation"]["by"], "token:ann", "{status}");
            assert!(status["operation"]["age"].is_string(), "{status}");

            let take = json!({"paths": ["f"], "content": "1\nboth\n3\n"});
            json_of(post("resolve", take).await).await;
            let refused = yard.try_verb("two", "deliver", asked).await;
            let (_, problem) = problem_of(refused).await;
            let detail = problem["detail"].as_str().unwrap();
            assert!(
                detail.contains("begun by token:ann ") && detail.ends_with(" ago"),
                "{detail}"
            );

            json_of(post(how, json!({"action": "continue"})).await).await;
            let status = yard.verb("two", "status", json!({})).await;
            assert_eq!(status.get("operation"), None);
            let arrived = deliver(&yard, "two", how).await;
            assert_eq!(arrived["state"], "delivered", "{arrived}");
            assert_eq!(file(&yard, "f"), "1\nboth\n3");
            daemon.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_needs_a_right_to_the_target_and_never_enters_a_protected_one() {
    let (yard, mut daemon) = yard_with(&std::env::var("PATH").unwrap(), &["one"]).await;
    commit(&yard, "one", "a", "a\n").await;
    let refused = async |asked: Value, status: u16| {
        let (code, problem) = problem_of(yard.try_verb("one", "deliver", asked).await).await;
        assert_eq!(code, status, "{problem}");
        problem
    };
    for asked in [json!({"into": "main"}), json!({"into": "release/1"})] {
        let problem = refused(asked, 403).await;
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("protected_branch"), &json!("into"))
        );
    }
    let problem = refused(json!({"into": "nowhere"}), 404).await;
    assert_eq!(problem["field"], "into", "{problem}");
    let problem = refused(json!({"into": "one"}), 422).await;
    assert!(
        problem["help"].as_str().unwrap().contains("git_push"),
        "{problem}"
    );
    let asked = json!({"into": "shared", "how": "rebase", "message": "x"});
    let problem = refused(asked, 422).await;
    assert_eq!(problem["field"], "message", "{problem}");

    let bound = json!({"name": "b", "role": "dev", "repos": ["demo"], "branches": ["one"]});
    let token = yard.token(bound).await;
    let said = as_ann(&yard, &token, "one", "deliver", json!({"into": "shared"})).await;
    let (code, problem) = problem_of(said).await;
    assert_eq!(
        (code, &problem["field"]),
        (404, &json!("into")),
        "{problem}"
    );
    assert_eq!(
        at_remote(&yard, &["ls-tree", "--name-only", "shared", "a"]),
        ""
    );
    daemon.stop().await;
}

/// A build that goes on in the workspace of `branch` until it is let.
async fn gate(yard: &Yard, branch: &str) -> String {
    let run = yard.start_detached(branch, json!({"args": ["gate"]})).await;
    yard.follow(&run).await.until_line("waiting").await;
    run
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_build_no_file_moves() {
    for path in gits() {
        let (yard, mut daemon) = yard_with(&path, &["one", "two"]).await;
        commit(&yard, "one", "f", "1\none\n3\n").await;
        commit(&yard, "two", "g", "g\n").await;
        let run = gate(&yard, "two").await;
        deliver(&yard, "one", "merge").await;
        let merged = deliver(&yard, "two", "merge").await;
        assert_eq!(merged["state"], "delivered", "{merged}");
        assert_eq!(
            (file(&yard, "f"), file(&yard, "g")),
            ("1\none\n3".into(), "g".into())
        );

        commit(&yard, "two", "f", "1\ntwo\n3\n").await;
        let asked = json!({"into": "shared"});
        let (status, problem) = problem_of(yard.try_verb("two", "deliver", asked).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (409, &json!("conflicts")),
            "{problem}"
        );
        let here = std::fs::read_to_string(yard.workspace("two").join("f")).unwrap();
        assert_eq!(here, "1\ntwo\n3\n");
        std::fs::write(yard.workspace("two").join("open"), "").unwrap();
        yard.ended(&run).await;
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rebase_is_what_git_makes_of_it() {
    for path in gits() {
        let (yard, mut daemon) = yard_with(&path, &["one", "two"]).await;
        let two = yard.workspace("two");
        // Both change the same line, so that only the second is like what the target has in the end.
        commit(&yard, "two", "f", "1\nfirst\n3\n").await;
        commit(&yard, "two", "f", "1\nsecond\n3\n").await;
        // An author and an encoding that are not UTF-8 by default.
        std::fs::write(two.join("odd"), "odd\n").unwrap();
        git(&two, &["add", "odd"]);
        let config = ["-c", "i18n.commitEncoding=ISO-8859-1", "-c", "user.name=x"];
        let said = [
            &config[..],
            &[
                "commit",
                "-q",
                "-m",
                "gr\u{fc}n",
                "--author=J\u{fc}rgen <j@x>",
            ],
        ]
        .concat();
        git(&two, &said);
        let of_odd = |rev: &str, dir: &std::path::Path| -> Vec<String> {
            let raw = git(dir, &["cat-file", "commit", rev]);
            let kept = |line: &&str| line.starts_with("author ") || line.starts_with("encoding ");
            raw.lines().filter(kept).map(str::to_owned).collect()
        };
        let before = of_odd("HEAD", &two);
        commit(&yard, "one", "a", "a\n").await;
        deliver(&yard, "one", "merge").await;
        let rebased = deliver(&yard, "two", "rebase").await;
        assert_eq!(
            (&rebased["state"], &rebased["attempts"]),
            (&json!("delivered"), &json!(1)),
            "{rebased}"
        );
        assert_eq!(of_odd("shared", &yard.origin.bare), before);

        // Again, and with one more: what is there already is left out.
        let again = deliver(&yard, "two", "rebase").await;
        assert_eq!(again["state"], "up_to_date", "{again}");
        commit(&yard, "two", "h", "h\n").await;
        let more = deliver(&yard, "two", "rebase").await;
        assert_eq!(
            (&more["state"], &more["attempts"]),
            (&json!("delivered"), &json!(1)),
            "{more}"
        );
        assert_eq!(more["outgoing"].as_array().unwrap().len(), 1, "{more}");

        // What was done by hand in a merge is not lost without a word.
        commit(&yard, "one", "b", "b\n").await;
        let merged = json!({"from": "two", "ff": "never"});
        yard.verb("one", "merge", merged).await;
        commit(&yard, "two", "i", "i\n").await;
        deliver(&yard, "two", "merge").await;
        let asked = json!({"into": "shared", "how": "rebase"});
        let (status, problem) = problem_of(yard.try_verb("one", "deliver", asked).await).await;
        assert_eq!(
            (status, &problem["field"]),
            (422, &json!("how")),
            "{problem}"
        );
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_targets_attributes_decide_and_no_file_that_lies_about() {
    for path in gits() {
        let (yard, mut daemon) = yard_with(&path, &["one", "two", "three"]).await;
        let attributes = ".gitattributes";
        commit(&yard, "one", attributes, "list merge=union\n").await;
        commit(&yard, "one", "list", "base\none\n").await;
        deliver(&yard, "one", "merge").await;
        // It has no such rule itself.
        commit(&yard, "two", "list", "base\ntwo\n").await;
        let joined = deliver(&yard, "two", "merge").await;
        assert_eq!(
            (&joined["state"], &joined["attempts"]),
            (&json!("delivered"), &json!(1)),
            "{joined}"
        );
        assert_eq!(file(&yard, "list"), "base\none\ntwo");

        commit(&yard, "two", "f", "1\ntwo\n3\n").await;
        deliver(&yard, "two", "merge").await;
        commit(&yard, "three", "f", "1\nthree\n3\n").await;
        std::fs::write(yard.workspace("three").join(attributes), "* merge=union\n").unwrap();
        let before = at_remote(&yard, &["rev-parse", "shared"]);
        yard.try_verb("three", "deliver", json!({"into": "shared"}))
            .await;
        assert_eq!(at_remote(&yard, &["rev-parse", "shared"]), before);
        daemon.stop().await;
    }
}
