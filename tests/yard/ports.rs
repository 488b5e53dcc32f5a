//! Ports and a slug of each workspace, and how many jobs its builds have.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::support::{Options, Yard, text_of, until, warnings_of};

/// As many in a row that nothing listens on; tests beside this one have others, by the number of their process.
fn free_ports(count: u16) -> (u16, u16) {
    let begin = 10_000 + u16::try_from(std::process::id() % 900).unwrap() * 10;
    let first = (begin..30_000).step_by(20).find(|first| {
        let mut ports = *first..first + count;
        ports.all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
    });
    let first = first.unwrap();
    (first, first + count - 1)
}

fn yard(ports: &str, makefile: &str) -> Yard {
    let yard = Yard::asleep(Options {
        tables: format!("[build]\n{ports}\n"),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("a server");
    for branch in ["main", "one", "two", "three"] {
        yard.origin.push(branch);
    }
    yard
}

/// What a server there answers for the file that links a workspace to its store.
fn link_at(port: u16) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let asked = stream.write_all(b"GET /.git HTTP/1.0\r\n\r\n");
        let _ = asked.and_then(|()| stream.read_to_string(&mut answer));
    }
    answer
}

impl Yard {
    async fn port(&self, branch: &str) -> Value {
        let path = format!("/api/repos/demo/branches/{branch}");
        self.get_json(&path).await["port"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_branches_serve_at_once_and_ports_are_kept_and_given_back() {
    let (first, last) = free_ports(20);
    let makefile = "serve:\n\t@exec python3 -m http.server --bind 127.0.0.1 $(BRANCHYARD_PORT)\n";
    let mut yard = yard(&format!("ports = \"{first}-{last}\""), makefile);
    yard.start().await;
    let (mut ports, mut runs) = (Vec::new(), Vec::new());
    for branch in ["one", "two"] {
        let prepared = yard
            .put(&format!("/api/repos/demo/branches/{branch}"), json!({}))
            .await
            .json::<Value>()
            .await
            .unwrap();
        ports.push(u16::try_from(prepared["port"].as_u64().unwrap()).unwrap());
        runs.push(
            yard.start_detached(branch, json!({"args": ["serve"]}))
                .await,
        );
    }
    assert_ne!(ports[0], ports[1]);
    for (port, branch) in ports.iter().zip(["one", "two"]) {
        let own = format!("worktrees/{branch}\n");
        until("it serves its own branch", || {
            link_at(*port).ends_with(&own)
        })
        .await;
    }
    for run in runs {
        yard.post_json(&format!("/api/runs/{run}/cancel"), json!({}))
            .await;
        yard.ended(&run).await;
    }

    yard.stop().await;
    yard.start().await;
    assert_eq!(yard.port("one").await, ports[0]);
    assert_eq!(yard.port("two").await, ports[1]);
    let told = yard.make("three", &["-n", "serve"]).await;
    assert_eq!(warnings_of(&told), ["no_ports"]);
    yard.delete("/api/repos/demo/branches/one").await;
    yard.make("three", &["-n", "serve"]).await;
    assert_eq!(yard.port("three").await, ports[0], "given back");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_knows_its_slug_ports_and_jobs() {
    let makefile =
        "show:\n\t@env | grep -E 'BRANCHYARD_(SLUG|PORT)|CARGO_BUILD_JOBS|CMAKE_BUILD' | sort\n";
    let mut yard = yard("allow_env = [\"CARGO_BUILD_JOBS\"]", makefile);
    yard.start().await;
    let seen = text_of(&yard.make("one", &["show"]).await);
    let described = yard.get_json("/api/repos/demo/branches/one").await;
    let first = described["port"].as_u64().unwrap();
    let slug = described["slug"].as_str().unwrap();
    assert!(slug.starts_with("demo-one-"), "{slug}");
    let cores = std::thread::available_parallelism().unwrap();
    let mut expected = vec![
        format!("BRANCHYARD_PORT={first}"),
        format!("BRANCHYARD_SLUG={slug}"),
        format!("CARGO_BUILD_JOBS={cores}"),
        format!("CMAKE_BUILD_PARALLEL_LEVEL={cores}"),
    ];
    expected.extend((1..10).map(|n| format!("BRANCHYARD_PORT_{n}={}", first + n)));
    expected.sort();
    let mut seen: Vec<_> = seen.lines().map(str::to_owned).collect();
    seen.sort();
    assert_eq!(seen, expected);

    let body = json!({"args": ["show"], "env": {"CARGO_BUILD_JOBS": "7"}});
    let run = yard.start_detached("one", body).await;
    yard.ended(&run).await;
    let log = yard.get(&format!("/api/runs/{run}/log")).await.text().await;
    assert!(
        log.unwrap().contains("CARGO_BUILD_JOBS=7\n"),
        "the caller's own counts"
    );
    yard.stop().await;
}
