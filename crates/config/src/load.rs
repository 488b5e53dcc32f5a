//! From the sources, in rising order, to one `Config`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use super::document::{self, Document};
use super::environment::Environment;
use super::exposure::Exposure;
use super::known_variables::{CONFIG, LISTEN, LOG};
use super::place::{Place, resolve};
use super::secrets::check_command;
use super::{
    Access, After, Config, ConfigError, Flags, Forges, HookSecrets, Secrets, SigningKey, Webhook,
    flags, repos,
};

/// Where builds find programs when neither the file nor the environment says so.
const FALLBACK_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything that a [`Config`] is made from, besides the built-in defaults.
#[derive(Clone, Default)]
pub struct Sources {
    /// The file of `--config`; without it, `BRANCHYARD_CONFIG` may name one.
    pub file: Option<PathBuf>,
    pub env: Environment,
    pub flags: Flags,
}

impl Config {
    /// The configuration of this process, from its environment and what its command line says.
    pub fn from_process(file: Option<PathBuf>, flags: Flags) -> Result<Self, ConfigError> {
        let env = Environment::from_process();
        Self::load(Sources { file, env, flags })
    }

    /// The configuration that the sources make, or the first fault in them.
    pub fn load(sources: Sources) -> Result<Self, ConfigError> {
        let Sources {
            file,
            env,
            flags: said,
        } = sources;
        let home = env.get("HOME").map(PathBuf::from);
        let Document { file, mut values } = read_document(file.as_deref(), &env, home.as_deref())?;
        let place = Place {
            file: &file,
            env: &env,
            home: home.as_deref(),
        };
        let fault = |fault| file.error(&fault);
        let checked = values.timeouts.check();
        checked
            .and_then(|()| values.reaper.check())
            .and_then(|()| values.git.check())
            .and_then(|()| values.limits.check())
            .map_err(fault)?;

        let path = env.get("PATH").unwrap_or(FALLBACK_PATH.as_ref());
        let build_path = match &values.build.path {
            Some(path) => path.as_str().as_ref(),
            None => path,
        };
        let mut build_env_base = BTreeMap::from([("PATH".into(), build_path.into())]);
        if let Some(home) = &home {
            build_env_base.insert("HOME".into(), home.into());
        }

        let mut repos = repos::collect(&place, &values)?;
        let listen = match said.listen {
            Some(listen) => listen,
            None => env.value(LISTEN)?.unwrap_or(values.listen),
        };
        let checked = values.auth.check(listen.ip().is_loopback());
        checked.map_err(fault)?;
        if let Some(jwt) = &mut values.auth.jwt {
            jwt.key_file = place.path(&["auth", "jwt", "key_file"], &jwt.key_file)?;
        }
        let oauth = values.auth.oauth.as_mut();
        if let Some(ca_file) = oauth.and_then(|oauth| oauth.ca_file.as_mut()) {
            *ca_file = place.path(&["auth", "oauth", "ca_file"], ca_file)?;
        }
        let tls = values.tls.find(&place)?;
        let mut allowed_hosts = values.allowed_hosts;
        allowed_hosts.extend(tls.as_ref().and_then(|tls| tls.name.clone()));
        for (name, repo) in &repos {
            for run in repo.pipelines.on_push.keys() {
                let section = ["repos", name.as_str(), "pipelines", "on_push", run.as_str()];
                let checked = check_command(repo, run.as_str(), "make, or one of its tasks");
                checked.map_err(|rule| place.error(&section, rule))?;
            }
        }
        let access = Access::find(&place, &values.git, &repos)?;
        let secrets = Secrets::find(&place, &values.secrets, &repos)?;
        let hooks = HookSecrets::find(&place, &values.forges, &repos)?;
        let forges = Forges::find(&place, &values.forges)?;
        let mut webhooks = BTreeMap::new();
        for (name, webhook) in &values.webhooks {
            webhooks.insert(name.clone(), webhook.find(name, &place)?);
        }
        let mut after = BTreeMap::new();
        for (name, command) in &values.after {
            after.insert(name.clone(), command.find(name, &place)?);
        }
        let workspaces = flags::workspaces(&place, &said, values.workspaces)?;
        let mut included = Vec::new();
        for (name, repo) in &mut repos {
            if let Some(include) = &mut repo.include {
                include.check(&place, name, &workspaces)?;
                included.push(include.from.clone());
            }
        }
        let socket = values.socket.map(|path| place.path(&["socket"], &path));
        let socket = socket.transpose()?;
        let (session_key, key_file) = flags::session_key(&place, &said, values.key_file)?;
        let secret_files: Vec<PathBuf> = [
            key_file,
            file.path(),
            values.git.signing_key.as_ref().and_then(SigningKey::file),
            values.auth.jwt.as_ref().map(|jwt| jwt.key_file.clone()),
            tls.as_ref().map(|tls| tls.key_file.clone()),
            socket.clone(),
        ]
        .into_iter()
        .flatten()
        .chain(access.secret_files())
        .chain(secrets.files().chain(hooks.files()).map(Path::to_owned))
        .chain(forges.files().map(Path::to_owned))
        .chain(
            webhooks
                .values()
                .filter_map(Webhook::file)
                .map(Path::to_owned),
        )
        .chain(after.values().flat_map(After::files).map(Path::to_owned))
        .chain(included)
        .collect();
        let exposure = Exposure {
            place,
            workspaces: &workspaces,
            secret_files: &secret_files,
        };
        let sandbox = exposure.checked(&values.sandbox, &mut repos)?;
        let checked = values.auth.check_builds(&sandbox, &repos);
        checked.map_err(fault)?;
        Ok(Self {
            listen,
            socket,
            tls,
            workspaces,
            session_key,
            allowed_hosts,
            allowed_origins: values.allowed_origins,
            auth: values.auth,
            log: env.value(LOG)?.unwrap_or(values.log),
            limits: values.limits,
            timeouts: values.timeouts,
            git: values.git,
            access,
            build: values.build,
            code: values.code,
            secrets,
            hooks,
            forges,
            webhooks,
            after,
            public_url: values.public_url,
            reaper: values.reaper,
            history: values.history,
            pipelines: values.pipelines,
            artifacts: values.artifacts,
            caches: values.caches,
            audit: values.audit,
            mcp: values.mcp,
            sandbox,
            secret_files,
            repos,
            build_env_base,
            path: path.into(),
            ssh_auth_sock: env.get("SSH_AUTH_SOCK").map(OsString::from),
            runtime_dir: env.get("XDG_RUNTIME_DIR").map(PathBuf::from),
            open_files: getrlimit(Resource::Nofile).current,
            unknown_variables: env.unknown_names(),
            home,
        })
    }

