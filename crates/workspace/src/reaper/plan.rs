//! Which workspaces go, which lose their build output, which stay, and why. Facts in, decisions out:
//! nothing here looks at a disk.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_model::RepoName;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReapAction {
    Keep,
    DropBuildOutput,
    Remove,
    DiscardStore,
}

/// The rule behind an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rule {
    Ttl,
    Count,
    LowWater,
    MaxSize,
}

/// What is known of a workspace.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    pub(super) repo: RepoName,
    /// Seconds.
    pub(super) idle: u64,
    pub(super) size: u64,
    /// The part of `size` that may go by itself.
    pub(super) droppable: u64,
    /// Why nothing of it may be touched.
    pub(super) hands_off: Option<String>,
    /// What would be missed; `None` while nobody looked.
    pub(super) pins: Option<Vec<String>>,
}

/// What is known of an idle scratch worktree. Nothing in one can be missed.
#[derive(Debug, Clone)]
pub(super) struct ScratchFacts {
    pub(super) idle: u64,
    pub(super) size: u64,
}

/// What is known of a repo's store.
#[derive(Debug, Clone)]
pub(super) struct StoreFacts {
    pub(super) idle: u64,
    pub(super) size: u64,
    /// Why it has to stay.
    pub(super) kept_for: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) per_repo: usize,
    pub(super) ttl: Duration,
}

/// How full it is, in bytes.
#[derive(Debug, Clone)]
pub(super) struct Pressure {
    pub(super) free: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    /// All stores and workspaces.
    pub(super) yard: u64,
    pub(super) budget: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) action: ReapAction,
    pub(super) rule: Option<Rule>,
    pub(super) why: String,
}

#[derive(Debug)]
pub(super) struct Plan {
    /// One for each workspace, in the order of the facts.
    pub(super) workspaces: Vec<Decision>,
    /// Those of them that are to be acted on, in the order in which to act.
    pub(super) order: Vec<usize>,
    /// One for each idle scratch worktree.
    pub(super) scratch: Vec<Decision>,
    /// One for each store.
    pub(super) stores: Vec<Decision>,
}

/// Decides. Without `pressure` only age and number count.
pub(super) fn plan(
    workspaces: &[Facts],
    scratch: &[ScratchFacts],
    stores: &[StoreFacts],
    limits: &Limits,
    pressure: Option<&Pressure>,
) -> Plan {
    let mut planner = Planner::new(workspaces, limits);
    planner.by_age();
    planner.by_number();
    let mut scratch = planner.scratch_by_age(scratch);
    let goal = pressure.and_then(|pressure| planner.goal(pressure));
    if let Some((goal, rule)) = goal {
        planner.drop_build_output(goal, rule);
        planner.remove_scratch(&mut scratch, goal, rule);
        planner.remove_for_room(goal, rule);
    }
    let stores = planner.stores(stores, goal);
    Plan {
        workspaces: planner.decisions(),
        order: planner.order,
        scratch: scratch.into_iter().map(|(_, decision)| decision).collect(),
        stores,
    }
}

type DecidedScratch<'a> = (&'a ScratchFacts, Decision);

struct Planner<'a> {
    facts: &'a [Facts],
    limits: &'a Limits,
    /// The least recently used first.
    oldest_first: Vec<usize>,
    made: HashMap<usize, Decision>,
    order: Vec<usize>,
    freed: u64,
}

impl<'a> Planner<'a> {
    fn new(facts: &'a [Facts], limits: &'a Limits) -> Self {
        let mut oldest_first: Vec<usize> = (0..facts.len()).collect();
        oldest_first.sort_by_key(|at| Reverse(facts[*at].idle));
        Self {
            facts,
            limits,
            oldest_first,
            made: HashMap::new(),
            order: Vec::new(),
            freed: 0,
        }
    }

