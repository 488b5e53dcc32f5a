//! A place in the news, as watchers remember it.

use std::fmt;

use branchyard_model::Problem;

/// Written `EPOCH-COUNT`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventCursor {
    /// Which daemon's news.
    pub(super) epoch: u64,
    /// How many were told before.
    pub(super) count: u64,
}

impl EventCursor {
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let parsed = text.split_once('-').and_then(|(epoch, count)| {
            Some(Self {
                epoch: u64::from_str_radix(epoch, 16).ok()?,
                count: count.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| {
            let detail = format!("{text:?} is not an id of an event of the yard");
            Problem::bad("Last-Event-ID", detail).help("leave it out to begin now")
        })
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}-{}", self.epoch, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_written() {
        let place = EventCursor {
            epoch: 0x64_1f0a,
            count: 12,
        };
        assert_eq!(place.to_string(), "641f0a-12");
        assert_eq!(EventCursor::parse("641f0a-12").unwrap(), place);
        for wrong in [
            "",
            "12",
            "-",
            "x-1",
            "1-x",
            "1-2-3",
            "641f0a-99999999999999999999",
        ] {
            assert!(EventCursor::parse(wrong).is_err(), "{wrong}");
        }
    }
}
