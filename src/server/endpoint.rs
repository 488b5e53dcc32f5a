//! How clients on this machine find the daemon: an endpoint file and a header file, readable by the
//! owner alone.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use branchyard_config::{Config, STATE_IN_HOME};
use branchyard_runtime::disk::if_there;

/// What `endpoint.json` tells clients of a daemon.
#[derive(Debug, Serialize, Deserialize)]
pub struct EndpointFile {
    pub version: u32,
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<PathBuf>,
    /// The file that holds the key, as a header.
    pub auth_header: Option<PathBuf>,
    pub workspaces: Option<PathBuf>,
    pub pid: Option<u32>,
}

impl EndpointFile {
    pub const VERSION: u32 = 1;
}

#[derive(Debug)]
pub(super) struct Endpoint {
    url: String,
    /// One of the files is where clients look by themselves.
    is_found: bool,
    description: String,
    files: Vec<PathBuf>,
    header: PathBuf,
}

impl Endpoint {
    pub(super) fn write(
        config: &Config,
        bound: SocketAddr,
        socket: Option<&Path>,
    ) -> io::Result<Self> {
        let url = match config.tls.as_ref().map(|tls| &tls.name) {
            None => format!("http://{}", reachable(bound)),
            Some(None) => format!("https://{}", reachable(bound)),
            Some(Some(name)) => format!("https://{name}:{}", bound.port()),
        };
        let state = config.workspaces.join(".branchyard");
        let header = state.join("auth.header");
        let key = config.session_key.expose();
        write_private(&header, &format!("Authorization: Bearer {key}\n"))?;
        let description = serde_json::to_string(&EndpointFile {
            version: EndpointFile::VERSION,
            url: url.clone(),
            socket: socket.map(Path::to_owned),
            auth_header: Some(header.clone()),
            workspaces: Some(config.workspaces.clone()),
            pid: Some(std::process::id()),
        })?;
        let file = state.join("endpoint.json");
        write_private(&file, &description)?;
        let home = config.home.as_ref();
        let default = home.map(|home| home.join("build-workspaces"));
        let mut endpoint = Self {
            url,
            is_found: default.as_ref() == Some(&config.workspaces),
            description,
            files: vec![file],
            header,
        };
        if let Some(place) = where_clients_look(config) {
            // It may be another user's, as under sudo; a daemon can be reached without it.
            match endpoint.write_in(&place) {
                Ok(()) => endpoint.is_found = true,
                Err(error) => tracing::warn!(
                    dir = %place.display(), %error,
                    "clients must be told where the daemon is: it cannot be left here"
                ),
            }
        }
        Ok(endpoint)
    }

    fn write_in(&mut self, place: &Path) -> io::Result<()> {
        let dir = place.join("branchyard");
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)?;
        let file = dir.join("endpoint.json");
        write_private(&file, &self.description)?;
        self.files.push(file);
        Ok(())
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn is_found(&self) -> bool {
        self.is_found
    }

    /// Takes the files away. The one where clients look may speak of a later daemon by now,
    /// on a directory of its own; that one stays.
    pub(super) fn remove(&self) {
        let ours = self
            .files
            .iter()
            .filter(|file| fs::read_to_string(file).is_ok_and(|text| text == self.description));
        for file in ours.chain([&self.header]) {
            if let Err(error) = fs::remove_file(file) {
                tracing::warn!(file = %file.display(), %error, "failed to remove an endpoint file");
            }
        }
    }
}

fn where_clients_look(config: &Config) -> Option<PathBuf> {
    let there = |dir: &&PathBuf| dir.is_dir();
    let runtime = config.runtime_dir.as_ref().filter(there);
    let home = config.home.as_ref().filter(there);
    runtime.cloned().or_else(|| Some(home?.join(STATE_IN_HOME)))
}

/// An address that can be dialled: everywhere means here.
fn reachable(bound: SocketAddr) -> SocketAddr {
    let ip = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        ip => ip,
    };
    SocketAddr::new(ip, bound.port())
}

/// Never readable by others, not even for the moment between making and filling it.
fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let fresh = path.with_extension("new");
    if_there(fs::remove_file(&fresh))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&fresh)?;
    file.write_all(content.as_bytes())?;
    fs::rename(&fresh, path)
}
