//! A daemon that is killed while it starts something: the next one starts what is missing, and nothing twice.

use serde_json::json;

use super::{ON_PUSH, auto};
use crate::support::Yard;

#[tokio::test]
async fn a_push_starts_each_file_once_wherever_the_daemon_is_killed() {
    for point in ["pipeline-planned", "pipeline-recorded", "triggered"] {
        let mut yard = Yard::asleep(auto("poll = \"100ms\""));
        yard.origin.write(".branchyard/workflows/one.yml", ON_PUSH);
        yard.origin.workflow("two.yml", ON_PUSH);
        yard.start().await;
        yard.looked().await;
        yard.stop().await;
        let commit = yard.origin.branch("feature/x");
        let mut killed = yard.spawn_binary(&[("BRANCHYARD_CRASH_AT", point)]);
        assert!(!killed.ended().await.success(), "{point}");
        yard.start().await;
        let all = yard.ended_pipelines(2).await;
        yard.asked_again().await;
        let all_later = yard.ended_pipelines(2).await;
        assert_eq!(all, all_later, "{point}");
        let mut files: Vec<_> = all.iter().map(|it| it["file"].as_str().unwrap()).collect();
        files.sort_unstable();
        assert_eq!(
            files,
            [
                ".branchyard/workflows/one.yml",
                ".branchyard/workflows/two.yml"
            ],
            "{point}"
        );
        assert!(all.iter().all(|it| it["commit"] == json!(commit)));
        yard.stop().await;
    }
}
