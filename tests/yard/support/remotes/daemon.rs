//! `git daemon`: no encryption, no credentials, no HTTP.

use std::process::Command;

use super::server::Server;
use crate::support::{Options, Origin};

pub struct GitDaemon {
    server: Server,
}

impl GitDaemon {
    /// Serves `origin`, for reading and writing.
    pub async fn start(origin: &Origin) -> Self {
        let base = origin.bare.parent().unwrap().to_str().unwrap();
        let server = Server::start(|port| {
            let mut command = Command::new("git");
            command
                .args(["daemon", "--listen=127.0.0.1", "--export-all"])
                .args(["--reuseaddr", "--enable=receive-pack"])
                .arg(format!("--port={port}"))
                .arg(format!("--base-path={base}"))
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .env("GIT_CONFIG_NOSYSTEM", "1");
            command
        });
        Self {
            server: server.await,
        }
    }

    pub fn url(&self) -> String {
        format!("git://127.0.0.1:{}/origin.git", self.server.port)
    }

    /// A yard that has its demo from here.
    pub fn options(&self) -> Options {
        Options {
            url: Some(self.url()),
            git: "allow_protocols = [\"git\"]".to_owned(),
            ..Options::default()
        }
    }
}
