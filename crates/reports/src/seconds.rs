//! Times, as producers write them.

use std::time::Duration;

/// Seconds, with a point or a comma before the fraction and possibly commas between thousands.
pub(crate) fn millis(text: &str) -> Option<u64> {
    let text = text.trim();
    let plain = match (text.split_once(','), text.contains('.')) {
        (None, _) => text.to_owned(),
        (Some(_), true) => text.replace(',', ""),
        // `1,234` is a thousand and more; `0,5` and `1,25` come from a locale with a decimal comma.
        (Some((whole, rest)), false) => {
            let groups = rest.split(',').all(|group| group.len() == 3);
            let decimal =
                !rest.contains(',') && (whole.trim_start_matches('0').is_empty() || !groups);
            text.replace(',', if decimal { "." } else { "" })
        }
    };
    rounded(plain.parse().ok()?)
}

/// A number with a unit: `12ms`, `1.5 s`, `2m`.
pub(crate) fn with_unit(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let seconds = match text[digits..].trim() {
        "ms" => number / 1000.0,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3600.0,
        _ => return None,
    };
    rounded(seconds)
}

fn rounded(seconds: f64) -> Option<u64> {
    let time = Duration::try_from_secs_f64(seconds).ok()?;
    u64::try_from(time.as_micros().checked_add(500)? / 1000).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_in_any_locale() {
        for (text, expected) in [
            ("0.0123", Some(12)),
            ("1,234.567", Some(1_234_567)),
            ("1,234,567.8", Some(1_234_567_800)),
            ("1,234", Some(1_234_000)),
            ("1,234,567", Some(1_234_567_000)),
            ("0,123", Some(123)),
            ("1,25", Some(1_250)),
            (" 3 ", Some(3_000)),
            ("1e-05", Some(0)),
            ("-1", None),
            ("NaN", None),
            ("inf", None),
            ("1e300", None),
            ("", None),
            (",", None),
        ] {
            assert_eq!(millis(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_time_with_a_unit_is_read() {
        for (text, expected) in [
            ("12ms", Some(12)),
            ("0.51ms", Some(1)),
            ("1.5 s", Some(1_500)),
            ("2m", Some(120_000)),
            ("5", None),
            ("ms", None),
            ("5 apples", None),
        ] {
            assert_eq!(with_unit(text), expected, "{text:?}");
        }
    }
}
