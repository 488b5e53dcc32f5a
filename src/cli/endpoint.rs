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

use super::exit::Failure;
use address::{SOCKET, checked_socket, checked_url};
use branchyard::server::EndpointFile;
use branchyard_config::STATE_IN_HOME;
use key::read_key;

const START_ONE: &str = "start one with `branchyard serve`, or name one with --url and --key-file";

/// The few variables that the command heeds.
#[derive(Debug, Clone, Default)]
pub(super) struct Surroundings {
    pub named: Named,
    pub runtime_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// `NO_COLOR` is set, or the terminal is a dumb one.
    pub no_color: bool,
}

/// How to find the daemon; kept, so that a daemon that was started anew is found again.
#[derive(Debug, Clone, Default)]
pub(super) struct Lookup {
    flags: Named,
    surroundings: Surroundings,
}

// What flags or variables name. No doc comment: clap would take it for the help of the command.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Named {
    /// The daemon's address, such as http://127.0.0.1:3344, https://yard.example.org or unix:/path
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// A file that holds the key, or the line "Authorization: Bearer KEY"
    #[arg(long, global = true, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Certificate authorities to trust in place of the system's, PEM
    #[arg(long, global = true, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// A daemon to speak to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
            named: Named {
                url: variable("BRANCHYARD_URL").map(|url| url.to_string_lossy().into_owned()),
                key_file: path("BRANCHYARD_KEY_FILE"),
                ca_file: path("BRANCHYARD_CA_FILE"),
            },
            runtime_dir: path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute()),
            home: path("HOME").filter(|path| path.is_absolute()),
            no_color: variable("NO_COLOR").is_some()
                || variable("TERM") == Some(OsString::from("dumb")),
        }
    }
}

impl Lookup {
    pub(super) fn new(flags: Named, surroundings: Surroundings) -> Self {
        Self {
            flags,
            surroundings,
        }
    }

    /// Finds the daemon. Whether it answers is another question.
    pub(super) fn find(&self) -> Result<Endpoint, Failure> {
        let named = self.named();
        let source = match self.flags.url {
            Some(_) => "--url",
            None => "BRANCHYARD_URL",
        };
        let mut endpoint = match &named.url {
            Some(url) => Endpoint::at(url, source)?,
            None => self.left_behind()?,
        };
        endpoint.ca_file = named.ca_file;
        if let Some(file) = named.key_file {
            endpoint.authorization = Some(read_key(&file)?);
            endpoint.key_file = Some(file);
        } else if named.url.is_some() {
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
    pub(super) fn named(&self) -> Named {
        let (flags, variables) = (self.flags.clone(), self.surroundings.named.clone());
        Named {
            url: flags.url.or(variables.url),
            key_file: flags.key_file.or(variables.key_file),
            ca_file: flags.ca_file.or(variables.ca_file),
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
                    let detail = format!("cannot read {}: {error}", place.display());
                    return Err(Failure::daemon(detail));
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
            source: source.to_owned(),
            ..Self::default()
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
