//! Which contexts are known while planning.

use crate::expression::{ExprFault, Mention, Mentions, TemplatePart, parse, parts};

/// Properties of `github` that only a running job has.
const LATER: [&str; 6] = [
    "token",
    "workspace",
    "run_attempt",
    "action",
    "action_path",
    "event_path",
];

/// Whether every expression of a text can be evaluated with these contexts.
pub(super) fn is_known(text: &str, has_context: &impl Fn(&str) -> bool) -> Result<bool, ExprFault> {
    for part in parts(text)? {
        if let TemplatePart::Expression { text, offset } = part {
            let tree = parse(text).map_err(|fault| fault.after(offset))?;
            if !are_known(&Mentions::of(&tree), has_context) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

pub(super) fn are_known(mentions: &Mentions, has_context: &impl Fn(&str) -> bool) -> bool {
    mentions.status.is_none()
        && mentions.hash_files.is_none()
        && mentions
            .contexts
            .iter()
            .all(|mention| !is_later(mention) && has_context(&mention.path[0]))
}

/// A plan holds no token, and is made before it is known where and how often a job runs.
pub(super) fn is_later(mention: &Mention) -> bool {
    let name = mention.path.get(1);
    mention.path[0] == "github" && name.is_some_and(|name| LATER.contains(&name.as_str()))
}
