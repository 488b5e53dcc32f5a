//! One principal with thousands of streams, and another who wants an answer meanwhile.

use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::{Options, Yard, kib, until};

const IDLE: usize = 5000;
const ACTIVE: usize = 1000;
/// Runs that print, among which the active viewers are divided.
const PRINTING: usize = 10;
const ASKED: usize = 2000;
/// So much slower may the well-behaved one be answered, and so little is noise on any machine.
const SLOWER: u32 = 3;
const NOISE: Duration = Duration::from_millis(2);
/// What may be left of descriptors and of memory when the streams are gone.
const FILES_LEFT: usize = 32;
const MEMORY_LEFT_KIB: u64 = 16 << 10;

/// The 99th of a hundred times that `/api/repos` takes, asked one after the other, ten in a burst.
async fn p99(yard: &Yard, authorization: &str) -> Duration {
    let mut times = Vec::new();
    let url = format!("{}/api/repos", yard.url);
    for n in 0..ASKED {
        let begun = Instant::now();
        let request = yard.client.get(&url).header("authorization", authorization);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer.bytes().await.unwrap();
        times.push(begun.elapsed());
        if n % 10 == 9 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    times.sort();
    times[ASKED * 99 / 100]
}

/// Watches a run over a connection of its own until it is dropped; the first bytes have come.
async fn watch(address: String, authorization: String, run: String) -> TcpStream {
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let head = format!(
        "GET /stream/runs/{run} HTTP/1.1\r\nHost: {address}\r\nAuthorization: {authorization}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

/// All of one principal's streams, each being read by a task.
async fn crowd(yard: &Yard, authorization: &str, runs: &[String]) -> JoinSet<()> {
    let address = yard.url.strip_prefix("http://").unwrap();
    let (mut coming, mut streams) = (JoinSet::new(), Vec::new());
    for n in 0..IDLE + ACTIVE {
        let run = if n < IDLE { PRINTING } else { n % PRINTING };
        let (address, key, run) = (
            address.to_owned(),
            authorization.to_owned(),
            runs[run].clone(),
        );
        coming.spawn(watch(address, key, run));
        if coming.len() >= 64 {
            streams.push(coming.join_next().await.unwrap().unwrap());
        }
    }
    streams.extend(coming.join_all().await);
    let mut readers = JoinSet::new();
    for mut stream in streams {
        readers.spawn(async move {
            let mut piece = [0; 4096];
            while let Ok(1..) = stream.read(&mut piece).await {}
        });
    }
    readers
}

fn files_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_six_thousand_streams_of_one_leave_another_its_answers() {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: files.maximum,
        maximum: files.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let mut yard = Yard::asleep(Options {
        tables: "[limits]\nmax_streams_per_principal = 10000\nmax_requests_per_second = 100000\n\
                 max_request_burst = 100000\nmax_connections_per_address = 16384\n"
            .to_owned(),
        ..Options::default()
    });
    let makefile = "tick:\n\t@while [ ! -e ../open ]; do date +%s.%N; sleep 1; done\n\
                    gate:\n\t@echo waiting; while [ ! -e ../open ]; do sleep 0.2; done\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("ticks");
    yard.origin.push("main");
    let mut daemon = yard.start_binary(&[]).await;
    let token = yard.token(json!({ "role": "ui", "expires": "1h" })).await;
    let (greedy, modest) = (format!("Bearer {}", yard.key()), format!("Bearer {token}"));
    let mut runs = Vec::new();
    for n in 0..=PRINTING {
        let branch = format!("branch-{n}");
        yard.origin.branch(&branch);
        let target = if n == PRINTING { "gate" } else { "tick" };
        runs.push(
            yard.start_detached(&branch, json!({"args": [target]}))
                .await,
        );
    }
    for run in &runs {
        yard.follow(run)
            .await
            .until(|event| event.data["line"].is_string())
            .await;
    }
    let quiet = p99(&yard, &modest).await;
    let pid = daemon.pid();
    let before = (files_of(pid), kib(pid, "status", "VmRSS"));

    let readers = crowd(&yard, &greedy, &runs).await;
    let crowded = (files_of(pid), kib(pid, "status", "VmRSS"));
    let busy = p99(&yard, &modest).await;

    let gone = async |mut readers: JoinSet<()>| {
        readers.abort_all();
        while readers.join_next().await.is_some() {}
        let given_back = || files_of(pid) <= before.0 + FILES_LEFT;
        until("the descriptors are given back", given_back).await;
        let given_back = || kib(pid, "status", "VmRSS") <= before.1 + MEMORY_LEFT_KIB;
        until("the memory is given back", given_back).await;
        (files_of(pid), kib(pid, "status", "VmRSS"))
    };
    let after = gone(readers).await;
    let again = gone(crowd(&yard, &greedy, &runs).await).await;
    println!(
        "p99 of /api/repos: {quiet:?} alone, {busy:?} beside {} streams",
        IDLE + ACTIVE
    );
    println!(
        "descriptors and KiB: before {before:?}, with all {crowded:?}, after {after:?}, \
         after as many again {again:?}"
    );
    std::fs::write(yard.workspaces.join("demo/open"), "").unwrap();
    for run in &runs {
        assert_eq!(yard.ended(run).await["state"], "succeeded");
    }
    daemon.stop().await;
    assert!(crowded.0 >= before.0 + IDLE + ACTIVE);
    assert!(busy <= (quiet * SLOWER).max(NOISE), "{quiet:?} {busy:?}");
}
