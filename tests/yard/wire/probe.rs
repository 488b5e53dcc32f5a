//! What asks whether the daemon lives.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::Yard;

#[tokio::test(flavor = "multi_thread")]
async fn an_old_probe_needs_no_host() {
    let mut yard = Yard::new().await;
    let address = yard.url.strip_prefix("http://").unwrap().to_owned();
    for (line, expected) in [
        ("GET /healthz HTTP/1.0", "200"),
        ("GET /healthz HTTP/1.1", "400"),
        ("GET /api/repos HTTP/1.0", "400"),
        ("GET /healthz HTTP/1.0\r\nHost: evil.example", "403"),
    ] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!("{line}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(expected), "{line}: {answer}");
    }
    yard.stop().await;
}
