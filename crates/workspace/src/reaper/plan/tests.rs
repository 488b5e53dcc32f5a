//! What must hold of every plan, and the cases that people will ask about.

use proptest::prelude::*;

use super::*;
use ReapAction::{DiscardStore, DropBuildOutput, Keep, Remove};

const DAY: u64 = 86_400;

fn limits() -> Limits {
    Limits {
        per_repo: 10,
        ttl: Duration::from_secs(7 * DAY),
    }
}

fn workspace(repo: &str, idle: u64, source: u64, droppable: u64) -> Facts {
    Facts {
        repo: RepoName::parse(repo).unwrap(),
        idle,
        size: source + droppable,
        droppable,
        hands_off: None,
        pins: Some(Vec::new()),
    }
}

fn over_budget(workspaces: &[Facts], budget: u64) -> Pressure {
    Pressure {
        free: u64::MAX / 2,
        low: 0,
        high: 0,
        yard: workspaces.iter().map(|facts| facts.size).sum(),
        budget: Some(budget),
    }
}

fn actions(plan: &Plan) -> Vec<ReapAction> {
    plan.workspaces.iter().map(|made| made.action).collect()
}

#[test]
fn what_is_idle_for_too_long_goes_and_what_is_pinned_stays_with_its_reason() {
    let mut all: Vec<_> = [6 * DAY, 7 * DAY, 8 * DAY, 9 * DAY]
        .map(|idle| workspace("a", idle, 1, 0))
        .into();
    all[2].pins = Some(vec!["changes to tracked files".to_owned()]);
    all[3].hands_off = Some("pinned by me".to_owned());
    let plan = plan(&all, &[], &[], &limits(), None);
    assert_eq!(actions(&plan), [Keep, Remove, Keep, Keep]);
    assert_eq!(plan.order, [1]);
    assert_eq!(plan.workspaces[1].why, "idle for 7d; worktree_ttl is 7days");
    assert_eq!(
        plan.workspaces[2].why,
        "has work in it: changes to tracked files"
    );
    assert_eq!(plan.workspaces[3].why, "pinned by me");
}

#[test]
fn of_too_many_the_least_recently_used_go_per_repo_and_pinned_ones_may_exceed() {
    let limits = Limits {
        per_repo: 2,
        ..limits()
    };
    let mut all: Vec<_> = (0..4).map(|n| workspace("a", n * 10, 1, 0)).collect();
    all.extend((0..2).map(|n| workspace("b", n * 1000, 1, 0)));
    assert_eq!(
        actions(&plan(&all, &[], &[], &limits, None)),
        [Keep, Keep, Remove, Remove, Keep, Keep]
    );
    all[3].pins = Some(vec!["work".to_owned()]);
    assert_eq!(
        actions(&plan(&all, &[], &[], &limits, None)),
        [Keep, Remove, Remove, Keep, Keep, Keep],
        "the next ones go in its place"
    );
    for facts in &mut all {
        facts.hands_off = Some("busy".to_owned());
    }
    assert_eq!(plan(&all, &[], &[], &limits, None).order, [] as [usize; 0]);
}

#[test]
fn build_output_goes_first_the_oldest_first_and_no_more_than_needed() {
    let all: Vec<_> = (0..5).map(|n| workspace("a", n * 10, 10, 100)).collect();
    let plan = plan(&all, &[], &[], &limits(), Some(&over_budget(&all, 350)));
    assert_eq!(
        actions(&plan),
        [Keep, Keep, Keep, DropBuildOutput, DropBuildOutput],
        "{plan:?}"
    );
}

#[test]
fn scratch_worktrees_go_after_build_output_and_before_workspaces() {
    let all = [workspace("a", 2, 100, 40), workspace("b", 1, 100, 0)];
    let scratch = [(5, 50), (9, 50), (7 * DAY, 10)];
    let scratch = scratch.map(|(idle, size)| ScratchFacts { idle, size });
    let actions_of = |goal| {
        let mut pressure = over_budget(&all, 0);
        pressure.budget = Some(pressure.yard - goal);
        let plan = plan(&all, &scratch, &[], &limits(), Some(&pressure));
        let scratch: Vec<_> = plan.scratch.iter().map(|made| made.action).collect();
        (actions(&plan), scratch)
    };
    let (kept, gone) = (vec![Keep, Keep], vec![DropBuildOutput, Keep]);
    assert_eq!(actions_of(0), (kept, vec![Keep, Keep, Remove]));
    assert_eq!(actions_of(50), (gone.clone(), vec![Keep, Keep, Remove]));
    assert_eq!(actions_of(51), (gone.clone(), vec![Keep, Remove, Remove]));
    assert_eq!(actions_of(150), (gone, vec![Remove, Remove, Remove]));
    assert_eq!(actions_of(151).0, [Remove, Keep]);
}

