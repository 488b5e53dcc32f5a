//! Durations as people write them: `10s`, `1h 30m`, `7d`.

use std::time::Duration;

use serde::Deserializer;
use serde::de::Error;

use super::value::{self, TextValue};

/// Longer than any build and short enough that adding it to a clock cannot overflow.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

impl TextValue for Duration {
    const EXPECTED: &'static str = r#"a duration such as "10s", "1h 30m" or "7d""#;

    fn from_text(text: &str) -> Result<Self, String> {
        let duration = humantime::parse_duration(text).map_err(|error| match error {
            humantime::DurationError::UnknownUnit { unit, .. } if unit.is_empty() => {
                "the unit is missing".to_owned()
            }
            humantime::DurationError::UnknownUnit { unit, .. } => {
                format!("{unit:?} is not a unit of time")
            }
            humantime::DurationError::Empty => "it is empty".to_owned(),
            other => other.to_string(),
        })?;
        if duration > LONGEST {
            return Err("it is longer than ten years".to_owned());
        }
        Ok(duration)
    }
}

/// A duration that must not be zero; also for a key that may be left out.
pub(super) fn positive<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: From<Duration>,
{
    let duration: Duration = value::text(from)?;
    if duration.is_zero() {
        return Err(D::Error::custom(format!(
            "it must be longer than zero; expected {}",
            Duration::EXPECTED
        )));
    }
    Ok(duration.into())
}

/// How far two clocks may be apart; beyond that, an expiry would mean nothing.
pub(super) fn clock_difference<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    const MOST: Duration = Duration::from_secs(5 * 60);
    let duration: Duration = value::text(from)?;
    match duration > MOST {
        true => Err(D::Error::custom("it is longer than 5m: set the clocks")),
        false => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, seconds) in [
            ("10s", 10),
            ("1h 30m", 5400),
            ("7d", 604_800),
            ("0s", 0),
            ("2weeks", 1_209_600),
        ] {
            assert_eq!(Duration::from_text(text), Ok(Duration::from_secs(seconds)));
        }
    }

    #[test]
    fn refusals_name_the_rule() {
        for (text, rule) in [
            ("10", "the unit is missing"),
            ("10 parsecs", "\"parsecs\" is not a unit of time"),
            ("", "it is empty"),
            ("11years", "it is longer than ten years"),
        ] {
            assert_eq!(Duration::from_text(text), Err(rule.to_owned()), "{text}");
        }
        for text in ["-5s", "s", "1h30", "99999999999999999999s", "ten seconds"] {
            assert!(Duration::from_text(text).is_err(), "{text} was accepted");
        }
    }
}
