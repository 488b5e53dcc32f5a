//! Counts: how many of something may be there at once.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

/// More than any machine can hold, and few enough for every semaphore.
const MOST: u16 = u16::MAX;

/// At least one.
pub(super) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    struct Count;
    impl Visitor<'_> for Count {
        type Value = usize;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a whole number from 1 to {MOST}")
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<usize, E> {
            match u16::try_from(number) {
                Ok(number) if number > 0 => Ok(usize::from(number)),
                _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
            }
        }
    }
    from.deserialize_i64(Count)
}

/// For keys that may be left out.
pub(super) fn optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    count(from).map(Some)
}

/// The number of cores that this process may use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