#[test]
fn checkouts_go_when_build_output_is_not_enough() {
    let mut all: Vec<_> = (0..4).map(|n| workspace("a", n * 10, 100, 10)).collect();
    all[3].pins = Some(vec!["work".to_owned()]);
    let plan = plan(&all, &[], &[], &limits(), Some(&over_budget(&all, 210)));
    // 440 to 210: all output (40), then two checkouts (200); what has work loses its output only.
    assert_eq!(
        actions(&plan),
        [DropBuildOutput, Remove, Remove, DropBuildOutput]
    );
    assert_eq!(plan.workspaces[3].rule, Some(Rule::MaxSize));
}

#[test]
fn below_low_water_room_is_made_until_high_water() {
    let all: Vec<_> = (0..4).map(|n| workspace("a", n, 10, 100)).collect();
    let pressure = |free| Pressure {
        free,
        low: 100,
        high: 250,
        yard: 0,
        budget: None,
    };
    let plan_with = |free| plan(&all, &[], &[], &limits(), Some(&pressure(free)));
    assert_eq!(plan_with(100).order, [] as [usize; 0]);
    assert_eq!(
        actions(&plan_with(99)),
        [Keep, Keep, DropBuildOutput, DropBuildOutput]
    );
    assert_eq!(
        plan_with(99).workspaces[3].why,
        "build output goes first; the disk has less free space than low_water"
    );
    // What goes by age makes room too.
    let mut old = all.clone();
    old[0].idle = 8 * DAY;
    let plan = plan(&old, &[], &[], &limits(), Some(&pressure(10)));
    assert_eq!(actions(&plan), [Remove, Keep, Keep, Keep], "{plan:?}");
}

#[test]
fn stores_go_last_and_only_idle_ones_that_nothing_keeps() {
    let all = [workspace("a", 5, 100, 100)];
    let store = |idle, kept_for: Option<&str>| StoreFacts {
        idle,
        size: 50,
        kept_for: kept_for.map(str::to_owned),
    };
    let stores = [
        store(8 * DAY, None),
        store(9 * DAY, Some("prewarmed")),
        store(DAY, None),
        store(10 * DAY, None),
    ];
    let with_budget = |budget| {
        let mut pressure = over_budget(&all, budget);
        pressure.yard += 200;
        let plan = plan(&all, &[], &stores, &limits(), Some(&pressure));
        let stores: Vec<_> = plan.stores.iter().map(|made| made.action).collect();
        (actions(&plan), stores)
    };
    assert_eq!(with_budget(400), (vec![Keep], vec![Keep; 4]));
    assert_eq!(with_budget(300), (vec![DropBuildOutput], vec![Keep; 4]));
    assert_eq!(with_budget(200), (vec![Remove], vec![Keep; 4]));
    assert_eq!(
        with_budget(150),
        (vec![Remove], vec![Keep, Keep, Keep, DiscardStore])
    );
    assert_eq!(
        with_budget(1),
        (vec![Remove], vec![DiscardStore, Keep, Keep, DiscardStore])
    );
    let calm = plan(&all, &[], &stores, &limits(), None);
    assert!(calm.stores.iter().all(|made| made.action == Keep));
}

fn any_workspace() -> impl Strategy<Value = Facts> {
    (0..3_u8, 0..20 * DAY, 0..1000_u64, 0..1000_u64, 0..6_u8).prop_map(
        |(repo, idle, source, droppable, state)| Facts {
            hands_off: (state == 0).then(|| "busy".to_owned()),
            pins: match state {
                1 => Some(vec!["work".to_owned()]),
                2 => None,
                _ => Some(Vec::new()),
            },
            ..workspace(&format!("repo{repo}"), idle, source, droppable)
        },
    )
}

