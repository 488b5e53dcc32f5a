//! A long history in a moment: copies of one run that was real, each with an id of its own. A daemon makes
//! its index anew from what is on disk, so it finds no difference.

use std::path::Path;

use uuid::{NoContext, Timestamp, Uuid};

const FIRST: u64 = 1_700_000_000;

/// Puts so many more runs into a yard without a daemon, which has one.
pub fn plant(workspaces: &Path, count: usize) {
    let state = workspaces.join(".branchyard");
    let runs = state.join("runs");
    let real = std::fs::read_dir(&runs).unwrap().next().unwrap().unwrap();
    let id = real.file_name().into_string().unwrap();
    let record = std::fs::read_to_string(real.path().join("run.json")).unwrap();
    // All but the record is the same for all, and one file can have many names.
    let others: Vec<_> = std::fs::read_dir(real.path())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .filter(|name| name != "run.json")
        .collect();
    for n in 0..count {
        let seconds = FIRST + n as u64;
        let own = Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, 0)).to_string();
        let dir = runs.join(&own);
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("run.json"), record.replace(&id, &own)).unwrap();
        for name in &others {
            std::fs::hard_link(real.path().join(name), dir.join(name)).unwrap();
        }
    }
    // An index that knows of one run only would be no start without one.
    for file in std::fs::read_dir(&state).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with("yard.db") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
}
