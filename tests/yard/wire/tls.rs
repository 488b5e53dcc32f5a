//! HTTPS by certificate files, which are renewed while the daemon runs.

use reqwest::{Certificate, Client};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::authority::Authority;
use super::{agent_says_hello, branchyard, curl, key_file};
use crate::support::{Options, PATIENCE, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn everything_works_over_https_and_a_renewed_certificate_needs_no_restart() {
    let mut yard = Yard::asleep(Options::default());
    let authority = Authority::new(yard.dir.path());
    authority.issue("first", 1);
    authority.issue("second", 2);
    authority.install("first");
    yard.configure(Options {
        tables: authority.section(),
        ..Options::default()
    });
    yard.start().await;
    let address = yard.url.strip_prefix("https://").unwrap().to_owned();
    let ca_file = authority.ca_file();
    let trusted = Certificate::from_pem(&std::fs::read(&ca_file).unwrap()).unwrap();
    let client = Client::builder().no_proxy().tls_certs_only([trusted]);
    yard.client = client.build().unwrap();

    let events = yard.make("main", &["who"]).await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    let repos = format!("{}/api/repos", yard.url);
    let said = curl(&yard, &["--cacert", &ca_file, &repos]).await.ok();
    assert!(said.contains("\"demo\""), "{said}");
    curl(&yard, &[&repos]).await.refused("certificate");

    let key_file = key_file(&yard);
    let place = ["--url", &yard.url, "--key-file", &key_file];
    let listed = [&place[..], &["--ca-file", &ca_file, "repos"]].concat();
    assert!(branchyard(&yard, &listed, &[]).await.ok().contains("demo"));
    let listed = [&place[..], &["repos"]].concat();
    let env = [("BRANCHYARD_CA_FILE", ca_file.as_str())];
    assert!(branchyard(&yard, &listed, &env).await.ok().contains("demo"));
    // Nobody's key is told to whom they cannot know.
    branchyard(&yard, &listed, &[]).await.refused("certificate");
    let no_authority = [("BRANCHYARD_CA_FILE", key_file.as_str())];
    branchyard(&yard, &listed, &no_authority)
        .await
        .refused("BRANCHYARD_CA_FILE");
    let hello = [&place[..], &["--ca-file", &ca_file]].concat();
    assert!(agent_says_hello(&yard, &hello).await.contains("branchyard"));

    // Plain HTTP gets no answer in it.
    let mut plain = TcpStream::connect(&address).await.unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let reading = tokio::time::timeout(PATIENCE, plain.read_to_end(&mut answer));
    // Closed or cut, as long as it ends.
    let _ = reading.await.expect("it ends");
    assert!(
        !String::from_utf8_lossy(&answer).contains("HTTP"),
        "{answer:?}"
    );

    assert_eq!(authority.serial_at(&address), 1);
    authority.install("second");
    assert_eq!(authority.serial_at(&address), 2);
    // A certificate without its key, as in the middle of a renewal: the old one stays.
    std::fs::copy(authority.path("first.pem"), authority.path("cert.pem")).unwrap();
    assert_eq!(authority.serial_at(&address), 2);
    authority.install("first");
    assert_eq!(authority.serial_at(&address), 1);
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_no_good_are_named_at_the_start() {
    let mut yard = Yard::asleep(Options::default());
    let authority = Authority::new(yard.dir.path());
    authority.issue("one", 1);
    authority.issue("two", 2);
    let at = |name: &str| authority.path(name);
    std::fs::write(at("open.key"), "").unwrap();
    for (cert, key, why) in [
        ("one.pem", "two.key", "is not the key of"),
        ("one.key", "one.key", "no certificate"),
        ("one.pem", "one.pem", "chmod 600"),
        ("one.pem", "none.key", "No such file"),
        ("one.pem", "open.key", "chmod 600"),
    ] {
        let (cert, key) = (at(cert), at(key));
        yard.configure(Options {
            tables: format!("[tls]\ncert_file = {cert:?}\nkey_file = {key:?}\n"),
            ..Options::default()
        });
        let mut binary = yard.spawn_binary(&[]);
        let ended = binary.ended().await;
        assert!(!ended.success(), "{cert} {key}");
        binary.until_said(why).await;
        let file = yard.dir.path().join("yard.toml");
        let check = ["check-config", "--config", file.to_str().unwrap()];
        branchyard(&yard, &check, &[]).await.refused(why);
    }
}