fn any_pressure() -> impl Strategy<Value = Option<Pressure>> {
    let some = (
        0..5000_u64,
        0..3000_u64,
        0..3000_u64,
        0..40_000_u64,
        proptest::option::of(0..20_000_u64),
    );
    proptest::option::of(some.prop_map(|(free, low, more, yard, budget)| Pressure {
        free,
        low,
        high: low + more,
        yard,
        budget,
    }))
}

fn is_enough(pressure: &Pressure, freed: u64, by_rules: u64) -> bool {
    let water = pressure.free + by_rules >= pressure.low || pressure.free + freed >= pressure.high;
    let budget = pressure
        .budget
        .is_none_or(|budget| pressure.yard.saturating_sub(freed) <= budget);
    water && budget
}

proptest! {
    #[test]
    fn every_plan_is_careful(
        all in proptest::collection::vec(any_workspace(), 0..30),
        pressure in any_pressure(),
        per_repo in 1..8_usize,
    ) {
        let limits = Limits { per_repo, ..limits() };
        let made = plan(&all, &[], &[], &limits, pressure.as_ref());
        prop_assert_eq!(made.workspaces.len(), all.len());
        let acting = made.workspaces.iter().filter(|made| made.action != Keep).count();
        prop_assert_eq!(made.order.len(), acting);

        let (mut freed, mut by_rules) = (0, 0);
        for (facts, made) in all.iter().zip(&made.workspaces) {
            prop_assert!(!made.why.is_empty());
            if made.action != Keep {
                prop_assert!(facts.hands_off.is_none(), "nothing of it may be touched");
            }
            if made.action == Remove {
                prop_assert!(facts.pins.as_ref().is_none_or(Vec::is_empty), "it has work");
                freed += facts.size;
            }
            if made.action == DropBuildOutput {
                prop_assert!(facts.droppable > 0 && pressure.is_some());
                freed += facts.droppable;
            }
            if matches!(made.rule, Some(Rule::Ttl | Rule::Count)) {
                by_rules += facts.size;
            }
        }
        let is_for_room = |made: &Decision| matches!(made.rule, Some(Rule::LowWater | Rule::MaxSize));
        let removed_for_room = made
            .workspaces
            .iter()
            .any(|made| made.action == Remove && is_for_room(made));
        if removed_for_room {
            // No output is left that could have gone in its place.
            for (facts, made) in all.iter().zip(&made.workspaces) {
                prop_assert!(made.action != Keep || facts.hands_off.is_some() || facts.droppable == 0);
            }
        }
        // The last step for room was needed: without it there was not enough.
        if let Some(pressure) = &pressure {
            let last = made.order.iter().rev().find(|at| is_for_room(&made.workspaces[**at]));
            if let Some(last) = last && !removed_for_room {
                prop_assert!(!is_enough(pressure, freed - all[*last].droppable, by_rules));
            }
            // And where it was not enough, nothing is left that could go.
            if !is_enough(pressure, freed, by_rules) {
                for (at, facts) in all.iter().enumerate() {
                    let could_go = facts.hands_off.is_none()
                        && facts.pins.as_ref().is_none_or(Vec::is_empty);
                    prop_assert!(!could_go || made.workspaces[at].action == Remove);
                }
            }
        }
    }

    #[test]
    fn the_count_is_kept_as_far_as_anything_may_go(
        all in proptest::collection::vec(any_workspace(), 0..30),
        per_repo in 1..8_usize,
    ) {
        let limits = Limits { per_repo, ..limits() };
        let made = plan(&all, &[], &[], &limits, None);
        for repo in ["repo0", "repo1", "repo2"] {
            let left: Vec<usize> = (0..all.len())
                .filter(|at| all[*at].repo.as_str() == repo)
                .filter(|at| made.workspaces[*at].action == Keep)
                .collect();
            let could_go = |at: &&usize| {
                all[**at].hands_off.is_none() && all[**at].pins.as_ref().is_none_or(Vec::is_empty)
            };
            prop_assert!(left.len() <= per_repo || left.iter().filter(could_go).count() == 0);
            // Whoever went for the number was no more recently used than who could have gone and stayed.
            for (at, went) in made.workspaces.iter().enumerate() {
                if went.rule == Some(Rule::Count) && all[at].repo.as_str() == repo {
                    let youngest = left.iter().filter(could_go).map(|at| all[*at].idle).max();
                    prop_assert!(youngest.is_none_or(|idle| idle <= all[at].idle));
                }
            }
        }
    }
}
