//! What the git of this machine can do.

use std::time::Duration;

use super::{Error, Git};

/// Since when a credential helper can answer with something other than a password.
const BEARER: (u32, u32) = (2, 46);
const PATIENCE: Duration = Duration::from_secs(10);

/// Since when git can read the attributes of a tree.
const ATTRIBUTES_OF_TREE: (u32, u32) = (2, 41);

/// Whether `GIT_ATTR_SOURCE` is heeded.
pub(crate) async fn reads_attributes_of_trees(git: &Git) -> Result<bool, Error> {
    Ok(version(&said(git).await?) >= Some(ATTRIBUTES_OF_TREE))
}

/// Whether git can send `Authorization: Bearer`; if not, its version.
pub async fn lacks_bearer(git: &Git) -> Result<Option<String>, Error> {
    let said = said(git).await?;
    Ok((version(&said) < Some(BEARER)).then_some(said))
}

async fn said(git: &Git) -> Result<String, Error> {
    let command = git.at("/").arg("version").read_only(PATIENCE);
    let said = command.output().await?;
    Ok(String::from_utf8_lossy(&said).trim().to_owned())
}

/// The first two numbers in what `git version` says.
fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    let mut next = || numbers.next()?.parse().ok();
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (said, enough) in [
            ("git version 2.46.0", true),
            ("git version 2.100.1.windows.1", true),
            ("git version 3.0.0", true),
            ("git version 2.5.0", false),
            ("git version 2.45.9", false),
            ("something else", false),
        ] {
            assert_eq!(version(said) >= Some(BEARER), enough, "{said}");
        }
    }
}
