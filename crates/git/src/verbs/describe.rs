//! `describe`: a name for a commit, by the nearest tag before it. Git is asked: behind a merge, libgit2 names another tag and
//! counts otherwise.

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::person::text;
use super::verb::{Effect, Render, VerbEntry};
use crate::{Error, Git, ObjectId};
use branchyard_model::{CommitId, Problem};

const PATIENCE: Duration = Duration::from_secs(30);

pub const VERB: VerbEntry = VerbEntry {
    name: "describe",
    title: "Name a commit by its nearest tag",
    description: "Names a commit by the nearest tag before it, as v1.2-14-g1a2b3c4, for the version of a build.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// HEAD where not given.
    pub revision: Option<String>,
    /// Only tags that match this glob.
    pub pattern: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Description {
    /// The tag itself, or the tag, how many commits came since, and the commit; the short id where no tag is before it.
    pub name: String,
    pub tag: Option<String>,
    /// How many commits the tag does not have; of no meaning without one.
    pub commits_since: usize,
    pub commit: CommitId,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        let is_foreign = |c: char| c.is_control() || matches!(c, '{' | '}');
        if self
            .pattern
            .as_ref()
            .is_some_and(|given| given.contains(is_foreign))
        {
            let detail = "git takes braces and control characters for themselves";
            return Err(Problem::bad("pattern", detail).help("ask once for each glob"));
        }
        Pattern::new(self.pattern.as_ref()).map(drop)
    }
}

pub async fn describe(
    git: &Git,
    store: &Path,
    commit: ObjectId,
    request: &Request,
) -> Result<Description, Error> {
    let pattern = request.pattern.iter();
    let said = git
        .at(store)
        .read_only(PATIENCE)
        .args(["describe", "--tags", "--long", "--always"])
        .args(pattern.map(|pattern| format!("--match={pattern}")))
        .arg(commit.to_string())
        .output()
        .await?;
    let said = text(said.trim_ascii_end());
    // `v1.2-14-g1a2b3c4`; a tag may have dashes of its own, a bare id has none.
    let mut parts = said.rsplitn(3, '-').skip(1);
    let since = parts.next().and_then(|since| since.parse().ok());
    let tag = parts.next().map(ToOwned::to_owned);
    Ok(Description {
        name: match (&tag, since) {
            (Some(tag), Some(0)) => tag.clone(),
            _ => said.clone(),
        },
        tag,
        commits_since: since.unwrap_or(0),
        commit: CommitId::parse(&commit.to_string())?,
    })
}

impl Render for Description {
    fn text(&self) -> String {
        format!("{} ({})", self.name, self.commit)
    }
}
