//! A hostile Makefile under `standard`: each of its tries fails, its honest parts work.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use serde_json::json;

use super::{mechanism, options};
use crate::support::{Options, Yard, text_of, until, warnings_of};

/// `tries NAME COMMAND…` prints what became of it. The shell itself must not give up on a redirection.
const PRELUDE: &str = r#"
tries() { name=$1; shift; if sh -c "$*" >/dev/null 2>&1; then echo "$name: done"; else echo "$name: refused"; fi; }
reads() { name=$1; shift; if [ -n "`cat $* 2>/dev/null`" ]; then echo "$name: done"; else echo "$name: refused"; fi; }
"#;

/// What must fail, by name.
fn hostile(yard: &Yard, port: u16) -> String {
    let dir = yard.dir.path().display();
    let workspaces = yard.workspaces.display();
    let state = format!("{workspaces}/.branchyard");
    let daemon = std::process::id();
    format!(
        r#"{PRELUDE}
STORE=`git rev-parse --git-common-dir`
OWN=`git rev-parse --git-dir`
echo '# read what is not its own'
reads another-workspace {workspaces}/demo/other/name.txt
tries list-of-workspaces 'ls {workspaces}/demo | grep other'
reads database {state}/yard.db
reads state '{state}/*' '{state}/*/*' '{state}/*/*/*'
reads key-file {dir}/keys/session {state}/auth.header
reads endpoint {state}/endpoint.json
reads config-file {dir}/yard.toml
reads origin {dir}/origin.git/HEAD
reads environment-of-the-daemon /proc/{daemon}/environ
tries environment-of-all 'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep CARGO_MANIFEST_DIR'
reads memory-of-the-daemon /proc/{daemon}/maps
tries daemon-is-seen 'kill -0 {daemon}'
tries socket-by-name './try unix {dir}/yard.sock'
tries abstract-socket './try abstract branchyard-test-{daemon}'
reads passwords /etc/shadow /etc/gshadow
reads host-keys '/etc/ssh/ssh_host_*_key'
reads real-home /root/.bashrc /root/.profile {dir}/.netrc
echo '# write where it does not belong'
tries hook "mkdir -p $STORE/hooks; echo x > $STORE/hooks/post-checkout"
tries config "echo x >> $STORE/config"
tries config-of-the-worktree "echo x >> $OWN/config.worktree"
tries fsmonitor 'git config core.fsmonitor "touch {dir}/marker"'
tries filter 'git config filter.evil.smudge "touch {dir}/marker"'
tries instead-of 'git config url./nowhere/.insteadOf "{dir}"'
tries ssh-command 'git config core.sshCommand "touch {dir}/marker"'
tries attributes "mkdir -p $STORE/info; echo '* filter=evil' > $STORE/info/attributes"
tries ref-of-another 'git update-ref refs/heads/other HEAD'
tries ref-by-hand "echo x > $STORE/refs/heads/other"
tries packed-refs "echo x > $STORE/packed-refs"
tries pack "echo x > $STORE/objects/pack/x.pack"
tries object 'echo x | git hash-object -w --stdin'
tries alternates "echo /tmp > $STORE/objects/info/alternates"
tries index 'git update-index --assume-unchanged name.txt'
tries git-file 'echo gitdir: /tmp > .git'
tries git-file-moved 'mv .git away'
tries git-file-removed 'rm -f .git'
tries git-file-unmounted './try unmount .git'
tries store-unmounted "./try unmount $STORE"
tries system 'touch /usr/x /bin/x /etc/x /opt/x'
tries root 'touch /x'
tries devices 'touch /dev/x'
tries run 'touch /run/x'
tries kernel-settings 'head -n 1 /proc/sys/vm/swappiness > /proc/sys/vm/swappiness'
reads kernel-memory /proc/slabinfo
tries beside-the-worktree 'touch ../x'
tries in-the-yard 'mkdir {workspaces}/x'
touch {dir}/marker
echo '# be more than it is'
tries trace-the-supervisor './try ptrace {supervisor}'
tries trace-the-daemon './try ptrace {daemon}'
tries trace-init './try ptrace 1'
tries trace-another './try ptrace $$'
tries read-the-memory-of-another './try memory $$'
tries namespace './try unshare'
tries namespace-by-clone './try clone'
tries mount './try mount'
tries keys './try keys'
tries bpf './try bpf'
tries terminal './try terminal'
tries new-privileges 'grep -q "NoNewPrivs:.0" /proc/self/status'
tries rights 'grep -q "CapEff:.*[1-9a-f]" /proc/self/status'
tries out-by-init 'ls /proc/1/root/{workspaces}/demo/other'
tries write-the-program 'echo x >> /proc/1/exe'
echo '# fill what others need'
tries fill-tmp 'head -c 64M /dev/zero > /tmp/fill'
tries fill-home 'head -c 64M /dev/zero > $HOME/fill'
tries fill-shm 'head -c 64M /dev/zero > /dev/shm/fill'
rm -f /tmp/fill $HOME/fill /dev/shm/fill
echo '# leave somebody behind'
(env -i /usr/bin/setsid /bin/sh -c 'trap "" TERM HUP; exec /bin/sleep 98765.25' >/dev/null 2>&1 &) &
echo '# honest'
tries network './try tcp {port}'
tries history 'git log -1 --format=%H && git show HEAD:name.txt && git status --short'
tries temporary 'f=`mktemp`; echo x > $f; case $f in /tmp/*) ;; *) false;; esac'
tries at-home 'cd && [ $HOME = {dir} ] && mkdir .cache && echo x > .cache/x'
tries worktree 'mkdir -p out/deep && ./try tcp {port} && echo made > out/deep/made && mv out/deep/made out/made'
tries shared-memory 'echo x > /dev/shm/x'
tries processes 'ps -e >/dev/null; [ `ls -d /proc/[0-9]* | wc -l` -lt 12 ]'
tries pipes 'yes | head -1 | tee /dev/stderr > /dev/null'
tries links 'mkdir -p a b && echo x > a/x && ln a/x b/x && ln -s a/x c'
tries who 'id -un && getent hosts localhost'
"#,
        supervisor = "`cat supervisor`",
    )
}

