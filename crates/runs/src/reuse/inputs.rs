//! What decides what a command does, short of the files beside the tracked ones.

use std::collections::BTreeMap;

use serde::Serialize;

use super::key::ReuseKey;
use super::toolchain::ProgramIdentity;
use crate::sandbox::Decides;
use branchyard_model::{CommitId, RepoName, RunKind};

/// Changed whenever the meaning of what follows is: what an older version wrote down matches nothing then.
const VERSION: u32 = 2;

/// It holds secrets, hence no `Debug`.
#[derive(Serialize)]
pub(super) struct Inputs<'a> {
    /// Not the commit: its message and date change nothing that is built.
    pub(super) tree: &'a CommitId,
    pub(super) repo: &'a RepoName,
    pub(super) kind: RunKind,
    pub(super) task: Option<&'a str>,
    /// As it was asked for: how many share the cores changes no result.
    pub(super) argv: &'a [String],
    /// Declared, the caller's and secrets; not what names the run itself.
    pub(super) env: &'a BTreeMap<String, String>,
    /// Who set variables, where a caller did: what another principal's are must not be told by an answer.
    pub(super) principal: Option<&'a str>,
    pub(super) sandbox: Decides,
    /// What each tool said.
    pub(super) tools: Vec<String>,
    pub(super) program: Option<ProgramIdentity>,
}

impl Inputs<'_> {
    pub(super) fn digest(&self, key: &ReuseKey) -> String {
        // Plain data with string keys always serialises.
        let text = serde_json::to_vec(&(VERSION, self)).unwrap_or_default();
        key.digest(&text)
    }
}
