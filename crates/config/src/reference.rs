//! Generates `workspaces.example.toml` and `docs/reference/configuration.md` from the structs that the file is read into,
//! and holds them to what serde reads.
//!
//! A field's documentation is its doc comment, its default the one of `Default`. Where that is none or depends on the
//! machine, `example` is what the example shows, and `x-default` what is said of the default.

use std::path::{Path, PathBuf};

use branchyard_reference::{Table, check, heading};
use serde_json::Value;

use super::document;
use super::keys::{self, Section, is_struct, of_map};
use super::known_variables::KNOWN;
use super::value::{EXPECTED, TextValue};
use super::values::Values;
use super::{AuthConfig, Config, Environment, Sources};

const WIDTH: usize = 105;

const HEAD: &str = "\
Branchyard's configuration, every key with its default. Settings that are commented out (no space after the '#') show the \
default, or an example where there is none; the others are what `make run` uses for its demo.

  branchyard serve --config workspaces.example.toml

Relative paths start from the directory of this file; ~/ is the home directory. Durations are written as \"10s\", \"1h 30m\" \
or \"7d\", sizes as \"512MiB\" or \"2GB\". A wrong key or value is refused at start, with its line.

A flag beats a BRANCHYARD_* variable, a variable beats this file, this file beats the defaults:

";

/// What `make run` uses for its demo.
const DEMO: &str = r#"
listen = "127.0.0.1:3344"
workspaces = "./.demo/workspaces"
git.allow_local = true

[repos.demo]
url = "./.demo/demo.git"
default_branch = "main"
prewarm = ["main"]
build_output = ["build"]

[repos.demo.tasks]
lint = ["cc", "-Wall", "-Wextra", "-fsyntax-only", "src/main.c"]
stats = ["wc", "-l", "src/main.c"]
"#;

/// A section with the names that the example gives to it and to those above.
struct Described {
    section: Section,
    path: Vec<String>,
}

impl Described {
    fn all() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for section in keys::sections() {
            let above = all.iter().rev().find(|above| {
                let above = &above.section.name;
                above.is_empty() || section.name.starts_with(&format!("{above}."))
            });
            let (mut path, above) = above.map_or((Vec::new(), ""), |above| {
                (above.path.clone(), above.section.name.as_str())
            });
            let own = section.name[above.len()..].trim_start_matches('.');
            for part in own.split('.').filter(|part| !part.is_empty()) {
                let is_name = part.chars().all(|c| c.is_ascii_uppercase());
                let example = section.schema["example"].as_str();
                path.push(match is_name {
                    true => example
                        .expect("a map needs the example of a name")
                        .to_owned(),
                    false => part.to_owned(),
                });
            }
            all.push(Self { section, path });
        }
        all
    }

    fn title(&self) -> String {
        match self.section.name.as_str() {
            "" => "Top of the file".to_owned(),
            name => format!("`[{name}]`"),
        }
    }

    fn header(&self) -> String {
        match self.path.is_empty() {
            true => String::new(),
            false => format!("[{}]", written_path(&self.path)),
        }
    }

    /// What a section below it is called, in the page and in the example.
    fn below(&self, key: &str) -> (String, String) {
        let joined = |above: &str| match above {
            "" => key.to_owned(),
            above => format!("{above}.{key}"),
        };
        (
            joined(&self.section.name),
            joined(&written_path(&self.path)),
        )
    }

    fn doc(&self) -> &str {
        match self.path.is_empty() {
            true => "",
            false => self.section.schema["description"]
                .as_str()
                .unwrap_or_default(),
        }
    }

    /// Whether it is not there unless it is written.
    fn is_optional(&self) -> bool {
        self.section.schema["type"].is_array() || self.section.name.contains(char::is_uppercase)
    }

    /// Those that are no sections themselves.
    fn keys(&self) -> impl Iterator<Item = DescribedKey<'_>> {
        let properties = &self.section.schema["properties"];
        let required = self.section.schema["required"].as_array();
        let keys = self.section.schema["x-order"]
            .as_array()
            .into_iter()
            .flatten();
        let keys = keys
            .filter_map(Value::as_str)
            .map(move |name| DescribedKey {
                name,
                schema: &properties[name],
                is_required: required.is_some_and(|all| all.contains(&name.into())),
            });
        keys.filter(|key| !is_struct(key.schema) && !is_struct(of_map(key.schema)))
    }
}