    fn by_age(&mut self) {
        for at in self.oldest_first.clone() {
            let idle = self.facts[at].idle;
            if self.may_go(at) && is_over(idle, self.limits.ttl) {
                let ttl = humantime::format_duration(self.limits.ttl);
                let why = format!("idle for {}; worktree_ttl is {ttl}", span(idle));
                self.remove(at, Rule::Ttl, why);
            }
        }
    }

    fn by_number(&mut self) {
        let mut left: HashMap<&RepoName, usize> = HashMap::new();
        for (at, facts) in self.facts.iter().enumerate() {
            if !self.goes(at) {
                *left.entry(&facts.repo).or_default() += 1;
            }
        }
        let most = self.limits.per_repo;
        for at in self.oldest_first.clone() {
            let facts = &self.facts[at];
            let count = left.get(&facts.repo).copied().unwrap_or(0);
            if count > most && self.may_go(at) && !self.goes(at) {
                let why = format!(
                    "the least recently used of {count} workspaces; max_worktrees_per_repo is {most}"
                );
                self.remove(at, Rule::Count, why);
                left.insert(&facts.repo, count - 1);
            }
        }
    }

    /// How many bytes have to be freed in all, and by which rule; `None` if there is room enough.
    fn goal(&self, pressure: &Pressure) -> Option<(u64, Rule)> {
        let is_low = pressure.free.saturating_add(self.freed) < pressure.low;
        let for_water = if is_low {
            pressure.high.saturating_sub(pressure.free)
        } else {
            0
        };
        let for_budget = pressure
            .budget
            .map_or(0, |budget| pressure.yard.saturating_sub(budget));
        let goal = if for_water >= for_budget {
            (for_water, Rule::LowWater)
        } else {
            (for_budget, Rule::MaxSize)
        };
        (goal.0 > self.freed).then_some(goal)
    }

    fn drop_build_output(&mut self, goal: u64, rule: Rule) {
        for at in self.oldest_first.clone() {
            if self.freed >= goal {
                return;
            }
            let facts = &self.facts[at];
            if facts.hands_off.is_none() && !self.goes(at) && facts.droppable > 0 {
                let why = format!("build output goes first; {}", rule.says());
                self.decide(at, ReapAction::DropBuildOutput, rule, why);
                self.freed += facts.droppable;
            }
        }
    }

