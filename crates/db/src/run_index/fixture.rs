//! Runs and stores for the tests of this module.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;

use super::{Condition, RunIndex};
use branchyard_model::{
    BranchName, EndState, OnDisconnect, RepoName, RunId, RunKind, RunRecord, RunSpec, RunState,
    SyncMode,
};
use branchyard_runtime::background::Loops;

/// A run that has ended, with the least that a run has.
pub(super) fn record() -> RunRecord {
    let spec = RunSpec {
        kind: RunKind::Make,
        repo: RepoName::parse("demo").unwrap(),
        branch: BranchName::parse("main").unwrap(),
        task: None,
        argv: vec!["make".to_owned()],
        code_sha256: None,
        author: None,
        asked_argv: None,
        env: BTreeMap::new(),
        timeout: Duration::from_secs(60),
        background: false,
        ready: None,
        test: None,
        sync: SyncMode::Auto,
        clean: false,
        cold: false,
        without_setup: false,
        stale: false,
        reuse: false,
        on_disconnect: OnDisconnect::Cancel,
        principal: "me".to_owned(),
        group: None,
        step: None,
    };
    let mut record = RunRecord::new(RunId::new(), spec);
    record.state = RunState::Ended(EndState::Succeeded);
    record
}

pub(super) struct Yard {
    pub(super) dir: TempDir,
}

impl Yard {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.path().join("yard.db")
    }

    pub(super) fn open(&self) -> (RunIndex, Condition) {
        RunIndex::open(&self.path(), &Loops::default(), || false).unwrap()
    }

    pub(super) fn store(&self) -> RunIndex {
        self.open().0
    }
}
