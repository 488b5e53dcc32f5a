//! Where the daemon is and with which key: flags, then `BRANCHYARD_URL`, `BRANCHYARD_KEY_FILE` and
//! `BRANCHYARD_CA_FILE`, then the `endpoint.json` that a running daemon leaves behind.
//!
//! The only file of the command that reads the environment. A key is held as a header value marked
//! sensitive, is never part of an error or a `Debug`, and a key that a daemon left in a file goes to
//! that daemon's own address only.

mod address;
mod key;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;

use super::Global;
use super::exit::Failure;
use address::{SOCKET, checked_socket, checked_url};
use branchyard::server::EndpointFile;
use branchyard_config::STATE_IN_HOME;
use key::read_key;

const START_ONE: &str = "start one with `branchyard serve`, or name one with --url and --key-file";

/// The few variables that the command heeds.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    pub url: Option<String>,
    pub key_file: Option<PathBuf>,
    pub ca_file: Option<PathBuf>,
    pub runtime_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// `NO_COLOR` is set, or the terminal is a dumb one.
    pub no_color: bool,
}

/// How to find the daemon; kept, so that a daemon that was started anew is found again.
#[derive(Debug, Clone)]
pub(super) struct Lookup {
    url: Option<String>,
    key_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    surroundings: Surroundings,
}

/// What somebody named, and another has to be told to find the same daemon.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named<'a> {
    pub url: Option<&'a str>,
    pub key_file: Option<&'a Path>,
    pub ca_file: Option<&'a Path>,
}

/// A daemon to speak to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// Without a slash at its end; `unix:/path` for a socket.
    pub(super) url: String,
    /// The socket, where it is to be reached by one.
    pub(super) socket: Option<PathBuf>,
    /// The authorities to trust in place of the system's.
    pub(super) ca_file: Option<PathBuf>,
    pub(super) authorization: Option<HeaderValue>,
    /// Where that was read.
    pub(super) key_file: Option<PathBuf>,
    /// Its directory, where it told us.
    pub(super) workspaces: Option<PathBuf>,
    /// Who named it, in words.
    pub(super) source: String,
    /// The other address of a daemon that is reached by its socket.
    pub(super) also_at: Option<String>,
}

impl Surroundings {
    pub(super) fn from_env() -> Self {
        // A variable that is set to nothing counts as not set.
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let path = |name: &str| variable(name).map(PathBuf::from);
        Self {
            url: variable("BRANCHYARD_URL").map(|url| url.to_string_lossy().into_owned()),
            key_file: path("BRANCHYARD_KEY_FILE"),
            ca_file: path("BRANCHYARD_CA_FILE"),
            runtime_dir: path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute()),
            home: path("HOME").filter(|path| path.is_absolute()),
            no_color: variable("NO_COLOR").is_some()
                || variable("TERM") == Some(OsString::from("dumb")),
        }
    }
}

impl Lookup {
    pub(super) fn new(global: &Global, surroundings: Surroundings) -> Self {
        Self {
            url: global.url.clone(),
            key_file: global.key_file.clone(),
            ca_file: global.ca_file.clone(),
            surroundings,
        }
    }

    /// A lookup that finds nothing but what the surroundings name.
    #[cfg(test)]
    pub(super) fn nowhere(surroundings: Surroundings) -> Self {
        Self {
            url: None,
            key_file: None,
            ca_file: None,
            surroundings,
        }
    }

    /// Finds the daemon. Whether it answers is another question.
    pub(super) fn find(&self) -> Result<Endpoint, Failure> {
        let around = &self.surroundings;
        let named = match (&self.url, &around.url) {
            (Some(url), _) => Some((url, "--url")),
            (None, Some(url)) => Some((url, "BRANCHYARD_URL")),
            (None, None) => None,
        };
        let key_file = self.key_file.as_ref().or(around.key_file.as_ref());
        let mut endpoint = match named {
            Some((url, source)) => Endpoint::at(url, source)?,
            None => self.left_behind()?,
        };
        endpoint.ca_file = self.named().ca_file.map(Path::to_owned);
        if let Some(file) = key_file {
            endpoint.authorization = Some(read_key(file)?);
            endpoint.key_file = Some(file.clone());
        } else if named.is_some() {
            // Only the address was given: a daemon on this machine may have left us its key.
            if let Ok(local) = self.left_behind()
                && local.is_at(&endpoint.url)
            {
                endpoint.authorization = local.authorization;
                endpoint.key_file = local.key_file;
                endpoint.workspaces = local.workspaces;
                endpoint.also_at = local.also_at;
            }
        }
        Ok(endpoint)
    }

