use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::{Config, Sources};

struct Yard(tempfile::TempDir);

impl Yard {
    fn new() -> Self {
        let yard = Self(tempfile::tempdir().unwrap());
        yard.file("of-host", "token-of-host", 0o600);
        yard.file("of-repo", "token-of-repo", 0o600);
        yard
    }

    fn file(&self, name: &str, text: &str, mode: u32) {
        let path = self.0.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    }

    fn load(&self, text: &str) -> Result<Config, String> {
        let file = self.0.path().join("yard.toml");
        fs::write(&file, text).unwrap();
        let env = [("HOME", "/home/me"), ("TOKEN", "token-of-variable")];
        let sources = Sources {
            file: Some(file),
            env: env.into_iter().collect(),
            ..Sources::default()
        };
        Config::load(sources).map_err(|error| error.to_string())
    }
}

fn token(config: &Config, repo: &str) -> Option<(String, String)> {
    let name = RepoName::parse(repo).unwrap();
    let url = &config.repos[&name].url;
    let (place, credential) = config.access.credential(&name, url)?;
    let token = credential.token().unwrap();
    Some((place.address(), token.expose().to_owned()))
}

#[test]
fn a_repos_own_credential_comes_before_its_hosts() {
    let yard = Yard::new();
    let config = yard.load(
        "[git.credentials.\"git.example.org\"]\ntoken_file = \"of-host\"\n\
         [git.credentials.\"git.example.org:8443\"]\ntoken_env = \"TOKEN\"\n\
         [repos.a]\nurl = \"https://git.example.org/a\"\n\
         [repos.b]\nurl = \"https://git.example.org/b\"\n\
         [repos.b.credential]\ntoken_file = \"of-repo\"\n\
         [repos.c]\nurl = \"https://git.example.org:8443/c\"\n\
         [repos.d]\nurl = \"https://other.example.org/d\"\n\
         [repos.e]\nurl = \"git@git.example.org:e\"\n",
    );
    let config = config.unwrap();
    let found = |repo| token(&config, repo);
    let pair = |at: &str, token: &str| Some((at.to_owned(), token.to_owned()));
    assert_eq!(found("a"), pair("git.example.org:443", "token-of-host"));
    assert_eq!(found("b"), pair("git.example.org:443", "token-of-repo"));
    assert_eq!(
        found("c"),
        pair("git.example.org:8443", "token-of-variable")
    );
    assert_eq!(found("d"), None);
    assert_eq!(found("e"), None);
    assert!(!format!("{config:?}").contains("token-of"));
}

#[test]
fn what_is_wrong_is_refused_at_its_place_and_shows_no_token() {
    let yard = Yard::new();
    yard.file("open", "S3CRET", 0o644);
    let host = "[git.credentials.\"h\"]\n";
    for (text, line, rule) in [
        (format!("{host}token_file = \"open\"\n"), 2, "chmod 600"),
        (format!("{host}token = \"S3CRET\"\n"), 2, "unknown field"),
        (format!("{host}token_env = \"S3CRET\"\n"), 2, "is not set"),
        (format!("{host}token_env = 5\n"), 2, "invalid type"),
        (format!("{host}scheme = \"basic\"\n"), 1, "needs token_env"),
        (
            "[git]\ncredentials = { h = { token = \"S3CRET\" } }\n".to_owned(),
            2,
            "unknown field",
        ),
        (
            "[git.credentials.\"https://u:S3CRET@h\"]\ntoken_env = \"TOKEN\"\n".to_owned(),
            1,
            "not a host",
        ),
        (
            format!(
                "{host}token_env = \"TOKEN\"\n[git.credentials.\"H\"]\ntoken_env = \"TOKEN\"\n"
            ),
            1,
            "named twice",
        ),
        (
            "[git.http]\nproxy = \"http://u:S3CRET@proxy:3128\"\n".to_owned(),
            2,
            "password",
        ),
        (
            "[git.ssh]\nkey_file = \"open\"\n".to_owned(),
            2,
            "chmod 600",
        ),
        (
            "[git.ssh]\nknown_hosts = \"none\"\n".to_owned(),
            2,
            "failed to read",
        ),
        (
            "[repos.a]\nurl = \"git@h:a\"\n[repos.a.credential]\ntoken_env = \"TOKEN\"\n"
                .to_owned(),
            3,
            "https and http",
        ),
    ] {
        let refusal = yard.load(&text).unwrap_err();
        assert!(refusal.contains(rule), "{text}: {refusal}");
        assert!(
            refusal.contains(&format!("yard.toml:{line}:")),
            "{text}: {refusal}"
        );
        assert!(!refusal.contains("S3CRET"), "{text}: {refusal}");
    }
}

#[test]
fn files_of_ssh_and_http_are_found_beside_the_configuration() {
    let yard = Yard::new();
    yard.file("key", "k", 0o600);
    yard.file("known", "", 0o644);
    yard.file("ca.pem", "", 0o644);
    let config = yard.load(
        "[git.ssh]\nkey_file = \"key\"\nknown_hosts = \"known\"\nagent = false\n\
         [git.http]\nproxy = \"http://proxy.example:3128\"\nno_proxy = [\"a\", \".b.example\"]\nca_file = \"ca.pem\"\n",
    );
    let access = config.unwrap().access;
    assert_eq!(access.ssh.key_file, Some(yard.0.path().join("key")));
    assert_eq!(access.ssh.known_hosts, Some(yard.0.path().join("known")));
    assert!(!access.ssh.agent);
    assert_eq!(
        access.http.proxy.as_ref().map(|proxy| proxy.as_str()),
        Some("http://proxy.example:3128")
    );
    let no_proxy: Vec<_> = access
        .http
        .no_proxy
        .iter()
        .map(|host| host.as_str())
        .collect();
    assert_eq!(no_proxy, ["a", ".b.example"]);
    assert_eq!(access.http.ca_file, Some(yard.0.path().join("ca.pem")));
}
