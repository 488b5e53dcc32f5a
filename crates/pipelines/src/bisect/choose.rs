//! Which commits to test next. With one at a time it is the one that git takes: where as many suspects are before it as after.
//! With several they part the suspects into as many equal pieces as history allows.

use super::history::History;
use super::narrow::{Suspects, Verdicts};
use branchyard_model::BisectVerdict;

/// So many are tested at the same time at most: which piece a suspect is in is a bit for each.
pub(crate) const MOST_AT_ONCE: usize = 8;
/// So many are looked at for each that is wanted.
const NEAREST: usize = 8;
/// How often a choice is gone over again.
const MOST_SWEEPS: usize = 4;

/// How good a choice is: how many suspects the largest piece has, and the sum of all squares.
type Cost = (usize, usize);

/// A commit that may be chosen.
struct Candidate {
    place: usize,
    /// Whether each suspect is in its history.
    reaches: Vec<bool>,
}

/// At most `most` suspects that were not tested, in the order of history.
pub(crate) fn choose(
    history: &History,
    suspects: &Suspects,
    verdicts: &Verdicts,
    most: usize,
) -> Vec<usize> {
    let places = &suspects.places;
    let weights = weights(history, places);
    let open = open(places, &weights, verdicts);
    let most = most.min(MOST_AT_ONCE);
    if open.len() <= most {
        return open.into_iter().map(|at| places[at]).collect();
    }
    let candidates = shortlist(&open, &weights, most).into_iter().map(|at| {
        let reached = history.reached_from([places[at]]);
        Candidate {
            place: places[at],
            reaches: places.iter().map(|place| reached[*place]).collect(),
        }
    });
    let candidates: Vec<_> = candidates.collect();
    let mut chosen = best(&candidates, most);
    chosen.sort_unstable();
    chosen
}

/// How many suspects each of them has in its history, itself included.
fn weights(history: &History, places: &[usize]) -> Vec<usize> {
    let mut at = vec![None; history.len()];
    for (index, place) in places.iter().enumerate() {
        at[*place] = Some(index);
    }
    let mut weights = vec![0; places.len()];
    for (index, place) in places.iter().enumerate().rev() {
        let parents = history.parents(*place).iter();
        let mut parents = parents.filter_map(|parent| at[*parent]);
        weights[index] = match (parents.next(), parents.next()) {
            (None, _) => 1,
            (Some(parent), None) => weights[parent] + 1,
            // What its lines have in common counts once.
            _ => {
                let reached = history.reached_from([*place]);
                places.iter().filter(|place| reached[**place]).count()
            }
        };
    }
    weights
}

/// The suspects that were not tested. The more that are near them had to be skipped, the farther off these are: a build is
/// seldom broken for one commit alone.
fn open(places: &[usize], weights: &[usize], verdicts: &Verdicts) -> Vec<usize> {
    let untested = (0..places.len()).filter(|at| !verdicts.contains_key(&places[*at]));
    let untested: Vec<_> = untested.collect();
    let is_skipped = |at: &usize| verdicts.get(&places[*at]) == Some(&BisectVerdict::Skip);
    let skipped: Vec<_> = (0..places.len()).filter(is_skipped).collect();
    if skipped.is_empty() {
        return untested;
    }
    let mut distance = places.len() / (2 * (skipped.len() + 1));
    while distance > 0 {
        let is_far = |at: &usize| {
            let of = |skip: &usize| weights[*at].abs_diff(weights[*skip]);
            skipped.iter().all(|skip| of(skip) >= distance)
        };
        let far: Vec<_> = untested.iter().copied().filter(is_far).collect();
        if !far.is_empty() {
            return far;
        }
        distance /= 2;
    }
    untested
}

/// Those that part the suspects in two equal halves, and those that part them into `most` + 1 equal pieces if history is one
/// line.
fn shortlist(open: &[usize], weights: &[usize], most: usize) -> Vec<usize> {
    let all = weights.len();
    let nearest = |target: usize| {
        let mut sorted = open.to_vec();
        // Twice, for a middle is often between two.
        sorted.sort_by_key(|at| (2 * weights[*at]).abs_diff(target));
        sorted.truncate(NEAREST);
        sorted
    };
    let targets = (1..=most).map(|nth| 2 * all * nth / (most + 1));
    let mut list: Vec<_> = targets.chain([all]).flat_map(nearest).collect();
    list.sort_unstable();
    list.dedup();
    list
}

/// The better of two choices, each of them made better as long as that goes quickly: one commit after another, and equal
/// pieces at once.
fn best(candidates: &[Candidate], most: usize) -> Vec<usize> {
    let all = candidates.first().map_or(0, |any| any.reaches.len());
    let mut greedy = Vec::new();
    while greedy.len() < most {
        let free = (0..candidates.len()).filter(|at| !greedy.contains(at));
        let with = |at: &usize| {
            let mut more = greedy.clone();
            more.push(*at);
            cost(candidates, &more)
        };
        let Some(next) = free.min_by_key(with) else {
            break;
        };
        greedy.push(next);
    }
    let mut even: Vec<usize> = Vec::new();
    for nth in 1..=most {
        let weight = |at: &usize| candidates[*at].reaches.iter().filter(|it| **it).count();
        let free = (0..candidates.len()).filter(|at| !even.contains(at));
        even.extend(free.min_by_key(|at| (weight(at) * (most + 1)).abs_diff(all * nth)));
    }
    let improved = [greedy, even].map(|choice| improve(candidates, choice));
    let best = improved.into_iter().min_by_key(|(cost, _)| *cost);
    let chosen = best.map_or_else(Vec::new, |(_, choice)| choice);
    chosen.into_iter().map(|at| candidates[at].place).collect()
}

/// Replaces one after the other by what does better.
fn improve(candidates: &[Candidate], mut choice: Vec<usize>) -> (Cost, Vec<usize>) {
    let mut least = cost(candidates, &choice);
    for _ in 0..MOST_SWEEPS {
        let before = least;
        for at in 0..choice.len() {
            for other in 0..candidates.len() {
                if choice.contains(&other) {
                    continue;
                }
                let kept = std::mem::replace(&mut choice[at], other);
                match cost(candidates, &choice) {
                    less if less < least => least = less,
                    _ => choice[at] = kept,
                }
            }
        }
        if least == before {
            break;
        }
    }
    (least, choice)
}

/// A commit is bad if it has the first bad one in its history. So all suspects are one piece that the same of the chosen
/// commits have in theirs: no outcome tells them apart.
fn cost(candidates: &[Candidate], choice: &[usize]) -> Cost {
    let mut pieces = vec![0_usize; 1 << choice.len()];
    let suspects = candidates.first().map_or(0, |any| any.reaches.len());
    for suspect in 0..suspects {
        let bits = choice.iter().enumerate();
        let piece = bits.fold(0, |piece, (bit, at)| {
            piece | usize::from(candidates[*at].reaches[suspect]) << bit
        });
        pieces[piece] += 1;
    }
    let largest = pieces.iter().copied().max().unwrap_or(0);
    (largest, pieces.iter().map(|size| size * size).sum())
}
