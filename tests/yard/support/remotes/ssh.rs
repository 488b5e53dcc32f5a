//! A real sshd with a host key of its own, which lets in one key.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::Server;
use crate::support::{Options, Origin};

pub struct SshRemote {
    server: Server,
    home: PathBuf,
    user: String,
    bare: PathBuf,
}

impl SshRemote {
    /// Serves `origin` by sshd, which `make setup` installs where that is possible.
    pub async fn start(origin: &Origin) -> Option<Self> {
        let Some(sshd) = sshd() else {
            eprintln!("left out: there is no sshd on this machine");
            return None;
        };
        let home = origin.bare.with_file_name("sshd");
        std::fs::create_dir_all(&home).unwrap();
        for key in ["host", "user", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", key, "-f"])
                .arg(home.join(key))
                .status();
            assert!(made.unwrap().success());
        }
        std::fs::copy(home.join("user.pub"), home.join("authorized")).unwrap();
        let user = output(Command::new("id").arg("-un"));
        if rustix::process::geteuid().is_root() {
            // sshd does not start without it, and not every system makes it.
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let config = home.join("config");
        let server = Server::start(|port| {
            let text = format!(
                "ListenAddress 127.0.0.1\nPort {port}\nHostKey {home}/host\nPidFile none\n\
                 AuthorizedKeysFile {home}/authorized\nStrictModes no\nUsePAM no\n\
                 PasswordAuthentication no\nKbdInteractiveAuthentication no\n\
                 PermitRootLogin prohibit-password\nSetEnv PATH={path}\n",
                home = home.display(),
                path = env!("PATH"),
            );
            std::fs::write(&config, text).unwrap();
            let mut command = Command::new(&sshd);
            command.args(["-D", "-f"]).arg(&config);
            command
        });
        let remote = Self {
            server: server.await,
            home,
            user,
            bare: origin.bare.clone(),
        };
        remote.know("known_hosts", "host.pub");
        Some(remote)
    }

    pub fn url(&self) -> String {
        let (user, port) = (&self.user, self.server.port);
        format!("ssh://{user}@127.0.0.1:{port}{}", self.bare.display())
    }

    /// A file of its own: the keys `user` and `stranger`, and `known_hosts`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Writes a known-hosts file that has the key in `public` for this host.
    pub fn know(&self, file: &str, public: &str) -> PathBuf {
        let key = std::fs::read_to_string(self.home.join(public)).unwrap();
        let path = self.home.join(file);
        let line = format!("[127.0.0.1]:{} {key}", self.server.port);
        std::fs::write(&path, line).unwrap();
        path
    }

    /// A yard that has its demo from here, with this key and these known hosts.
    pub fn options(&self, key: &Path, known_hosts: &Path) -> Options {
        Options {
            url: Some(self.url()),
            tables: format!("[git.ssh]\nkey_file = {key:?}\nknown_hosts = {known_hosts:?}\n"),
            ..Options::default()
        }
    }
}

/// It refuses to be started by a relative path.
fn sshd() -> Option<PathBuf> {
    let path = format!("{}:/usr/sbin:/usr/local/sbin", env!("PATH"));
    std::env::split_paths(&path)
        .map(|dir| dir.join("sshd"))
        .find(|file| file.is_file())
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
