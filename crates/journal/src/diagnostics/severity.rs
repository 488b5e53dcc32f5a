//! Whether a text says that it is an error or a warning.

use branchyard_model::Severity;

/// The severity that a text begins with, and the message after it. A code stays with the message.
pub(super) fn severity(said: &str) -> Option<(Severity, String)> {
    let (head, message) = said.split_once(':')?;
    let message = message.trim();
    if let Some((word, code)) = head.strip_suffix(']').and_then(|head| head.split_once('[')) {
        return Some((severity_of(word)?, format!("{message} [{code}]")));
    }
    if let Some(severity) = severity_of(head) {
        return Some((severity, message.to_owned()));
    }
    // `error TS2304: …` and `error C2065: …`.
    if let Some((word, code)) = head.split_once(' ')
        && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return Some((severity_of(word)?, format!("{code}: {message}")));
    }
    // `DeprecationWarning: …`, `ZeroDivisionError: …`: the kind is half of the message.
    if head.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_')) {
        return None;
    }
    let severity = if head.ends_with("Warning") {
        Severity::Warning
    } else if head.ends_with("Error") {
        Severity::Error
    } else {
        return None;
    };
    Some((severity, format!("{head}: {message}")))
}

fn severity_of(word: &str) -> Option<Severity> {
    match word {
        "error" | "Error" | "ERROR" | "fatal error" | "fatal" | "internal compiler error" => {
            Some(Severity::Error)
        }
        "warning" | "Warning" | "WARNING" => Some(Severity::Warning),
        _ => None,
    }
}
