//! The network of a command that may connect to some hosts alone. It has a network namespace of its own, in which a proxy
//! listens: the socket is init's, which is inside; the supervisor outside answers it, and connects to what is allowed. So
//! there is no other way out, names are looked up outside, and it goes on without the daemon.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::supervisor_pool::{listen, send};
use branchyard_config::{Destination, HostName};

/// Nothing else listens in a network of the command's own.
const PORT: u16 = 3128;
/// The head of a request may be as long as this.
const LONGEST_HEAD: usize = 64 << 10;
const HEAD_WITHIN: Duration = Duration::from_secs(30);
const CONNECTED_WITHIN: Duration = Duration::from_secs(30);
/// Connections at the same time; further ones wait.
const AT_ONCE: usize = 256;
/// Threads that look up names. They count as processes of the run.
const LOOKING_UP: usize = 4;
/// After a connection that could not be taken, as for want of descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// By which programs find the proxy; not where they talk to themselves.
pub(super) fn variables() -> impl Iterator<Item = (&'static str, String)> {
    let proxy = format!("http://127.0.0.1:{PORT}");
    let names = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
    let to_proxy = names.map(|name| (name, proxy.clone()));
    let own = ["no_proxy", "NO_PROXY"].map(|name| (name, "localhost,127.0.0.1,::1".to_owned()));
    to_proxy.into_iter().chain(own)
}

/// Of init: listens inside, and hands the socket out.
pub(super) fn offer(mut outside: UnixStream) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    send(&mut outside, b"\n", &listener)?;
    // Others have it open, too, and what is read is read to its end.
    outside.shutdown(Shutdown::Write)
}

/// Of the supervisor: answers the socket that comes over `inside`, for as long as the command lives.
pub(super) fn answer(inside: UnixStream, allowed: Vec<Destination>) -> io::Result<()> {
    let serve = move || -> io::Result<()> {
        let (_, listener) = listen(inside)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(LOOKING_UP)
            .build()?;
        runtime.block_on(accept(TcpListener::from(listener), allowed.into()))
    };
    let serve = move || {
        // Where init went before it listened, there is nothing to be answered.
        let _ = serve();
    };
    let thread = std::thread::Builder::new().name("egress".to_owned());
    thread.spawn(serve).map(drop)
}

async fn accept(listener: TcpListener, allowed: Arc<[Destination]>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let place = places.clone().acquire_owned().await;
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let allowed = allowed.clone();
        tokio::spawn(async move {
            let _place = place;
            // How a connection ends is between the two who talk.
            let _ = pass_on(client, &allowed).await;
        });
    }
}

