//! Connections that say nothing, or next to nothing, and callers with a credential meanwhile.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::metric;
use crate::support::{Options, PATIENCE, Raw, Yard};

const LIMITS: &str = "[limits]\nmax_connections = 2048\nmax_connections_per_address = 1024\n";
const FLOOD: usize = 3000;

/// This process may have as many files open as the system lets it.
fn raise_files() {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: files.maximum,
        maximum: files.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_silent_connections_do_not_keep_the_operator_out() {
    raise_files();
    let mut yard = Yard::asleep(Options {
        tables: LIMITS.to_owned(),
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&[]).await;
    let address = yard.url.strip_prefix("http://").unwrap().to_owned();

    // A caller with a credential, who is idle between two requests and does not connect again.
    let mut known = TcpStream::connect(&address).await.unwrap();
    let request = format!(
        "GET /api/repos HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
        yard.key()
    );
    known.write_all(request.as_bytes()).await.unwrap();
    answer_of(&mut known).await;
    let run = yard
        .start_detached("main", json!({ "args": ["gate"] }))
        .await;
    let mut viewer = yard.follow(&run).await;
    viewer.until_line("waiting").await;

    let mut flood = Vec::with_capacity(FLOOD);
    for n in 0..FLOOD {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        // Some say nothing, some begin a request, some show a key that is none, some ask what anybody may.
        let said = match n % 8 {
            0..5 => "",
            5 => "GET /api/repos HTTP/1.1\r\nHost: ",
            6 => "GET /api/repos HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n",
            _ => "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n",
        };
        // It may have been closed for the next already.
        let _ = stream.write_all(said.as_bytes()).await;
        flood.push(stream);
        if n % 500 == 0 {
            let answer = Raw::json(&yard, "GET", "/api/repos", "").send(&yard).await;
            assert_eq!(answer.status, 200, "after {n}: {answer:?}");
        }
    }
    for _ in 0..3 {
        let answer = Raw::json(&yard, "GET", "/api/repos", "").send(&yard).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let open = metric(&yard, "branchyard_connections ").await;
    assert!(open < 400.0, "{open} are open");
    assert!(metric(&yard, "branchyard_connections_closed_for_others_total").await > 1000.0);

    // Who had shown a credential before was not disturbed.
    known.write_all(request.as_bytes()).await.unwrap();
    answer_of(&mut known).await;
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    assert_eq!(viewer.end().await.data["state"], "succeeded");
    drop(flood);
    daemon.stop().await;
}

/// Reads one answer of a connection that stays open.
async fn answer_of(stream: &mut TcpStream) {
    use tokio::io::AsyncReadExt;
    let mut said = Vec::new();
    let mut piece = [0; 4096];
    let whole = |said: &[u8]| {
        let text = String::from_utf8_lossy(said).into_owned();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1)?.lines().next()?;
        (body.len() >= length.parse().ok()?).then_some(head)
    };
    let reading = async {
        loop {
            if let Some(head) = whole(&said) {
                return head;
            }
            let count = stream.read(&mut piece).await.unwrap();
            assert!(
                count > 0,
                "closed after {:?}",
                String::from_utf8_lossy(&said)
            );
            said.extend_from_slice(&piece[..count]);
        }
    };
    let head = tokio::time::timeout(crate::support::PATIENCE, reading).await;
    assert!(head.unwrap().starts_with("http/1.1 200"));
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_with_a_credential_take_the_places_that_are_configured() {
    let mut yard = Yard::with(Options {
        tables: "[limits]\nmax_connections_per_address = 4\n".to_owned(),
        ..Options::default()
    })
    .await;
    let run = yard
        .start_detached("main", json!({ "args": ["gate"] }))
        .await;
    let mut viewers = Vec::new();
    for _ in 0..4 {
        let mut viewer = yard.follow(&run).await;
        viewer.until_line("waiting").await;
        viewers.push(viewer);
    }
    // All are at work: a fifth is told so. What needs no credential is answered.
    let answer = Raw::json(&yard, "GET", "/api/repos", "").send(&yard).await;
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.head.contains("retry-after: "), "{answer:?}");
    assert_eq!(answer.problem("a fifth")["code"], "too_many_connections");
    assert_eq!(Raw::new("GET", "/healthz").send(&yard).await.status, 200);
    std::fs::write(yard.workspace("main").join("open"), "").unwrap();
    for viewer in &mut viewers {
        assert_eq!(viewer.end().await.data["state"], "succeeded");
    }
    for viewer in &mut viewers {
        viewer.until_cut().await;
    }
    // Their connections are idle a moment after their last byte, and go for the next.
    let asking = async {
        while Raw::json(&yard, "GET", "/api/repos", "")
            .send(&yard)
            .await
            .status
            != 200
        {}
    };
    let answered = tokio::time::timeout(PATIENCE, asking).await;
    answered.expect("a place for the next");
    yard.stop().await;
}
