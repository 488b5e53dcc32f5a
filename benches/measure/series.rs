//! Values of one method, and what is told of them.

use std::time::Instant;

use serde::Serialize;

/// What one method gave, round by round.
#[derive(Debug, Clone, Default)]
pub struct Series(Vec<f64>);

/// The middle of a series, and between what half of it lies.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Summary {
    pub median: f64,
    pub lower_quartile: f64,
    pub upper_quartile: f64,
    pub rounds: usize,
}

impl Series {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Round by round, this one over `other`.
    pub fn over(&self, other: &Self) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        Self(pairs.map(|(own, other)| own / other).collect())
    }

    /// Round by round, this one without `other`.
    pub fn less(&self, other: &Self) -> Self {
        let pairs = self.0.iter().zip(&other.0);
        Self(pairs.map(|(own, other)| own - other).collect())
    }

    pub fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        self.0.iter().map(|value| change(*value)).collect()
    }

    pub fn median(&self) -> f64 {
        self.summary().median
    }

    pub fn summary(&self) -> Summary {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        Summary {
            median: at(&sorted, 0.5),
            lower_quartile: at(&sorted, 0.25),
            upper_quartile: at(&sorted, 0.75),
            rounds: sorted.len(),
        }
    }
}

impl From<f64> for Series {
    fn from(value: f64) -> Self {
        Self(vec![value])
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The value at a share of the way through, between its two neighbours.
fn at(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor(), place.ceil());
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into the list"
    )]
    let (lower, upper) = (sorted[below as usize], sorted[above as usize]);
    lower + (upper - lower) * (place - below)
}

/// Has `N` methods take turns: `measure(method, round)` does one and says what it gave. In each round
/// another one goes first.
pub async fn interleave<const N: usize>(
    rounds: usize,
    mut measure: impl AsyncFnMut(usize, usize) -> f64,
) -> [Series; N] {
    let mut all = [const { Series(Vec::new()) }; N];
    for round in 0..rounds {
        for turn in 0..N {
            let method = (round + turn) % N;
            all[method].push(measure(method, round).await);
        }
    }
    all
}

/// How many seconds it took.
pub fn timed(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}
