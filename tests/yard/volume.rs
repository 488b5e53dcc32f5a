//! Much output, long lines, many lines: the log is exact or says what is missing, and neither the daemon
//! nor the supervisor grows with it.

use std::time::Instant;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio_stream::StreamExt;

use crate::support::{Binary, Event, Options, Yard, events_of, kib, until};

/// What a daemon may grow by while output flows through it, in KiB: buffers, and what the allocator
/// keeps. Any piece of the output that were kept would be far more.
const GROWTH: u64 = 40 * 1024;

const LINE: &str =
    "cc -O2 -Wall -Wextra -c -o build/objects/some/directory/file.o src/some/directory/file.c";

/// A shell command, and what it prints: a piece, over and over.
struct Printed {
    command: String,
    piece: Vec<u8>,
    times: usize,
}

impl Printed {
    fn bytes(&self) -> usize {
        self.piece.len() * self.times
    }

    /// Whether these bytes stand at `offset` of what is printed.
    fn has(&self, mut offset: usize, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let rest = &self.piece[offset % self.piece.len()..];
            let (now, later) = bytes.split_at(rest.len().min(bytes.len()));
            if !rest.starts_with(now) || offset + now.len() > self.bytes() {
                return false;
            }
            offset += now.len();
            bytes = later;
        }
        true
    }
}

/// So many whole MB of lines.
fn lines(megabytes: usize) -> Printed {
    let line = format!("{LINE}{}", "-".repeat(99 - LINE.len()));
    Printed {
        command: format!("yes '{line}' | head -c {megabytes}000000"),
        piece: format!("{line}\n").repeat(10_000).into_bytes(),
        times: megabytes,
    }
}

fn one_line(megabytes: usize) -> Printed {
    Printed {
        command: format!("head -c {megabytes}000000 /dev/zero | tr '\\0' x"),
        piece: vec![b'x'; 1_000_000],
        times: megabytes,
    }
}

fn blank_lines(number: usize) -> Printed {
    Printed {
        command: format!("yes '' | head -n {number}"),
        piece: vec![b'\n'; 1000],
        times: number / 1000,
    }
}

fn yard(tables: &str, printed: &[Printed]) -> Yard {
    let yard = Yard::asleep(Options {
        tables: tables.to_owned(),
        ..Options::default()
    });
    let mut makefile = String::new();
    for (n, printed) in printed.iter().enumerate() {
        let command = printed.command.replace('$', "$$");
        makefile.push_str(&format!("print{n}:\n\t@{command}\n"));
        makefile.push_str(&format!(
            "stay{n}:\n\t@{command}; touch {}; sleep 1000\n",
            yard.dir.path().join("printed").display()
        ));
    }
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("much");
    yard.origin.push("main");
    yard
}

fn memory(daemon: &Binary) -> u64 {
    kib(daemon.pid(), "status", "VmRSS:")
}

/// Compares a run's log with what was printed, without holding it.
async fn see_exact_log(yard: &Yard, run: &str, printed: &Printed) {
    let answer = yard.get(&format!("/api/runs/{run}/log")).await;
    let (mut pieces, mut offset) = (answer.bytes_stream(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece.unwrap();
        assert!(
            printed.has(offset, &piece),
            "at {offset} of {}",
            printed.command
        );
        offset += piece.len();
    }
    assert_eq!(offset, printed.bytes(), "{}", printed.command);
}

/// A viewer that takes a byte now and then. The system is asked to hold little for it.
async fn dawdle(yard: &Yard, run: &str) -> tokio::task::JoinHandle<()> {
    let address = yard.url.strip_prefix("http://").unwrap().to_owned();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let request = format!(
        "GET /stream/runs/{run} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        yard.key()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    tokio::spawn(async move {
        let mut second = tokio::time::interval(std::time::Duration::from_secs(1));
        loop {
            second.tick().await;
            if stream.read_u8().await.is_err() {
                return;
            }
        }
    })
}

