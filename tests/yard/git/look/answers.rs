//! What diffs hold, what they leave out, and how they say so.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Agent, Yard, git};

#[tokio::test]
async fn thousands_of_untracked_files_fit_and_are_counted() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    for number in 0..3_000 {
        fs::write(workspace.join(format!("untracked-{number:04}.txt")), "").unwrap();
    }
    let agent = Agent::of_git(&yard, "main");
    let told = agent.call("git_status", json!({})).await;
    assert_eq!(told["counts"]["untracked"], 3_000);
    assert_eq!(told["truncated"], true);
    let listed = told["untracked"].as_array().unwrap().len();
    assert!((50..3_000).contains(&listed), "{listed}");
    let whole = yard.verb("main", "status", json!({})).await;
    assert_eq!(whole["untracked"].as_array().unwrap().len(), 3_000);
    assert_eq!(whole["truncated"], false);
    yard.stop().await;
}

#[tokio::test]
async fn a_long_diff_comes_in_pieces_that_make_the_whole() {
    let mut yard = Yard::new().await;
    let lines: Vec<_> = (0..6_000).map(|n| format!("line {n}\n")).collect();
    for name in ["a.txt", "b.txt"] {
        yard.origin.write(name, lines.concat());
    }
    yard.origin.commit("long");
    yard.origin.push("main");
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    let mut edited = lines;
    for line in edited.iter_mut().step_by(40) {
        *line = format!("changed: {line}");
    }
    fs::write(workspace.join("a.txt"), edited.concat()).unwrap();
    fs::write(workspace.join("b.txt"), edited.concat()).unwrap();
    fs::write(workspace.join("name.txt"), "mine\n").unwrap();

    let whole = git(&workspace, &["diff"]);
    let expected: Vec<_> = whole
        .lines()
        .filter(|line| line.starts_with("@@"))
        .collect();
    let agent = Agent::of_git(&yard, "main");
    let mut seen = Vec::new();
    let mut asked = json!({});
    let mut pieces = 0;
    loop {
        let piece = agent.call("git_diff", asked.clone()).await;
        assert_eq!(piece["totals"]["files"], 3);
        assert_eq!(piece["totals"]["additions"], 301);
        for file in piece["files"].as_array().unwrap() {
            let patch = file["patch"].as_str().unwrap();
            assert!(patch.starts_with("diff --git "), "{patch}");
            let hunks = patch.lines().filter(|line| line.starts_with("@@"));
            seen.extend(hunks.map(str::to_owned));
        }
        pieces += 1;
        assert_eq!(piece["truncated"], !piece["next"].is_null());
        if piece["next"].is_null() {
            break;
        }
        assert_ne!(piece["next"], asked, "no progress");
        asked = piece["next"].clone();
    }
    assert_eq!(seen, expected);
    assert!(pieces > 2, "{pieces}");
    yard.stop().await;
}

#[tokio::test]
async fn megabytes_of_differences_fit_into_any_answer() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    // One hunk of five megabytes, and one that fits.
    fs::write(
        workspace.join("great.txt"),
        "all of it is new\n".repeat(300_000),
    )
    .unwrap();
    fs::write(workspace.join("small.txt"), "new\n").unwrap();
    git(&workspace, &["add", "-A"]);
    let agent = Agent::of_git(&yard, "main");
    let first = agent.call("git_diff", json!({ "staged": true })).await;
    let file = &first["files"][0];
    assert_eq!(
        (&file["path"], &file["additions"]),
        (&json!("great.txt"), &json!(300_000))
    );
    assert_eq!(
        (&file["hunks_left_out"], &first["truncated"]),
        (&json!(1), &json!(true))
    );
    let mut asked = first["next"].clone();
    asked["staged"] = true.into();
    let second = agent.call("git_diff", asked).await;
    assert_eq!(second["files"][0]["path"], "small.txt");
    assert_eq!(
        (&second["truncated"], &second["next"]),
        (&json!(false), &Value::Null)
    );

    let wire = yard
        .try_verb("main", "diff", json!({ "staged": true }))
        .await;
    let bytes = wire.bytes().await.unwrap();
    assert!(bytes.len() < 2 * 1024 * 1024, "{}", bytes.len());
    yard.stop().await;
}

#[tokio::test]
async fn lock_files_are_counted_and_their_patches_left_out() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    fs::create_dir(workspace.join("web")).unwrap();
    for name in ["Cargo.lock", "web/package-lock.json", "other.lock"] {
        fs::write(workspace.join(name), "a\nb\n").unwrap();
    }
    let mut asked = json!({ "include_untracked": true });
    let told = yard.verb("main", "diff", asked.clone()).await;
    assert_eq!(
        told["left_out"],
        json!(["Cargo.lock", "web/package-lock.json"])
    );
    assert_eq!(told["totals"]["additions"], 6);
    let shown = |told: &Value| -> Vec<bool> {
        let files = told["files"].as_array().unwrap().iter();
        files.map(|file| file["patch"].is_string()).collect()
    };
    assert_eq!(shown(&told), [false, true, false]);
    asked["lock_files"] = true.into();
    let told = yard.verb("main", "diff", asked).await;
    assert_eq!(shown(&told), [true, true, true]);
    assert_eq!(told["left_out"], Value::Null);
    yard.stop().await;
}

