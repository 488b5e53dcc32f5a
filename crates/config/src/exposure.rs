//! What no build may be shown, whatever is bound into its sandbox; and which sandbox it has.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::place::{Place, resolve};
use super::{Config, ConfigError, RepoConfig, RepoSandbox, SandboxConfig};
use branchyard_model::{RepoName, SandboxProfile};

/// What the sandbox itself puts there.
const ITS_OWN: [&str; 3] = ["/proc", "/dev", "/sys"];

impl Config {
    /// The profile that the operator named for the builds of `repo`, or of all repos that name none.
    pub fn named_profile(&self, repo: Option<&RepoConfig>) -> Option<SandboxProfile> {
        repo.and_then(|repo| repo.sandbox.profile)
            .or(self.sandbox.profile)
    }

    /// Whether some builds are to have a sandbox.
    pub fn wants_sandbox(&self) -> bool {
        let repos = self.repos.values().map(Some);
        let mut named = repos.chain([None]).map(|repo| self.named_profile(repo));
        named.any(|profile| profile != Some(SandboxProfile::None))
    }
}

/// Whether a build that is shown `bind` sees `hidden` too, or a part of it.
pub fn exposes(bind: &Path, hidden: &Path) -> bool {
    hidden.starts_with(bind) || bind.starts_with(hidden)
}

/// What no bind may expose, and where the binds are written.
pub(super) struct Exposure<'a> {
    pub place: Place<'a>,
    pub workspaces: &'a Path,
    pub secret_files: &'a [PathBuf],
}

impl Exposure<'_> {
    /// The section, and in place that of each repo, with every path absolute and none that exposes what is
    /// not a build's.
    pub(crate) fn checked(
        &self,
        section: &SandboxConfig,
        repos: &mut BTreeMap<RepoName, RepoConfig>,
    ) -> Result<SandboxConfig, ConfigError> {
        let mut section = section.clone();
        const KEYS: [&str; 2] = ["binds_read_only", "binds_writable"];
        let of_section = [&mut section.binds_read_only, &mut section.binds_writable];
        let of_section = KEYS
            .map(|key| vec!["sandbox", key])
            .into_iter()
            .zip(of_section);
        let mut lists: Vec<_> = of_section.collect();
        for (name, repo) in repos {
            let RepoSandbox {
                binds_read_only,
                binds_writable,
                ..
            } = &mut repo.sandbox;
            let keys = KEYS.map(|key| vec!["repos", name.as_str(), "sandbox", key]);
            lists.extend(keys.into_iter().zip([binds_read_only, binds_writable]));
        }
        for (key, paths) in &mut lists {
            **paths = self.paths(key, paths)?;
        }
        let writable = lists.iter().filter(|(key, _)| key.ends_with(&KEYS[1..]));
        let writable: Vec<PathBuf> = writable.flat_map(|(_, paths)| paths.to_vec()).collect();
        for (key, paths) in &lists {
            for path in paths.iter() {
                self.check_apart(key, path, &writable)?;
            }
        }
        Ok(section)
    }

    /// Who may change a directory may put a link in place of what is in it, to be bound for the next.
    fn check_apart(
        &self,
        key: &[&str],
        path: &Path,
        writable: &[PathBuf],
    ) -> Result<(), ConfigError> {
        let mut above = writable.iter();
        match above.find(|dir| path != dir.as_path() && path.starts_with(dir)) {
            Some(dir) => Err(self.place.error(
                key,
                format!(
                    "{} is in {}, which builds may change, and so could lead anywhere; bind them apart",
                    path.display(),
                    dir.display()
                ),
            )),
            None => Ok(()),
        }
    }

    fn paths(&self, key: &[&str], paths: &[PathBuf]) -> Result<Vec<PathBuf>, ConfigError> {
        let checked = paths.iter().map(|path| self.path(path));
        checked
            .collect::<Result<_, _>>()
            .map_err(|rule| self.place.error(key, rule))
    }

    fn path(&self, written: &Path) -> Result<PathBuf, String> {
        let path = resolve(written, Path::new("/"), self.place.home)?;
        let is_placed = written.is_absolute() || written.starts_with("~");
        if !is_placed || path.components().any(|part| part == Component::ParentDir) {
            return Err(format!(
                "{written:?} cannot be bound; expected an absolute path, or one that starts with ~/, \
                 without '..'"
            ));
        }
        if let Some(own) = ITS_OWN.iter().find(|own| path.starts_with(own)) {
            return Err(format!("{written:?}: a sandbox has a {own} of its own"));
        }
        let is_exposed =
            |hidden: &Path| exposes(&path, hidden) || exposes(&real(&path), &real(hidden));
        if is_exposed(self.workspaces) {
            return Err(format!(
                "{written:?} would show a build the other workspaces and the daemon's state, which are in \
                 {}; bind less, or move one of them",
                self.workspaces.display()
            ));
        }
        match self.secret_files.iter().find(|file| is_exposed(file)) {
            Some(file) => Err(format!(
                "{written:?} would show a build {}, which the daemon keeps its secrets in; bind less, or \
                 move one of them",
                file.display()
            )),
            None => Ok(path),
        }
    }
}