async fn see_exact_logs_and_flat_memory(printed: &[Printed]) {
    let mut yard = yard("", printed);
    let mut daemon = yard.start_binary(&[]).await;
    // Everything has been used once before the memory is looked at.
    let warm = yard.make("main", &["-n", "print0"]).await;
    assert_eq!(warm.last().unwrap().data["state"], "succeeded");
    let before = memory(&daemon);
    for (n, printed) in printed.iter().enumerate() {
        let begun = Instant::now();
        let body = json!({"args": [format!("print{n}")]});
        let run = yard.start_detached("main", body).await;
        let slow = dawdle(&yard, &run).await;
        let record = yard.ended(&run).await;
        let took = begun.elapsed();
        assert_eq!(record["state"], "succeeded", "{record}");
        let after = memory(&daemon);
        see_exact_log(&yard, &run, printed).await;
        let read = memory(&daemon);
        println!(
            "{}: {took:.1?}, memory {before} KiB, {after} KiB at the end, {read} KiB after the log was read",
            printed.command
        );
        assert!(
            after < before + GROWTH,
            "{}: {before} {after}",
            printed.command
        );
        assert!(
            read < before + GROWTH,
            "{}: {before} {read}",
            printed.command
        );
        assert!(!slow.is_finished(), "it is still reading");
        slow.abort();
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn much_output_is_kept_exactly_and_costs_no_memory() {
    see_exact_logs_and_flat_memory(&[lines(64), one_line(20), blank_lines(200_000)]).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make soak"]
async fn soak_a_gigabyte_is_kept_exactly_and_costs_no_memory() {
    see_exact_logs_and_flat_memory(&[lines(1000), one_line(200), blank_lines(1_000_000)]).await;
}

/// Beyond its limit the head and the tail of an output are kept, and what is missing is counted.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_beyond_the_limit_is_missing_by_the_byte() {
    let printed = [lines(5)];
    let mut yard = yard("[limits]\nmax_output = \"1MiB\"\n", &printed);
    yard.start().await;
    let events = yard.make("main", &["print0"]).await;
    let end = events.last().unwrap();
    assert_eq!(end.data["state"], "succeeded", "{end:?}");
    let (head, tail) = see_head_gap_and_tail(&events, &printed[0]);
    // The same for who comes later, and from any place.
    let run = events[0].data["run_id"].as_str().unwrap();
    let again = events_of(yard.get(&format!("/stream/runs/{run}")).await).await;
    assert_eq!(
        see_head_gap_and_tail(&again, &printed[0]),
        (head.clone(), tail.clone())
    );
    let log = yard.log(run).await;
    assert_eq!(log.as_bytes(), [head, tail].concat());
    yard.stop().await;
}

/// What was kept aside of a long output is not lost with the supervisor that kept it.
#[tokio::test(flavor = "multi_thread")]
async fn the_tail_of_a_lost_run_is_kept() {
    let printed = [lines(5)];
    let mut yard = yard("[limits]\nmax_output = \"1MiB\"\n", &printed);
    let mut daemon = yard.start_binary(&[]).await;
    for daemon_too in [false, true] {
        let body = json!({"args": ["stay0"]});
        let run = yard.start_detached("main", body).await;
        let done = yard.dir.path().join("printed");
        until("it has printed", || done.exists()).await;
        // What is in the pipe still has to be read.
        let supervisor = yard.supervisor_of(&run);
        until("all was read", || is_asleep(supervisor)).await;
        if daemon_too {
            daemon.kill().await;
        }
        yard.kill_supervisor(&run).await;
        if daemon_too {
            daemon = yard.start_binary(&[]).await;
        }
        assert_eq!(yard.ended(&run).await["state"], "lost");
        let events = events_of(yard.get(&format!("/stream/runs/{run}")).await).await;
        let (head, tail) = see_head_gap_and_tail(&events, &printed[0]);
        assert_eq!(yard.log(&run).await.as_bytes(), [head, tail].concat());
        let left = std::fs::read_dir(yard.run_dir(&run)).unwrap();
        let left: Vec<_> = left.map(|e| e.unwrap().file_name()).collect();
        let aside = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("tail");
        assert!(!left.iter().any(aside), "{left:?}");
        std::fs::remove_file(done).unwrap();
    }
    daemon.stop().await;
}

/// Whether a process waits for something to happen, twice in a row without having done anything.
fn is_asleep(pid: i32) -> bool {
    let look = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let state = fields.split_whitespace().next().unwrap().to_owned();
        let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        (state, io)
    };
    let before = look();
    std::thread::sleep(std::time::Duration::from_millis(20));
    before.0 == "S" && before == look()
}

/// The output before and after the one gap, whose size is what is missing between them.
fn see_head_gap_and_tail(events: &[Event], printed: &Printed) -> (Vec<u8>, Vec<u8>) {
    let gaps: Vec<_> = events.iter().filter(|event| event.kind == "gap").collect();
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    let missing = gaps[0].data["bytes"].as_u64().unwrap();
    let at = events.iter().position(|event| event.kind == "gap").unwrap();
    let text = |events: &[Event]| -> Vec<u8> { events.iter().flat_map(Event::bytes).collect() };
    let (head, tail) = (text(&events[..at]), text(&events[at..]));
    let missing = usize::try_from(missing).unwrap();
    assert_eq!(head.len() + missing + tail.len(), printed.bytes());
    assert!(printed.has(0, &head));
    assert!(printed.has(head.len() + missing, &tail));
    // At least the limit is kept, and not much more.
    let kept = head.len() + tail.len();
    assert!((1 << 20..2 << 20).contains(&kept), "{kept}");
    assert!(head.len() >= 700_000 && tail.len() >= 250_000);
    (head, tail)
}