#[tokio::test]
async fn patches_apply_also_those_of_untracked_files() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    fs::write(workspace.join("name.txt"), "no newline").unwrap();
    fs::write(workspace.join("sp ace\ttab"), "\u{fc}\r\nx").unwrap();
    fs::create_dir(workspace.join("new")).unwrap();
    std::os::unix::fs::symlink("../name.txt", workspace.join("new/link")).unwrap();
    fs::write(workspace.join("new/empty"), "").unwrap();
    let asked = json!({ "include_untracked": true, "context": 0 });
    let told = yard.verb("main", "diff", asked).await;
    assert_eq!(
        (&told["old"], &told["new"]),
        (&json!("index"), &json!("files"))
    );
    let files = told["files"].as_array().unwrap();
    let patch: String = files
        .iter()
        .map(|file| file["patch"].as_str().unwrap())
        .collect();

    let file = yard.dir.path().join("told.patch");
    fs::write(&file, patch).unwrap();
    let other = yard.dir.path().join("other");
    git(
        yard.dir.path(),
        &["clone", "-q", &yard.origin.url(), "other"],
    );
    let file = file.to_str().unwrap();
    git(&other, &["apply", "--unidiff-zero", file]);
    for name in ["name.txt", "sp ace\ttab", "new/empty"] {
        let [ours, theirs] = [&workspace, &other].map(|dir| fs::read(dir.join(name)).unwrap());
        assert_eq!(ours, theirs, "{name}");
    }
    assert!(other.join("new/link").is_symlink());
    yard.stop().await;
}

#[tokio::test]
async fn bytes_that_are_no_text_are_said_to_be_none() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    let workspace = yard.workspace("main");
    fs::write(workspace.join("latin"), b"\xe4\n").unwrap();
    fs::write(workspace.join("zero"), b"\0\x01").unwrap();
    let told = yard
        .verb("main", "diff", json!({ "include_untracked": true }))
        .await;
    let [latin, zero] = [0, 1].map(|at| &told["files"][at]);
    assert_eq!(
        (&latin["lossy"], &latin["additions"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(
        (&zero["binary"], &zero["additions"]),
        (&json!(true), &Value::Null)
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_branch_is_compared_with_where_it_parted() {
    let mut yard = Yard::new().await;
    yard.origin.branch("topic");
    yard.origin.at("main");
    yard.origin.write("later.txt", "later\n");
    yard.origin.commit("later");
    yard.origin.push("main");
    yard.make("topic", &[]).await;
    let names = |told: Value| -> Vec<String> {
        let files = told["files"].as_array().unwrap().iter();
        files
            .map(|file| file["path"].as_str().unwrap().to_owned())
            .collect()
    };
    // main has no workspace here: the remote's is meant.
    let asked = json!({ "from": "main", "to": "HEAD", "name_only": true });
    let both = names(yard.verb("topic", "diff", asked.clone()).await);
    assert_eq!(both, ["later.txt", "name.txt"]);
    for to in [json!("HEAD"), Value::Null] {
        let mut asked = asked.clone();
        asked["merge_base"] = true.into();
        asked["to"] = to;
        let since = yard.verb("topic", "diff", asked).await;
        assert_eq!(names(since), ["name.txt"]);
    }
    let mut narrow = asked;
    narrow["paths"] = json!(["later.txt"]);
    assert_eq!(
        names(yard.verb("topic", "diff", narrow).await),
        ["later.txt"]
    );
    yard.stop().await;
}

#[tokio::test]
async fn verbosity_decides_about_whole_fields() {
    let mut yard = Yard::new().await;
    yard.make("main", &[]).await;
    fs::write(yard.workspace("main").join("name.txt"), "mine\n").unwrap();
    let ask = async |verb: &str, verbosity: &str| {
        let asked = json!({ "verbosity": verbosity });
        yard.verb("main", verb, asked).await
    };
    let minimal = ask("status", "minimal").await;
    assert_eq!(minimal["counts"]["unstaged"], 1);
    for field in ["staged", "unstaged", "untracked", "conflicted", "upstream"] {
        assert_eq!(minimal.get(field), None);
    }
    let full = ask("status", "full").await;
    assert_eq!(full["unstaged"][0]["old"]["mode"], "100644");
    assert!(ask("diff", "minimal").await["files"][0]["patch"].is_null());
    assert!(ask("diff", "standard").await["files"][0]["old"].is_null());
    assert!(ask("diff", "full").await["files"][0]["old"]["id"].is_string());
    yard.stop().await;
}