struct DescribedKey<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

impl DescribedKey<'_> {
    fn doc(&self) -> &str {
        let doc = self.schema["description"].as_str();
        doc.unwrap_or_else(|| panic!("{} has no documentation", self.name))
    }

    fn is_table(&self) -> bool {
        of_map(self.schema).is_object()
    }

    fn example(&self) -> Option<&Value> {
        self.schema.get("example")
    }

    fn default(&self) -> Option<&Value> {
        self.schema.get("default").filter(|value| !value.is_null())
    }

    /// What is shown where no demo sets it.
    fn shown(&self) -> &Value {
        let shown = self.example().or(self.default());
        shown.unwrap_or_else(|| panic!("{} has neither a default nor an example", self.name))
    }

    /// Above the key in the example, where the demo sets it or not.
    fn comment(&self, set: Option<&Value>) -> String {
        let mut comment = one_line(self.doc());
        let values = values(self.schema);
        let values = values.trim_start_matches("a list of: ").replace('`', "");
        let named = values.split('"').skip(1).step_by(2);
        if values.starts_with('"') && !named.clone().all(|name| comment.contains(name)) {
            comment += &format!(" Values: {values}.");
        }
        let is_default =
            self.example().is_none() && set.is_none_or(|set| Some(set) == self.default());
        match (self.is_required, is_default) {
            (true, _) => comment += " Required.",
            (false, true) => {}
            (false, false) => {
                let default = self.default_in_words().replace('`', "");
                comment += &format!(" Default: {default}.");
            }
        }
        comment
    }

    /// As the page says it.
    fn default_in_words(&self) -> String {
        match (self.schema["x-default"].as_str(), self.default()) {
            _ if self.is_required => "required".to_owned(),
            (Some(words), _) => words.to_owned(),
            _ if self.is_table() => "none".to_owned(),
            (None, Some(value)) => format!("`{}`", toml(value)),
            (None, None) => {
                let is_known = self.schema.to_string().contains("null");
                assert!(is_known, "the default of {} is no Serialize", self.name);
                "none".to_owned()
            }
        }
    }
}

fn written_path(path: &[String]) -> String {
    let quoted = path
        .iter()
        .map(|part| match part.contains(['.', ':', '/']) {
            true => format!("{part:?}"),
            false => part.clone(),
        });
    quoted.collect::<Vec<_>>().join(".")
}

fn toml(value: &Value) -> String {
    let pair = |(key, value): (&String, &Value)| format!("{key} = {}", toml(value));
    match value {
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(toml).collect::<Vec<_>>().join(", ")
            )
        }
        Value::Object(duration) if duration.contains_key("nanos") => {
            let seconds = duration["secs"].as_u64().unwrap();
            let units = [("d", 24 * 60 * 60), ("h", 60 * 60), ("m", 60), ("s", 1)];
            let (unit, length) = units
                .into_iter()
                .find(|(_, length)| seconds > 0 && seconds.is_multiple_of(*length))
                .unwrap_or(("s", 1));
            format!("\"{}{unit}\"", seconds / length)
        }
        Value::Object(table) => {
            format!(
                "{{ {} }}",
                table.iter().map(pair).collect::<Vec<_>>().join(", ")
            )
        }
        plain => plain.to_string(),
    }
}

