//! Who did something, and when.

use git2::{Signature, Time};
use jiff::Timestamp;
use jiff::tz::Offset;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Person {
    pub name: String,
    pub email: String,
    /// RFC 3339, by their own clock.
    pub date: String,
}

impl Person {
    pub(crate) fn of(signature: &Signature<'_>) -> Self {
        Self {
            name: text(signature.name_bytes()),
            email: text(signature.email_bytes()),
            date: date(signature.when()),
        }
    }

    /// The date without the time.
    pub(super) fn day(&self) -> &str {
        self.date.split('T').next().unwrap_or(&self.date)
    }
}

/// RFC 3339 with the offset that was noted. Git takes any number for either; what no calendar holds is
/// brought to its edge, and no offset is better than one that cannot be.
pub(crate) fn date(time: Time) -> String {
    let at = Timestamp::from_second(time.seconds()).unwrap_or(match time.seconds() < 0 {
        true => Timestamp::MIN,
        false => Timestamp::MAX,
    });
    let offset = Offset::from_seconds(time.offset_minutes().saturating_mul(60));
    at.display_with_offset(offset.unwrap_or(Offset::UTC))
        .to_string()
}

/// What git keeps as bytes, as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_time_that_git_takes_has_a_date() {
        for (seconds, minutes, expected) in [
            (0, 0, "1970-01-01T00:00:00+00:00"),
            (1_700_000_000, 330, "2023-11-15T03:43:20+05:30"),
            (1_700_000_000, -90, "2023-11-14T20:43:20-01:30"),
            (1_700_000_000, 600_000, "2023-11-14T22:13:20+00:00"),
        ] {
            assert_eq!(date(Time::new(seconds, minutes)), expected);
        }
        assert!(date(Time::new(i64::MAX, 0)).starts_with("9999-"));
        assert!(date(Time::new(i64::MIN, 0)).starts_with("-009999-"));
    }
}
