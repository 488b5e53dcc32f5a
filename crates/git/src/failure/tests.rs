//! What git, curl and ssh say, word for word as they write it in the C locale.

use super::*;

const UNREAD: &str = "fatal: Could not read from remote repository.\n\n\
    Please make sure you have the correct access rights\nand the repository exists.\n";

#[test]
fn recorded_messages_are_told_apart() {
    for (said, expected) in [
        (
            "fatal: could not read Username for 'http://127.0.0.1:8931': terminal prompts disabled\n",
            RemoteFailure::Auth,
        ),
        (
            "fatal: Authentication failed for 'http://127.0.0.1:8931/401/x.git/'\n",
            RemoteFailure::Auth,
        ),
        (
            "error: RPC failed; HTTP 401 curl 22 The requested URL returned error: 401\nfatal: the remote end hung up unexpectedly\n",
            RemoteFailure::Auth,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:8931/403/x.git/': The requested URL returned error: 403\n",
            RemoteFailure::Forbidden,
        ),
        (
            "fatal: repository 'http://127.0.0.1:8931/404/x.git/' not found\n",
            RemoteFailure::NotFound,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:8931/410/x.git/': The requested URL returned error: 410\n",
            RemoteFailure::NotFound,
        ),
        (
            "fatal: remote error: access denied or repository not exported: /none.git\n",
            RemoteFailure::NotFound,
        ),
        (
            "fatal: couldn't find remote ref refs/heads/none\n",
            RemoteFailure::NoSuchRef,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:8931/429/x.git/': The requested URL returned error: 429\n",
            RemoteFailure::Busy,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:8931/503/x.git/': The requested URL returned error: 503\n",
            RemoteFailure::Busy,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:8931/cut/x.git/': transfer closed with 4966 bytes remaining to read\n",
            RemoteFailure::CutOff,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:8931/close/x.git/': Empty reply from server\n",
            RemoteFailure::CutOff,
        ),
        (
            "error: RPC failed; curl 18 transfer closed with outstanding read data remaining\nerror: 4096 bytes of body are still expected\nfetch-pack: unexpected disconnect while reading sideband packet\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output\n",
            RemoteFailure::CutOff,
        ),
        (
            "fatal: read error: Connection reset by peer\n",
            RemoteFailure::CutOff,
        ),
        (
            "fatal: unable to access 'https://127.0.0.1:8931/x/': gnutls_handshake() failed: An unexpected TLS packet was received.\n",
            RemoteFailure::Tls,
        ),
        (
            "fatal: unable to access 'https://127.0.0.1:8443/x/': server certificate verification failed. CAfile: none CRLfile: none\n",
            RemoteFailure::Tls,
        ),
        (
            "fatal: unable to access 'https://127.0.0.1:8443/x/': SSL certificate problem: unable to get local issuer certificate\n",
            RemoteFailure::Tls,
        ),
        (
            "fatal: unable to access 'http://127.0.0.1:1/x/': Failed to connect to 127.0.0.1 port 1 after 0 ms: Couldn't connect to server\n",
            RemoteFailure::Unreachable,
        ),
        (
            "fatal: unable to connect to 127.0.0.1:\n127.0.0.1[0: 127.0.0.1]: errno=Connection refused\n\n",
            RemoteFailure::Unreachable,
        ),
        (
            "fatal: unable to access 'https://nonexistent.invalid/x/': Could not resolve host: nonexistent.invalid\n",
            RemoteFailure::Dns,
        ),
        (
            "fatal: unable to look up nonexistent.invalid (port 9418) (Name or service not known)\n",
            RemoteFailure::Dns,
        ),
        (
            "fatal: unable to access 'https://example.com/x/': Could not resolve proxy: nonexistent.invalid\n",
            RemoteFailure::Proxy,
        ),
        (
            "fatal: unable to access 'https://example.com/x/': CONNECT tunnel failed, response 407\n",
            RemoteFailure::Proxy,
        ),
        (
            "fatal: unable to access 'https://example.com/x/': Failed to connect to example.com port 443 after 130000 ms: Connection timed out\n",
            RemoteFailure::Timeout,
        ),
        (
            "fatal: transport 'git' not allowed\n",
            RemoteFailure::ProtocolRefused,
        ),
        (
            "To http://127.0.0.1:8931/x.git\n ! [rejected]        HEAD -> main (fetch first)\nerror: failed to push some refs to 'http://127.0.0.1:8931/x.git'\n",
            RemoteFailure::Rejected,
        ),
        (
            "remote: no\nTo /srv/x.git\n ! [remote rejected] HEAD -> main (pre-receive hook declined)\nerror: failed to push some refs to '/srv/x.git'\n",
            RemoteFailure::Rejected,
        ),
        ("", RemoteFailure::Other),
        (
            "error: cannot open 'FETCH_HEAD': Permission denied\n",
            RemoteFailure::Other,
        ),
    ] {
        assert_eq!(RemoteFailure::of(said), expected, "{said}");
    }
}

