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
        Lookup::new(
            Named::default(),
            Surroundings {
                home: Some(self.path("home")),
                runtime_dir: Some(self.path("run")),
                ..Surroundings::default()
            },
        )
    }
}

fn key(endpoint: &Endpoint) -> Option<&str> {
    endpoint.authorization.as_ref()?.to_str().ok()
}

#[test]
fn flags_come_before_variables_before_files() {
    let house = House::new();
    let mut lookup = house.lookup();
    lookup.surroundings.named.url = Some("http://variable:1/".to_owned());
    lookup.surroundings.named.key_file = Some(house.key_file("variable", "of-variable"));
    lookup.flags.url = Some("http://flag:1".to_owned());
    lookup.flags.key_file = Some(house.key_file("flag", "of-flag"));
    let found = lookup.find().unwrap();
    assert_eq!(
        (found.url.as_str(), key(&found)),
        ("http://flag:1", Some("Bearer of-flag"))
    );

    lookup.flags.url = None;
    lookup.flags.key_file = None;
    let found = lookup.find().unwrap();
    assert_eq!(found.url, "http://variable:1");
    assert_eq!(key(&found), Some("Bearer of-variable"));

    let mut lookup = house.lookup();
    let found = lookup.find().unwrap();
    assert_eq!(found.url, "http://127.0.0.1:2");
    assert_eq!(key(&found), Some("Bearer runtime"));
    assert_eq!(found.workspaces, Some(PathBuf::from("/yard")));

    lookup.surroundings.runtime_dir = None;
    house.leave("home/.local/state/branchyard", 3, "state");
    let found = lookup.find().unwrap();
    assert_eq!(found.url, "http://127.0.0.1:3");
    assert_eq!(key(&found), Some("Bearer state"));

    fs::remove_dir_all(house.path("home/.local")).unwrap();
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
    lookup.flags.url = Some("http://elsewhere:2".to_owned());
    assert_eq!(key(&lookup.find().unwrap()), None);
    lookup.flags.url = Some("http://127.0.0.1:2/".to_owned());
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
fn addresses_are_without_secrets() {
    for (text, url) in [
        ("http://127.0.0.1:3344/", "http://127.0.0.1:3344"),
        ("http://yard/prefix/", "http://yard/prefix"),
        ("http://[::1]:1", "http://[::1]:1"),
        ("https://yard/", "https://yard"),
    ] {
        assert_eq!(checked_url(text, "--url").unwrap(), url);
    }
    for text in [
        "yard:3344",
        "ftp://yard",
        "http://u:secret@yard",
        "http://yard?x=1",
        "",
    ] {
        let failure = checked_url(text, "--url").unwrap_err();
        assert!(!failure.detail.contains("secret"), "{failure}");
    }
}

#[test]
fn a_socket_is_named_by_its_path_and_preferred_where_the_daemon_has_one() {
    let endpoint = Endpoint::at("unix:/run/yard.sock", "--url").unwrap();
    assert_eq!(endpoint.socket, Some(PathBuf::from("/run/yard.sock")));
    assert_eq!(endpoint.base(), "http://localhost");
    assert_eq!(
        Endpoint::at("unix:///run/yard.sock", "--url").unwrap(),
        endpoint
    );
    for text in ["unix:", "unix:run/yard.sock", "unix://run/yard.sock"] {
        assert_eq!(Endpoint::at(text, "--url").unwrap_err().exit, 2, "{text}");
    }

    let house = House::new();
    let file = house.path("run/branchyard/endpoint.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut left: serde_json::Value = serde_json::from_str(&text).unwrap();
    left["socket"] = "/run/yard.sock".into();
    left["url"] = "https://yard:2".into();
    fs::write(&file, left.to_string()).unwrap();
    let mut lookup = house.lookup();
    assert_eq!(lookup.find().unwrap().url, "unix:/run/yard.sock");
    for (url, known) in [
        ("unix:/run/yard.sock", true),
        ("https://yard:2", true),
        ("http://yard:2", false),
        ("unix:/run/other.sock", false),
    ] {
        lookup.flags.url = Some(url.to_owned());
        assert_eq!(key(&lookup.find().unwrap()).is_some(), known, "{url}");
    }
}
