//! A full disk, for real: a small file system that runs out of bytes or of inodes before, during and
//! after everything that is written. Nobody is hurt, and room is all that it takes to go on.

use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Event, Options, PATIENCE, Resource, SmallYard, Yard, events_of, git, is_alive, problem_of,
    text_of, until, warnings_of,
};

const BOTH: [Resource; 2] = [Resource::Bytes, Resource::Inodes];

/// A yard on a disk of 48 MiB and 2000 inodes, whose Makefile can fill it; the daemon is not started.
fn small_yard() -> Option<SmallYard> {
    small_yard_with("")
}

fn small_yard_with(tables: &str) -> Option<SmallYard> {
    let options = Options {
        tables: tables.to_owned(),
        ..Options::default()
    };
    let small = SmallYard::new(48, 2000, options)?;
    let origin = &small.yard.origin;
    origin.write("Makefile", makefile(small.yard.dir.path()));
    origin.commit("fill the disk");
    origin.push("main");
    Some(small)
}

/// The targets end with a code of their own, so that it can be told from one that was made up.
fn makefile(dir: &Path) -> String {
    let dir = dir.display();
    format!(
        "\
who:
\t@cat name.txt
fill-bytes:
\t@echo begun; cat /dev/zero > big 2>/dev/null; echo full; exit 3
fill-inodes:
\t@echo begun; mkdir many; i=0; while printf '' 2>/dev/null > many/$$i; do i=$$((i+1)); done 2>/dev/null; \\
\techo full; exit 3
chatter:
\t@yes $$(printf '%01000d' 7) | head -c 60000000; exit 3
eat-bytes:
\t@while :; do cat /dev/zero >> big; done 2>/dev/null
eat-inodes:
\t@mkdir many; i=0; while :; do i=$$((i+1)); printf '' > many/$$i; done 2>/dev/null
gate:
\t@echo waiting; while [ ! -e {dir}/open ]; do sleep 0.02; done; echo passed; exit 3
"
    )
}

fn fill_target(with: Resource) -> &'static str {
    match with {
        Resource::Bytes => "fill-bytes",
        Resource::Inodes => "fill-inodes",
    }
}

/// 507, and what is full, of what it is, and what could be done about it.
fn assert_refused((status, problem): &(u16, Value), of: Resource) {
    assert_eq!(
        (*status, &problem["code"]),
        (507, &json!("disk_full")),
        "{problem}"
    );
    let (detail, help) = (problem["detail"].to_string(), problem["help"].to_string());
    let words = match of {
        Resource::Bytes => "of 48 MiB are left",
        Resource::Inodes => "of 2000 inodes are left",
    };
    assert!(detail.contains(words), "{detail}");
    assert!(detail.contains("disk/yard"), "{detail}");
    assert!(help.contains("`branchyard reap`"), "{help}");
}

async fn assert_reads_are_served(yard: &Yard, run: &str) {
    let runs = yard.get_json("/api/runs").await;
    assert_eq!(runs["items"][0]["run_id"], run);
    assert_eq!(
        yard.get_json(&format!("/api/runs/{run}")).await["state"],
        "succeeded"
    );
    assert_eq!(yard.log(run).await, "main\n");
    let events = events_of(yard.get(&format!("/stream/runs/{run}")).await).await;
    assert_eq!(events.last().unwrap().kind, "complete");
    yard.get_json(&format!("/api/runs/{run}/diagnostics")).await;
    let branches = yard.get_json("/api/repos/demo/branches").await;
    assert_eq!(branches["items"][0]["branch"], "main");
    let main = "/api/repos/demo/branches/main";
    assert_eq!(yard.get_json(main).await["dirty"], false);
    yard.post_json(&format!("{main}/ls"), json!({})).await;
    let file = json!({"path": "name.txt"});
    yard.post_json(&format!("{main}/read_file"), file).await;
    let status = json!({"operation": "status"});
    let status = yard.post_json(&format!("{main}/git/quick"), status).await;
    assert_eq!(status["exit_code"], 0, "{status}");
    assert!(yard.get("/metrics").await.status().is_success());
}