fn commented(text: &str) -> String {
    let mut lines = String::new();
    for paragraph in text.lines() {
        let indent = paragraph.len() - paragraph.trim_start().len();
        let mut line = format!("#{}", " ".repeat(indent));
        for word in paragraph.split_whitespace() {
            if line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines += &format!("{line}\n");
                line = "#".to_owned();
            }
            line += &format!(" {word}");
        }
        lines += &format!("{line}\n");
    }
    lines
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn example() -> String {
    let demo: Value = toml::from_str(DEMO).unwrap();
    let mut text = commented(HEAD);
    for (name, stands_for) in KNOWN {
        text += &format!("#   {name:28} {}\n", stands_for.replace('`', ""));
    }
    let mut told = Vec::new();
    for section in &Described::all() {
        let of_demo = section.path.iter().fold(&demo, |value, part| &value[part]);
        let hash = |is_set: bool| if is_set { "" } else { "#" };
        // Keys that were told of in another section, as those of a credential.
        let is_told = told.contains(&&section.section.schema["properties"]);
        told.push(&section.section.schema["properties"]);
        if !section.path.is_empty() {
            let is_set = !section.is_optional() || of_demo.is_object();
            text += &format!("\n{}", commented(&one_line(section.doc())));
            text += &format!("{}{}\n", hash(is_set), section.header());
        }
        let (tables, plain): (Vec<_>, Vec<_>) = section.keys().partition(DescribedKey::is_table);
        for (at, key) in plain.iter().enumerate() {
            let set = of_demo.get(key.name);
            if !is_told {
                text += if at == 0 && !section.path.is_empty() {
                    ""
                } else {
                    "\n"
                };
                text += &commented(&key.comment(set));
            }
            let value = toml(set.unwrap_or_else(|| key.shown()));
            text += &format!("{}{} = {value}\n", hash(set.is_some()), key.name);
        }
        for key in tables {
            let set = of_demo.get(key.name);
            let hash = hash(set.is_some());
            text += &format!("\n{}", commented(&one_line(key.doc())));
            text += &format!("{hash}[{}]\n", section.below(key.name).1);
            for (name, value) in set.unwrap_or_else(|| key.shown()).as_object().unwrap() {
                text += &format!("{hash}{name} = {}\n", toml(value));
            }
        }
    }
    text
}

/// What may be written, in words.
fn values(schema: &Value) -> String {
    if let Some(expected) = schema[EXPECTED].as_str() {
        return expected.to_owned();
    }
    let mut names = Vec::new();
    collect_names(schema, &mut names);
    if let Some((last, others)) = names.split_last() {
        return match others.is_empty() {
            true => last.clone(),
            false => format!("{} or {last}", others.join(", ")),
        };
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => &kinds[0],
        kind => kind,
    };
    match kind.as_str() {
        Some("array") => format!("a list of: {}", values(&schema["items"])),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => "a whole number".to_owned(),
        Some("string") => "text".to_owned(),
        Some("object") if schema["properties"]["nanos"].is_object() => {
            std::time::Duration::EXPECTED.to_owned()
        }
        Some("object") => format!("a table of: {}", values(of_map(schema))),
        _ => panic!("what may be written here? {schema}"),
    }
}

/// The names of an enum's variants, which stand apart where some of them are documented.
fn collect_names(schema: &Value, names: &mut Vec<String>) {
    let named = schema["enum"].as_array().into_iter().flatten();
    for name in named
        .chain(schema.get("const"))
        .filter(|name| name.is_string())
    {
        names.push(format!("`{name}`"));
    }
    for list in ["oneOf", "anyOf"] {
        for schema in schema[list].as_array().into_iter().flatten() {
            collect_names(schema, names);
        }
    }
}

fn page() -> String {
    let mut page = heading("Configuration");
    page += "`branchyard serve --config FILE` reads a TOML file;\n\
             [workspaces.example.toml](../../workspaces.example.toml) is one with every key. `branchyard check-config\n\
             --config FILE` checks a file without starting anything.\n\n\
             Relative paths start from the directory of the file; `~/` is the home directory. A wrong key or value is\n\
             refused with its place and what was expected.\n";
    let all = Described::all();
    for (at, section) in all.iter().enumerate() {
        page += &format!("\n## {}\n\n", section.title());
        if !section.doc().is_empty() {
            page += &format!("{}\n\n", one_line(section.doc()));
        }
        let same = |other: &&Described| {
            other.section.schema["properties"] == section.section.schema["properties"]
        };
        if let Some(other) = all[..at].iter().find(same) {
            page += &format!("The keys are those of {}:\n\n", other.title());
        }
        let mut table = Table::new(&["key", "values", "default", "meaning"]);
        for key in section.keys() {
            table.row(&[
                format!("`{}`", key.name),
                values(key.schema),
                key.default_in_words(),
                key.doc().to_owned(),
            ]);
        }
        page += &table.to_string();
    }
    page += "\n## Environment variables\n\n\
             A flag beats a variable, a variable beats the file, the file beats the defaults.\n\n";
    let mut table = Table::new(&["variable", "stands for"]);
    for (name, stands_for) in KNOWN {
        table.row(&[format!("`{name}`").as_str(), stands_for]);
    }
    page + &table.to_string()
}