async fn pass_on(mut client: TcpStream, allowed: &[Destination]) -> io::Result<()> {
    let Ok(head) = timeout(HEAD_WITHIN, head_of(&mut client)).await else {
        return refuse(&mut client, "408 Request Timeout", "no request came").await;
    };
    let (head, rest) = head?;
    let Some(request) = Request::parse(&head) else {
        let why = "this proxy takes CONNECT, and requests with the whole http:// address";
        return refuse(&mut client, "400 Bad Request", why).await;
    };
    let (host, port) = (&request.host, request.port);
    if !allowed.iter().any(|known| known.covers(host, port)) {
        let why = format!("builds may not connect to {host}:{port}: it is not in sandbox.network");
        return refuse(&mut client, "403 Forbidden", &why).await;
    }
    let mut server = match timeout(CONNECTED_WITHIN, connect(host, port)).await {
        Ok(Ok(server)) => server,
        Ok(Err(error)) => {
            let why = format!("{host}:{port} cannot be reached: {error}");
            return refuse(&mut client, "502 Bad Gateway", &why).await;
        }
        Err(_) => {
            let why = format!("{host}:{port} does not answer");
            return refuse(&mut client, "504 Gateway Timeout", &why).await;
        }
    };
    match &request.passed_on {
        Some(head) => server.write_all(head).await?,
        None => {
            client
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
        }
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

async fn connect(host: &HostName, port: u16) -> io::Result<TcpStream> {
    let host = host.to_string();
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let found: Vec<SocketAddr> = tokio::net::lookup_host((name, port)).await?.collect();
    TcpStream::connect(&found[..]).await
}

async fn refuse(client: &mut TcpStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

/// The head of a request, with the empty line at its end, and what came after it.
async fn head_of(client: &mut TcpStream) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let mut head = Vec::new();
    while head.len() < LONGEST_HEAD {
        if client.read_buf(&mut head).await? == 0 {
            break;
        }
        if let Some(at) = memchr::memmem::find(&head, b"\r\n\r\n") {
            let rest = head.split_off(at + 4);
            return Ok((head, rest));
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// What a client of the proxy asks for.
struct Request {
    host: HostName,
    port: u16,
    /// What its server is sent in place of the head; nothing where the client talks to it by itself.
    passed_on: Option<Vec<u8>>,
}

impl Request {
    fn parse(head: &[u8]) -> Option<Self> {
        let head = std::str::from_utf8(head).ok()?;
        let (first, fields) = head.split_once("\r\n")?;
        let mut words = first.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = target.rsplit_once(':')?;
            return Some(Self {
                host: HostName::parse(host).ok()?,
                port: port.parse().ok()?,
                passed_on: None,
            });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
            _ => (authority, 80),
        };
        let is_for_proxy = |field: &&str| {
            let name = field.split(':').next().unwrap_or_default();
            [
                "host",
                "connection",
                "proxy-connection",
                "proxy-authorization",
                "keep-alive",
            ]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
        };
        let fields = fields.split("\r\n").filter(|field| !field.is_empty());
        let slash = if path.starts_with('/') { "" } else { "/" };
        // One request for each connection: the next one may be for another host.
        let mut passed_on = format!(
            "{method} {slash}{path} {version}\r\nHost: {authority}\r\nConnection: close\r\n"
        );
        for field in fields.filter(|field| !is_for_proxy(field)) {
            passed_on.push_str(field);
            passed_on.push_str("\r\n");
        }
        passed_on.push_str("\r\n");
        Some(Self {
            host: HostName::parse(host).ok()?,
            port,
            passed_on: Some(passed_on.into_bytes()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(head: &str) -> Option<(String, u16, Option<String>)> {
        let request = Request::parse(head.as_bytes())?;
        let passed_on = request
            .passed_on
            .map(|head| String::from_utf8(head).unwrap());
        Some((request.host.to_string(), request.port, passed_on))
    }

    #[test]
    fn a_request_says_where_to_and_is_passed_on_as_its_server_wants_it() {
        let head = "CONNECT Example.org:443 HTTP/1.1\r\nHost: other\r\n\r\n";
        assert_eq!(parse(head), Some(("example.org".to_owned(), 443, None)));
        let head = "GET http://example.org:8080/a?b HTTP/1.1\r\nHost: another.example\r\nproxy-connection: keep-alive\r\n\r\n";
        let passed_on =
            "GET /a?b HTTP/1.1\r\nHost: example.org:8080\r\nConnection: close\r\n\r\n".to_owned();
        assert_eq!(
            parse(head),
            Some(("example.org".to_owned(), 8080, Some(passed_on)))
        );
        let (host, port, head) = parse("GET http://[::1]?x HTTP/1.0\r\n\r\n").unwrap();
        assert_eq!((host.as_str(), port), ("[::1]", 80));
        assert!(head.unwrap().starts_with("GET /?x HTTP/1.0\r\n"));
    }

    #[test]
    fn what_is_no_request_for_a_proxy_is_none() {
        for head in [
            "GET / HTTP/1.1\r\n\r\n",
            "CONNECT example.org HTTP/1.1\r\n\r\n",
            "CONNECT example.org:x HTTP/1.1\r\n\r\n",
            "CONNECT user@example.org:443 HTTP/1.1\r\n\r\n",
            "GET http://user:word@example.org/ HTTP/1.1\r\n\r\n",
            "GET https://example.org/ HTTP/1.1\r\n\r\n",
            "GET http://example.org/ HTTP/2\r\n\r\n",
            "GET http://example.org/ a HTTP/1.1\r\n\r\n",
            "",
        ] {
            assert!(parse(head).is_none(), "{head}");
        }
    }
}
