//! Marks of free space: `10GiB`, or a share of the file system such as `5%`.

use std::fmt;

use super::ByteSize;
use super::value::{TextValue, text_value};

/// How much of a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Size(ByteSize),
    /// Percent of the whole.
    Share(u8),
}

impl Mark {
    /// The mark in bytes. A share is taken as `most` at most: five percent of a huge disk are more than
    /// anybody runs out of.
    pub fn bytes(self, total: u64, most: ByteSize) -> u64 {
        match self {
            Self::Size(size) => size.as_u64(),
            Self::Share(percent) => {
                let share = u128::from(total) * u128::from(percent) / 100;
                u64::try_from(share).unwrap_or(u64::MAX).min(most.as_u64())
            }
        }
    }

    /// Whether it is above `other` on every file system.
    pub(super) fn is_above(self, other: Self) -> bool {
        match (self, other) {
            (Self::Size(one), Self::Size(other)) => one > other,
            (Self::Share(one), Self::Share(other)) => one > other,
            _ => false,
        }
    }
}

impl TextValue for Mark {
    const EXPECTED: &'static str = r#"a size such as "10GiB" or a share such as "5%""#;

    fn from_text(text: &str) -> Result<Self, String> {
        let Some(share) = text.trim().strip_suffix('%') else {
            return ByteSize::parse(text).map(Self::Size);
        };
        match share.trim_end().parse() {
            Ok(percent @ 1..=99) => Ok(Self::Share(percent)),
            _ => Err("a share is a whole number from 1% to 99%".to_owned()),
        }
    }
}
text_value!(Mark);

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(size) => size.fmt(f),
            Self::Share(percent) => write!(f, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_sizes_or_shares() {
        for text in ["5%", "99%", "10GiB", "1B"] {
            assert_eq!(Mark::from_text(text).unwrap().to_string(), text);
        }
        for text in ["0%", "100%", "1.5%", "-1%", "%", "5", "", "5 %%"] {
            assert!(Mark::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_of_a_huge_disk_is_capped_and_a_size_is_not() {
        let most = ByteSize::gib(50);
        assert_eq!(Mark::Share(5).bytes(1000, most), 50);
        assert_eq!(Mark::Share(5).bytes(u64::MAX, most), most.as_u64());
        let size = ByteSize::gib(60);
        assert_eq!(Mark::Size(size).bytes(1000, most), size.as_u64());
    }
}
