//! The Unix socket beside the port.

use std::os::unix::fs::PermissionsExt;

use super::{agent_says_hello, branchyard, curl, key_file, run};
use crate::support::{Options, Yard};

#[tokio::test(flavor = "multi_thread")]
async fn the_socket_is_a_way_in_of_its_own_and_goes_with_the_daemon() {
    let mut yard = Yard::asleep(Options::default());
    let (dir, socket) = (
        yard.dir.path().to_owned(),
        yard.dir.path().join("yard.sock"),
    );
    let at_socket = socket.to_str().unwrap();
    yard.configure(Options {
        top: format!("socket = {socket:?}"),
        ..Options::default()
    });
    std::fs::create_dir(dir.join("run")).unwrap();
    let runtime = dir.join("run");
    let env = [("XDG_RUNTIME_DIR", runtime.to_str().unwrap())];
    let mut daemon = yard.start_binary(&env).await;
    daemon.until_said(at_socket).await;
    let mode = std::fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    // No name is wrong there, but the key is needed as anywhere.
    let anywhere = [
        "--unix-socket",
        at_socket,
        "http://anywhere.example/api/repos",
    ];
    assert!(curl(&yard, &anywhere).await.ok().contains("\"demo\""));
    let without_key = [&["-sS", "--fail"][..], &anywhere].concat();
    run(&dir, "curl", &without_key, &[], "")
        .await
        .refused("401");

    // It is found by itself, and by name.
    let doctor = branchyard(&yard, &["doctor", "--json"], &env).await;
    assert!(
        doctor.out.contains(&format!("unix:{at_socket}")),
        "{doctor:?}"
    );
    assert_eq!(
        branchyard(&yard, &["make", "demo", "main", "who"], &env)
            .await
            .ok(),
        "main\n"
    );
    let (url, key_file) = (format!("unix:{at_socket}"), key_file(&yard));
    let named = ["--url", &url, "--key-file", &key_file];
    let listed = [&named[..], &["repos"]].concat();
    assert!(branchyard(&yard, &listed, &[]).await.ok().contains("demo"));
    assert!(agent_says_hello(&yard, &named).await.contains("branchyard"));
    let config = branchyard(&yard, &["mcp", "config", "cursor", "--http"], &env)
        .await
        .ok();
    assert!(config.contains(&format!("{}/mcp", yard.url)), "{config}");

    // Another daemon does not take it, and a killed one leaves nothing in the way.
    let mut other = Yard::asleep(Options {
        top: format!("socket = {socket:?}"),
        ..Options::default()
    });
    let mut refused = other.spawn_binary(&[]);
    assert!(!refused.ended().await.success());
    refused.until_said("somebody listens there already").await;
    daemon.kill().await;
    assert!(socket.exists());
    let nobody = branchyard(&yard, &["repos"], &env).await;
    nobody.refused("no daemon answers at unix:");
    let mut daemon = yard.start_binary(&env).await;
    assert!(
        branchyard(&yard, &["repos"], &env)
            .await
            .ok()
            .contains("demo")
    );
    daemon.stop().await;
    assert!(!socket.exists());

    std::fs::write(&socket, "somebody's").unwrap();
    other.configure(Options {
        top: format!("socket = {socket:?}"),
        ..Options::default()
    });
    let mut refused = other.spawn_binary(&[]);
    assert!(!refused.ended().await.success());
    refused.until_said("something else is there").await;
    assert_eq!(std::fs::read_to_string(&socket).unwrap(), "somebody's");
}
