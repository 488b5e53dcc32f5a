//! What is kept whatever the limits say: pinned by hand, or with somebody in there.

use std::process::{Child, Command, Stdio};

use super::*;
use crate::support::problem_of;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pinned_by_hand_keeps_all_it_has_until_it_is_unpinned() {
    let mut yard = yard("max_size = \"1B\"").await;
    for branch in ["pinned", "other"] {
        workspace(&yard, branch).await;
        build(&yard.workspace(branch), 64);
    }
    let pinned = yard
        .put(&pin_of("pinned"), json!({"reason": "for the demo"}))
        .await;
    let pinned: Value = json_of(pinned).await;
    assert_eq!(pinned["pinned"]["by"], "session");
    assert_eq!(pinned["pinned"]["reason"], "for the demo");
    let pins = json!(["pinned by session: for the demo"]);
    assert_eq!(pinned["pins"], pins);

    reap_until(&yard, "the other goes", |_| {
        !yard.workspace("other").exists()
    })
    .await;
    yard.stop().await;
    yard.start().await;
    let reaping = reap(&yard).await;
    let item = of(&reaping, "pinned");
    assert_eq!(item["action"], "keep", "{item}");
    assert_eq!(item["why"], "pinned by session: for the demo");
    assert!(yard.workspace("pinned").join("ignored/big").exists());
    let listed = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(listed["items"][0]["pinned"]["reason"], "for the demo");

    let address = "/api/repos/demo/branches/pinned";
    let (status, problem) = problem_of(yard.delete(address).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("workspace_pinned")),
        "{problem}"
    );
    assert!(yard.workspace("pinned").exists());
    assert_eq!(yard.delete(&pin_of("pinned")).await.status(), 204);
    reap_until(&yard, "nothing keeps it any more", |_| {
        !yard.workspace("pinned").exists()
    })
    .await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_workspace_can_be_pinned() {
    let mut yard = yard("").await;
    let (status, problem) = problem_of(yard.put(&pin_of("main"), json!({})).await).await;
    assert_eq!((status, &problem["code"]), (404, &json!("no_workspace")));
    let (status, _) = problem_of(yard.delete(&pin_of("main")).await).await;
    assert_eq!(status, 404);
    workspace(&yard, "topic").await;
    for body in [json!({"why": "x"}), json!({"reason": "x".repeat(501)})] {
        let (status, _) = problem_of(yard.put(&pin_of("topic"), body).await).await;
        assert_eq!(status, 422);
    }
    let bare = json_of(yard.put(&pin_of("topic"), json!({})).await).await;
    assert_eq!(bare["pins"], json!(["pinned by session"]));
    assert_eq!(yard.delete(&pin_of("topic")).await.status(), 204);
    assert_eq!(yard.delete(&pin_of("topic")).await.status(), 204);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_somebody_is_nothing_goes() {
    let mut yard = yard("max_size = \"1B\"").await;
    for branch in ["cwd", "file", "free"] {
        workspace(&yard, branch).await;
        build(&yard.workspace(branch), 64);
    }
    let mut inside = [
        sleeper(|command| {
            command.current_dir(yard.workspace("cwd").join("ignored"));
        }),
        sleeper(|command| {
            let file = std::fs::File::open(yard.workspace("file").join("name.txt")).unwrap();
            command.stdin(file);
        }),
    ];
    reap_until(&yard, "what is free goes", |_| {
        !yard.workspace("free").exists()
    })
    .await;
    let reaping = reap(&yard).await;
    for branch in ["cwd", "file"] {
        let item = of(&reaping, branch);
        let why = "a process has its working directory or an open file there";
        assert_eq!(
            (&item["action"], &item["why"]),
            (&json!("keep"), &json!(why))
        );
        assert!(yard.workspace(branch).join("ignored/big").exists());
    }
    for sleeper in &mut inside {
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
    reap_until(&yard, "nobody is there any more", |_| {
        !yard.workspace("cwd").exists() && !yard.workspace("file").exists()
    })
    .await;
    yard.stop().await;
}

fn sleeper(place: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new("sleep");
    command.arg("300").stdin(Stdio::null());
    place(&mut command);
    command.spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_under_way_keeps_its_workspace() {
    let mut yard = yard("max_size = \"1B\"").await;
    workspace(&yard, "busy").await;
    build(&yard.workspace("busy"), 64);
    let mut run = yard
        .start_run("make", "busy", json!({"args": ["gate"]}))
        .await;
    run.until_line("waiting").await;
    for _ in 0..5 {
        let reaping = reap(&yard).await;
        assert_eq!(of(&reaping, "busy")["why"], "make gate has its turn");
    }
    assert!(yard.workspace("busy").join("ignored/big").exists());
    std::fs::write(yard.workspace("busy").join("open"), "").unwrap();
    assert_eq!(run.end().await.data["state"], "succeeded");
    yard.stop().await;
}
