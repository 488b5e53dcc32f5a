//! Reads Branchyard's own keys of a job.

use branchyard_model::{Globs, Stars};

use super::extras::{JobExtras, RetryRule};
use super::keys::RETRY;
use super::reader::Reader;
use crate::yaml::{YamlKind, YamlNode};

const MAX_RETRIES: u8 = 10;
const MAX_HOLD: u64 = 7 * 24 * 3600;

pub(super) fn read_extra(
    reader: &mut Reader<'_>,
    key: &str,
    node: &YamlNode,
    extras: &mut JobExtras,
) {
    match key {
        "inputs" => extras.inputs = Some(read_globs(reader, key, node)),
        "reports" => extras.reports = read_globs(reader, key, node),
        "retry" => extras.retry = read_retry(reader, node),
        "warm" => extras.warm = reader.plain_flag(node, key),
        "hold" => {
            extras.hold_seconds = node.scalar_text().as_deref().and_then(seconds);
            if extras.hold_seconds.is_none() {
                reader.invalid(
                    node.at,
                    "`hold` is a time up to 7 days, such as \"30m\" or \"2h\"",
                );
            }
        }
        _ => {
            let written = node.scalar_text().unwrap_or_default();
            extras.reuse = match written.as_str() {
                "tree" | "inputs" | "off" => Some(written),
                "false" => Some("off".to_owned()),
                _ => {
                    reader.invalid(node.at, "`reuse` is `tree`, `inputs`, `off` or false");
                    None
                }
            };
        }
    }
}

fn read_globs(reader: &mut Reader<'_>, key: &str, node: &YamlNode) -> Vec<String> {
    let globs = reader.list(node, key);
    for glob in &globs {
        if let Err(error) = Globs::one(&glob.text, Stars::WithinSegment) {
            reader.invalid(glob.at, format!("`{}` is no glob: {error}", glob.text));
        } else if glob.text.starts_with('/') || glob.text.split('/').any(|part| part == "..") {
            reader.invalid(
                glob.at,
                format!(
                    "`{}` leaves the repository; write a path inside of it",
                    glob.text
                ),
            );
        }
    }
    globs.into_iter().map(|glob| glob.text).collect()
}

fn read_retry(reader: &mut Reader<'_>, node: &YamlNode) -> Option<RetryRule> {
    let mut max = None;
    let mut on = Vec::new();
    for (key, _, value) in reader.keys(node, RETRY) {
        if key == "max" {
            let text = value.scalar_text().unwrap_or_default();
            max = text
                .parse()
                .ok()
                .filter(|max| (1..=MAX_RETRIES).contains(max));
            if max.is_none() {
                reader.invalid(
                    value.at,
                    format!("`max` is a number from 1 to {MAX_RETRIES}"),
                );
                return None;
            }
        } else {
            for cause in reader.texts(value, key) {
                if matches!(cause.text.as_str(), "flaky" | "lost") {
                    on.push(cause.text);
                } else {
                    reader.invalid(cause.at, "`on` of `retry` has `flaky` and `lost`");
                }
            }
        }
    }
    match max {
        Some(max) if !on.is_empty() => Some(RetryRule { max, on }),
        _ => {
            if matches!(node.kind, YamlKind::Map(_)) {
                reader.invalid(
                    node.at,
                    "`retry` needs `max` and `on`, such as {max: 1, on: [flaky, lost]}",
                );
            }
            None
        }
    }
}

/// Of "30m" and the like.
fn seconds(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let factor = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    let number: u64 = text[..text.len() - 1].parse().ok()?;
    number
        .checked_mul(factor)
        .filter(|seconds| (1..=MAX_HOLD).contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, found) in [
            ("30m", Some(1800)),
            ("2h", Some(7200)),
            ("7d", Some(MAX_HOLD)),
            ("8d", None),
            ("0s", None),
            ("m", None),
            ("30", None),
            ("é", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(seconds(text), found, "{text}");
        }
    }
}
