//! Repositories that have no home but the yard: their origin is a bare repository among the daemon's own
//! files, and everything else is as with any other.

use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;

use super::{Registration, Repo, RepoError, Repos};
use branchyard_git as git;
use branchyard_model::{self as model, BranchName, Problem, RepoName};

impl Repos {
    /// Makes an empty repository with one commit on `branch`, and registers it.
    pub async fn init(&self, name: &RepoName, branch: &BranchName) -> Result<Arc<Repo>, RepoError> {
        let origin = self.origins().join(format!("{}.git", name.dir()));
        let url = origin.to_string_lossy().into_owned();
        let registration = Registration {
            default_branch: Some(branch.clone()),
            ..Registration::new(name.clone(), url)
        };
        // Before anything is made.
        self.check(&registration)?;
        if origin.exists() {
            return Err(origin_exists(&registration).into());
        }
        let staging = self
            .staging()
            .join(format!("{}-{}", name.dir(), uuid::Uuid::now_v7()));
        fs::create_dir_all(self.origins())
            .map_err(RepoError::io("make a directory for origins"))?;
        let made = git::make_origin(self.git(), &staging, branch).await;
        let placed = made.map_err(RepoError::from).and_then(|()| {
            fs::rename(&staging, &origin).map_err(|error| match error.kind() {
                // Somebody else made one of this name meanwhile.
                ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty => {
                    origin_exists(&registration).into()
                }
                _ => RepoError::io("put the origin in its place")(error),
            })
        });
        if let Err(error) = placed {
            // What cannot be taken away now goes at the next start.
            let _ = fs::remove_dir_all(&staging);
            return Err(error);
        }
        self.register(&registration).await
    }
}

fn origin_exists(registration: &Registration) -> Problem {
    let detail = format!("there is an origin of {} already", registration.name);
    Problem::new(model::ErrorKind::Conflict, "origin_exists", detail)
        .field("repo")
        .help(format!(
            "use it by its name, register it with the URL {} if it is not listed, or choose another name",
            registration.url
        ))
}