fn complete(events: &[Event]) -> &Event {
    events
        .last()
        .filter(|event| event.kind == "complete")
        .unwrap_or_else(|| panic!("{events:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn new_work_is_refused_reads_are_served_and_room_is_all_it_takes_to_go_on() {
    for what in BOTH {
        let Some(mut small) = small_yard() else {
            return;
        };
        for branch in ["spare", "other"] {
            small.yard.origin.branch(branch);
        }
        let mut daemon = small.yard.start_binary(&[]).await;
        let yard = &small.yard;
        yard.put("/api/repos/demo/branches/spare", json!({})).await;
        let run = complete_run(yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        small.disk.fill(what, 0);

        let post = |path: &str, body: Value| yard.request(Method::POST, path).json(&body);
        let work = [
            post(
                "/stream/repos/demo/branches/main/make",
                json!({"args": ["who"]}),
            ),
            post(
                "/stream/repos/demo/branches/main/git",
                json!({"operation": "fetch"}),
            ),
            post(
                "/stream/repos/demo/make",
                json!({"args": ["who"], "branches": ["*"]}),
            ),
            post(&format!("/stream/runs/{run}/rerun"), json!({})),
            post(
                "/api/repos",
                json!({"name": "new", "url": "https://localhost/new.git"}),
            ),
            post("/api/repos/demo/branches/other/ls", json!({})),
            yard.request(Method::PUT, "/api/repos/demo/branches/main")
                .json(&json!({})),
        ];
        for request in work {
            let refused = problem_of(request.send().await.unwrap()).await;
            assert_refused(&refused, what);
            assert!(
                refused.1["help"].to_string().contains("2 workspaces"),
                "{refused:?}"
            );
        }
        assert_reads_are_served(yard, &run).await;
        let ready = yard.get("/readyz").await;
        assert_eq!(ready.status(), 503);
        assert_eq!(ready.json::<Value>().await.unwrap()["status"], "disk_full");
        assert_eq!(
            yard.get_json("/api/runs").await["items"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        let removed = yard.delete("/api/repos/demo/branches/spare").await;
        assert_eq!(removed.status(), 204, "{}", removed.text().await.unwrap());
        assert!(!yard.workspace("spare").exists());

        small.disk.empty();
        complete_run(yard, "who").await;
        until("the reserve is made anew", || small.has_reserve()).await;
        assert!(yard.get("/readyz").await.status().is_success());
        daemon.stop().await;
    }
}

/// A run that must succeed; its id.
async fn complete_run(yard: &Yard, target: &str) -> String {
    let events = yard.make("main", &[target]).await;
    assert_eq!(complete(&events).data["state"], "succeeded");
    events[0].data["run_id"].as_str().unwrap().to_owned()
}

/// Waits until a run is listed in this state: the index comes after the record.
async fn until_listed(yard: &Yard, state: &str, run: &str) {
    let by = std::time::Instant::now() + PATIENCE;
    let path = format!("/api/runs?state={state}");
    while yard.get_json(&path).await["items"][0]["run_id"] != run {
        assert!(
            std::time::Instant::now() < by,
            "it is never listed as {state}"
        );
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// The end of a run that failed by itself on a full disk is its own end, and everyone sees it.
async fn assert_own_end(yard: &Yard, run: &str) {
    let record = yard.ended(run).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(2)),
        "{record}"
    );
    until_listed(yard, "failed", run).await;
    let on_disk = std::fs::read(yard.run_dir(run).join("run.json")).unwrap();
    let on_disk: Value = serde_json::from_slice(&on_disk).unwrap();
    assert_eq!(on_disk["state"], "failed", "{on_disk}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_fills_the_disk_has_its_own_end() {
    for what in BOTH {
        let Some(mut small) = small_yard() else {
            return;
        };
        let mut daemon = small.yard.start_binary(&[]).await;
        let yard = &small.yard;
        complete_run(yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        let run = yard
            .start_detached("main", json!({"args": [fill_target(what)]}))
            .await;
        assert_own_end(yard, &run).await;
        assert!(yard.log(&run).await.starts_with("begun\n"));
        let described = yard.get_json("/api/repos/demo/branches/main").await;
        assert_eq!(described["pins"], json!([]), "what it made is build output");
        let refused = yard.request(Method::POST, "/stream/repos/demo/branches/main/make");
        let refused = problem_of(refused.json(&json!({})).send().await.unwrap()).await;
        assert_refused(&refused, what);

        remove_what_was_made(yard);
        complete_run(yard, "who").await;
        until("the reserve is made anew", || small.has_reserve()).await;
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_or_code_of_a_caller_that_fills_the_disk_has_its_own_end() {
    let Some(mut small) = small_yard_with("[code]\nwithout_sandbox = true\n") else {
        return;
    };
    let mut daemon = small.yard.start_binary(&[]).await;
    let yard = &small.yard;
    let fill = "cat /dev/zero > big; echo full; exit 3";
    let silently = "cat /dev/zero > big 2>/dev/null; exit 3";
    for (body, is_silent) in [
        (json!({ "argv": ["sh", "-c", fill] }), false),
        (json!({ "script": fill, "interpreter": "shell" }), false),
        (json!({ "argv": ["sh", "-c", silently] }), true),
        (json!({ "script": silently, "interpreter": "shell" }), true),
    ] {
        complete_run(yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        let events = yard.run("exec", "main", body.clone()).await;
        let end = &complete(&events).data;
        assert_eq!(
            (&end["state"], &end["exit_code"]),
            (&json!("failed"), &json!(3))
        );
        // The command itself may say nothing of it.
        let said = text_of(&events);
        let is_said = said.contains("No space left on device");
        assert_eq!(is_said, !is_silent, "{said}");
        assert!(warnings_of(&events).contains(&"disk_full"), "{events:?}");
        let run = events[0].data["run_id"].as_str().unwrap();
        let warnings = yard.ended(run).await["warnings"].clone();
        let named = warnings.as_array().into_iter().flatten();
        let mut named = named.filter(|warning| warning["code"] == "disk_full");
        let message = named.next().unwrap()["message"].to_string();
        assert!(message.contains("of 48 MiB are left"), "{message}");
        for (path, body) in [
            ("/stream/repos/demo/branches/main/exec", body),
            (
                "/api/repos/demo/branches/main/write_file",
                json!({ "path": "x", "content": "x" }),
            ),
        ] {
            let refused = yard.request(Method::POST, path).json(&body);
            let refused = problem_of(refused.send().await.unwrap()).await;
            assert_refused(&refused, Resource::Bytes);
        }
        // What makes room is done all the same.
        let path = "/api/repos/demo/branches/main/delete_file";
        yard.post_json(path, json!({ "path": "big" })).await;
        assert!(!yard.workspace("main").join("big").exists());
    }
    complete_run(yard, "who").await;
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_the_disk_does_not_take_is_a_gap_of_known_size() {
    // All of the disk for the beginning of the output; or for that, and a part of its kept end.
    for (limits, left) in [
        ("", None),
        ("[limits]\nmax_output = \"8MiB\"\n", Some(7 << 20)),
    ] {
        let Some(mut small) = small_yard_with(limits) else {
            return;
        };
        let mut daemon = small.yard.start_binary(&[]).await;
        let yard = &small.yard;
        complete_run(yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        if let Some(left) = left {
            small.disk.fill(Resource::Bytes, left);
        }
        let run = yard
            .start_detached("main", json!({"args": ["chatter"]}))
            .await;
        assert_own_end(yard, &run).await;
        let events = events_of(yard.get(&format!("/stream/runs/{run}")).await).await;
        assert_eq!(complete(&events).data["exit_code"], 2);
        let warnings = warnings_of(&events);
        assert!(warnings.contains(&"output_lost"), "{warnings:?}");
        let kept: usize = events.iter().map(|event| event.bytes().len()).sum();
        assert!(kept > 5_000_000, "{kept}");
        let gaps = events.iter().filter(|event| event.kind == "gap");
        let missing: u64 = gaps.map(|gap| gap.data["bytes"].as_u64().unwrap()).sum();
        let all = 60_000_000 + "make: *** [Makefile:9: chatter] Error 3\n".len() as u64;
        assert_eq!(kept as u64 + missing, all);
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_has_its_end_while_another_goes_on_eating_what_is_left() {
    for (what, eater) in BOTH.into_iter().zip(["eat-bytes", "eat-inodes"]) {
        let Some(mut small) = small_yard() else {
            return;
        };
        small.yard.origin.branch("other");
        let mut daemon = small.yard.start_binary(&[]).await;
        let yard = &small.yard;
        complete_run(yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        let ends = yard
            .start_detached("other", json!({"args": ["gate"]}))
            .await;
        until("it waits", || log_on_disk(yard, &ends).contains("waiting")).await;
        let eats = yard.start_detached("main", json!({"args": [eater]})).await;
        until("the disk is full", || small.disk.left(what) == 0).await;
        std::fs::write(yard.dir.path().join("open"), "").unwrap();
        let record = yard.ended(&ends).await;
        assert_eq!(record["exit_code"], 2, "{record}");
        assert_eq!(
            yard.get_json("/api/runs").await["items"]
                .as_array()
                .unwrap()
                .len(),
            3
        );
        yard.post_json(&format!("/api/runs/{eats}/cancel"), json!({}))
            .await;
        assert_eq!(yard.ended(&eats).await["state"], "cancelled");

        remove_what_was_made(yard);
        complete_run(yard, "who").await;
        assert_own_end(yard, &ends).await;
        until_listed(yard, "cancelled", &eats).await;
        until("the reserve is made anew", || small.has_reserve()).await;
        daemon.stop().await;
    }
}

/// What the targets filled the disk with.
fn remove_what_was_made(yard: &Yard) {
    let workspace = yard.workspace("main");
    let gone = [
        std::fs::remove_file(workspace.join("big")),
        std::fs::remove_dir_all(workspace.join("many")),
    ];
    assert!(gone.iter().any(Result::is_ok), "{gone:?}");
}

/// Something that does not fit on the disk.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TooLarge {
    Clone,
    /// By what git says of it.
    Checkout,
    /// More than git says of it: found out in the middle.
    Surprise,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_or_a_checkout_that_does_not_fit_leaves_nothing_behind() {
    for part in [TooLarge::Clone, TooLarge::Checkout, TooLarge::Surprise] {
        for what in BOTH {
            println!("{part:?} {what:?}");
            let Some(mut small) = small_yard() else {
                return;
            };
            let files = large(&small.yard, part, what);
            let mut daemon = small.yard.start_binary(&[]).await;
            until("there is a reserve", || small.has_reserve()).await;
            let (disk, yard) = (&small.disk, &small.yard);
            disk.fill(what, little(part, what));
            let before = disk.left(what);
            let put = yard.put("/api/repos/demo/branches/main", json!({})).await;
            let (status, problem) = problem_of(put).await;
            assert_eq!(
                (status, &problem["code"]),
                (507, &json!("disk_full")),
                "{problem}"
            );
            let run = yard.make("main", &["who"]).await;
            assert_eq!(run.last().unwrap().data["code"], "disk_full", "{run:#?}");

            assert!(!yard.workspace("main").exists());
            assert!(!yard.store().join("worktrees/main").exists());
            assert_eq!(entries(&yard.workspaces.join(".branchyard/staging")), 0);
            assert_eq!(yard.store().exists(), part != TooLarge::Clone);
            if part != TooLarge::Clone {
                let own = git(&yard.store(), &["for-each-ref", "refs/heads"]);
                assert_eq!(own, "", "the branch was made for it");
            }
            let allowance = if what == Resource::Bytes {
                1 << 20
            } else {
                100
            };
            let after = disk.left(what);
            assert!(after + allowance > before, "{before} before, {after} after");

            disk.empty();
            complete_run(yard, "who").await;
            assert!(yard.workspace("main").join(files).exists());
            daemon.stop().await;
        }
    }
}

/// Enough for new work to be let in, and less than what is [`TooLarge`] takes.
fn little(part: TooLarge, what: Resource) -> u64 {
    match (part, what) {
        (_, Resource::Bytes) => 10 << 20,
        (TooLarge::Clone, Resource::Inodes) => 170,
        (_, Resource::Inodes) => 270,
    }
}

/// Commits what does not fit; the path of the last of it.
fn large(yard: &Yard, part: TooLarge, what: Resource) -> PathBuf {
    let last = match (part, what) {
        (TooLarge::Clone, Resource::Bytes) => {
            let mut noise = vec![0; 11 << 20];
            rustix::rand::getrandom(&mut noise, rustix::rand::GetRandomFlags::empty()).unwrap();
            yard.origin.write("large", noise);
            "large".to_owned()
        }
        (TooLarge::Checkout, Resource::Bytes) => {
            yard.origin.write("large", vec![b'x'; 11 << 20]);
            "large".to_owned()
        }
        // Few enough to be stored one by one, with a directory for each.
        (TooLarge::Clone, Resource::Inodes) => many(yard, 80),
        (TooLarge::Checkout, Resource::Inodes) => many(yard, 300),
        // Twice as much with the line ends that the files are to have.
        (TooLarge::Surprise, Resource::Bytes) => {
            yard.origin
                .write(".gitattributes", "lines* text eol=crlf\n");
            for n in 0..8 {
                yard.origin
                    .write(&format!("lines{n}"), vec![b'\n'; 1 << 20]);
            }
            "lines7".to_owned()
        }
        // Twice as many with their directories.
        (TooLarge::Surprise, Resource::Inodes) => {
            for n in 0..230 {
                yard.origin.write(&format!("{n}/file"), "");
            }
            "229/file".to_owned()
        }
    };
    yard.origin.commit("large");
    yard.origin.push("main");
    last.into()
}

fn many(yard: &Yard, files: usize) -> String {
    let name = |n: usize| format!("many/{n}");
    for n in 0..files {
        yard.origin.write(&name(n), n.to_string());
    }
    name(files - 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_stays_as_it_is_where_what_is_new_does_not_fit() {
    for (part, what) in [
        // To be fetched.
        (TooLarge::Clone, Resource::Bytes),
        (TooLarge::Checkout, Resource::Bytes),
        (TooLarge::Checkout, Resource::Inodes),
    ] {
        let Some(mut small) = small_yard() else {
            return;
        };
        let mut daemon = small.yard.start_binary(&[]).await;
        complete_run(&small.yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        let (disk, yard) = (&small.disk, &small.yard);
        let path = yard.workspace("main");
        let before = git(&path, &["rev-parse", "HEAD"]);
        let files = large(yard, part, what);
        disk.fill(what, little(part, what));
        for _ in 0..2 {
            let run = yard.make("main", &["who"]).await;
            assert_eq!(run.last().unwrap().data["code"], "disk_full", "{run:#?}");
            assert_eq!(git(&path, &["rev-parse", "HEAD"]), before);
            assert_eq!(git(&path, &["status", "--porcelain"]), "");
            let garbage = git(&path, &["count-objects", "-v"]);
            assert!(garbage.contains("garbage: 0"), "{garbage}");
        }
        disk.empty();
        complete_run(yard, "who").await;
        assert!(path.join(files).exists());
        daemon.stop().await;
    }
}

/// Work that there is no room to save stays where it is.
#[tokio::test(flavor = "multi_thread")]
async fn work_whose_salvage_does_not_fit_is_refused_to_go() {
    let Some(mut small) = small_yard() else {
        return;
    };
    let mut daemon = small.yard.start_binary(&[]).await;
    complete_run(&small.yard, "who").await;
    until("there is a reserve", || small.has_reserve()).await;
    let (disk, yard) = (&small.disk, &small.yard);
    let path = yard.workspace("main");
    // More than all of the reserve, and nothing that could be pressed.
    let noise: Vec<u8> = std::iter::successors(Some(1_u32), |x| {
        Some(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223))
    })
    .map(|x| (x >> 24) as u8)
    .take(12 << 20)
    .collect();
    std::fs::write(path.join("mine"), &noise).unwrap();
    disk.fill(Resource::Bytes, 8 << 20);
    let forced = "/api/repos/demo/branches/main?force=true";
    for _ in 0..2 {
        let (status, problem) = problem_of(yard.delete(forced).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (507, &json!("disk_full")),
            "{problem}"
        );
        let asked = json!({"args": ["who"], "clean": true});
        let events = yard.run("make", "main", asked).await;
        let problem = &events.last().unwrap().data;
        assert_eq!(problem["code"], "disk_full", "{problem}");
        assert!(std::fs::read(path.join("mine")).unwrap() == noise);
        assert_eq!(yard.salvages("main").await.len(), 0);
    }
    disk.empty();
    let gone = yard.delete(forced).await;
    assert!(gone.status().is_success());
    daemon.stop().await;
}

fn entries(dir: &Path) -> usize {
    std::fs::read_dir(dir).unwrap().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_on_a_full_disk_starts_on_it_again() {
    for what in BOTH {
        let Some(mut small) = small_yard() else {
            return;
        };
        small.yard.origin.branch("other");
        let mut daemon = small.yard.start_binary(&[]).await;
        let first = complete_run(&small.yard, "who").await;
        until("there is a reserve", || small.has_reserve()).await;
        let ends = small
            .yard
            .start_detached("main", json!({"args": ["gate"]}))
            .await;
        until("it waits", || {
            log_on_disk(&small.yard, &ends).contains("waiting")
        })
        .await;
        let supervisor = small.yard.supervisor_of(&ends);
        small.disk.fill(what, 0);
        daemon.kill().await;

        // Taken over while it goes on, and again after it has ended.
        let mut daemon = small.yard.start_binary(&[]).await;
        let record = small.yard.get_json(&format!("/api/runs/{ends}")).await;
        assert_eq!(record["state"], "running", "{record}");
        // What the start needed is taken as well.
        small.disk.fill(what, 0);
        daemon.kill().await;
        std::fs::write(small.yard.dir.path().join("open"), "").unwrap();
        until("it ended", || !is_alive(supervisor)).await;
        let mut daemon = small.yard.start_binary(&[]).await;
        let yard = &small.yard;
        assert_own_end(yard, &ends).await;
        assert_eq!(yard.log(&first).await, "main\n");
        let refused = yard.request(Method::POST, "/stream/repos/demo/branches/main/make");
        let refused = problem_of(refused.json(&json!({})).send().await.unwrap()).await;
        assert_refused(&refused, what);

        small.disk.empty();
        complete_run(yard, "who").await;
        until("the reserve is made anew", || small.has_reserve()).await;
        daemon.stop().await;
    }
}

fn log_on_disk(yard: &Yard, run: &str) -> String {
    let journal = std::fs::read(yard.run_dir(run).join("journal")).unwrap_or_default();
    String::from_utf8_lossy(&journal).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_reserve_and_without_room_the_daemon_says_what_to_do() {
    for what in BOTH {
        let Some(small) = small_yard() else {
            return;
        };
        small.disk.fill(what, 0);
        let mut daemon = small.yard.spawn_binary(&[]);
        let said = daemon.until_said("then start the daemon again").await;
        assert!(said.contains("the disk that holds"), "{said}");
        assert!(!daemon.ended().await.success());
        small.disk.empty();
    }
}
