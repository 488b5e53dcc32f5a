//! Texts with `${{ }}` in them.

use super::coerce::to_text;
use super::context::{EvalContext, JobStatus};
use super::evaluate::{evaluate, evaluate_tree};
use super::fault::ExprFault;
use super::functions::push;
use super::mentions::Mentions;
use super::syntax::parse;
use super::value::ExprValue;

const OPEN: &str = "${{";
const CLOSE: &str = "}}";

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplatePart<'t> {
    Text(&'t str),
    /// What stands between `${{` and `}}`, at this offset of the text.
    Expression {
        text: &'t str,
        offset: usize,
    },
}

pub(crate) fn parts(text: &str) -> Result<Vec<TemplatePart<'_>>, ExprFault> {
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find(OPEN) {
        let start = at + found;
        let offset = start + OPEN.len();
        let Some(length) = end_of(&text[offset..]) else {
            let message = "`${{` has no `}}`; close the expression";
            return Err(ExprFault::new(start..text.len(), message));
        };
        if start > at {
            parts.push(TemplatePart::Text(&text[at..start]));
        }
        let inner = &text[offset..offset + length];
        parts.push(TemplatePart::Expression {
            text: inner,
            offset,
        });
        at = offset + length + CLOSE.len();
    }
    if at < text.len() {
        parts.push(TemplatePart::Text(&text[at..]));
    }
    Ok(parts)
}

/// Where the `}}` is that no text of the expression has in it.
fn end_of(text: &str) -> Option<usize> {
    let mut in_text = false;
    let bytes = text.as_bytes();
    (0..bytes.len()).find(|at| {
        in_text ^= bytes[*at] == b'\'';
        !in_text && bytes[*at..].starts_with(CLOSE.as_bytes())
    })
}

/// The value of a text: of whatever type if it is one expression and nothing else.
pub(crate) fn render_value(text: &str, context: &EvalContext<'_>) -> Result<ExprValue, ExprFault> {
    let parts = parts(text)?;
    if let [TemplatePart::Expression { text, offset }] = parts.as_slice() {
        return evaluate(text, context).map_err(|fault| fault.after(*offset));
    }
    let mut made = String::new();
    for part in parts {
        let (piece, span) = match part {
            TemplatePart::Text(text) => (text.to_owned(), 0..0),
            TemplatePart::Expression { text, offset } => {
                let value = evaluate(text, context).map_err(|fault| fault.after(offset))?;
                (to_text(&value), offset..offset + text.len())
            }
        };
        push(&mut made, &piece).map_err(|message| ExprFault::new(span, message))?;
    }
    Ok(ExprValue::Text(made))
}

/// The text with the values of its expressions in it.
pub fn render(text: &str, context: &EvalContext<'_>) -> Result<String, ExprFault> {
    render_value(text, context).map(|value| to_text(&value))
}

/// Whether a job or step is run by its `if`: without one, and where it names no status itself, only after success.
pub fn condition(text: Option<&str>, context: &EvalContext<'_>) -> Result<bool, ExprFault> {
    let succeeded = context.status() == Some(JobStatus::Success);
    let Some((text, offset)) = text.map(condition_text).transpose()?.flatten() else {
        return Ok(succeeded);
    };
    let tree = parse(text).map_err(|fault| fault.after(offset))?;
    if Mentions::of(&tree).status.is_none() && !succeeded {
        return Ok(false);
    }
    let value = evaluate_tree(&tree, context).map_err(|fault| fault.after(offset))?;
    Ok(value.is_truthy())
}

/// The expression of an `if`, which may stand in `${{ }}`, and where it begins; none if it is empty.
pub(crate) fn condition_text(text: &str) -> Result<Option<(&str, usize)>, ExprFault> {
    let trimmed = text.trim();
    let start = text.len() - text.trim_start().len();
    if !trimmed.contains(OPEN) {
        return Ok((!trimmed.is_empty()).then_some((trimmed, start)));
    }
    match parts(trimmed)
        .map_err(|fault| fault.after(start))?
        .as_slice()
    {
        [TemplatePart::Expression { text, offset }] => {
            let lead = text.len() - text.trim_start().len();
            Ok((!text.trim().is_empty()).then_some((text.trim(), start + offset + lead)))
        }
        _ => {
            let message =
                "`if` has text beside `${{ }}`, which always holds; write it as one expression";
            Err(ExprFault::new(start..start + trimmed.len(), message))
        }
    }
}

/// Whether a text from outside may stand in a script: it has nothing in it that a shell could take for syntax.
pub fn is_plain(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._/@:+-".contains(&byte);
    text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(status: JobStatus) -> EvalContext<'static> {
        EvalContext::new()
            .with("a", ExprValue::Number(1.0))
            .with_status(status)
    }

    #[test]
    fn texts_are_rendered() {
        let context = context(JobStatus::Success);
        for (text, made) in [
            ("plain", "plain"),
            ("", ""),
            ("${{ a }}", "1"),
            ("x${{a}}y${{ 'b' }}", "x1yb"),
            ("${{ '}}' }}!", "}}!"),
            ("${{ 'it''s }}' }}", "it's }}"),
            ("$ {{ a }}", "$ {{ a }}"),
        ] {
            assert_eq!(render(text, &context).unwrap(), made, "{text}");
        }
        assert_eq!(
            render_value("${{ a }}", &context).unwrap(),
            ExprValue::Number(1.0)
        );
        assert_eq!(render("ab ${{ a", &context).unwrap_err().span.start, 3);
        assert_eq!(render("ab ${{ b }}", &context).unwrap_err().span, 7..8);
        assert!(render("${{ }}", &context).is_err());
    }

    #[test]
    fn a_condition_without_a_status_needs_success() {
        for (text, after_success, after_failure) in [
            (None, true, false),
            (Some(""), true, false),
            (Some("a == 1"), true, false),
            (Some("a == 2"), false, false),
            (Some("${{ a == 1 }}"), true, false),
            (Some("always()"), true, true),
            (Some("failure() && a == 1"), false, true),
            (Some("!cancelled()"), true, true),
        ] {
            assert_eq!(
                condition(text, &context(JobStatus::Success)),
                Ok(after_success),
                "{text:?}"
            );
            assert_eq!(
                condition(text, &context(JobStatus::Failure)),
                Ok(after_failure),
                "{text:?}"
            );
        }
        assert!(condition(Some("${{ a }} == 1"), &context(JobStatus::Success)).is_err());
    }

    #[test]
    fn plain_text_has_no_syntax_of_a_shell() {
        for text in ["", "refs/heads/a-b", "v1.2.3+x", "user@host:1"] {
            assert!(is_plain(text), "{text}");
        }
        for text in ["a b", "$(x)", "`x`", "a;b", "a\nb", "é", "'", "a=b", "~"] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
