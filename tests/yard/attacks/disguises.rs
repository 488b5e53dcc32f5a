//! Repositories and objects of a build's making that stand where git looks for the honest ones.

use std::path::Path;

use serde_json::json;

use super::Marker;
use super::plants::{configuration, push_next, yard_with_plants};
use crate::support::{Yard, git, text_of, warnings_of};

/// The workspace's own `.git` names the repository; one of the build's making is as good as any plant.
#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_pointed_at_another_repository_is_not_followed() {
    let (mut yard, marker) = yard_with_plants().await;
    yard.make("main", &["who"]).await;
    let clean = configuration(&yard);
    let evil = yard.dir.path().join("evil-repo");
    copy(&yard.store(), &evil);
    let config = format!(
        "[core]\n\tfsmonitor = {touch}\n[filter \"evil\"]\n\tclean = {touch}\n\tsmudge = {touch}\n",
        touch = marker.touch()
    );
    for file in ["config", "worktrees/main/config.worktree"] {
        let path = evil.join(file);
        let own = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{own}{config}")).unwrap();
    }
    let pointed = format!("gitdir: {}\n", evil.join("worktrees/main").display());
    let common = format!("{}\n", evil.display());
    let admin = yard.store().join("worktrees/main");
    for (what, file, content) in [
        (".git", yard.workspace("main").join(".git"), &pointed),
        ("commondir", admin.join("commondir"), &common),
    ] {
        for (n, (kind, body)) in [
            ("make", json!({"args": ["who"]})),
            ("git", json!({"operation": "status"})),
            ("git", json!({"operation": "push", "args": ["--dry-run"]})),
        ]
        .into_iter()
        .enumerate()
        {
            let input = format!("{kind} {body} after {what} was changed");
            std::fs::write(&file, content).unwrap();
            push_next(&yard, &format!("{what} {n}\n"));
            let events = yard.run(kind, "main", body).await;
            marker.assert_absent(&input);
            assert_eq!(configuration(&yard), clean, "{input}");
            assert_eq!(
                warnings_of(&events),
                ["store_tampered"],
                "{input}: {events:?}"
            );
        }
        let input = format!("quick status after {what} was changed");
        std::fs::write(&file, content).unwrap();
        std::fs::write(yard.workspace("main").join("name.txt"), "edited\n").unwrap();
        let body = json!({"operation": "status"});
        yard.post_json("/api/repos/demo/branches/main/git/quick", body)
            .await;
        marker.assert_absent(&input);
        let restore = json!({"operation": "restore", "args": ["."]});
        yard.run("git", "main", restore).await;
    }
    yard.stop().await;
}

/// A nested repository brings a configuration of its own, which git would follow into it to see
/// whether it is dirty. What only looks must not.
#[tokio::test(flavor = "multi_thread")]
async fn a_repository_inside_the_workspace_is_not_asked() {
    let mut yard = Yard::new().await;
    let marker = Marker::new(&yard);
    let link = format!("160000,{},sub", yard.origin.head());
    let modules = "[submodule \"sub\"]\n\tpath = sub\n\turl = ../sub\n\tignore = none\n";
    yard.origin.write(".gitmodules", modules);
    yard.origin
        .write("Makefile", "plant:\n\t@sh nest.sh\nwho:\n\t@cat name.txt\n");
    // The file is changed but no larger, so that only its content, through the filter, tells.
    let nest = format!(
        "set -e\ngit init -q sub; cd sub\necho '* filter=evil' > .gitattributes; echo x > file\n\
         git add .; git -c user.name=x -c user.email=x@x commit -q -m x\n\
         git config core.fsmonitor '{touch}; false'; git config filter.evil.clean '{touch}; cat'\n\
         echo y > file\n",
        touch = marker.touch()
    );
    yard.origin.write("nest.sh", nest);
    yard.origin
        .git(&["add", ".gitmodules", "Makefile", "nest.sh"]);
    yard.origin
        .git(&["update-index", "--add", "--cacheinfo", &link]);
    yard.origin.git(&["commit", "-q", "-m", "nested"]);
    yard.origin.push("main");
    let planted = yard.make("main", &["plant"]).await;
    let state = &planted.last().unwrap().data["state"];
    assert_eq!(state, "succeeded", "{planted:?}");
    marker.assert_absent("planting");
    let nested = yard.workspace("main").join("sub/file");
    let stir = || std::fs::write(&nested, "z\n").unwrap();
    for operation in ["status", "diff", "log", "show", "branch"] {
        stir();
        let body = json!({"operation": operation});
        let path = "/api/repos/demo/branches/main/git/quick";
        let answer = yard.post_json(path, body).await;
        assert_eq!(answer["exit_code"], 0, "{operation}: {answer}");
        marker.assert_absent(&format!("quick {operation}"));
    }
    for (operation, args) in [
        ("status", json!([])),
        ("status", json!(["--ignore-submodules=none"])),
        ("diff", json!([])),
        ("diff", json!(["--submodule=diff"])),
        ("diff", json!(["--ignore-submodules=none"])),
        ("diff", json!(["HEAD"])),
        ("log", json!(["-p", "--submodule=diff"])),
        ("ls-files", json!(["--modified"])),
        ("fetch", json!([])),
        ("push", json!(["--dry-run"])),
    ] {
        let input = format!("git {operation} {args}");
        let body = json!({"operation": operation, "args": args, "sync": "none"});
        let answer = yard
            .post("/stream/repos/demo/branches/main/git", body)
            .await;
        let answer = answer.text().await.unwrap();
        marker.assert_absent(&format!("{input}: {answer}"));
    }
    stir();
    yard.get_json("/api/repos/demo/branches/main").await;
    yard.origin.write("name.txt", "next\n");
    yard.origin.git(&["add", "name.txt"]);
    yard.origin.git(&["commit", "-q", "-m", "next"]);
    yard.origin.push("main");
    let events = yard.make("main", &["who"]).await;
    assert_eq!(
        warnings_of(&events),
        ["left_alone"],
        "it has commits of its own"
    );
    marker.assert_absent("describe and make");
    // What was planted does work, else the above would prove nothing.
    stir();
    git(&yard.workspace("main"), &["status"]);
    assert!(marker.0.exists());
    yard.stop().await;
}

/// A replacement would put another tree under a commit's name, in every workspace of the repository.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_built_as_it_is_whatever_replaces_it() {
    let mut yard = Yard::new().await;
    yard.origin.branch("evil");
    let honest = yard.origin.branch("honest");
    yard.make("evil", &["who"]).await;
    yard.run("git", "evil", json!({"operation": "fetch"})).await;
    git(&yard.workspace("evil"), &["replace", &honest, "HEAD"]);
    let events = yard.make("honest", &["who"]).await;
    assert_eq!(text_of(&events), "honest\n");
    assert_eq!(events.last().unwrap().data["commit"], honest.as_str());
    let body = json!({"operation": "show", "args": [format!("{honest}:name.txt")]});
    let path = "/api/repos/demo/branches/honest/git/quick";
    let shown = yard.post_json(path, body).await;
    assert_eq!(shown["stdout"], "honest\n");
    yard.stop().await;
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), &target).unwrap();
        }
    }
}
