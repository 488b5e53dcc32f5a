//! Which runs are beyond what is to be kept.

use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;

use super::query::run_id;
use branchyard_model::RunId;

/// A run that is asked for again under its key must be found for this long.
const KEYS_LIVE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is to be kept at most, whichever is reached first.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Since the request.
    pub age: Duration,
    pub count: usize,
    /// Of all logs together.
    pub bytes: u64,
}

/// What may not go counts all the same: the others have to make the room.
pub(super) fn beyond(
    from: &Connection,
    retention: &Retention,
    now: Timestamp,
) -> rusqlite::Result<Vec<RunId>> {
    let (mut count, mut bytes): (i64, i64) = from
        .prepare_cached("SELECT count(*), coalesce(sum(log_bytes), 0) FROM runs")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (max_count, max_bytes) = (clamp(retention.count as u64), clamp(retention.bytes));
    let too_old = before(now, retention.age);
    let mut statement = from.prepare_cached(
        "SELECT id, created_at, log_bytes FROM runs
            WHERE ended = 1 AND (created_at < ? OR idempotency_key IS NULL)
            ORDER BY created_at, id",
    )?;
    let mut rows = statement.query([before(now, KEYS_LIVE)])?;
    let mut beyond = Vec::new();
    while let Some(row) = rows.next()? {
        let created_at: i64 = row.get(1)?;
        if created_at >= too_old && count <= max_count && bytes <= max_bytes {
            break;
        }
        beyond.push(run_id(row)?);
        count -= 1;
        bytes -= row.get::<_, i64>(2)?;
    }
    Ok(beyond)
}

fn before(now: Timestamp, age: Duration) -> i64 {
    now.saturating_sub(age)
        .unwrap_or(Timestamp::MIN)
        .as_microsecond()
}

fn clamp(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_index::fixture::{Yard, record};
    use branchyard_model::{Idempotency, RunRecord, RunState};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    fn everything() -> Retention {
        Retention {
            age: Duration::MAX,
            count: usize::MAX,
            bytes: u64::MAX,
        }
    }

    /// Runs of 100 bytes each, requested 9, 8, … 0 days before now.
    fn ten_days(change: impl Fn(usize, &mut RunRecord)) -> (Yard, Vec<RunId>, Timestamp) {
        let yard = Yard::new();
        let store = yard.store();
        let now = Timestamp::now();
        let mut ids = Vec::new();
        for n in 0..10_u8 {
            let mut run = record();
            run.created_at = now - DAY * u32::from(9 - n);
            change(usize::from(n), &mut run);
            store.put(&run, 100);
            ids.push(run.run_id);
        }
        (yard, ids, now)
    }

    #[test]
    fn age_count_and_bytes_each_draw_a_line() {
        let (yard, ids, now) = ten_days(|_, _| {});
        let store = yard.store();
        let beyond = |retention: &Retention| store.beyond(retention, now).unwrap();
        assert!(beyond(&everything()).is_empty());
        let age = DAY * 4 + DAY / 2;
        assert_eq!(
            beyond(&Retention {
                age,
                ..everything()
            }),
            ids[..5]
        );
        let count = 7;
        assert_eq!(
            beyond(&Retention {
                count,
                ..everything()
            }),
            ids[..3]
        );
        for (bytes, gone) in [(1000, 0), (999, 1), (250, 8), (0, 10)] {
            assert_eq!(
                beyond(&Retention {
                    bytes,
                    ..everything()
                }),
                ids[..gone],
                "{bytes}"
            );
        }
        let most = Retention {
            age,
            count,
            bytes: 250,
        };
        assert_eq!(beyond(&most), ids[..8], "whichever is reached first");
        store.remove(&beyond(&most));
        assert!(beyond(&most).is_empty());
    }

    #[test]
    fn what_runs_or_may_be_asked_for_again_stays_and_counts() {
        let key = |run: &mut RunRecord| {
            run.idempotency = Some(Idempotency {
                key: "k".to_owned(),
                request: "r".to_owned(),
            });
        };
        let (yard, ids, now) = ten_days(|n, run| match n {
            0 => run.state = RunState::Running,
            // Five days and a moment old: the key 5 is forgotten, the key 9 is not.
            5 | 9 => key(run),
            _ => {}
        });
        let store = yard.store();
        let nothing = Retention {
            count: 0,
            ..everything()
        };
        assert_eq!(store.beyond(&nothing, now).unwrap(), ids[1..9]);
        let five = Retention {
            count: 5,
            ..everything()
        };
        assert_eq!(store.beyond(&five, now).unwrap(), ids[1..6]);
    }

    #[test]
    fn an_empty_store_has_nothing_beyond() {
        let yard = Yard::new();
        let nothing = Retention {
            age: Duration::ZERO,
            count: 0,
            bytes: 0,
        };
        let beyond = yard.store().beyond(&nothing, Timestamp::now()).unwrap();
        assert!(beyond.is_empty());
    }
}