/// Where a path leads; one that leads nowhere yet is as good as it is.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::{ByteSize, Environment};

    fn checked(text: &str) -> Result<SandboxConfig, String> {
        let document = document::parse(Path::new("/etc/yard.toml"), text.to_owned());
        let document = document.map_err(|error| error.to_string())?;
        let exposure = Exposure {
            place: Place {
                file: &document.file,
                env: &Environment::default(),
                home: Some(Path::new("/home/me")),
            },
            workspaces: Path::new("/home/me/build-workspaces"),
            secret_files: &["/etc/yard/key".into(), "/etc/yard.toml".into()],
        };
        exposure
            .checked(&document.values.sandbox, &mut BTreeMap::new())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn binds_are_absolute_and_at_home() {
        let section = checked(
            "[sandbox]\nprofile = \"strict\"\nbinds_read_only = [\"~/.rustup\", \"/srv/tools\"]\n\
             binds_writable = [\"~/.cache/ccache\"]\ntmp_size = \"64MiB\"\n",
        )
        .unwrap();
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(section.profile, Some(SandboxProfile::Strict));
        assert_eq!(
            section.binds_read_only,
            paths(&["/home/me/.rustup", "/srv/tools"])
        );
        assert_eq!(section.binds_writable, paths(&["/home/me/.cache/ccache"]));
        assert_eq!(section.tmp_size, ByteSize::mib(64));
    }

    #[test]
    fn what_exposes_the_yard_or_its_secrets_is_refused_by_its_line() {
        for (bind, why) in [
            ("/", "the other workspaces"),
            ("~", "the other workspaces"),
            ("/home", "the other workspaces"),
            ("~/build-workspaces", "the other workspaces"),
            ("~/build-workspaces/demo/.git", "the other workspaces"),
            ("/etc", "/etc/yard/key"),
            ("/etc/yard/key", "/etc/yard/key"),
            ("/etc/yard.toml", "/etc/yard.toml"),
            ("cache", "expected an absolute path"),
            ("/srv/../home/me/build-workspaces", "without '..'"),
            ("/proc/1", "a /proc of its own"),
            ("/dev", "a /dev of its own"),
        ] {
            for key in ["binds_read_only", "binds_writable"] {
                let refusal = checked(&format!("[sandbox]\n{key} = [{bind:?}]\n")).unwrap_err();
                assert!(refusal.starts_with("/etc/yard.toml:2:"), "{refusal}");
                assert!(refusal.contains(why), "{bind}: {refusal}");
            }
        }
        let nested = "[sandbox]\nbinds_read_only = [\"~/c/tools\"]\nbinds_writable = [\"~/c\"]\n";
        let refusal = checked(nested).unwrap_err();
        assert!(refusal.starts_with("/etc/yard.toml:2:"), "{refusal}");
        assert!(refusal.contains("which builds may change"), "{refusal}");
        let refusal = checked("[sandbox]\nprofile = \"paranoid\"\n").unwrap_err();
        assert!(refusal.starts_with("/etc/yard.toml:2:11: "), "{refusal}");
        assert!(refusal.contains("`standard`"), "{refusal}");
    }
}
