//! Where a forge has its API, and a repository's name there, found out from the URL that it is cloned from.

use branchyard_model::ForgeKind;
use percent_encoding::percent_decode_str;
use url::Url;

/// A repository as the API of its forge knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForgeRepo {
    pub(crate) kind: ForgeKind,
    /// Without a slash at the end.
    pub(crate) api: String,
    /// `owner/name`, with GitLab's groups and subgroups before the name. No part is empty, `.` or `..`.
    pub(crate) path: String,
}

/// What a clone URL says.
struct Remote {
    /// As it stands in the URLs of its web site, which are not known where a repository is cloned without encryption.
    web_host: Option<String>,
    path: String,
}

impl ForgeRepo {
    /// From `https://HOST/PATH`, `ssh://USER@HOST/PATH` and `USER@HOST:PATH`. The API is where such a forge has it on
    /// that host, unless `api` says otherwise. It has to be said for `http://` URLs, which also name a repository.
    ///
    /// `None` for other URLs, paths that cannot be those of a repository there, and an `api` that is no plain URL.
    pub fn of(kind: ForgeKind, clone_url: &str, api: Option<&str>) -> Option<Self> {
        let remote = remote_of(clone_url)?;
        let api = match api {
            Some(api) => api.to_owned(),
            None => default_api(kind, &remote.web_host?),
        };
        Some(Self {
            kind,
            api: checked_api(&api)?,
            path: checked_path(kind, &remote.path)?,
        })
    }
}

fn remote_of(clone_url: &str) -> Option<Remote> {
    match clone_url.contains("://") {
        true => from_url(clone_url),
        false => from_scp_like(clone_url),
    }
}

/// The repository that is cloned from there, as `owner/name`; `None` if the URL is that of no forge.
pub(crate) fn path_of(clone_url: &str) -> Option<String> {
    // Of all forges, this one has groups in groups.
    checked_path(ForgeKind::GitLab, &remote_of(clone_url)?.path)
}

fn from_url(text: &str) -> Option<Remote> {
    let url = Url::parse(text).ok()?;
    if url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    let host = url.host_str()?;
    let web_host = match (url.scheme(), url.port()) {
        ("https", Some(port)) => Some(format!("{host}:{port}")),
        // The port of ssh says nothing about the web site's.
        ("https", None) | ("ssh", _) => Some(host.to_lowercase()),
        ("http", _) => None,
        _ => return None,
    };
    let path = percent_decode_str(url.path()).decode_utf8().ok()?;
    // An escaped slash would divide what is one part.
    if path.matches('/').count() != url.path().matches('/').count() {
        return None;
    }
    let path = path.into_owned();
    Some(Remote { web_host, path })
}

/// As git reads it: what stands before a colon is a host, unless there is a slash in it.
fn from_scp_like(text: &str) -> Option<Remote> {
    let after_address = text.find("]:").map_or(0, |end| end + 1);
    let colon = after_address + text[after_address..].find(':')?;
    let (authority, path) = (&text[..colon], &text[colon + 1..]);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if host.is_empty() || authority.contains('/') {
        return None;
    }
    Some(Remote {
        web_host: Some(host.to_lowercase()),
        path: path.to_owned(),
    })
}

fn default_api(kind: ForgeKind, host: &str) -> String {
    match (kind, host) {
        // The second is where GitHub has ssh at the port of HTTPS; GitLab's own is below.
        (ForgeKind::GitHub, "github.com" | "ssh.github.com") => "https://api.github.com".to_owned(),
        (ForgeKind::GitHub, host) if host.ends_with(".ghe.com") => format!("https://api.{host}"),
        (ForgeKind::GitHub, host) => format!("https://{host}/api/v3"),
        (ForgeKind::GitLab, "altssh.gitlab.com") => "https://gitlab.com/api/v4".to_owned(),
        (ForgeKind::GitLab, host) => format!("https://{host}/api/v4"),
        (ForgeKind::Gitea | ForgeKind::Forgejo, host) => format!("https://{host}/api/v1"),
    }
}

fn checked_api(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_web = ["http", "https"].contains(&url.scheme());
    let has_user = !url.username().is_empty() || url.password().is_some();
    let is_plain = is_web && !has_user && url.query().is_none() && url.fragment().is_none();
    is_plain.then(|| url.as_str().trim_end_matches('/').to_owned())
}