async fn yard() -> Yard {
    let dir_of_keys = |yard: &Yard| yard.dir.path().join("keys");
    let mut yard = Yard::asleep(Options {
        top: "key_file = \"keys/session\"".to_owned(),
        ..options("standard", "tmp_size = \"8MiB\"")
    });
    std::fs::create_dir(dir_of_keys(&yard)).unwrap();
    let key = dir_of_keys(&yard).join("session");
    std::fs::write(&key, "S3CRET-0123456789").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(yard.dir.path().join(".netrc"), "S3CRET").unwrap();
    yard.origin.branch("other");
    yard.origin.at("main");
    yard.origin.write("try.c", include_str!("try.c"));
    yard.origin.write(
        "Makefile",
        "all: try\n\t@echo ready; while [ ! -s supervisor ]; do sleep 0.01; done; sh ./hostile.sh\n\
         try: try.c\n\t@$(CC) -Wall -Werror -o $@ $<\nwho:\n\t@cat name.txt\n",
    );
    yard.start().await;
    yard
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_hostile_makefile_tries_succeeds_and_what_is_honest_does() {
    let mut yard = yard().await;
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let _by_name = UnixListener::bind(yard.dir.path().join("yard.sock")).unwrap();
    let name = format!("branchyard-test-{}", std::process::id());
    let name = SocketAddr::from_abstract_name(name).unwrap();
    let _abstract = UnixListener::bind_addr(&name).unwrap();
    let script = hostile(&yard, tcp.local_addr().unwrap().port());
    yard.origin.write("hostile.sh", &script);
    yard.origin.commit("hostile");
    yard.origin.push("main");
    assert_eq!(text_of(&yard.make("other", &["who"]).await), "other\n");
    let sound = snapshot(&yard.store());

    let run = yard.start_detached("main", json!({})).await;
    yard.follow(&run).await.until_line("ready").await;
    let supervisor = yard.supervisor_of(&run).to_string();
    std::fs::write(yard.workspace("main").join("supervisor"), supervisor).unwrap();
    let record = yard.ended(&run).await;
    let log = yard.log(&run).await;
    assert_eq!(record["state"], "succeeded", "{record}\n{log}");
    assert_eq!(record["sandbox"], "standard", "{record}");

    let (hostile, honest) = script.split_once("# honest").unwrap();
    let (_, landlock) = mechanism(&yard, "landlock").await;
    let is_scoped = landlock.starts_with("version") && !landlock.contains("can be reached");
    if !is_scoped {
        println!("abstract sockets are not looked at: {landlock}");
    }
    let verdicts: BTreeMap<_, _> = log
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let mut tried = 0;
    for (text, expected) in [(hostile, "refused"), (honest, "done")] {
        for name in names(text).filter(|name| is_scoped || *name != "abstract-socket") {
            assert_eq!(verdicts.get(name), Some(&expected), "{name}:\n{log}");
            tried += 1;
        }
    }
    assert!(tried > 70, "{tried} of them were tried");
    assert_eq!(snapshot(&yard.store()), sound, "the store is as it was");
    assert_eq!(
        std::fs::read_to_string(yard.workspace("main").join("out/made")).unwrap(),
        "made\n"
    );
    assert!(!yard.dir.path().join("marker").exists());
    assert!(!Path::new("/tmp/fill").exists() && !Path::new("/dev/shm/fill").exists());
    until("nobody is left behind", || !is_running("98765.25")).await;

    // Nothing was planted, so nothing is put back.
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "main\n");
    assert_eq!(warnings_of(&events), [""; 0]);
    yard.stop().await;
}

fn names(script: &str) -> impl Iterator<Item = &str> {
    script.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let tries = matches!(words.next()?, "tries" | "reads");
        words.next().filter(|_| tries)
    })
}

/// Whether a process anywhere was started with this word.
fn is_running(word: &str) -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .any(|line| {
            line.split(|byte| *byte == 0)
                .any(|arg| arg == word.as_bytes())
        })
}

/// All files of a store but those that the daemon's own git writes for the worktree that is built in.
fn snapshot(store: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut pending = vec![store.to_owned()];
    while let Some(dir) = pending.pop() {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(store).unwrap().display().to_string();
            let is_ours = name.starts_with("worktrees/main")
                || name.starts_with("refs/branchyard/")
                || name.starts_with("logs/refs/")
                || name.starts_with("refs/heads/main")
                || name == "objects/pack"
                || name == "FETCH_HEAD";
            if is_ours {
                continue;
            }
            match path.is_dir() {
                true => pending.push(path),
                false => drop(files.insert(name, std::fs::read(path).unwrap())),
            }
        }
    }
    files
}
