//! Builds that may connect to some hosts alone: there is one way out, and it leads nowhere else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use serde_json::json;

use crate::support::{Options, Yard, problem_of, text_of};

/// Answers each connection with one page, until the test is over.
fn server(page: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client: TcpStream = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", page.len());
            let _ = client.write_all((head + page).as_bytes());
        }
    });
    port
}

fn yard(network: &str, profile: &str) -> Yard {
    Yard::asleep(Options {
        tables: format!(
            "[sandbox]\nprofile = {profile:?}\nnetwork = {network}\n[code]\nwithout_sandbox = true\n"
        ),
        ..Options::default()
    })
}

/// Tries the three ways to a port of this machine: by itself, by CONNECT, and by a request to the proxy.
const TRIES: &str = r#"
import os, socket, sys, urllib.request
port = int(sys.argv[1])
def told(way, how):
    try:
        print(way, how())
    except Exception as error:
        print(way, type(error).__name__, error)
def itself():
    socket.create_connection(("127.0.0.1", port), timeout=5)
    return "connected"
def by_connect():
    proxy = os.environ["https_proxy"].rsplit("/", 1)[1].split(":")
    line = socket.create_connection((proxy[0], int(proxy[1])))
    line.sendall(b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % port)
    answer = line.recv(4096)
    if b" 200 " not in answer:
        return answer.split(b"\r\n")[0].decode() + line.recv(4096).decode()
    line.sendall(b"GET / HTTP/1.0\r\n\r\n")
    return line.makefile().read().splitlines()[-1]
def by_request():
    os.environ.pop("no_proxy"); os.environ.pop("NO_PROXY")
    return urllib.request.urlopen("http://localhost:%d/" % port).read().decode()
told("vsock:", lambda: socket.socket(40, socket.SOCK_STREAM))
told("itself:", itself)
told("connect:", by_connect)
told("request:", by_request)
sys.stdout.flush()
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_build_reaches_what_is_listed_and_nothing_else() {
    let (listed, other) = (server("a listed page"), server("another page"));
    for profile in ["standard", "strict"] {
        let mut yard = yard(&format!("[\"localhost:{listed}\"]"), profile);
        let mut daemon = yard.start_binary(&[]).await;
        let asked = |port: u16| json!({ "script": TRIES, "interpreter": "python", "args": [port.to_string()] });
        let said = text_of(&yard.run("exec", "main", asked(listed)).await);
        assert!(said.contains("itself: ConnectionRefusedError"), "{said}");
        assert!(said.contains("vsock: PermissionError"), "{said}");
        assert!(said.contains("connect: a listed page"), "{said}");
        assert!(said.contains("request: a listed page"), "{said}");
        let said = text_of(&yard.run("exec", "main", asked(other)).await);
        assert!(said.contains("itself: ConnectionRefusedError"), "{said}");
        assert!(said.contains("connect: HTTP/1.1 403 Forbidden"), "{said}");
        assert!(said.contains("request: HTTPError HTTP Error 403"), "{said}");

        // The way out does not depend on the daemon.
        let wait = format!(
            "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.02)\n{TRIES}"
        );
        let body = json!({ "script": wait, "interpreter": "python", "args": [listed.to_string()], "detach": true });
        let mut run = yard.start_run("exec", "main", body).await;
        run.until_line("begun").await;
        daemon.kill().await;
        std::fs::write(yard.workspace("main").join("go"), "").unwrap();
        let mut daemon = yard.start_binary(&[]).await;
        let said = yard.log(&run.run_id()).await;
        assert!(said.contains("connect: a listed page"), "{said}");
        daemon.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_list_is_no_network_and_what_cannot_be_held_is_refused() {
    let port = server("a page");
    let mut none = yard("[]", "standard");
    none.start().await;
    let asked = json!({ "script": TRIES, "interpreter": "python", "args": [port.to_string()] });
    let said = text_of(&none.run("exec", "main", asked.clone()).await);
    assert!(said.contains("connect: HTTP/1.1 403 Forbidden"), "{said}");
    none.stop().await;

    let mut bare = yard("[\"localhost:443\"]", "none");
    bare.start().await;
    for (kind, body) in [("exec", asked), ("make", json!({}))] {
        let path = format!("/stream/repos/demo/branches/main/{kind}");
        let (status, problem) = problem_of(bare.post(&path, body).await).await;
        assert_eq!(
            (status, &problem["code"]),
            (503, &json!("network_not_bounded"))
        );
    }
    // Git is the daemon's own, and goes on.
    bare.run("git", "main", json!({ "operation": "status" }))
        .await;
    bare.stop().await;
}
