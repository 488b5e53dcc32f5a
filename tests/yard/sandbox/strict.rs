//! `strict`: no network and few devices, and builds that need neither work; also behind links.

use std::net::TcpListener;

use super::{asleep, contained};
use crate::support::text_of;

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_network_and_hardly_a_device() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let makefile = format!(
        "all: try\n\
         \t@./try tcp {port} && echo reached || echo no network\n\
         \t@echo `ls /dev`\n\
         \t@echo of /etc: `ls /etc | grep -E '^(passwd|hosts|resolv.conf|ssl)$$'`\n\
         \t@echo x > /dev/null; head -c 4 /dev/urandom | wc -c; git log -1 --format=%s; id -un > me; mktemp > file\n\
         try: try.c\n\t@$(CC) -o $@ $<\n"
    );
    let mut yard = contained("strict", "", &makefile).await;
    yard.origin.write("try.c", include_str!("try.c"));
    yard.origin.commit("tries");
    yard.origin.push("main");
    let events = yard.make("main", &[]).await;
    assert_eq!(
        text_of(&events),
        "no network\n\
         fd full null random shm stderr stdin stdout urandom zero\n\
         of /etc: passwd\n4\ntries\n",
        "{events:?}"
    );
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"][0]["sandbox"], "strict", "{runs}");
    yard.stop().await;
}

/// The kernel tells others of a place by its real name, and so must the sandbox.
#[tokio::test(flavor = "multi_thread")]
async fn a_yard_behind_a_link_works_and_who_is_in_it_is_seen() {
    let makefile = "all:\n\t@git rev-parse --abbrev-ref HEAD; git show HEAD:name.txt; ls $$HOME\n\t@echo ready; while [ ! -e open ]; do sleep 0.01; done\n";
    let mut yard = asleep("strict", "", makefile);
    let real = yard.dir.path().join("elsewhere");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &yard.workspaces).unwrap();
    yard.start().await;
    let run = yard.start_detached("main", serde_json::json!({})).await;
    yard.follow(&run).await.until_line("ready").await;
    assert!(branchyard_process::is_in_use(&yard.workspace("main")));
    assert!(!branchyard_process::is_in_use(&yard.store()));
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(yard.ended(&run).await["state"], "succeeded");
    // Of the home nothing is there but the way to the yard.
    assert_eq!(yard.log(&run).await, "main\nmain\nelsewhere\nyard\nready\n");
    yard.stop().await;
}
