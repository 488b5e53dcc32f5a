//! Contents on their way from the remote and to it, by git-lfs.

use std::path::Path;
use std::time::Duration;

use git2::{ObjectType, Oid};

use crate::blob_config::settings_in;
use crate::command::GitCommand;
use crate::retry::retried;
use crate::status::head_if_born;
use crate::{Error, Git, object_id, open_store};
use branchyard_model::{CommitId, ErrorKind, Problem};

/// Where a repository says what git-lfs is to do there.
const CONFIGURATION: &str = ".lfsconfig";
/// No real one is longer.
const MAX_CONFIGURATION: usize = 64 << 10;
/// How long may be looked through what a push is to send.
const PATIENCE: Duration = Duration::from_secs(60);
/// Whatever a repository says of it. Git-lfs itself tries again so often, and waits a second at most. Its remote need not know
/// of locks; git-lfs would note that in the store.
const SETTINGS: [&str; 7] = [
    "lfs.transfer.maxretries=2",
    "lfs.transfer.maxretrydelay=1",
    "lfs.locksverify=false",
    "lfs.fetchinclude=",
    "lfs.fetchexclude=",
    "lfs.skipdownloaderrors=false",
    "lfs.allowincompletepush=false",
];
/// Git-lfs prints its progress also where there is no terminal, so that a transfer that stands still is noticed.
const TELLING: (&str, &str) = ("GIT_LFS_FORCE_PROGRESS", "1");

/// What has the contents of a repository: a URL, or what git-lfs finds beside the repository by itself, over ssh or on this
/// machine.
#[derive(Debug, Clone)]
pub struct LfsServer(Option<String>);

impl LfsServer {
    /// That which a commit names.
    pub fn named(url: &str) -> Self {
        Self(Some(url.to_owned()))
    }

    /// The one of the repository at this URL, by git-lfs's own rule.
    pub fn of_remote(url: &str) -> Self {
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix(".git").unwrap_or(url);
        Self(is_web.then(|| format!("{url}.git/info/lfs")))
    }
}

/// Fetches what these commits have of git-lfs and the store has not.
pub async fn fetch_lfs(
    git: &Git,
    store: &Path,
    commits: &[CommitId],
    server: &LfsServer,
) -> Result<(), Error> {
    check_unborn(store).await?;
    retried("lfs", git.settings().fetch_timeout, || {
        asking(git, store, server)
            .args(["lfs", "fetch", "origin"])
            .args(commits.iter().map(CommitId::as_str))
            .run()
    })
    .await
    .map_err(plainly)
}

/// Uploads what these commits and tags have of git-lfs and no branch of the remote has.
pub async fn push_lfs(
    git: &Git,
    store: &Path,
    tips: &[String],
    server: &LfsServer,
) -> Result<(), Error> {
    check_unborn(store).await?;
    asking(git, store, server)
        .args(["lfs", "push", "origin"])
        .args(tips)
        .run()
        .await
        .map_err(plainly)
}

/// Some versions print the parts of a URL as their language has them, between words that say it all.
fn plainly(mut error: Error) -> Error {
    if let Error::Remote { stderr, .. } = &mut error
        && let Some((before, rest)) = stderr.split_once(" &{")
        && let Some((_, after)) = rest.split_once("(MISSING)")
    {
        *stderr = format!("{before}{after}");
    }
    error
}

/// Whether there is anything to upload for these commits and tags. Does not ask the remote.
pub async fn lfs_to_send(git: &Git, store: &Path, tips: &[String]) -> Result<bool, Error> {
    check_unborn(store).await?;
    let mut asked = git.at(store).within(PATIENCE);
    for setting in SETTINGS {
        asked = asked.args(["-c", setting]);
    }
    let asked = asked
        .args(["lfs", "push", "--dry-run", "origin"])
        .args(tips);
    Ok(!asked.output().await?.is_empty())
}

/// In a store git-lfs heeds the `.lfsconfig` of HEAD, which is to be none.
async fn check_unborn(store: &Path) -> Result<(), Error> {
    let store = store.to_owned();
    let born = move || Ok::<_, Error>(head_if_born(&open_store(&store)?)?.is_some());
    match tokio::task::spawn_blocking(born).await?? {
        false => Ok(()),
        true => {
            let detail = "the store has a branch BRANCHYARD_HEAD, by which git-lfs would go";
            let problem = Problem::new(ErrorKind::Conflict, "lfs_refused", detail);
            Err(problem.help("delete that branch").into())
        }
    }
}

fn asking(git: &Git, store: &Path, LfsServer(url): &LfsServer) -> GitCommand {
    let mut settings = SETTINGS.map(str::to_owned).to_vec();
    if let Some(url) = url {
        settings.push(format!("lfs.url={url}"));
        settings.push(format!("lfs.pushurl={url}"));
        // Once it was asked for a credential, git-lfs would note in the store that one is needed. Of a name git takes what is
        // before the first equals sign.
        let credential = git.credential().as_ref().filter(|_| !url.contains('='));
        settings.extend(credential.map(|_| format!("lfs.{url}.access=basic")));
    }
    let mut command = git.at(store);
    for setting in settings {
        command = command.args(["-c", &setting]);
    }
    let (name, value) = TELLING;
    command.env(name, value).remote(git.transfer_timeouts())
}

/// The server that `commit` itself names for its contents.
pub async fn declared_lfs_url(
    git: &Git,
    store: &Path,
    commit: &CommitId,
) -> Result<Option<String>, Error> {
    let (dir, at) = (store.to_owned(), commit.clone());
    let Some(blob) = tokio::task::spawn_blocking(move || configuration_of(&dir, &at)).await??
    else {
        return Ok(None);
    };
    let listed = settings_in(git, store, blob).await?;
    let listed = String::from_utf8_lossy(&listed);
    let mut values = listed
        .split('\0')
        .filter_map(|entry| entry.split_once('\n'));
    // The last one counts, as for git.
    let url = values.rfind(|(key, _)| *key == "lfs.url");
    Ok(url.map(|(_, url)| url.to_owned()))
}

fn configuration_of(store: &Path, commit: &CommitId) -> Result<Option<Oid>, Error> {
    let store = open_store(store)?;
    let tree = store.tree_of(object_id(commit)?.git2())?;
    let Some(entry) = tree.get_name(CONFIGURATION) else {
        return Ok(None);
    };
    let (size, kind) = store.git2().odb()?.read_header(entry.id())?;
    let is_small_file = kind == ObjectType::Blob && size <= MAX_CONFIGURATION;
    Ok(is_small_file.then(|| entry.id()))
}
