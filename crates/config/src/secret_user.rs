//! Jobs of workflow files, and who else is given secrets, as the configuration names them.

use std::borrow::Cow;

use super::task::TaskNames;
use super::value::{Text, TextKind};

const MAX_PART: usize = 100;

/// Who is given secrets: `make`, a task by its name, or a job of a workflow file as `FILE/JOB`.
pub type SecretUser = Text<SecretUsers>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretUsers {}

/// A job of a workflow file, as `FILE/JOB`.
pub type JobPath = Text<JobPaths>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobPaths {}

impl TextKind for JobPaths {
    const EXPECTED: &'static str = r#"a job of a workflow file, such as "ci/test""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_name =
            |part: &str| (1..=MAX_PART).contains(&part.len()) && part.bytes().all(is_letter);
        match text.split_once('/') {
            Some((file, job)) if is_name(file) && is_name(job) => Ok(text.into()),
            _ => Err(
                "a job is FILE/JOB: the name of its workflow file without .yml, and its key in `jobs`"
                    .to_owned(),
            ),
        }
    }
}

impl TextKind for SecretUsers {
    const EXPECTED: &'static str =
        r#""make", the name of a task, or a job of a workflow file, such as "ci/ship""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        match text.contains('/') {
            true => JobPaths::read(text),
            false => TaskNames::read(text),
        }
    }
}
