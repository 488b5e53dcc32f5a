//! Signatures of commits and tags: by which key they are made, and whose are known.

use std::path::{Path, PathBuf};

use git2::{Oid, Signature, Time};

use super::command::GitCommand;
use super::verbs::input;
use super::{Error, Git};
use crate::{ObjectId, Repository};
use branchyard_config::SigningFormat;
use branchyard_model::{ErrorKind, Problem};

/// As the operator configured it.
#[derive(Debug, Clone)]
pub struct Signing {
    /// The path of a private key, or the id of one that gpg has.
    pub key: Option<String>,
    pub format: SigningFormat,
    pub allowed_signers: Option<PathBuf>,
}

impl Git {
    /// Whether something is to be signed: as the caller says, else wherever there is a key.
    pub fn is_to_sign(&self, wanted: Option<bool>) -> Result<bool, Problem> {
        let can_sign = self.settings().signing.key.is_some();
        match wanted {
            Some(true) if !can_sign => Err(Problem::new(
                ErrorKind::Conflict,
                "no_signing_key",
                "the daemon has no key to sign with",
            )
            .field("sign")
            .help("the operator sets `signing_key` in [git]; leave out `sign` to go without a signature")),
            wanted => Ok(wanted.unwrap_or(can_sign)),
        }
    }
}

impl GitCommand {
    /// Has the operator's key used, where the command that follows signs something.
    #[must_use]
    pub fn with_key(self) -> Self {
        let signing = self.settings().signing.clone();
        let Some(key) = signing.key else {
            return self;
        };
        self.args(["-c", &format!("user.signingKey={key}")])
            .args(["-c", &format!("gpg.format={}", signing.format.as_str())])
    }

    /// Has signatures held against the signers that the operator knows.
    #[must_use]
    pub fn with_signers(self) -> Self {
        let known = self.settings().signing.allowed_signers.clone();
        // Without a file git refuses to look at all; an empty one knows nobody.
        let known = known.unwrap_or_else(|| "/dev/null".into());
        let known = format!("gpg.ssh.allowedSignersFile={}", known.display());
        self.args(["-c", &known])
    }
}

/// The commit `id` once more, signed by the operator's key: the same tree, parents, people and message. Git makes
/// it in the store, for a git that looks at a worktree is given no key.
pub async fn signed(git: &Git, store: &Path, id: ObjectId) -> Result<ObjectId, Error> {
    let path = store.to_owned();
    let read = move || -> Result<_, Error> {
        let repo = Repository::open_bare(&path)?;
        let commit = repo.git2().find_commit(id.git2())?;
        let parents: Vec<_> = commit.parent_ids().map(|id| id.to_string()).collect();
        let author = Person::of(&commit.author());
        let committer = Person::of(&commit.committer());
        let message = commit.message_raw_bytes().to_vec();
        Ok((commit.tree_id(), parents, author, committer, message))
    };
    let (tree, parents, author, committer, message) = tokio::task::spawn_blocking(read).await??;
    let command = git
        .at(store)
        .with_key()
        .env("GIT_AUTHOR_NAME", author.name)
        .env("GIT_AUTHOR_EMAIL", author.email)
        .env("GIT_AUTHOR_DATE", author.date)
        .env("GIT_COMMITTER_NAME", committer.name)
        .env("GIT_COMMITTER_EMAIL", committer.email)
        .env("GIT_COMMITTER_DATE", committer.date)
        .args(["commit-tree", "--gpg-sign"])
        .args(parents.into_iter().flat_map(|id| ["-p".to_owned(), id]))
        .args(["-F", "-"])
        .arg(tree.to_string())
        .input(input::bytes(&message)?);
    let made = command.output().await.map_err(unsigned)?;
    let made = String::from_utf8_lossy(&made);
    Ok(ObjectId::of(Oid::from_str(made.trim())?))
}

struct Person {
    name: String,
    email: String,
    date: String,
}

impl Person {
    fn of(signature: &Signature<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            name: text(signature.name_bytes()),
            email: text(signature.email_bytes()),
            date: date(signature.when()),
        }
    }
}

/// A moment as git takes it from the environment, with its offset from UTC.
fn date(when: Time) -> String {
    let offset = when.offset_minutes().unsigned_abs();
    let (hours, minutes) = (offset / 60, offset % 60);
    format!("@{} {}{hours:02}{minutes:02}", when.seconds(), when.sign())
}

/// What git said when it could not sign.
pub fn unsigned(error: Error) -> Error {
    match error {
        Error::Refused { stderr, .. } => Problem::new(
            ErrorKind::Conflict,
            "signing_failed",
            format!("it could not be signed: {stderr}"),
        )
        .field("sign")
        .help(
            "the operator looks at `signing_key` in [git]; `sign: false` goes without a signature",
        )
        .into(),
        other => other,
    }
}
