//! What an expression is evaluated with.

use super::budget::ExprBudget;
use super::value::{ExprObject, ExprValue};

/// How the job or step before ended, for `success()` and its kin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStatus {
    Success,
    Failure,
    Cancelled,
    /// None of these: a job was skipped that is needed.
    Skipped,
}

/// Answers `hashFiles`: this crate reads no files.
pub trait HashFiles {
    /// The digest of all files that match one of the patterns, or an empty text if none does.
    fn hash_files(&self, patterns: &[String]) -> Result<String, String>;
}

/// The contexts by name, and what the functions ask for.
#[derive(Default, Clone)]
pub struct EvalContext<'a> {
    values: ExprObject,
    status: Option<JobStatus>,
    files: Option<&'a dyn HashFiles>,
    budget: Option<&'a ExprBudget>,
}

impl<'a> EvalContext<'a> {
    pub fn new() -> Self {
        Self::default()
    }

    /// With a context, such as `github`. It takes the place of one with the same name.
    #[must_use]
    pub fn with(mut self, name: &str, value: ExprValue) -> Self {
        self.values.replace(name, value);
        self
    }

    /// Without a context, so that what names it is left for later.
    #[must_use]
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.values.remove(name);
        self
    }

    #[must_use]
    pub fn with_status(mut self, status: JobStatus) -> Self {
        self.status = Some(status);
        self
    }

    #[must_use]
    pub fn with_files(mut self, files: &'a dyn HashFiles) -> Self {
        self.files = Some(files);
        self
    }

    /// With a budget that several expressions share; else each has its own.
    #[must_use]
    pub(crate) fn with_budget(mut self, budget: &'a ExprBudget) -> Self {
        self.budget = Some(budget);
        self
    }

    pub(crate) fn budget(&self) -> Option<&'a ExprBudget> {
        self.budget
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ExprValue> {
        self.values.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(name, _)| name)
    }

    pub(crate) fn status(&self) -> Option<JobStatus> {
        self.status
    }

    pub(crate) fn hash_files(&self, patterns: &[String]) -> Result<String, String> {
        match self.files {
            Some(files) => files.hash_files(patterns),
            None => Err("hashFiles cannot be used here: no files are there yet".to_owned()),
        }
    }
}
