//! Peers that are slow: with their request, and with the answer.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::metric;
use crate::support::{Options, PATIENCE, Raw, Yard};

/// Reads until the other side has had enough.
async fn until_cut(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let mut piece = [0; 65_536];
    let reading = async {
        while let Ok(1..) = stream
            .read(&mut piece)
            .await
            .inspect(|n| said.extend_from_slice(&piece[..*n]))
        {}
    };
    let read = tokio::time::timeout(PATIENCE, reading).await;
    read.expect("the daemon closes the connection");
    String::from_utf8_lossy(&said).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_slow_with_a_request_is_cut_and_heads_are_bounded() {
    let mut yard = Yard::with(Options {
        timeouts: "request = \"1s\"".to_owned(),
        ..Options::default()
    })
    .await;
    let address = yard.url.strip_prefix("http://").unwrap().to_owned();
    let key = yard.key();
    let connect = || TcpStream::connect(&address);
    let authorized = format!("Host: {address}\r\nAuthorization: Bearer {key}\r\n");

    // One says nothing, one stops in its head, one keeps adding to it, one was answered and is idle.
    let mut silent = connect().await.unwrap();
    let mut stopped = connect().await.unwrap();
    stopped
        .write_all(b"GET /api/repos HTTP/1.1\r\nHost: 127")
        .await
        .unwrap();
    let (mut trickle, mut trickling) = connect().await.unwrap().into_split();
    let trickled = tokio::spawn(async move {
        let _ = trickling.write_all(b"GET /api/repos HTTP/1.1\r\n").await;
        while trickling.write_all(b"x-y: z\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let mut idle = connect().await.unwrap();
    idle.write_all(format!("GET /api/repos HTTP/1.1\r\n{authorized}\r\n").as_bytes())
        .await
        .unwrap();
    let post = "POST /stream/repos/demo/branches/main/make HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100";
    let mut body = connect().await.unwrap();
    body.write_all(format!("{post}\r\n{authorized}\r\n{{\"args\": [").as_bytes())
        .await
        .unwrap();

    yard.get_json("/api/repos").await;
    assert_eq!(until_cut(&mut silent).await, "");
    assert_eq!(until_cut(&mut stopped).await, "");
    let mut nothing = Vec::new();
    // Cut or closed, as long as it ends.
    let cut = tokio::time::timeout(PATIENCE, trickle.read_to_end(&mut nothing)).await;
    assert!(cut.is_ok() && nothing.is_empty());
    tokio::time::timeout(PATIENCE, trickled)
        .await
        .expect("its writes fail")
        .unwrap();
    assert!(until_cut(&mut idle).await.starts_with("HTTP/1.1 200"));
    let told = until_cut(&mut body).await;
    assert!(
        told.starts_with("HTTP/1.1 400") && told.contains("timeouts.request"),
        "{told}"
    );
    assert_eq!(
        yard.get_json("/api/runs").await["items"],
        json!([]),
        "no run was made of half a request"
    );

    // A head of any kind beyond the limit.
    let many: Vec<String> = (0..90).map(|n| format!("x-header-{n}")).collect();
    let mut request = Raw::new("GET", "/api/repos");
    for name in &many {
        request = request.header(name, "y".repeat(1000));
    }
    assert_eq!(request.send(&yard).await.status, 431);
    let target = format!("/api/repos?{}", "z".repeat(66_000));
    let status = Raw::new("GET", &target).send(&yard).await.status;
    assert!([414, 431].contains(&status), "{status}");
    for size in [66_000, 1 << 20] {
        let token = format!("Bearer {}", "x".repeat(size));
        let answer = Raw::new("GET", "/api/repos")
            .header("Authorization", token)
            .send(&yard)
            .await;
        assert_eq!(answer.status, 431, "{size}");
    }
    // One that fits is read, and judged by what is in it.
    let token = format!("Bearer {}", "x".repeat(60_000));
    let answer = Raw::new("GET", "/api/repos")
        .header("Authorization", token)
        .send(&yard)
        .await;
    assert_eq!(answer.status, 401);
    yard.get_json("/api/repos").await;
    yard.stop().await;
}

/// A viewer by hand, whose kernel takes little in advance.
async fn viewer(yard: &Yard, run: &str) -> TcpStream {
    let address = yard.url.strip_prefix("http://").unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(65_536).unwrap();
    let mut stream = socket.connect(address.parse().unwrap()).await.unwrap();
    let head = format!(
        "GET /stream/runs/{run} HTTP/1.1\r\nHost: {address}\r\nAccept: text/plain\r\nAuthorization: Bearer {}\r\n\r\n",
        yard.key()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_who_takes_nothing_is_cut_and_nobody_else() {
    let mut yard = Yard::asleep(Options {
        timeouts: "write_stall = \"2s\"".to_owned(),
        ..Options::default()
    });
    let makefile = "much:\n\t@yes 'a line of some length that is printed again and again' | head -c 40000000\n\
                    gate:\n\t@echo waiting; while [ ! -e open ]; do sleep 0.02; done; echo passed\n";
    yard.origin.write("Makefile", makefile);
    yard.origin.commit("much");
    yard.origin.push("main");
    yard.origin.branch("silent");
    yard.start().await;
    // One watches a run that is silent for longer than a reader may be.
    let mut silent = yard
        .start_run("make", "silent", json!({"args": ["gate"]}))
        .await;
    silent.until_line("waiting").await;

    let run = yard.start_detached("main", json!({"args": ["much"]})).await;
    let _stalled = viewer(&yard, &run).await;
    let mut slow = viewer(&yard, &run).await;
    let slow = tokio::spawn(async move {
        let (mut piece, mut read) = (vec![0; 32_768], 0);
        loop {
            match slow.read(&mut piece).await {
                Ok(0) | Err(_) => return read,
                Ok(n) => read += n,
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
    // The build does not wait for either of them.
    assert_eq!(yard.ended(&run).await["state"], "succeeded");
    let cut = async {
        while metric(&yard, "branchyard_stalled_readers_total").await < 1.0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, cut)
        .await
        .expect("the stalled one is cut");
    assert_eq!(metric(&yard, "branchyard_stalled_readers_total").await, 1.0);
    assert!(!slow.is_finished(), "the slow one goes on");
    slow.abort();
    std::fs::write(yard.workspace("silent").join("open"), "").unwrap();
    assert_eq!(silent.end().await.data["state"], "succeeded");
    // What was cut can be had again, from any place.
    let log = yard
        .request(Method::GET, &format!("/api/runs/{run}/log"))
        .send()
        .await
        .unwrap();
    assert_eq!(log.bytes().await.unwrap().len(), 40_000_000);
    yard.stop().await;
}
