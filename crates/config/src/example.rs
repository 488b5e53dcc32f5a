//! Holds `workspaces.example.toml` to the structs: it is valid, it names every key, and what it
//! says the defaults are is what they are.

use std::path::{Path, PathBuf};

use super::document::Document;
use super::values::Values;
use super::{AuthConfig, Config, Environment, Sources, keys};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workspaces.example.toml")
}

/// Settings are commented out as `#key = …` or `#[section]`; prose has a space after the `#`.
fn uncommented(line: &str) -> &str {
    match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with([' ', '#']) => setting,
        _ => line,
    }
}

#[test]
fn the_example_is_valid_as_it_stands() {
    let env: Environment = [("HOME", "/home/me")].into_iter().collect();
    let config = Config::load(Sources {
        file: Some(example()),
        env,
        ..Sources::default()
    })
    .unwrap();
    let dir = example().parent().unwrap().to_owned();
    assert_eq!(config.listen.to_string(), "127.0.0.1:3344");
    assert_eq!(config.workspaces, dir.join(".demo/workspaces"));
    let (name, demo) = config.repos.first_key_value().unwrap();
    assert_eq!(name.as_str(), "demo");
    assert_eq!(Path::new(demo.url.as_str()), dir.join(".demo/demo.git"));
    assert_eq!(demo.default_branch.as_ref().unwrap().as_str(), "main");
    assert_eq!(demo.prewarm[0].as_str(), "main");
    assert_eq!(demo.build_output.patterns(), ["build"]);
    let tasks: Vec<_> = demo.tasks.keys().map(|name| name.as_str()).collect();
    assert_eq!(tasks, ["lint", "stats"]);
}

#[test]
fn the_example_names_every_key_in_its_section() {
    let text = std::fs::read_to_string(example()).unwrap();
    for section in keys::sections() {
        let header = match section.name {
            "repos.NAME" => "repos.demo",
            "secrets.NAME" => "secrets.npm",
            "repos.NAME.credential" => "repos.demo.credential",
            "auth.roles.NAME" => "auth.roles.ci",
            "repos.NAME.sandbox" => "repos.demo.sandbox",
            "git.credentials.HOST" => "git.credentials.\"git.example.org\"",
            name => name,
        };
        let mut current = "";
        let mut named = Vec::new();
        for line in text.lines().map(uncommented) {
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'))
            {
                current = name;
                named.extend(
                    name.strip_prefix(header)
                        .map(|rest| rest.trim_start_matches('.')),
                );
            } else if current == header {
                named.extend(line.split_once(" = ").map(|(key, _)| key));
            }
        }
        for key in section.keys {
            let there = named
                .iter()
                .any(|name| name == key || name.starts_with(&format!("{key}.")));
            assert!(there, "the example lacks {key} in [{}]", section.name);
        }
    }
}

#[test]
fn the_defaults_are_what_the_example_says() {
    let text = std::fs::read_to_string(example()).unwrap();
    let all: String = text
        .lines()
        .map(|line| format!("{}\n", uncommented(line)))
        .collect();
    let document = match Document::parse(Path::new("all.toml"), all) {
        Ok(document) => document,
        Err(error) => panic!("{error}"),
    };
    let shown = document.values();
    let mut default = Values::default();
    assert_eq!(shown.listen, default.listen);
    assert_eq!(shown.log, default.log);
    assert_eq!(shown.allowed_hosts, default.allowed_hosts);
    assert_eq!(shown.allowed_origins, default.allowed_origins);
    assert_eq!(shown.timeouts, default.timeouts);
    assert_eq!(shown.history, default.history);
    assert_eq!(shown.audit, default.audit);
    // An operator's own text is an example.
    default.mcp.wrap_up_file = shown.mcp.wrap_up_file.clone();
    assert_eq!(shown.mcp, default.mcp);
    // Its role and its tenant are examples, and nobody is let in unknown.
    default.auth.none = shown.auth.none.clone();
    default.auth.roles.extend(shown.auth.roles.clone());
    default.auth.tenants = shown.auth.tenants.clone();
    // Nobody's tokens are taken; what they would need is shown, the rest is as it is without being said.
    default.auth.jwt = shown.auth.jwt.clone();
    default.auth.oauth = shown.auth.oauth.clone();
    let (jwt, oauth) = (
        shown.auth.jwt.as_ref().unwrap(),
        shown.auth.oauth.as_ref().unwrap(),
    );
    let least = "[jwt]\nkey_file = \"\"\nissuer = \"\"\naudience = \"\"\n\
                 [oauth]\nissuer = \"https://i\"\naudience = \"https://a\"\n";
    let least: AuthConfig = toml::from_str(least).unwrap();
    let (by_key, by_issuer) = (least.jwt.unwrap(), least.oauth.unwrap());
    assert_eq!(jwt.leeway, by_key.leeway);
    assert_eq!(
        (&jwt.scope_claim, &jwt.role_claim),
        (&by_key.scope_claim, &by_key.role_claim)
    );
    assert_eq!(oauth.algorithms, by_issuer.algorithms);
    assert_eq!(
        (oauth.leeway, oauth.refetch),
        (by_issuer.leeway, by_issuer.refetch)
    );
    assert_eq!(
        (&oauth.scope_claim, &oauth.role_claim),
        (&by_issuer.scope_claim, &by_issuer.role_claim)
    );
    assert_eq!(shown.auth, default.auth);
    // No profile means the best that the machine allows, which no value says.
    default.sandbox.profile = shown.sandbox.profile;
    assert_eq!(shown.sandbox, default.sandbox);
    // These differ by machine.
    default.limits.max_concurrent_runs = shown.limits.max_concurrent_runs;
    default.limits.max_concurrent_runs_per_repo = shown.limits.max_concurrent_runs_per_repo;
    default.limits.max_concurrent_checkouts = shown.limits.max_concurrent_checkouts;
    default.limits.max_jobs = shown.limits.max_jobs;
    default.limits.max_processes = shown.limits.max_processes;
    // These have no default of their own.
    default.reaper.max_size = shown.reaper.max_size;
    default.limits.max_memory = shown.limits.max_memory;
    default.limits.max_open_files = shown.limits.max_open_files;
    assert_eq!(shown.limits, default.limits);
    assert_eq!(shown.reaper, default.reaper);
    // The example allows local repositories, for its demo.
    default.git.allow_local = true;
    // There is no credential, file or proxy that everybody has.
    default.git.credentials = shown.git.credentials.clone();
    default.git.ssh.key_file = shown.git.ssh.key_file.clone();
    default.git.ssh.known_hosts = shown.git.ssh.known_hosts.clone();
    default.git.http.proxy = shown.git.http.proxy.clone();
    default.git.http.ca_file = shown.git.http.ca_file.clone();
    // These have no default of their own.
    default.git.signing_key = shown.git.signing_key.clone();
    default.git.allowed_signers = shown.git.allowed_signers.clone();
    assert_eq!(shown.git, default.git);
    // These have no default of their own.
    default.build.path = shown.build.path.clone();
    default.build.jobs = shown.build.jobs;
    assert_eq!(shown.build, default.build);
}
