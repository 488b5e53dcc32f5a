//! Sizes as people write them: `512MiB`, `2GB`.

use std::fmt;

use super::value::{TextValue, text_value};

/// A number of bytes. Decimal units count in thousands (`2GB`), binary ones in 1024s (`512MiB`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

/// Largest first, binary before decimal: the order in which a size picks the unit it is shown in.
const UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("B", 1),
];

impl ByteSize {
    pub const fn bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    pub const fn kib(kib: u64) -> Self {
        Self(kib.saturating_mul(1 << 10))
    }

    pub const fn mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    pub const fn gib(gib: u64) -> Self {
        Self(gib.saturating_mul(1 << 30))
    }

    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// For lengths in memory; more than the machine can address is "as much as it can".
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// The size, or the rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        if number.is_empty() {
            return Err("it does not start with a whole number".to_owned());
        }
        let unit = unit.trim_start();
        if unit.is_empty() {
            return Err("the unit is missing".to_owned());
        }
        let (_, factor) = UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .ok_or_else(|| format!("{unit:?} is not a unit of size"))?;
        let bytes = number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(*factor))
            .ok_or("it is too large")?;
        if bytes == 0 {
            return Err("it must be more than zero".to_owned());
        }
        Ok(Self(bytes))
    }
}

impl TextValue for ByteSize {
    const EXPECTED: &'static str = r#"a size such as "512MiB", "64KiB" or "2GB""#;

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}
text_value!(ByteSize);

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, factor) = UNITS
            .iter()
            .find(|(_, factor)| self.0 >= *factor && self.0.is_multiple_of(*factor))
            .unwrap_or(&("B", 1));
        write!(f, "{}{name}", self.0 / factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_in_both_kinds_of_units() {
        for (text, bytes) in [
            ("1B", 1),
            ("1 KiB", 1024),
            ("1kB", 1000),
            ("512MiB", 536_870_912),
            ("2GB", 2_000_000_000),
            ("3tib", 3 << 40),
        ] {
            assert_eq!(ByteSize::parse(text), Ok(ByteSize(bytes)), "{text}");
        }
    }

    #[test]
    fn refusals_name_the_rule() {
        for (text, rule) in [
            ("", "it does not start with a whole number"),
            ("-1MB", "it does not start with a whole number"),
            ("1024", "the unit is missing"),
            ("1.5GiB", "\".5GiB\" is not a unit of size"),
            ("5 bananas", "\"bananas\" is not a unit of size"),
            ("0MB", "it must be more than zero"),
            ("99999999999TiB", "it is too large"),
        ] {
            assert_eq!(ByteSize::parse(text), Err(rule.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_that_fits_it_exactly() {
        for text in ["1MiB", "2GB", "1536KiB", "1001B", "1TiB"] {
            assert_eq!(ByteSize::parse(text).unwrap().to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_reads_back_as_the_same(bytes in 1u64..) {
            prop_assert_eq!(ByteSize::parse(&ByteSize(bytes).to_string()), Ok(ByteSize(bytes)));
        }
    }
}