#[test]
fn ssh_is_understood_before_git_complains_about_it() {
    for (said, expected) in [
        (
            "No ED25519 host key is known for [127.0.0.1]:8933 and you have requested strict checking.\nHost key verification failed.\n",
            RemoteFailure::HostKey,
        ),
        (
            "Host key for [127.0.0.1]:8933 has changed and you have requested strict checking.\nHost key verification failed.\n",
            RemoteFailure::HostKey,
        ),
        (
            "root@127.0.0.1: Permission denied (publickey,keyboard-interactive).\n",
            RemoteFailure::Auth,
        ),
        (
            "ssh: connect to host 127.0.0.1 port 1: Connection refused\n",
            RemoteFailure::Unreachable,
        ),
        (
            "ssh: connect to host 10.0.0.1 port 22: Connection timed out\n",
            RemoteFailure::Timeout,
        ),
        (
            "ssh: Could not resolve hostname nonexistent.invalid: Name or service not known\n",
            RemoteFailure::Dns,
        ),
        (
            "kex_exchange_identification: read: Connection reset by peer\nConnection reset by 127.0.0.1 port 8934\n",
            RemoteFailure::CutOff,
        ),
        (
            "fatal: '/tmp/none.git' does not appear to be a git repository\n",
            RemoteFailure::NotFound,
        ),
        ("ERROR: Repository not found.\n", RemoteFailure::NotFound),
    ] {
        assert_eq!(
            RemoteFailure::of(&format!("{said}{UNREAD}")),
            expected,
            "{said}"
        );
    }
}

#[test]
fn what_the_remote_says_about_itself_decides_nothing() {
    let said = "remote: Permission denied (publickey). Host key verification failed.\n\
        fatal: the remote end hung up unexpectedly\n";
    assert_eq!(RemoteFailure::of(said), RemoteFailure::CutOff);
}

#[test]
fn only_what_passes_is_tried_again() {
    for failure in [
        RemoteFailure::Auth,
        RemoteFailure::Forbidden,
        RemoteFailure::NotFound,
        RemoteFailure::HostKey,
        RemoteFailure::Tls,
        RemoteFailure::Rejected,
        RemoteFailure::Timeout,
        RemoteFailure::Other,
    ] {
        assert!(!failure.can_be_mended_by_retry(), "{failure}");
    }
    assert!(RemoteFailure::Busy.can_be_mended_by_retry());
    assert!(RemoteFailure::CutOff.can_be_mended_by_retry());
}

#[test]
fn the_help_names_the_setting_that_was_used_or_says_that_there_is_none() {
    let help = |credential| {
        let problem = RemoteFailure::Auth.problem("no".to_owned(), credential);
        assert_eq!(problem.code, "remote_auth_failed");
        problem.help.unwrap()
    };
    assert!(help(Some("[repos.demo.credential]")).contains("[repos.demo.credential]"));
    assert!(help(None).contains("no credential is configured"));
}
