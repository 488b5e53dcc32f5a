//! Whose the commits are that git makes on behalf of a caller. A change of a workspace goes through many hands before git
//! makes a commit, some of them its own: what is said where the change begins holds for all of it. The committer is
//! always the daemon.

use branchyard_model::Author;

tokio::task_local! {
    static AUTHOR: Option<Author>;
}

/// Does `work`; the commits that git makes in it are by `author`, if there is one.
pub async fn authored<T>(author: Option<Author>, work: impl Future<Output = T>) -> T {
    AUTHOR.scope(author, work).await
}

/// Who the commits that are made here are by, if that is not the daemon.
pub(super) fn author() -> Option<Author> {
    AUTHOR.try_with(Clone::clone).ok().flatten()
}

/// As git is told.
pub fn author_variables(author: &Author) -> [(&'static str, &str); 2] {
    [
        ("GIT_AUTHOR_NAME", author.name()),
        ("GIT_AUTHOR_EMAIL", author.email()),
    ]
}
