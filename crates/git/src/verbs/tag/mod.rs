//! `tag`: names for commits, which all workspaces of a repository share.

mod listing;
mod verify;

use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::check_listing;
use super::room::cut_page;
use super::verb::{Effect, Render, VerbEntry};
use super::{Verbosity, input};
use crate::{Error, Git, ObjectId, Repository, read_ref, unsigned};
use branchyard_model::{CommitId, ErrorKind, Problem, TagName};

pub use listing::{list, show};
pub use verify::{Verdict, Verification, verify};

pub const VERB: VerbEntry = VerbEntry {
    name: "tag",
    title: "Tags",
    description: "Lists tags, shows, creates, verifies the signature of, or deletes one. All workspaces share them, and only git_push sends them.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What to do.
    #[serde(default)]
    pub action: Action,
    /// The tag, such as `v1.2.3`. All actions but list need it.
    pub name: Option<String>,
    /// With create: what it names; the last commit of this branch where left out.
    pub target: Option<String>,
    /// With create: what it says, which makes it an annotated tag with a date and a tagger.
    pub message: Option<String>,
    /// With create and a message. If left out, it is signed where the operator gave the daemon a key.
    pub sign: Option<bool>,
    /// With create: replace a tag of that name. The answer says what it was.
    #[serde(default)]
    pub force: bool,
    /// With delete: has to be `true`.
    #[serde(default)]
    pub confirm: bool,
    /// With list: only names that this glob matches, such as `v1.*`.
    pub pattern: Option<String>,
    /// With list: by what, the highest or newest first.
    #[serde(default)]
    pub sort: Sort,
    /// With list, to go on: an answer's `next`.
    #[serde(default)]
    pub skip: usize,
    /// With list: how many at most.
    #[serde(rename = "limit", alias = "count", default = "enough")]
    pub count: usize,
    /// How much the answer tells.
    #[serde(default)]
    pub verbosity: Verbosity,
}

fn enough() -> usize {
    100
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    #[default]
    List,
    Create,
    Delete,
    Show,
    /// Who signed it, and whether the signature holds.
    Verify,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// `v1.10` comes before `v1.9`.
    #[default]
    Version,
    /// When the tag, or the commit that it names, was made.
    Date,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tags {
    pub action: Action,
    /// With list.
    pub tags: Option<Vec<Item>>,
    /// With list: how many there are in all.
    pub total: Option<usize>,
    /// With list: the `skip` with which the rest can be had, if this is not all.
    pub next: Option<usize>,
    /// The tag that was created, shown or verified, or deleted, as it was.
    pub tag: Option<Item>,
    /// What the tag was before. A tag with this as its `target` is the same again.
    pub was: Option<CommitId>,
    /// With verify.
    pub signature: Option<Verification>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    pub name: String,
    /// What the name stands for: the tag's own object, or with a lightweight one what it names.
    pub id: CommitId,
    /// What the tag names in the end, a commit as a rule.
    pub target: CommitId,
    pub annotated: bool,
    /// It has a signature; verify says whether it holds.
    pub signed: bool,
    pub tagger: Option<String>,
    /// When the tag, or with a lightweight one the commit, was made.
    pub made_at: Option<Timestamp>,
    /// What the tag says; in a list only the first line, unless verbosity is full.
    pub message: Option<String>,
    /// The subject of the commit.
    pub subject: Option<String>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        if let Some(text) = &self.message {
            input::check_message(text)?;
        } else if self.sign == Some(true) {
            let detail = "a signed tag needs a message";
            return Err(Problem::unprocessable("message", detail));
        }
        check_listing(self.count, self.pattern.as_ref())?;
        if self.action != Action::List {
            self.tag()?;
        }
        Ok(())
    }

    /// The tag that it is about.
    pub fn tag(&self) -> Result<TagName, Problem> {
        match &self.name {
            Some(name) => TagName::parse(name),
            None => Err(Problem::unprocessable("name", "a tag has to be named")),
        }
    }
}

impl Tags {
    pub fn of(action: Action) -> Self {
        Self {
            action,
            ..Self::default()
        }
    }
}

/// What the name of a tag stands for; none where there is no such tag.
pub fn find(repo: &Repository, name: &TagName) -> Result<Option<ObjectId>, Error> {
    read_ref(repo, &name.full())
}

pub fn no_such_tag(name: &TagName) -> Problem {
    let detail = format!("there is no tag named {name}");
    Problem::new(ErrorKind::NotFound, "tag_not_found", detail)
        .field("name")
        .help("action list names the tags that are here; git_fetch brings those of the remote")
}

pub fn tag_exists(name: &TagName, id: ObjectId) -> Problem {
    let detail = format!("there is a tag named {name} already; it stands for {id}");
    Problem::new(ErrorKind::Conflict, "tag_exists", detail)
        .field("name")
        .help("choose another name, or replace it with `force: true`")
}

/// Makes the tag in the repository at `store`, for the object `target`.
pub async fn create(
    git: &Git,
    store: &Path,
    request: &Request,
    name: &TagName,
    target: ObjectId,
    signs: bool,
) -> Result<(), Error> {
    let command = git.at(store);
    let command = if signs { command.with_key() } else { command };
    let mut command = command.arg("tag").args(request.force.then_some("--force"));
    if let Some(text) = &request.message {
        command = command
            .arg(if signs { "--sign" } else { "--annotate" })
            .args(["--cleanup=whitespace", "--file=-"])
            .input(input::bytes(text.as_bytes())?);
    }
    let made = command
        .args(["--end-of-options", name.as_str()])
        .arg(target.to_string())
        .run()
        .await;
    made.map_err(|error| if signs { unsigned(error) } else { error })
}

/// Deletes the tag if it still is what it `was`.
pub async fn delete(git: &Git, store: &Path, name: &TagName, was: ObjectId) -> Result<(), Error> {
    let delete = git.at(store).args(["update-ref", "-d", &name.full()]);
    delete.arg(was.to_string()).run().await
}

impl Render for Tags {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for item in self.tag.iter().chain(self.tags.iter().flatten()) {
            let message = item.message.as_ref().or(item.subject.as_ref());
            let message = message.map_or("", |text| text.as_str());
            let line = format!("{} {} {message}", item.name, item.target);
            lines.push(line.trim_end().to_owned());
        }
        if let Some(signature) = &self.signature {
            let signer = signature.signer.as_deref().unwrap_or("nobody known");
            lines.push(format!("signature: {:?}, by {signer}", signature.verdict));
        }
        if let Some(was) = &self.was {
            lines.push(format!(
                "it was {was}; a tag with that as its target is the same again"
            ));
        }
        if let (Some(next), Some(total)) = (self.next, self.total) {
            lines.push(format!("of {total}; go on with skip: {next}"));
        }
        match lines.is_empty() {
            true => "no tags".to_owned(),
            false => lines.join("\n"),
        }
    }

    fn page(&mut self, room: usize) -> bool {
        cut_page(self.tags.as_mut(), self.total, &mut self.next, room)
    }
}