    /// Refuses variables whose names start with `BRANCHYARD_` and mean nothing, for a caller that looks for mistakes. A
    /// daemon starts all the same: what else runs on a machine may set such variables.
    pub fn check_variables(&self) -> Result<(), ConfigError> {
        match self.unknown_variables.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::UnknownVariables {
                names: self.unknown_variables.clone(),
            }),
        }
    }
}

fn read_document(
    file: Option<&Path>,
    env: &Environment,
    home: Option<&Path>,
) -> Result<Document, ConfigError> {
    if let Some(path) = file {
        return document::read(path);
    }
    match env.path(CONFIG)? {
        Some(path) => {
            let name = CONFIG;
            let refuse = |message| ConfigError::Variable { name, message };
            document::read(&resolve(&path, Path::new(""), home).map_err(refuse)?)
        }
        None => Ok(Document::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::known_variables::{SESSION_KEY, SESSION_KEY_FILE, WORKSPACES};
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    struct Yard {
        dir: tempfile::TempDir,
        sources: Sources,
    }

    /// A file of this text, in a directory of its own, and an environment with a home.
    fn yard(text: &str) -> Yard {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("yard.toml");
        fs::write(&file, text).unwrap();
        let sources = Sources {
            file: Some(file),
            env: env(&[]),
            flags: Flags::default(),
        };
        Yard { dir, sources }
    }

    fn env(more: &[(&str, &str)]) -> Environment {
        let home = [("HOME", "/home/me"), ("PATH", "/bin")];
        home.iter().chain(more).copied().collect()
    }

    impl Yard {
        fn key_file(&self, name: &str, key: &str) -> PathBuf {
            let path = self.dir.path().join(name);
            fs::write(&path, key).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            path
        }

        fn load(&self) -> Config {
            Config::load(self.sources.clone()).unwrap()
        }

        fn refusal(&self) -> String {
            Config::load(self.sources.clone()).unwrap_err().to_string()
        }
    }

    #[test]
    fn without_sources_there_are_the_defaults() {
        let config = Config::load(Sources {
            env: env(&[]),
            ..Sources::default()
        })
        .unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:3344");
        assert_eq!(config.workspaces, Path::new("/home/me/build-workspaces"));
        assert_eq!(config.log.as_str(), "info");
        assert_eq!(config.limits, super::super::Limits::default());
        assert_eq!(config.session_key.expose().len(), 64);
        assert!(config.repos.is_empty());
    }

    #[test]
    fn flags_beat_variables_and_variables_beat_the_file() {
        let mut yard = yard("listen = \"127.0.0.1:1\"\nworkspaces = \"w\"\nlog = \"warn\"\n");
        let config = yard.load();
        assert_eq!(config.listen.port(), 1);
        assert_eq!(config.workspaces, yard.dir.path().join("w"));
        assert_eq!(config.log.as_str(), "warn");

        yard.sources.env = env(&[(LISTEN, "127.0.0.1:2"), (WORKSPACES, "/v"), (LOG, "debug")]);
        let config = yard.load();
        assert_eq!(config.listen.port(), 2);
        assert_eq!(config.workspaces, Path::new("/v"));
        assert_eq!(config.log.as_str(), "debug");

        yard.sources.flags.listen = Some(([127, 0, 0, 1], 3).into());
        yard.sources.flags.workspaces = Some("/f".into());
        let config = yard.load();
        assert_eq!(config.listen.port(), 3);
        assert_eq!(config.workspaces, Path::new("/f"));
    }

    #[test]
    fn a_variable_names_the_file_where_no_flag_does() {
        let named = yard("listen = \"127.0.0.1:1\"\n");
        let other = yard("listen = \"127.0.0.1:2\"\n");
        let file = named.sources.file.clone().unwrap();
        let mut sources = other.sources.clone();
        sources.env = env(&[(CONFIG, file.to_str().unwrap())]);
        assert_eq!(Config::load(sources.clone()).unwrap().listen.port(), 2);
        sources.file = None;
        assert_eq!(Config::load(sources).unwrap().listen.port(), 1);
    }

    #[test]
    fn the_key_comes_from_the_nearest_source() {
        let mut yard = yard("key_file = \"in-file\"\n");
        yard.key_file("in-file", "key-of-the-config-file");
        assert_eq!(yard.load().session_key.expose(), "key-of-the-config-file");
        yard.sources.env = env(&[(SESSION_KEY, "key-of-the-variable")]);
        assert_eq!(yard.load().session_key.expose(), "key-of-the-variable");
        // The command's is not the daemon's.
        let other = ("BRANCHYARD_KEY_FILE", "/none");
        yard.sources.env = env(&[(SESSION_KEY, "key-of-the-variable"), other]);
        assert_eq!(yard.load().session_key.expose(), "key-of-the-variable");
        let path = yard.key_file("in-variable", "key-of-the-variable-file");
        let both = [
            (SESSION_KEY, "key-of-the-variable"),
            (SESSION_KEY_FILE, path.to_str().unwrap()),
        ];
        yard.sources.env = env(&both);
        assert_eq!(yard.load().session_key.expose(), "key-of-the-variable-file");
        yard.sources.flags.key_file = Some(yard.key_file("on-flag", "key-of-the-flag-file"));
        assert_eq!(yard.load().session_key.expose(), "key-of-the-flag-file");
    }

    #[test]
    fn faults_name_their_source() {
        let mut yard = yard("\nkey_file = \"none\"\n");
        let file = yard.sources.file.clone().unwrap();
        let key = yard.dir.path().join("none");
        let missing = format!(
            "failed to read {}: No such file or directory (os error 2)",
            key.display()
        );
        let start = format!("{}:2:12: {missing}\n", file.display());
        assert!(yard.refusal().starts_with(&start), "{}", yard.refusal());
        yard.sources.env = env(&[(SESSION_KEY_FILE, key.to_str().unwrap())]);
        assert_eq!(
            yard.refusal(),
            format!("BRANCHYARD_SESSION_KEY_FILE: {missing}")
        );
        yard.sources.flags.key_file = Some(key);
        assert_eq!(yard.refusal(), format!("--key-file: {missing}"));
        yard.sources.flags.key_file = None;
        yard.sources.env = env(&[(SESSION_KEY, "S3CRET")]);
        assert_eq!(
            yard.refusal(),
            "BRANCHYARD_SESSION_KEY: the key is shorter than 16 characters"
        );
        yard.sources = Sources::default();
        assert_eq!(
            yard.refusal(),
            "workspaces: \"~/build-workspaces\" needs HOME, which is not set"
        );
        yard.sources.file = Some("/nonexistent.toml".into());
        assert_eq!(
            yard.refusal(),
            "failed to read /nonexistent.toml: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn callers_without_a_credential_need_builds_without_a_network() {
        let strict = "[sandbox]\nprofile = \"strict\"\n";
        let repo = |profile: &str| {
            format!(
                "{strict}[repos.demo]\nurl = \"https://git.example.org/demo.git\"\n\
                 [repos.demo.sandbox]\n{profile}\n"
            )
        };
        let load = |tables: &str| {
            let yard = yard(&format!("[auth]\nnone = \"ui\"\n{tables}"));
            Config::load(yard.sources.clone()).map_err(|error| error.to_string())
        };
        for good in [strict.to_owned(), repo(""), repo("profile = \"strict\"")] {
            load(&good).unwrap();
        }
        // Neither TLS nor a socket beside the port keeps a build from the port.
        let socket = format!("{}\n[auth]\nnone = \"ui\"\n", "socket = \"/run/yard/s\"");
        let refusal = yard(&socket).refusal();
        assert!(refusal.contains("sandbox.profile"), "{refusal}");
        for bad in [
            "",
            "[sandbox]\nprofile = \"standard\"\n",
            "[sandbox]\nprofile = \"none\"\n",
        ] {
            let refusal = load(bad).unwrap_err();
            assert!(refusal.contains("yard.toml:2:8"), "{refusal}");
            assert!(
                refusal.contains("set sandbox.profile to \"strict\""),
                "{refusal}"
            );
        }
        for profile in ["standard", "none"] {
            let refusal = load(&repo(&format!("profile = \"{profile}\""))).unwrap_err();
            assert!(refusal.contains("yard.toml:8:"), "{refusal}");
            assert!(refusal.contains("repos.demo.sandbox.profile"), "{refusal}");
        }
        // With credentials any profile is as good as before.
        assert!(
            yard("[sandbox]\nprofile = \"none\"\n")
                .load()
                .auth
                .none
                .is_none()
        );
    }

    #[test]
    fn variables_that_others_set_do_not_keep_a_daemon_from_starting() {
        let mut yard = yard("");
        yard.sources.env = env(&[
            ("BRANCHYARD_PORT", "tcp://10.0.0.1:80"),
            ("BRANCHYARD_LISEN", "S3CRET"),
        ]);
        let config = yard.load();
        assert_eq!(config.listen.port(), 3344);
        let refusal = config.check_variables().unwrap_err().to_string();
        assert_eq!(
            refusal,
            "unknown environment variable BRANCHYARD_LISEN, BRANCHYARD_PORT; known are \
             BRANCHYARD_CONFIG, BRANCHYARD_LISTEN, BRANCHYARD_WORKSPACES, \
             BRANCHYARD_SESSION_KEY_FILE, BRANCHYARD_SESSION_KEY, BRANCHYARD_REPOS, BRANCHYARD_LOG, \
             BRANCHYARD_URL, BRANCHYARD_KEY_FILE, BRANCHYARD_CA_FILE"
        );
    }

    #[test]
    fn a_build_inherits_a_path_and_a_home_and_nothing_else() {
        let mut yard = yard("");
        yard.sources.env = env(&[(SESSION_KEY, "0123456789abcdef"), ("SSH_AUTH_SOCK", "/s")]);
        let config = yard.load();
        let base: BTreeMap<OsString, OsString> = [("HOME", "/home/me"), ("PATH", "/bin")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        assert_eq!(config.build_env_base, base);
        assert_eq!(config.ssh_auth_sock, Some("/s".into()));
        assert!(!format!("{config:?}").contains("0123456789abcdef"));

        let yard = self::yard("[build]\npath = \"/opt/bin:/usr/bin\"\n");
        let config = yard.load();
        assert_eq!(
            config.build_env_base[&OsString::from("PATH")],
            "/opt/bin:/usr/bin"
        );
        assert_eq!(config.path, "/bin");
    }
}
