//! Where the daemon is and with which key: flags, then `BRANCHYARD_URL` and `BRANCHYARD_KEY_FILE`,
//! then the `endpoint.json` that a running daemon leaves behind.
//!
//! The only file of the command that reads the environment. A key is held as a header value marked
//! sensitive, is never part of an error or a `Debug`, and a key that a daemon left in a file goes to
//! that daemon's own address only.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reqwest::header::HeaderValue;
use serde::Deserialize;

use super::args::Global;
use super::exit::Failure;

const START_ONE: &str = "start one with `branchyard serve`, or name one with --url and --key-file";
const MAX_KEY_FILE: u64 = 64 * 1024;

/// The few variables that the command heeds.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    pub url: Option<String>,
    pub key_file: Option<PathBuf>,
    pub runtime_dir: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// `NO_COLOR` is set, or the terminal is a dumb one.
    pub no_color: bool,
}

/// How to find the daemon; kept, so that a daemon that was started anew is found again.
#[derive(Debug, Clone)]
pub struct Lookup {
    url: Option<String>,
    key_file: Option<PathBuf>,
    surroundings: Surroundings,
}

/// A daemon to speak to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a slash at its end.
    pub url: String,
    pub authorization: Option<HeaderValue>,
    /// Where that was read.
    pub key_file: Option<PathBuf>,
    /// Its directory, where it told us.
    pub workspaces: Option<PathBuf>,
    /// Who named it, in words.
    pub source: String,
}

impl Surroundings {
    pub fn from_env() -> Self {
        // A variable that is set to nothing counts as not set.
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        let path = |name: &str| variable(name).map(PathBuf::from);
        Self {
            url: variable("BRANCHYARD_URL").map(|url| url.to_string_lossy().into_owned()),
            key_file: path("BRANCHYARD_KEY_FILE"),
            runtime_dir: path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute()),
            home: path("HOME").filter(|path| path.is_absolute()),
            no_color: variable("NO_COLOR").is_some()
                || variable("TERM") == Some(OsString::from("dumb")),
        }
    }
}

impl Lookup {
    pub fn new(global: &Global, surroundings: Surroundings) -> Self {
        Self {
            url: global.url.clone(),
            key_file: global.key_file.clone(),
            surroundings,
        }
    }

    /// A lookup that finds nothing but what the surroundings name.
    #[cfg(test)]
    pub fn nowhere(surroundings: Surroundings) -> Self {
        Self {
            url: None,
            key_file: None,
            surroundings,
        }
    }

    /// Finds the daemon. Whether it answers is another question.
    pub fn find(&self) -> Result<Endpoint, Failure> {
        let around = &self.surroundings;
        let named = match (&self.url, &around.url) {
            (Some(url), _) => Some((url, "--url")),
            (None, Some(url)) => Some((url, "BRANCHYARD_URL")),
            (None, None) => None,
        };
        let key_file = self.key_file.as_ref().or(around.key_file.as_ref());
        let mut endpoint = match named {
            Some((url, source)) => Endpoint {
                url: checked_url(url, source)?,
                authorization: None,
                key_file: None,
                workspaces: None,
                source: source.to_owned(),
            },
            None => self.left_behind()?,
        };
        if let Some(file) = key_file {
            endpoint.authorization = Some(read_key(file)?);
            endpoint.key_file = Some(file.clone());
        } else if named.is_some() {
            // Only the address was given: a daemon on this machine may have left us its key.
            if let Ok(local) = self.left_behind()
                && local.url == endpoint.url
            {
                endpoint.authorization = local.authorization;
                endpoint.key_file = local.key_file;
                endpoint.workspaces = local.workspaces;
            }
        }
        Ok(endpoint)
    }

    /// The address and the key file that somebody named: whoever is to find the same daemon needs them.
    pub fn named(&self) -> (Option<&str>, Option<&Path>) {
        let url = self.url.as_ref().or(self.surroundings.url.as_ref());
        let key_file = self
            .key_file
            .as_ref()
            .or(self.surroundings.key_file.as_ref());
        (url.map(String::as_str), key_file.map(PathBuf::as_path))
    }

    /// Where a daemon keeps its things unless told otherwise.
    pub fn default_workspaces(&self) -> Option<PathBuf> {
        let home = self.surroundings.home.as_ref()?;
        Some(home.join("build-workspaces"))
    }