#[test]
fn the_example_is_a_reference_page_of_what_is_declared() {
    check("workspaces.example.toml", &example());
}

#[test]
fn the_reference_page_of_the_configuration_is_of_what_is_declared() {
    check("docs/reference/configuration.md", &page());
}

fn file() -> PathBuf {
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
        file: Some(file()),
        env,
        ..Sources::default()
    })
    .unwrap();
    let dir = file().parent().unwrap().to_owned();
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

/// Asks serde itself, whose refusal of an unknown key names the known ones.
#[test]
fn every_key_that_the_file_takes_is_in_the_pages() {
    let (page, text) = (page(), example());
    let text: Vec<_> = text.lines().map(uncommented).collect();
    let mut asked = 0;
    for section in &Described::all() {
        let header = section.header();
        let wrong = format!("{header}\nno_such_key = 1\n");
        let refusal = document::parse(Path::new("x.toml"), wrong).err().unwrap();
        let refusal = refusal.to_string();
        let (_, known) = refusal.split_once("expected ").unwrap();
        let of_section = page.split(&format!("## {}\n", section.title())).nth(1);
        let of_section = of_section.unwrap_or_else(|| panic!("no section {}", section.title()));
        let of_section = of_section.split("\n## ").next().unwrap();
        for key in known.lines().next().unwrap().split('`').skip(1).step_by(2) {
            asked += 1;
            let below = section.below(key);
            let is_section = |title: &str| page.contains(&format!("## `[{title}"));
            let in_page = of_section.contains(&format!("\n| `{key}` |")) || is_section(&below.0);
            assert!(in_page, "{key} of {header} is not in the page");
            let in_example = text.iter().any(|line| {
                line.starts_with(&format!("{key} = ")) || line.starts_with(&format!("[{}", below.1))
            });
            assert!(in_example, "{key} of {header} is not in the example");
        }
    }
    assert!(asked > 100, "only {asked} keys were found");
}

#[test]
fn the_defaults_are_what_the_example_says() {
    let text = std::fs::read_to_string(file()).unwrap();
    let all: String = text
        .lines()
        .map(|line| format!("{}\n", uncommented(line)))
        .collect();
    let document = match document::parse(Path::new("all.toml"), all) {
        Ok(document) => document,
        Err(error) => panic!("{error}"),
    };
    let shown = document.values;
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
    // Its role and its tenant are examples; by default a request without a credential is refused.
    default.auth.none = shown.auth.none.clone();
    default.auth.roles.extend(shown.auth.roles.clone());
    default.auth.tenants = shown.auth.tenants.clone();
    // By default no issuer's tokens are accepted. The required keys are examples, the others show their defaults.
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
    // No profile means the best that the machine allows, which no value says; no list of hosts is what the profile says.
    default.sandbox.profile = shown.sandbox.profile;
    default.sandbox.network = shown.sandbox.network.clone();
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
    default.limits.max_runs_per_day_per_principal = shown.limits.max_runs_per_day_per_principal;
    default.limits.max_runs_per_day_per_workspace = shown.limits.max_runs_per_day_per_workspace;
    default.limits.max_cpu_per_day_per_principal = shown.limits.max_cpu_per_day_per_principal;
    default.limits.max_cpu_per_day_per_workspace = shown.limits.max_cpu_per_day_per_workspace;
    default.limits.max_disk_per_workspace = shown.limits.max_disk_per_workspace;
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
