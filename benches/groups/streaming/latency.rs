//! How long after it was written a line arrives, and how long the first one of a run takes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::make;
use crate::measure::{Aim, Report, Row, Series, Unit, interleave, timed};
use crate::setting::{Answer, Served, command};

/// Prints the time, in nanoseconds, a hundred times.
pub const TICKS: &str = "\
import os, time
for _ in range(100):
    time.sleep(0.003)
    os.write(1, b'%d\\n' % time.time_ns())
";

pub async fn measure(report: &mut Report, served: &Served) {
    let dir = served.workspace("main");
    let rounds = report.scale.rounds(9);
    let [pipe, text, events] = interleave(rounds, async |method, _| match method {
        0 => {
            let mut make = command(&dir, "make", &["ticks"]);
            let mut make = make.stdout(Stdio::piped()).spawn().unwrap();
            let lines = BufReader::new(make.stdout.take().unwrap()).lines();
            let late: Series = lines.map(|line| lateness(&line.unwrap())).collect();
            assert!(make.wait().unwrap().success());
            late.median()
        }
        1 => lateness_of(served, "text/plain"),
        _ => lateness_of(served, "text/event-stream"),
    })
    .await;
    for (format, late) in [("text", &text), ("events", &events)] {
        report.add(
            Row::new(
                format!("from write to receipt, {format}"),
                Unit::Seconds,
                late,
            )
            .beside("pipe", &pipe)
            .aiming(Aim::RatioAtMost(3.0)),
        );
    }
    let [plain, yard] = interleave(report.scale.rounds(31), async |method, _| match method {
        0 => timed(|| {
            let mut make = command(&dir, "make", &["first"]);
            let mut make = make.stdout(Stdio::piped()).spawn().unwrap();
            let read = make.stdout.take().unwrap().read(&mut [0; 64]).unwrap();
            assert!(read > 0);
            make.wait().unwrap();
        }),
        _ => {
            let mut took = None;
            let began = Instant::now();
            follow(served, "first", "text/plain", |_| {
                took.get_or_insert_with(|| began.elapsed().as_secs_f64());
            });
            took.expect("it printed something")
        }
    })
    .await;
    report.add(Row::new("first byte of a make", Unit::Seconds, &yard).beside("make, pipe", &plain));
}

fn lateness_of(served: &Served, accept: &str) -> f64 {
    let mut late = Series::default();
    let mut unread = Vec::new();
    follow(served, "ticks", accept, |piece| {
        unread.extend_from_slice(piece);
        while let Some(end) = unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = unread.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            // An event has the line within.
            let line = match line.split_once("\"line\":\"") {
                Some((_, rest)) => rest.split('"').next().unwrap_or_default(),
                None => line.trim_end(),
            };
            if line.parse::<u64>().is_ok() {
                late.push(lateness(line));
            }
        }
    });
    assert_eq!(late.summary().rounds, 100, "a line is missing");
    late.median()
}

/// Seconds since the time that a line tells.
fn lateness(line: &str) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let then: u64 = line.parse().unwrap();
    (now.as_secs_f64() - then as f64 / 1e9).max(0.0)
}

/// Runs `make` and shows each piece of its stream as it comes.
pub fn follow(served: &Served, target: &str, accept: &str, mut take: impl FnMut(&[u8])) {
    let address = served.url.strip_prefix("http://").unwrap();
    let mut connection = TcpStream::connect(address).unwrap();
    connection.set_nodelay(true).unwrap();
    let request = make(served, target, accept);
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = Answer::default();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let read = connection.read(&mut buffer).unwrap();
        assert!(read > 0, "the stream was cut off");
        if answer.feed(&buffer[..read], &mut take) {
            return;
        }
    }
}