    /// The first `endpoint.json` there is.
    fn left_behind(&self) -> Result<Endpoint, Failure> {
        let runtime = self.surroundings.runtime_dir.as_ref();
        let places = [
            runtime.map(|dir| dir.join("branchyard/endpoint.json")),
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
    /// What to say when nobody answers there.
    pub fn unreachable(&self, cause: &str) -> Failure {
        Failure::daemon(format!(
            "no daemon answers at {} (from {}): {cause}",
            self.url, self.source
        ))
        .help(START_ONE)
    }
}

/// What a daemon writes about itself.
#[derive(Deserialize)]
struct EndpointFile {
    version: u32,
    url: String,
    #[serde(default)]
    auth_header: Option<PathBuf>,
    #[serde(default)]
    workspaces: Option<PathBuf>,
}

fn from_file(place: &Path, text: &str) -> Result<Endpoint, Failure> {
    let source = place.display().to_string();
    let file: EndpointFile = serde_json::from_str(text)
        .map_err(|error| Failure::daemon(format!("{source} is not an endpoint file: {error}")))?;
    if file.version != 1 {
        return Err(Failure::daemon(format!(
            "{source} has format {}, and this branchyard knows only format 1",
            file.version
        ))
        .help("use the branchyard that the daemon was started with"));
    }
    Ok(Endpoint {
        url: checked_url(&file.url, &source)?,
        authorization: file.auth_header.as_deref().map(read_key).transpose()?,
        key_file: file.auth_header,
        workspaces: file.workspaces,
        source,
    })
}

fn checked_url(text: &str, source: &str) -> Result<String, Failure> {
    // The address itself is not repeated: somebody may have put a password in it.
    let bad = |what: &str| {
        Failure::usage(format!("the address in {source} {what}"))
            .help("write it like http://127.0.0.1:3344")
    };
    let url = url::Url::parse(text).map_err(|error| bad(&format!("is no URL: {error}")))?;
    match url.scheme() {
        "http" => {}
        "https" => return Err(bad("is https, which this branchyard does not speak")),
        _ => return Err(bad("is not an http:// URL")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad(
            "holds a user or a password; the key goes into a key file",
        ));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(bad("has a query or a fragment"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// A key file holds the bare key or the whole header line.
fn read_key(path: &Path) -> Result<HeaderValue, Failure> {
    let shown = path.display();
    let bad = |what: &str| {
        Failure::usage(format!("the key file {shown} {what}"))
            .help("it holds one line: the key, or `Authorization: Bearer KEY`")
    };
    let read = || -> io::Result<String> {
        if fs::metadata(path)?.len() > MAX_KEY_FILE {
            return Err(io::Error::other("it is too large"));
        }
        fs::read_to_string(path)
    };
    let text = read().map_err(|error| bad(&format!("cannot be read: {error}")))?;
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return Err(bad("does not hold exactly one line"));
    };
    let credentials = match line.split_once(':') {
        Some((name, rest)) if name.eq_ignore_ascii_case("authorization") => rest,
        _ => line,
    };
    let words: Vec<&str> = credentials.split_whitespace().collect();
    let key = match words[..] {
        [scheme, key] if scheme.eq_ignore_ascii_case("bearer") => key,
        [key] if !key.eq_ignore_ascii_case("bearer") => key,
        _ => return Err(bad("does not hold a key")),
    };
    let mut value = HeaderValue::from_str(&format!("Bearer {key}"))
        .map_err(|_| bad("holds characters that a key cannot have"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A home and a runtime directory, each with a daemon's endpoint file.
    struct House {
        dir: TempDir,
    }

    impl House {
        fn new() -> Self {
            let house = Self {
                dir: tempfile::tempdir().unwrap(),
            };
            house.leave("home/build-workspaces/.branchyard", 1, "home");
            house.leave("run/branchyard", 2, "runtime");
            house
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn leave(&self, place: &str, port: u16, key: &str) {
            let dir = self.path(place);
            fs::create_dir_all(&dir).unwrap();
            let header = dir.join("auth.header");
            fs::write(&header, format!("Authorization: Bearer {key}\n")).unwrap();
            let file = serde_json::json!({
                "version": 1, "url": format!("http://127.0.0.1:{port}"),
                "auth_header": header, "workspaces": "/yard", "pid": 7,
            });
            fs::write(dir.join("endpoint.json"), file.to_string()).unwrap();
        }

        fn key_file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.path(name);
            fs::write(&path, text).unwrap();
            path
        }

        fn lookup(&self) -> Lookup {
            Lookup::nowhere(Surroundings {
                home: Some(self.path("home")),
                runtime_dir: Some(self.path("run")),
                ..Surroundings::default()
            })
        }
    }

    fn key(endpoint: &Endpoint) -> Option<&str> {
        endpoint.authorization.as_ref()?.to_str().ok()
    }

    #[test]
    fn flags_come_before_variables_before_files() {
        let house = House::new();
        let mut lookup = house.lookup();
        lookup.surroundings.url = Some("http://variable:1/".to_owned());
        lookup.surroundings.key_file = Some(house.key_file("variable", "of-variable"));
        lookup.url = Some("http://flag:1".to_owned());
        lookup.key_file = Some(house.key_file("flag", "of-flag"));
        let found = lookup.find().unwrap();
        assert_eq!(
            (found.url.as_str(), key(&found)),
            ("http://flag:1", Some("Bearer of-flag"))
        );

        lookup.url = None;
        lookup.key_file = None;
        let found = lookup.find().unwrap();
        assert_eq!(found.url, "http://variable:1");
        assert_eq!(key(&found), Some("Bearer of-variable"));

        let mut lookup = house.lookup();
        let found = lookup.find().unwrap();
        assert_eq!(found.url, "http://127.0.0.1:2");
        assert_eq!(key(&found), Some("Bearer runtime"));
        assert_eq!(found.workspaces, Some(PathBuf::from("/yard")));

        lookup.surroundings.runtime_dir = None;
        let found = lookup.find().unwrap();
        assert_eq!(found.url, "http://127.0.0.1:1");
        assert_eq!(key(&found), Some("Bearer home"));
    }

    #[test]
    fn a_place_without_a_file_is_passed_over() {
        let house = House::new();
        let mut lookup = house.lookup();
        lookup.surroundings.runtime_dir = Some(house.path("nowhere"));
        assert_eq!(lookup.find().unwrap().url, "http://127.0.0.1:1");
        lookup.surroundings.home = Some(house.path("nowhere"));
        let failure = lookup.find().unwrap_err();
        assert_eq!(failure.exit, 125);
        assert!(failure.help.unwrap().contains("branchyard serve"));
    }

    #[test]
    fn a_key_that_was_left_behind_goes_to_its_own_daemon_only() {
        let house = House::new();
        let mut lookup = house.lookup();
        lookup.url = Some("http://elsewhere:2".to_owned());
        assert_eq!(key(&lookup.find().unwrap()), None);
        lookup.url = Some("http://127.0.0.1:2/".to_owned());
        assert_eq!(key(&lookup.find().unwrap()), Some("Bearer runtime"));
    }

    #[test]
    fn a_broken_endpoint_file_is_named() {
        let house = House::new();
        let file = house.path("run/branchyard/endpoint.json");
        for text in ["{", "{\"version\":2,\"url\":\"http://h\"}"] {
            fs::write(&file, text).unwrap();
            let failure = house.lookup().find().unwrap_err();
            assert!(failure.detail.contains("endpoint.json"), "{failure}");
        }
    }

    #[test]
    fn a_key_file_holds_a_key_or_a_header_line() {
        let house = House::new();
        for text in [
            "k3y\n",
            "Authorization: Bearer k3y",
            "authorization:bearer  k3y\r\n",
            "Bearer k3y",
        ] {
            let value = read_key(&house.key_file("key", text)).unwrap();
            assert_eq!(value.to_str().unwrap(), "Bearer k3y", "{text:?}");
            assert!(!format!("{value:?}").contains("k3y"));
        }
        for text in [
            "",
            "\n\n",
            "se\u{7}cret",
            "secret one",
            "secret\nsecret",
            "Authorization: Bearer ",
        ] {
            let failure = read_key(&house.key_file("key", text)).unwrap_err();
            assert!(!format!("{failure:?}").contains("secret"), "{failure:?}");
        }
    }

    #[test]
    fn addresses_are_plain_http_without_secrets() {
        for (text, url) in [
            ("http://127.0.0.1:3344/", "http://127.0.0.1:3344"),
            ("http://yard/prefix/", "http://yard/prefix"),
            ("http://[::1]:1", "http://[::1]:1"),
        ] {
            assert_eq!(checked_url(text, "--url").unwrap(), url);
        }
        for text in [
            "yard:3344",
            "https://yard",
            "ftp://yard",
            "http://u:secret@yard",
            "http://yard?x=1",
            "",
        ] {
            let failure = checked_url(text, "--url").unwrap_err();
            assert!(!failure.detail.contains("secret"), "{failure}");
        }
    }
}
