//! What is left after some commits were tested.

use std::collections::BTreeMap;

use super::history::History;
use branchyard_model::BisectVerdict;

/// What the commits that were tested said, by their places.
pub(crate) type Verdicts = BTreeMap<usize, BisectVerdict>;

/// The commits that may be the first bad one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Suspects {
    /// Their places, in the order of history.
    pub(crate) places: Vec<usize>,
    /// The good commits that clear others: all, but for those with the bad commit in their history.
    pub(crate) good: Vec<usize>,
    /// A bad commit, and a good one that has it in its history.
    pub(crate) contradiction: Option<(usize, usize)>,
}

/// The histories of the commits that tested good, by the places of these.
type GoodHistories = Vec<(usize, Vec<bool>)>;

/// Of several bad commits the one counts that leaves the fewest suspects. Tests in parallel may find that a commit was bad
/// and a later one good again; such a good one says nothing of what is before the bad one.
pub(crate) fn narrow(history: &History, verdicts: &Verdicts) -> Suspects {
    let of = |wanted: BisectVerdict| {
        let found = verdicts.iter().filter(move |(_, is)| **is == wanted);
        found.map(|(place, _)| *place)
    };
    let good: GoodHistories = of(BisectVerdict::Good)
        .map(|place| (place, history.reached_from([place])))
        .collect();
    let below = of(BisectVerdict::Bad).map(|bad| below(history, bad, &good));
    let fewest = below.min_by_key(|suspects| suspects.places.len());
    fewest.unwrap_or_else(|| {
        let is_suspect = |place: &usize| !good.iter().any(|(_, cleared)| cleared[*place]);
        Suspects {
            places: (0..history.len()).filter(is_suspect).collect(),
            good: good.iter().map(|(place, _)| *place).collect(),
            contradiction: None,
        }
    })
}

/// What is left if this bad commit is the last of those that may be the first.
fn below(history: &History, bad: usize, good: &GoodHistories) -> Suspects {
    let (later, clearing): (Vec<_>, Vec<_>) = good.iter().partition(|(_, cleared)| cleared[bad]);
    let is_below = history.reached_from([bad]);
    let is_suspect =
        |place: &usize| is_below[*place] && !clearing.iter().any(|(_, cleared)| cleared[*place]);
    Suspects {
        places: (0..history.len()).filter(is_suspect).collect(),
        good: clearing.iter().map(|(place, _)| *place).collect(),
        contradiction: later.first().map(|(good, _)| (bad, *good)),
    }
}
