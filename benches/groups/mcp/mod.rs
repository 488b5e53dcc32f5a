//! Read tools beside the two public git MCP servers and plain git: same repository, same run, and of the
//! servers the same client. The yard is asked over stdio as they are, through `branchyard mcp`; its memory
//! is that of daemon and proxy together.

mod client;
mod servers;

use std::path::Path;
use std::time::Instant;

use serde_json::json;

use crate::measure::{Aim, Report, Row, Series, Unit, interleave, thousands};
use crate::setting::{Served, Site, git_in};
use crate::support::{git, kib};
use client::Client;
use servers::Server;

const CALLS: usize = 100;
const AT_ONCE: usize = 16;

/// What is asked, what git is told for it, and what the yard may take of the better server's time.
const WORK: [(&str, &[&str], f64); 3] = [
    ("status", &["status", "--porcelain=v2"], 0.5),
    ("log -20", &["log", "-20"], 0.2),
    ("diff", &["diff"], 0.6),
];

/// The other servers; the yard comes before them.
const PEERS: [&str; 2] = ["PyPI mcp-server-git", "npm git-mcp-server"];

pub async fn measure(report: &mut Report) {
    let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers");
    if !peers.join("stamp").is_file() {
        report.skip("mcp: the public servers are not installed; `make bench` installs them");
        return;
    }
    let sizes: &[usize] = match report.scale.is_smoke() {
        true => &[30],
        false => &[1_000, 60_000],
    };
    for files in sizes {
        let served = Site::generated(*files, 0).serve().await;
        served.prepare("main").await;
        let dir = served.workspace("main");
        std::fs::write(dir.join("name.txt"), "changed\n").unwrap();
        let servers = [
            servers::ours(&served),
            servers::python(&peers, &dir),
            servers::node(&peers, &dir),
        ];
        let label = format!("{} files", thousands(*files));
        compare(report, &servers, &dir, &label).await;
        drop(servers);
        if files == &sizes[0] {
            prices(report, &served);
        }
        served.stop().await;
    }
}

/// What an agent pays for the list of tools before it has asked anything.
fn prices(report: &mut Report, served: &Served) {
    for (sets, flags, most) in [
        ("the default sets", &[][..], 3_500.0),
        ("role dev", &["--role", "dev"], 11_000.0),
    ] {
        let listed = Client::start(servers::proxy(served, flags)).ask("tools/list", json!({}));
        let tools = listed["tools"].as_array().unwrap().iter();
        let read =
            tools.map(|tool| json!([tool["name"], tool["description"], tool["inputSchema"]]));
        let tokenizer = tiktoken_rs::o200k_base_singleton();
        let tokens = read.map(|tool| tokenizer.encode_ordinary(&tool.to_string()).len());
        let price = Series::from(tokens.sum::<usize>() as f64);
        let name = format!("tokens of the list of tools, {sets}");
        report.add(Row::new(name, Unit::Count, &price).aiming(Aim::AtMost(most)));
    }
}

async fn compare(report: &mut Report, servers: &[Server<'_>; 3], dir: &Path, label: &str) {
    let starts = interleave(report.scale.rounds(5), async |server, _| {
        let began = Instant::now();
        let mut client = Client::start((servers[server].command)());
        let tools = client.ask("tools/list", json!({}));
        assert!(!tools["tools"].as_array().unwrap().is_empty());
        began.elapsed().as_secs_f64()
    })
    .await;
    let name = format!("start until tools are listed, {label}");
    tell(report, &name, Unit::Seconds, &starts, Aim::RatioAtMost(0.1));

    let head = git(dir, &["rev-parse", "HEAD"]);
    let mut clients = servers
        .each_ref()
        .map(|server| Client::start((server.command)()));
    for (index, (name, words, most)) in WORK.iter().enumerate() {
        let [plain, yard, python, node] =
            interleave(report.scale.rounds(15), async |method, _| match method {
                0 => git_in(dir, words),
                _ => {
                    let call = &servers[method - 1].calls[index];
                    let began = Instant::now();
                    let said = clients[method - 1].call(call);
                    let took = began.elapsed().as_secs_f64();
                    check(index, &said, &head);
                    took
                }
            })
            .await;
        let name = format!("{name}, {label}");
        report.add(Row::new(&name, Unit::Seconds, &yard).beside("plain git", &plain));
        tell(
            report,
            &name,
            Unit::Seconds,
            &[yard, python, node],
            Aim::RatioAtMost(*most),
        );

        let calls = report.scale.of(CALLS, 4);
        let rates = interleave(report.scale.rounds(3), async |server, _| {
            let began = Instant::now();
            clients[server].calls(&servers[server].calls[index], calls, AT_ONCE);
            calls as f64 / began.elapsed().as_secs_f64()
        })
        .await;
        let name = format!("{name}, {AT_ONCE} at once");
        tell(
            report,
            &name,
            Unit::PerSecond,
            &rates,
            Aim::RatioAtLeast(4.0),
        );
    }
    let memory = std::array::from_fn::<_, 3, _>(|server| {
        let own = kib(clients[server].pid(), "status", "VmRSS");
        let daemon = servers[server]
            .daemon
            .map(|pid| kib(pid, "status", "VmRSS"));
        Series::from((own + daemon.unwrap_or(0)) as f64 * 1024.0)
    });
    tell(
        report,
        &format!("memory after, {label}"),
        Unit::Bytes,
        &memory,
        Aim::RatioAtMost(0.3),
    );
}

/// A row for each of the others; the better of them is what the yard is held to.
fn tell(report: &mut Report, name: &str, unit: Unit, [yard, python, node]: &[Series; 3], aim: Aim) {
    let python_is_less = python.median() < node.median();
    // Of calls in a second, more is better.
    let python_is_better = python_is_less != (unit == Unit::PerSecond);
    for (server, values) in PEERS.into_iter().zip([python, node]) {
        let row = Row::new(name, unit, yard).beside(server, values);
        let is_better = python_is_better == (server == PEERS[0]);
        report.add(if is_better { row.aiming(aim) } else { row });
    }
}

/// All of them must have looked at the same thing.
fn check(index: usize, said: &str, head: &str) {
    let expected = match index {
        0 => "name.txt",
        1 => &head[..7],
        _ => "+changed",
    };
    assert!(said.contains(expected), "{}: {said}", WORK[index].0);
}
