//! Instructions that the stream encoder and the parsers take, by `valgrind --tool=callgrind`: a number
//! that does not depend on what else the machine does.
//!
//! The benchmark starts itself anew below valgrind, with work to do so many times and twice as many times.
//! The difference is the work alone.

use std::hint::black_box;
use std::process::{Command, Stdio};

use branchyard::http::{Events, Format, Text};
use branchyard_journal::{Cursor, Frame, FrameKind, MAX_OUTPUT, Sink, Stream};
use branchyard_model::{BranchName, RepoName, RunId};
use branchyard_runs::argv::{MakePolicy, git, make};

use crate::measure::{Report, Row, Series, Unit};
use crate::support::PROGRAM;

/// The argument by which the benchmark knows that it is below valgrind: then follow the name of the work
/// and how many times.
pub const ARGUMENT: &str = "--instructions";

struct Work {
    name: &'static str,
    /// What it is counted by.
    per: &'static str,
    /// Does it once; how many of these that were.
    once: fn() -> usize,
}

const WORK: [Work; 5] = [
    Work {
        name: "SSE encoder",
        per: "event",
        once: || encode(&mut Events::new(Format::Sse)),
    },
    Work {
        name: "NDJSON encoder",
        per: "event",
        once: || encode(&mut Events::new(Format::Ndjson)),
    },
    Work {
        name: "text encoder",
        per: "line",
        once: || encode(&mut Text::with_end()),
    },
    Work {
        name: "arguments",
        per: "command line",
        once: arguments,
    },
    Work {
        name: "names",
        per: "name",
        once: names,
    },
];

/// Does what the words behind [`ARGUMENT`] say.
pub fn drive(words: &[String]) {
    let [name, times] = words else {
        panic!("{ARGUMENT} WORK TIMES");
    };
    let work = WORK.iter().find(|work| work.name == name).unwrap();
    for _ in 0..times.parse().unwrap() {
        black_box((work.once)());
    }
}

pub fn measure(report: &mut Report) {
    if Command::new("valgrind").arg("--version").output().is_err() {
        report.skip("instructions: valgrind is not installed; `make bench` installs it");
        return;
    }
    if report.scale.is_smoke() {
        // The program is at hand; this benchmark's own is not, below a test harness.
        let mut version = Command::new(PROGRAM);
        version.arg("--version");
        let count = counted(&mut version);
        report.add(Row::new(
            "branchyard --version",
            Unit::Instructions,
            &Series::from(count),
        ));
        for work in &WORK {
            drive(&[work.name.to_owned(), "1".to_owned()]);
        }
        return;
    }
    for work in &WORK {
        let [once, twice] = [2, 4].map(|times: usize| {
            let mut own = Command::new(std::env::current_exe().unwrap());
            own.args([ARGUMENT, work.name, &times.to_string()]);
            counted(&mut own)
        });
        let each = (twice - once) / (2 * (work.once)()) as f64;
        let name = format!("{}, per {}", work.name, work.per);
        report.add(Row::new(name, Unit::Instructions, &Series::from(each)));
    }
}

/// How many instructions a program takes from its start to its end.
fn counted(program: &mut Command) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("callgrind");
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(program.get_program())
        .args(program.get_args())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    assert!(valgrind.status().unwrap().success(), "{valgrind:?}");
    let text = std::fs::read_to_string(&file).unwrap();
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.unwrap().trim().parse().unwrap()
}

/// What a compiler says, in frames as a busy pipe fills them.
fn encode(sink: &mut impl Sink) -> usize {
    let text: String = (0..20_000)
        .map(|n| format!("cc -O2 -Wall -c -o build/file{n}.o \"src/some/file{n}.c\"\n"))
        .collect();
    let mut start = Cursor::START.frame;
    for payload in text.as_bytes().chunks(MAX_OUTPUT) {
        let frame = Frame {
            start,
            kind: FrameKind::Output(Stream::Stdout),
            micros: 0,
            payload,
        };
        start = frame.end();
        sink.frame(&frame, 0);
        black_box(sink.take());
    }
    sink.finish();
    black_box(sink.take());
    20_000
}

fn arguments() -> usize {
    const MAKE: [&[&str]; 4] = [
        &["-k", "-j4", "test", "V=1"],
        &["--directory=src", "all", "CFLAGS=-O2 -g"],
        &["-n", "-s", "--no-print-directory", "check", "clean"],
        &["--eval=all:;id"],
    ];
    const GIT: [&[&str]; 4] = [
        &["log", "--oneline", "-n", "20", "--format=%h %s", "main"],
        &["diff", "--stat", "HEAD~3", "--", "src"],
        &["status", "--porcelain=v2"],
        &["log", "--output=x"],
    ];
    let policy = MakePolicy {
        max_jobs: 8,
        jobs: Some(2),
        allow: &[],
    };
    let own = BranchName::parse("main").unwrap();
    let words = |line: &[&str]| line.iter().map(|word| (*word).to_owned()).collect();
    for _ in 0..100 {
        for line in MAKE {
            let _ = black_box(make(words(line), &policy));
        }
        for line in GIT {
            let _ = black_box(git(line[0], words(&line[1..]), &own));
        }
    }
    100 * (MAKE.len() + GIT.len())
}

fn names() -> usize {
    const BRANCHES: [&str; 4] = [
        "main",
        "feature/login-form",
        "agent-7-a-rather-long-name/of-a-task-with-many-words-in-it",
        "refs..broken",
    ];
    for _ in 0..200 {
        for name in BRANCHES {
            let _ = black_box(BranchName::parse(name));
        }
        let _ = black_box(RepoName::parse("some-project.rs"));
        let _ = black_box(RunId::parse("01890a5d-ac96-774b-bcce-b302099a8057"));
        let _ = black_box(Cursor::parse("18446744.4096"));
    }
    200 * (BRANCHES.len() + 3)
}
