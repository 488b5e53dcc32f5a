//! Who is given secrets, as `[repos.NAME.secrets]` names them.

use std::borrow::Cow;

use super::task::TaskNames;
use super::value::{Text, TextKind};

const MAX_PART: usize = 100;

/// Who is given secrets: `make`, a task by its name, or a job of a workflow file as `FILE/JOB`.
pub type SecretUser = Text<SecretUsers>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SecretUsers {}

impl TextKind for SecretUsers {
    const EXPECTED: &'static str =
        r#""make", the name of a task, or a job of a workflow file, such as "ci/ship""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let Some((file, job)) = text.split_once('/') else {
            return TaskNames::read(text);
        };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        let is_name =
            |part: &str| (1..=MAX_PART).contains(&part.len()) && part.bytes().all(is_letter);
        match is_name(file) && is_name(job) {
            true => Ok(text.into()),
            false => Err(
                "a job is FILE/JOB: the name of its workflow file without .yml, and its key in `jobs`"
                    .to_owned(),
            ),
        }
    }
}
