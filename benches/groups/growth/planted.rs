//! A long history in a moment: copies of runs that were real, each with an id of its own. A daemon makes
//! its index anew from what is on disk, so it finds no difference.

use std::path::{Path, PathBuf};

use uuid::{NoContext, Timestamp, Uuid};

const FIRST: u64 = 1_700_000_000;
/// A file of ext4 has at most 65,000 names.
const NAMES: usize = 10_000;

/// Puts so many more runs into a yard without a daemon, which has some: of each as many.
pub fn plant(workspaces: &Path, count: usize) {
    let state = workspaces.join(".branchyard");
    let runs = state.join("runs");
    let mut real: Vec<_> = std::fs::read_dir(&runs)
        .unwrap()
        .map(|home| Planted::like(&home.unwrap().path()))
        .collect();
    let kinds = real.len();
    for n in 0..count {
        let seconds = FIRST + n as u64;
        let own = Uuid::new_v7(Timestamp::from_unix(NoContext, seconds, 0)).to_string();
        real[n % kinds].again(&runs.join(&own), &own);
    }
    // An index that knows of one run only would be no start without one.
    for file in std::fs::read_dir(&state).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with("yard.db") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
}

/// A run to be had many times.
struct Planted {
    id: String,
    record: String,
    /// All but the record is the same for all, and one file can have many names.
    others: Vec<PathBuf>,
    names: usize,
}

impl Planted {
    fn like(home: &Path) -> Self {
        let files = std::fs::read_dir(home).unwrap();
        Self {
            id: home.file_name().unwrap().to_str().unwrap().to_owned(),
            record: std::fs::read_to_string(home.join("run.json")).unwrap(),
            others: files
                .map(|file| file.unwrap().path())
                .filter(|file| !file.ends_with("run.json"))
                .collect(),
            names: 1,
        }
    }

    fn again(&mut self, home: &Path, id: &str) {
        std::fs::create_dir(home).unwrap();
        std::fs::write(home.join("run.json"), self.record.replace(&self.id, id)).unwrap();
        self.names += 1;
        let is_full = self.names.is_multiple_of(NAMES);
        for file in &mut self.others {
            let own = home.join(file.file_name().unwrap());
            match is_full {
                true => {
                    std::fs::copy(&*file, &own).unwrap();
                    *file = own;
                }
                false => std::fs::hard_link(file, own).unwrap(),
            }
        }
    }
}