    /// What becomes of each for its age alone.
    fn scratch_by_age<'s>(&mut self, scratch: &'s [ScratchFacts]) -> Vec<DecidedScratch<'s>> {
        let decided = scratch.iter().map(|facts| {
            let idle = facts.idle;
            if !is_over(idle, self.limits.ttl) {
                let why = format!("used {} ago, and there is room enough", span(idle));
                return (facts, Decision::keep(why));
            }
            self.freed += facts.size;
            let ttl = humantime::format_duration(self.limits.ttl);
            let why = format!("idle for {}; worktree_ttl is {ttl}", span(idle));
            (facts, Decision::remove(Rule::Ttl, why))
        });
        decided.collect()
    }

    /// Removes those that are left, the least recently used first.
    fn remove_scratch(&mut self, scratch: &mut [DecidedScratch<'_>], goal: u64, rule: Rule) {
        let mut oldest_first: Vec<_> = scratch.iter_mut().collect();
        oldest_first.sort_by_key(|(facts, _)| Reverse(facts.idle));
        for (facts, decision) in oldest_first {
            if self.freed < goal && decision.action == ReapAction::Keep {
                self.freed += facts.size;
                let why = format!("scratch worktrees go before workspaces; {}", rule.says());
                *decision = Decision::remove(rule, why);
            }
        }
    }

    fn remove_for_room(&mut self, goal: u64, rule: Rule) {
        for at in self.oldest_first.clone() {
            if self.freed >= goal {
                return;
            }
            if self.may_go(at) && !self.goes(at) {
                let why = format!("build output was not enough; {}", rule.says());
                self.remove(at, rule, why);
            }
        }
    }

    fn stores(&mut self, stores: &[StoreFacts], goal: Option<(u64, Rule)>) -> Vec<Decision> {
        let mut decisions: Vec<Decision> = stores
            .iter()
            .map(|store| Decision::keep(store.kept_for.clone().unwrap_or_default()))
            .collect();
        let mut oldest_first: Vec<usize> = (0..stores.len()).collect();
        oldest_first.sort_by_key(|at| Reverse(stores[*at].idle));
        for at in oldest_first {
            let (store, decision) = (&stores[at], &mut decisions[at]);
            if store.kept_for.is_some() {
                continue;
            }
            match goal {
                Some((goal, rule)) if self.freed < goal => {
                    if is_over(store.idle, self.limits.ttl) {
                        self.freed += store.size;
                        *decision = Decision {
                            action: ReapAction::DiscardStore,
                            rule: Some(rule),
                            why: format!("workspaces were not enough; {}", rule.says()),
                        };
                    } else {
                        decision.why = format!("used {} ago", span(store.idle));
                    }
                }
                _ => decision.why = "there is room enough".to_owned(),
            }
        }
        decisions
    }

    /// Whether nothing is known that would keep it.
    fn may_go(&self, at: usize) -> bool {
        let facts = &self.facts[at];
        facts.hands_off.is_none() && facts.pins.as_ref().is_none_or(Vec::is_empty)
    }

    fn goes(&self, at: usize) -> bool {
        self.made
            .get(&at)
            .is_some_and(|decision| decision.action == ReapAction::Remove)
    }

    fn remove(&mut self, at: usize, rule: Rule, why: String) {
        let facts = &self.facts[at];
        // Its build output may be counted already.
        self.freed += match self.made.get(&at) {
            Some(_) => facts.size - facts.droppable.min(facts.size),
            None => facts.size,
        };
        self.decide(at, ReapAction::Remove, rule, why);
    }

    fn decide(&mut self, at: usize, action: ReapAction, rule: Rule, why: String) {
        let rule = Some(rule);
        if self
            .made
            .insert(at, Decision { action, rule, why })
            .is_none()
        {
            self.order.push(at);
        }
    }

    fn decisions(&mut self) -> Vec<Decision> {
        let keep = |facts: &Facts| {
            Decision::keep(match (&facts.hands_off, &facts.pins) {
                (Some(reason), _) => reason.clone(),
                (None, Some(pins)) if !pins.is_empty() => {
                    format!("has work in it: {}", pins.join("; "))
                }
                _ => format!("used {} ago, and there is room enough", span(facts.idle)),
            })
        };
        self.facts
            .iter()
            .enumerate()
            .map(|(at, facts)| self.made.remove(&at).unwrap_or_else(|| keep(facts)))
            .collect()
    }
}

impl Decision {
    fn remove(rule: Rule, why: String) -> Self {
        Self {
            action: ReapAction::Remove,
            rule: Some(rule),
            why,
        }
    }

    fn keep(why: String) -> Self {
        Self {
            action: ReapAction::Keep,
            rule: None,
            why,
        }
    }
}

impl Rule {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ttl => "ttl",
            Self::Count => "count",
            Self::LowWater => "low_water",
            Self::MaxSize => "max_size",
        }
    }

    fn says(self) -> &'static str {
        match self {
            Self::Ttl => "it was idle for too long",
            Self::Count => "there were too many",
            Self::LowWater => "the disk has less free space than low_water",
            Self::MaxSize => "the yard is larger than max_size",
        }
    }
}

impl ReapAction {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::DropBuildOutput => "drop_build_output",
            Self::Remove => "remove",
            Self::DiscardStore => "discard_store",
        }
    }
}

fn is_over(idle: u64, ttl: Duration) -> bool {
    Duration::from_secs(idle) >= ttl
}

/// The largest unit says enough.
fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests;
