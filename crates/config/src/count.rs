//! Counts: how many of something may be there at once.

use std::fmt;

use serde::Deserializer;
use serde::de::{Error, Unexpected, Visitor};

/// More than any machine can do at once, and few enough for every semaphore.
const AT_ONCE: i64 = 65_535;
/// For what is only kept or counted.
const AT_ALL: i64 = 1_000_000_000;

/// At least one.
struct Count {
    most: i64,
}

impl Visitor<'_> for Count {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 1 to {}", self.most)
    }
    fn visit_i64<E: Error>(self, number: i64) -> Result<usize, E> {
        match usize::try_from(number) {
            Ok(count) if (1..=self.most).contains(&number) => Ok(count),
            _ => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}

/// How many at once; also for a key that may be left out.
pub(super) fn count<'de, D: Deserializer<'de>, T: From<usize>>(from: D) -> Result<T, D::Error> {
    from.deserialize_i64(Count { most: AT_ONCE }).map(T::from)
}

/// How often something is done again; also for a key that may be left out.
pub(super) fn few<'de, D: Deserializer<'de>, T: From<usize>>(from: D) -> Result<T, D::Error> {
    from.deserialize_i64(Count { most: 10 }).map(T::from)
}

/// How many in all.
pub(super) fn many<'de, D: Deserializer<'de>, T: From<usize>>(from: D) -> Result<T, D::Error> {
    from.deserialize_i64(Count { most: AT_ALL }).map(T::from)
}

/// The number of cores that this process may use.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
