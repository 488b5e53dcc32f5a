//! URLs of submodules that are relative to the URL of the repository that has them.

/// The URL that is meant; `None` where a relative one leads above what `base` names.
pub(super) fn resolved(url: &str, base: &str) -> Option<String> {
    if !url.starts_with("./") && !url.starts_with("../") {
        return Some(url.to_owned());
    }
    let base = base.strip_suffix('/').unwrap_or(base);
    let root = root_of(base);
    let names = base[root..].split('/').filter(|name| !name.is_empty());
    let mut names: Vec<&str> = names.collect();
    if names.is_empty() {
        return None;
    }
    for name in url.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    // The host, or the root of the file system, is no repository.
    (!names.is_empty()).then(|| format!("{}{}", &base[..root], names.join("/")))
}

/// Where the path of a URL begins: behind the host and the slash, or behind the colon of `host:path`.
fn root_of(base: &str) -> usize {
    if let Some(authority) = base.find("://").map(|at| at + 3) {
        let path = base[authority..].find('/');
        return path.map_or(base.len(), |at| authority + at + 1);
    }
    match base.find([':', '/']) {
        Some(at) if base[at..].starts_with(':') => at + 1,
        Some(0) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_url_is_from_the_repository_that_names_it() {
        for (url, base, expected) in [
            ("../b.git", "https://h/a.git", "https://h/b.git"),
            ("../b.git", "https://h/x/a.git/", "https://h/x/b.git"),
            ("../../y/b", "https://h/x/a", "https://h/y/b"),
            ("./b", "https://h/a", "https://h/a/b"),
            ("../b", "git@h:x/a", "git@h:x/b"),
            ("../../b", "git@h:x/a", "git@h:b"),
            ("../b", "ssh://git@h:22/x/a", "ssh://git@h:22/x/b"),
            ("../b.git", "/srv/a.git", "/srv/b.git"),
            ("../b.git", "file:///srv/a.git", "file:///srv/b.git"),
            ("https://other/b", "https://h/a", "https://other/b"),
        ] {
            assert_eq!(
                resolved(url, base).as_deref(),
                Some(expected),
                "{url} of {base}"
            );
        }
        for (url, base) in [
            ("../../b", "https://h/a"),
            ("../..", "https://h/x/a"),
            ("../../../b", "git@h:x/a"),
            ("../../../b", "/srv/a"),
            ("../b", "https://h"),
            ("./b", "https://h"),
        ] {
            assert_eq!(resolved(url, base), None, "{url} of {base}");
        }
    }
}