    /// The address and the files that somebody named: whoever is to find the same daemon needs them.
    pub(super) fn named(&self) -> Named<'_> {
        let around = &self.surroundings;
        Named {
            url: self.url.as_deref().or(around.url.as_deref()),
            key_file: self.key_file.as_deref().or(around.key_file.as_deref()),
            ca_file: self.ca_file.as_deref().or(around.ca_file.as_deref()),
        }
    }

    /// Where a daemon keeps its things unless told otherwise.
    pub(super) fn default_workspaces(&self) -> Option<PathBuf> {
        let home = self.surroundings.home.as_ref()?;
        Some(home.join("build-workspaces"))
    }

    /// The first `endpoint.json` there is.
    fn left_behind(&self) -> Result<Endpoint, Failure> {
        let runtime = self.surroundings.runtime_dir.clone();
        let home = self.surroundings.home.as_ref();
        let places = [
            runtime.map(|dir| dir.join("branchyard/endpoint.json")),
            home.map(|home| home.join(STATE_IN_HOME).join("branchyard/endpoint.json")),
            self.default_workspaces()
                .map(|dir| dir.join(".branchyard/endpoint.json")),
        ];
        for place in places.into_iter().flatten() {
            match fs::read_to_string(&place) {
                Ok(text) => return from_file(&place, &text),
                Err(error) if is_absence(&error) => {}
                Err(error) => {
                    return Err(Failure::daemon(format!(
                        "cannot read {}: {error}",
                        place.display()
                    )));
                }
            }
        }
        Err(Failure::daemon("no daemon found").help(START_ONE))
    }
}

impl Endpoint {
    /// A daemon of which nothing but its address is known.
    pub(super) fn at(address: &str, source: &str) -> Result<Self, Failure> {
        let (url, socket) = match address.strip_prefix(SOCKET) {
            Some(path) => {
                let path = checked_socket(path, source)?;
                (format!("{SOCKET}{}", path.display()), Some(path))
            }
            None => (checked_url(address, source)?, None),
        };
        Ok(Self {
            url,
            socket,
            ca_file: None,
            authorization: None,
            key_file: None,
            workspaces: None,
            source: source.to_owned(),
            also_at: None,
        })
    }

    /// What a request's path is put behind.
    pub(super) fn base(&self) -> &str {
        match self.socket {
            Some(_) => "http://localhost",
            None => &self.url,
        }
    }

    /// Its address for those who know of no sockets, where it is known.
    pub(super) fn web(&self) -> Option<&str> {
        match self.socket {
            Some(_) => self.also_at.as_deref(),
            None => Some(&self.url),
        }
    }

    /// Whether this is the daemon at an address that was checked.
    fn is_at(&self, url: &str) -> bool {
        self.url == url || self.also_at.as_deref() == Some(url)
    }

    /// What to say when nobody answers there.
    pub(super) fn unreachable(&self, cause: &str) -> Failure {
        Failure::daemon(format!(
            "no daemon answers at {} (from {}): {cause}",
            self.url, self.source
        ))
        .help(START_ONE)
    }
}

fn from_file(place: &Path, text: &str) -> Result<Endpoint, Failure> {
    let source = place.display().to_string();
    let file: EndpointFile = serde_json::from_str(text)
        .map_err(|error| Failure::daemon(format!("{source} is not an endpoint file: {error}")))?;
    if file.version != EndpointFile::VERSION {
        return Err(Failure::daemon(format!(
            "{source} has format {}, and this branchyard knows only format 1",
            file.version
        ))
        .help("use the branchyard that the daemon was started with"));
    }
    let url = checked_url(&file.url, &source)?;
    // On this machine it needs neither a name nor a certificate.
    let mut endpoint = match &file.socket {
        Some(socket) => Endpoint::at(&format!("{SOCKET}{}", socket.display()), &source)?,
        None => Endpoint::at(&url, &source)?,
    };
    endpoint.also_at = file.socket.is_some().then_some(url);
    endpoint.authorization = file.auth_header.as_deref().map(read_key).transpose()?;
    endpoint.key_file = file.auth_header;
    endpoint.workspaces = file.workspaces;
    Ok(endpoint)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests;
