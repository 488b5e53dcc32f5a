//! Reports of real producers that were damaged.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use branchyard_reports::junit;
use proptest::prelude::*;

use crate::fixtures::reports;
use crate::log;

static FIXTURES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let all = reports(&dir).into_iter();
    all.map(|path| fs::read(path).unwrap()).collect()
});

/// A byte that is put into the place of another.
type Change = (prop::sample::Index, u8);

proptest! {
    #[test]
    fn a_damaged_report_never_panics(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec(any::<Change>(), 0..20),
        end in any::<prop::sample::Index>(),
    ) {
        let mut bytes = which.get(&FIXTURES).clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len()) + 1);
        for tests in [junit(&bytes[..]).ok(), log(&bytes)].into_iter().flatten() {
            let named = tests.tests.len() as u64;
            prop_assert!(named <= tests.counts.total());
            prop_assert_eq!(named + tests.left_out, tests.counts.total());
        }
    }
}
