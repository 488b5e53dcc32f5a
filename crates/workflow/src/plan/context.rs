//! Which contexts are known while planning.

use crate::expression::{ExprFault, Mentions, TemplatePart, parse, parts};

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
        && mentions.contexts.iter().all(|mention| {
            // No plan holds a token.
            let is_token = mention
                .path
                .starts_with(&["github".to_owned(), "token".to_owned()]);
            !is_token && has_context(&mention.path[0])
        })
}