fn checked_path(kind: ForgeKind, path: &str) -> Option<String> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let is_name = |part: &str| {
        !["", ".", ".."].contains(&part) && !part.contains(|c: char| c.is_control() || c == '\\')
    };
    let parts = path.split('/').count();
    let has_owner = match kind {
        ForgeKind::GitLab => parts >= 2,
        ForgeKind::GitHub | ForgeKind::Gitea | ForgeKind::Forgejo => parts == 2,
    };
    (has_owner && path.split('/').all(is_name)).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api_and_path(kind: ForgeKind, url: &str, api: Option<&str>) -> Option<(String, String)> {
        ForgeRepo::of(kind, url, api).map(|repo| (repo.api, repo.path))
    }

    #[test]
    fn every_form_of_clone_url_names_api_and_repository() {
        use ForgeKind::{Forgejo, GitHub, GitLab, Gitea};
        for (kind, url, api, path) in [
            (
                GitHub,
                "https://github.com/o/n.git",
                "https://api.github.com",
                "o/n",
            ),
            (
                GitHub,
                "https://user:word@GitHub.com/o/n/",
                "https://api.github.com",
                "o/n",
            ),
            (
                GitHub,
                "git@github.com:o/n.git",
                "https://api.github.com",
                "o/n",
            ),
            (GitHub, "GitHub.com:/o/n", "https://api.github.com", "o/n"),
            (
                GitHub,
                "ssh://git@ssh.github.com:443/o/n.git",
                "https://api.github.com",
                "o/n",
            ),
            (
                GitHub,
                "ssh://git@GHE.local:2222/o/n",
                "https://ghe.local/api/v3",
                "o/n",
            ),
            (
                GitHub,
                "git@corp.ghe.com:o/n.git",
                "https://api.corp.ghe.com",
                "o/n",
            ),
            (
                GitLab,
                "git@gitlab.com:a/b/c.git",
                "https://gitlab.com/api/v4",
                "a/b/c",
            ),
            (
                GitLab,
                "ssh://git@altssh.gitlab.com:443/a/b",
                "https://gitlab.com/api/v4",
                "a/b",
            ),
            (
                GitLab,
                "https://lab.local:8443/a/b",
                "https://lab.local:8443/api/v4",
                "a/b",
            ),
            (
                Gitea,
                "https://tea.local/o/n.js.git",
                "https://tea.local/api/v1",
                "o/n.js",
            ),
            (Forgejo, "git@[::1]:o/n.git", "https://[::1]/api/v1", "o/n"),
            (
                Forgejo,
                "ssh://git@[::1]:22/o/%6e",
                "https://[::1]/api/v1",
                "o/n",
            ),
        ] {
            let expected = Some((api.to_owned(), path.to_owned()));
            assert_eq!(api_and_path(kind, url, None), expected, "{url}");
        }
    }

    #[test]
    fn an_api_that_is_given_wins() {
        let url = "http://127.0.0.1:3000/o/n.git";
        assert_eq!(api_and_path(ForgeKind::Gitea, url, None), None);
        for api in [
            "http://127.0.0.1:3000/api/v1",
            "http://127.0.0.1:3000/api/v1/",
        ] {
            let (api, path) = api_and_path(ForgeKind::Gitea, url, Some(api)).unwrap();
            assert_eq!((&*api, &*path), ("http://127.0.0.1:3000/api/v1", "o/n"));
        }
        for api in [
            "",
            "/api/v1",
            "ftp://h/api",
            "https://u@h/api",
            "https://:p@h/api",
            "https://h/api?a",
            "https://h/api#a",
            "mailto:a",
        ] {
            assert_eq!(
                api_and_path(ForgeKind::Gitea, url, Some(api)),
                None,
                "{api}"
            );
        }
    }

    #[test]
    fn what_names_no_repository_is_refused() {
        for url in [
            "",
            "/srv/o/n.git",
            "o/n",
            "./a:b/c",
            ":o/n",
            "file:///o/n",
            "git://h/o/n",
            "https:///",
            "https://h/",
            "https://h/n",
            "https://h/o/.git",
            "https://h/o//n",
            "https://h/o/n?x=1",
            "https://h/o/n#x",
            "https://h/o%2fn",
            "https://h/o/a%2fn",
            "https://h/o/%00",
            "https://h/o/%ff",
            "https://h/o/...git",
            "ssh://git@h%2Fx/o/n",
            "h:o/..",
            "h:../n",
            "h:./n",
            "h:o/n\n",
            "h:o\\n/n",
            "h/x:o/n",
            "h?x:o/n",
            "h#x:o/n",
            "u@h@i/j:o/n",
        ] {
            for kind in [ForgeKind::GitHub, ForgeKind::GitLab, ForgeKind::Gitea] {
                assert_eq!(api_and_path(kind, url, None), None, "{url}");
            }
        }
        let deep = "https://h/a/b/c";
        assert_eq!(api_and_path(ForgeKind::GitHub, deep, None), None);
        assert!(api_and_path(ForgeKind::GitLab, deep, None).is_some());
    }
}
