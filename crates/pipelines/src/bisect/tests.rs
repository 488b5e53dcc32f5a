//! Bisects of made-up histories, without a command: what is chosen finds the first bad commit, and in few rounds.

use std::collections::BTreeSet;

use super::choose::choose;
use super::history::History;
use super::narrow::{Verdicts, narrow};
use branchyard_git::LinkedCommit;
use branchyard_model::{BisectVerdict, CommitId};

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let found = (self.0 >> 33) % u64::try_from(most.max(1)).unwrap();
        usize::try_from(found).unwrap()
    }
}

fn id(place: usize) -> CommitId {
    CommitId::parse(&format!("{place:040x}")).unwrap()
}

/// The parents of each commit have greater places.
fn history(parents: &[Vec<usize>]) -> History {
    let commits = parents
        .iter()
        .enumerate()
        .map(|(place, parents)| LinkedCommit {
            commit: id(place),
            parents: parents.iter().map(|parent| id(*parent)).collect(),
        });
    History::new(commits.collect())
}

fn line(commits: usize) -> History {
    let parents = (0..commits).map(|place| match place + 1 < commits {
        true => vec![place + 1],
        false => Vec::new(),
    });
    history(&parents.collect::<Vec<_>>())
}

/// A main line with branches of some commits that are merged again.
fn with_merges(commits: usize, dice: &mut Dice) -> History {
    let mut parents: Vec<Vec<usize>> = vec![Vec::new(); commits];
    // From the oldest on: the tip of the main line, and a branch from it.
    let mut tip = commits - 1;
    let mut branch: Option<usize> = None;
    for place in (0..commits - 1).rev() {
        match (branch, dice.below(4)) {
            (Some(side), 0) => {
                parents[place] = vec![tip, side];
                (tip, branch) = (place, None);
            }
            (Some(side), 1 | 2) => {
                parents[place] = vec![side];
                branch = Some(place);
            }
            (None, 0) => {
                parents[place] = vec![tip];
                branch = Some(place);
            }
            _ => {
                parents[place] = vec![tip];
                tip = place;
            }
        }
    }
    if let Some(side) = branch {
        parents[0] = BTreeSet::from([tip, side])
            .into_iter()
            .filter(|it| *it != 0)
            .collect();
    }
    history(&parents)
}

/// What is left of the suspects, and how many rounds that took.
fn bisect(
    history: &History,
    at_once: usize,
    test: impl Fn(usize) -> BisectVerdict,
) -> (Vec<usize>, usize) {
    let mut verdicts = Verdicts::from([(0, BisectVerdict::Bad)]);
    for round in 0.. {
        let suspects = narrow(history, &verdicts);
        let chosen = choose(history, &suspects, &verdicts, at_once);
        if chosen.is_empty() {
            return (suspects.places, round);
        }
        assert!(chosen.len() <= at_once);
        for place in chosen {
            let earlier = verdicts.insert(place, test(place));
            assert_eq!(earlier, None, "{place} is tested twice");
        }
    }
    unreachable!()
}

fn test_for(history: &History, first_bad: usize) -> impl Fn(usize) -> BisectVerdict {
    let mut is_bad = vec![false; history.len()];
    for place in (0..=first_bad).rev() {
        let mut parents = history.parents(place).iter();
        is_bad[place] = place == first_bad || parents.any(|parent| is_bad[*parent]);
    }
    move |place| match is_bad[place] {
        true => BisectVerdict::Bad,
        false => BisectVerdict::Good,
    }
}

/// How often this has to be halved, or parted into more pieces, until one is left.
fn times(mut commits: usize, pieces: usize) -> usize {
    let mut times = 0;
    while commits > 1 {
        commits = commits.div_ceil(pieces);
        times += 1;
    }
    times
}

#[test]
fn one_line_is_parted_into_equal_pieces() {
    for commits in [1, 2, 3, 7, 50] {
        let history = line(commits);
        for at_once in 1..=8 {
            for first_bad in 0..commits {
                let (left, rounds) = bisect(&history, at_once, test_for(&history, first_bad));
                assert_eq!(left, [first_bad]);
                let most = times(commits, at_once + 1);
                assert!(rounds <= most, "{commits} by {at_once}: {rounds} > {most}");
            }
        }
    }
}

#[test]
fn with_merges_it_takes_as_many_rounds_as_one_line_and_one_more() {
    let mut dice = Dice(7);
    for _ in 0..4 {
        let history = with_merges(300, &mut dice);
        for at_once in [1, 2, 3, 5] {
            for _ in 0..12 {
                let tip = history.reached_from([0]);
                let first_bad = dice.below(history.len());
                if !tip[first_bad] {
                    continue;
                }
                let (left, rounds) = bisect(&history, at_once, test_for(&history, first_bad));
                assert_eq!(left, [first_bad]);
                let most = times(history.len(), at_once + 1) + 1;
                assert!(rounds <= most, "{at_once}: {rounds} > {most}");
            }
        }
    }
}

#[test]
fn of_what_cannot_be_tested_no_more_is_left_than_has_to_be() {
    let (history, first_bad) = (line(200), 90);
    let bad = test_for(&history, first_bad);
    let broken = 80..=110;
    let (left, rounds) = bisect(&history, 2, |place| match broken.contains(&place) {
        true => BisectVerdict::Skip,
        false => bad(place),
    });
    // The oldest that is known to be bad comes after them.
    assert_eq!(left, (79..=110).collect::<Vec<_>>());
    assert!(rounds <= 26, "{rounds}");
}

#[test]
fn a_broken_stretch_is_left_at_once() {
    let (history, first_bad) = (line(1_000), 30);
    let bad = test_for(&history, first_bad);
    let (left, rounds) = bisect(&history, 1, |place| match (450..550).contains(&place) {
        true => BisectVerdict::Skip,
        false => bad(place),
    });
    assert_eq!(left, [first_bad]);
    assert!(rounds <= times(1_000, 2) + 2, "{rounds}");
}

#[test]
fn what_was_mended_in_between_is_a_contradiction_and_no_dead_end() {
    use BisectVerdict::{Bad, Good};
    let history = line(10);
    // 7 is bad, 5 good again, and 0 bad.
    let suspects = narrow(&history, &Verdicts::from([(0, Bad), (5, Good), (7, Bad)]));
    assert_eq!(suspects.places, [7, 8, 9]);
    assert_eq!(suspects.contradiction, Some((7, 5)));
    assert!(suspects.good.is_empty());
    // Without the older bad one there is none.
    let suspects = narrow(&history, &Verdicts::from([(0, Bad), (5, Good)]));
    assert_eq!(suspects.places, [0, 1, 2, 3, 4]);
    assert_eq!((suspects.contradiction, suspects.good), (None, vec![5]));
}

#[test]
fn a_good_commit_clears_the_lines_that_it_merges_and_no_other() {
    use BisectVerdict::{Bad, Good};
    // 0 merges 1 and 2, which both come from 3.
    let history = history(&[vec![1, 2], vec![3], vec![3], vec![]]);
    let suspects = narrow(&history, &Verdicts::from([(0, Bad), (1, Good)]));
    assert_eq!(suspects.places, [0, 2]);
    let suspects = narrow(&history, &Verdicts::from([(0, Bad), (1, Good), (2, Good)]));
    assert_eq!(suspects.places, [0]);
}
