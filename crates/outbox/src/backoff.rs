//! When a message that did not arrive is sent again. It is given up after so many failures and not at an hour: the machine's
//! clock may be wrong.

use jiff::{SignedDuration, Timestamp};

/// After each failure; the last again and again.
const PAUSES: [SignedDuration; 7] = [
    SignedDuration::from_secs(5),
    SignedDuration::from_secs(30),
    SignedDuration::from_mins(2),
    SignedDuration::from_mins(5),
    SignedDuration::from_mins(15),
    SignedDuration::from_mins(30),
    SignedDuration::from_mins(60),
];
/// No receiver is waited for longer, whatever it asks for.
pub(crate) const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// For how long a message that does not arrive is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retry {
    ForADay,
    /// For some minutes: the receiver lacks what the message is about, and may have it soon.
    Briefly,
    /// A command that failed: what it did by then, it does again each time.
    AFewTimes,
    Never,
}

impl Retry {
    fn most_failures(self) -> u32 {
        match self {
            Self::ForADay => 30,
            Self::Briefly => 6,
            Self::AFewTimes => 4,
            Self::Never => 0,
        }
    }
}

/// When a message is sent again after so many failures; none if it is given up. A receiver may ask for a longer pause.
pub(crate) fn next(
    retry: Retry,
    failures: u32,
    asked: Option<SignedDuration>,
    now: Timestamp,
) -> Option<Timestamp> {
    let nth = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
    let pause = PAUSES[nth.min(PAUSES.len() - 1)];
    let pause = asked.map_or(pause, |asked| asked.clamp(pause, LONGEST));
    let next = now.checked_add(pause).ok()?;
    (failures < retry.most_failures()).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After how many minutes it is tried again.
    fn tried(retry: Retry) -> Vec<i64> {
        let made: Timestamp = "2026-11-19T00:00:00Z".parse().unwrap();
        let (mut now, mut tried) = (made, Vec::new());
        while let Some(at) = next(retry, u32::try_from(tried.len()).unwrap() + 1, None, now) {
            now = at;
            tried.push(now.duration_since(made).as_mins());
        }
        tried
    }

    #[test]
    fn it_is_tried_for_a_day_and_soon_after_an_hour() {
        let tried = tried(Retry::ForADay);
        let after_an_hour = tried.iter().find(|minutes| **minutes >= 60).unwrap();
        assert!(*after_an_hour < 120, "{tried:?}");
        assert!((1380..1500).contains(tried.last().unwrap()), "{tried:?}");
    }

    #[test]
    fn what_a_receiver_lacks_is_tried_for_minutes_or_not_at_all() {
        assert_eq!(tried(Retry::Briefly), [0, 0, 2, 7, 22]);
        assert_eq!(tried(Retry::Never), [0; 0]);
    }

    #[test]
    fn a_receiver_may_ask_for_more_time_and_not_for_less() {
        let now: Timestamp = "2026-11-19T00:00:00Z".parse().unwrap();
        let asked = |seconds| {
            let next = next(
                Retry::ForADay,
                1,
                Some(SignedDuration::from_secs(seconds)),
                now,
            );
            next.unwrap().duration_since(now).as_secs()
        };
        assert_eq!((asked(0), asked(600)), (5, 600));
    }
}
