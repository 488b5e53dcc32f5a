//! The repos of file and environment together, their URLs parsed with the operator's trust.

use std::collections::BTreeMap;
use std::path::Path;

use super::known_variables::REPOS;
use super::place::{Place, is_relative_url, resolve};
use super::values::Values;
use super::{ConfigError, RepoConfig, RepoUrl, UrlPolicy};
use branchyard_model::RepoName;

/// All repos. A repo of both keeps its settings from the file and has its URL from the environment.
pub(super) fn collect(
    place: &Place<'_>,
    values: &Values,
) -> Result<BTreeMap<RepoName, RepoConfig>, ConfigError> {
    let policy = UrlPolicy::operator(&values.git);
    let mut repos = named_by(place, &policy)?;
    for (name, section) in &values.repos {
        let url = match repos.remove(name) {
            Some(named) => named.url,
            None => read_url(&section.url, place.file.dir(), place.home, &policy)
                .map_err(|rule| place.error(&["repos", name.as_str(), "url"], rule))?,
        };
        repos.insert(name.clone(), section.clone().with_url(url));
    }
    Ok(repos)
}

/// The pairs of `BRANCHYARD_REPOS`, by their place in it where they cannot be told by name.
fn named_by(
    place: &Place<'_>,
    policy: &UrlPolicy<'_>,
) -> Result<BTreeMap<RepoName, RepoConfig>, ConfigError> {
    let refuse = |message: String| ConfigError::Variable {
        name: REPOS,
        message,
    };
    let mut repos = BTreeMap::new();
    let pairs = place.env.text(REPOS)?.unwrap_or("");
    let pairs = pairs.split(|c: char| c.is_whitespace() || c == ',');
    for (index, pair) in pairs.filter(|pair| !pair.is_empty()).enumerate() {
        let number = index + 1;
        // Neither part is quoted before it is known to be what it should be: it may be a secret.
        let (name, url) = pair
            .split_once('=')
            .filter(|(name, _)| RepoName::parse(name).is_ok())
            .ok_or_else(|| {
                refuse(format!(
                    "item {number} does not start with a repository name and '='; expected \
                     name=url pairs separated by spaces, commas or newlines"
                ))
            })?;
        let url = read_url(url, Path::new(""), place.home, policy)
            .map_err(|message| refuse(format!("{name}: {message}")))?;
        let name = RepoName::parse(name).map_err(|problem| refuse(problem.detail))?;
        if repos.contains_key(&name) {
            return Err(refuse(format!("{name} is named twice")));
        }
        repos.insert(name, RepoConfig::new(url));
    }
    Ok(repos)
}

fn read_url(
    text: &str,
    base: &Path,
    home: Option<&Path>,
    policy: &UrlPolicy<'_>,
) -> Result<RepoUrl, String> {
    let url = if is_relative_url(text) {
        let path = resolve(Path::new(text), base, home)?;
        RepoUrl::parse(path.to_str().ok_or("the path is not UTF-8")?, policy)
    } else {
        RepoUrl::parse(text, policy)
    };
    url.map_err(|problem| match problem.help {
        Some(help) => format!("{}; {help}", problem.detail),
        None => problem.detail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document;
    use crate::environment::Environment;

    fn collected(file: &str, repos: &str) -> Result<Vec<(String, String)>, String> {
        let document = document::parse(Path::new("/etc/yard/yard.toml"), file.to_owned()).unwrap();
        let env: Environment = match repos {
            "" => Environment::default(),
            repos => [(REPOS, repos)].into_iter().collect(),
        };
        let place = Place {
            file: &document.file,
            env: &env,
            home: Some(Path::new("/home/me")),
        };
        collect(&place, &document.values)
            .map(|repos| {
                let pair =
                    |(name, repo): (RepoName, RepoConfig)| (name.to_string(), repo.url.to_string());
                repos.into_iter().map(pair).collect()
            })
            .map_err(|error| error.to_string())
    }

    fn pairs(pairs: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        let own = |(name, url): &(&str, &str)| ((*name).to_owned(), (*url).to_owned());
        Ok(pairs.iter().map(own).collect())
    }

    #[test]
    fn pairs_are_separated_by_spaces_commas_or_newlines() {
        assert_eq!(
            collected(
                "",
                "a=https://host/a?,b=git@host:b c=https://host/x=y\nd=host:d,"
            ),
            Err(
                "BRANCHYARD_REPOS: a: this repository URL cannot be used: it has a query or a \
                 fragment; keep credentials out of URLs: name where the token is kept, in \
                 [git.credentials.\"HOST\"] or [repos.NAME.credential], or use ssh"
                    .to_owned()
            )
        );
        assert_eq!(
            collected("", " a=https://host/a, b=git@host:b\n\nc=https://host/x=y,"),
            pairs(&[
                ("a", "https://host/a"),
                ("b", "git@host:b"),
                ("c", "https://host/x=y")
            ])
        );
    }

    #[test]
    fn the_environment_gives_a_repo_of_the_file_its_url() {
        let file = "[repos.a]\nurl = \"https://host/old\"\n[repos.b]\nurl = \"https://host/b\"\n";
        assert_eq!(
            collected(file, "a=https://host/new"),
            pairs(&[("a", "https://host/new"), ("b", "https://host/b")])
        );
    }

    #[test]
    fn pairs_that_are_none_are_refused_without_being_shown() {
        for (repos, message) in [
            ("S3CRET", "item 1 does not start"),
            (
                "a=https://host/a https://u:S3CRET@host/a=b",
                "item 2 does not start",
            ),
            (
                "a=https://u:S3CRET@host/a",
                "a: this repository URL cannot be used: it carries a password",
            ),
            ("a=", "a: this repository URL cannot be used: it is empty"),
            ("a=host:a a=host:b", "a is named twice"),
        ] {
            let error = collected("", repos).unwrap_err();
            assert!(
                error.starts_with(&format!("BRANCHYARD_REPOS: {message}")),
                "{error}"
            );
            assert!(!error.contains("S3CRET"), "{error}");
        }
    }

    #[test]
    fn local_urls_start_from_the_file() {
        let urls = "[git]\nallow_local = true\n[repos.a]\nurl = \"./a.git\"\n[repos.b]\nurl = \"../b\"\n\
                    [repos.c]\nurl = \"~/c\"\n[repos.d]\nurl = \"/d\"\n";
        assert_eq!(
            collected(urls, ""),
            pairs(&[
                ("a", "/etc/yard/a.git"),
                ("b", "/etc/yard/../b"),
                ("c", "/home/me/c"),
                ("d", "/d")
            ])
        );
    }

    #[test]
    fn a_refused_url_is_shown_by_its_line_without_its_password() {
        assert_eq!(
            collected("[repos.a]\nurl = \"https://u:S3CRET@host/a\"\n", "").unwrap_err(),
            "/etc/yard/yard.toml:2:7: this repository URL cannot be used: it carries a password; \
             keep credentials out of URLs: name where the token is kept, in \
             [git.credentials.\"HOST\"] or [repos.NAME.credential], or use ssh\n  |\n\
             2 | url = \"https://********@host/a\"\n  |       ^^^^^^^^^^^^^^^^^^^^^^^^^"
        );
        assert_eq!(
            collected("[repos.a]\nurl = \"./a\"\n", "").unwrap_err(),
            "/etc/yard/yard.toml:2:7: this repository URL cannot be used: repositories on this \
             machine are not allowed here; the operator allows them by git.allow_local\n  |\n\
             2 | url = \"./a\"\n  |       ^^^^^"
        );
    }
}
