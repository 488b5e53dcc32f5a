//! Without `trust.db` only the session key opens the daemon, and whoever starts it is told.

use std::path::Path;

use super::{make, name_of, names, refused};
use crate::support::{Options, Yard};

/// What becomes of the file.
type Loss<'a> = &'a dyn Fn(&Path);

#[tokio::test(flavor = "multi_thread")]
async fn without_its_file_only_the_session_key_works_and_the_start_says_so() {
    let mut yard = Yard::asleep(Options {
        bare: true,
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&[]).await;
    let mut token = make(&yard, &yard.key(), "dev", "dev").await;
    daemon.stop().await;
    assert!(
        !daemon
            .said
            .iter()
            .any(|line| line.contains("session key opens")),
        "{:?}",
        daemon.said
    );
    let file = yard.workspaces.join(".branchyard/trust.db");
    let gone = |file: &Path| std::fs::remove_file(file).unwrap();
    let empty = |file: &Path| std::fs::write(file, "").unwrap();
    let half = |file: &Path| {
        let whole = std::fs::read(file).unwrap();
        std::fs::write(file, &whole[..whole.len() / 2]).unwrap();
    };
    let garbage = |file: &Path| std::fs::write(file, "not a database".repeat(1000)).unwrap();
    let losses: [(Loss<'_>, &str); 4] = [
        (&gone, "trust.db is gone"),
        (&empty, "trust.db was damaged"),
        (&half, "trust.db was damaged"),
        (&garbage, "trust.db was damaged"),
    ];
    for (lose, words) in losses {
        lose(&file);
        let mut daemon = yard.start_binary(&[]).await;
        let line = daemon.until_said(words).await;
        assert!(
            line.contains("only the session key opens the daemon"),
            "{line}"
        );
        assert!(line.contains("trust.db"), "it names the file: {line}");
        assert_eq!(
            refused(&yard, &token).await,
            "the token is not one that this daemon knows"
        );
        assert_eq!(names(&yard, &yard.key()).await.len(), 0);
        token = make(&yard, &yard.key(), "dev", "dev").await;
        assert_eq!(name_of(&yard, &token).await, "token:dev");
        daemon.stop().await;
    }
    let kept = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let kept = kept.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("trust.db.damaged-")
    });
    assert!(kept.count() >= 3, "what was damaged is kept");
}
