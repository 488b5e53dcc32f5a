//! Concurrency groups: of the pipelines or jobs of a repo that name one, one goes on at a time. The others wait in the order
//! in which they came; none is dropped unless the file says so.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::live::StopHandle;
use branchyard_model::{PipelineId, RepoName};

#[derive(Debug, Clone, Default)]
pub(crate) struct ConcurrencyGroups(Arc<Mutex<HashMap<GroupKey, Vec<GroupMember>>>>);

/// A repo, and the name of a group in it. As on GitHub, names have no case.
type GroupKey = (RepoName, String);

/// One that is in a group: the first goes on, and the others wait.
#[derive(Debug)]
struct GroupMember {
    ticket: u64,
    age: GroupAge,
    who: String,
    stop: StopHandle,
    /// Told when it is the first.
    turn: Option<oneshot::Sender<()>>,
}

/// A place in a group, given back when dropped.
#[derive(Debug)]
pub(crate) struct GroupPlace {
    groups: ConcurrencyGroups,
    key: GroupKey,
    ticket: u64,
}

/// When who enters was asked for: its pipeline, and its number there.
pub(crate) type GroupAge = (PipelineId, usize);

/// How a group is entered.
#[derive(Debug, Clone)]
pub(crate) struct GroupEntry {
    pub(crate) repo: RepoName,
    pub(crate) group: String,
    /// Those that are in it are cancelled.
    pub(crate) cancels: bool,
    /// Those that wait in it are cancelled: only the newest waits.
    pub(crate) is_single: bool,
    /// Who enters, in words.
    pub(crate) who: String,
    pub(crate) age: GroupAge,
}

impl ConcurrencyGroups {
    /// Enters a group; the second part of the answer returns when it is the first there.
    pub(crate) fn enter(
        &self,
        entry: GroupEntry,
        stop: StopHandle,
    ) -> (GroupPlace, oneshot::Receiver<()>) {
        let key = (entry.repo, entry.group.to_lowercase());
        let (turn, mine) = oneshot::channel();
        let mut groups = self.0.lock();
        let members = groups.entry(key.clone()).or_default();
        let ticket = members.iter().map(|member| member.ticket + 1).max();
        let ticket = ticket.unwrap_or(0);
        for (at, other) in members.iter().enumerate() {
            let waits = at > 0;
            if entry.cancels || (entry.is_single && waits) {
                other.stop.stop(&format!(
                    "cancelled by {}, which is in the same concurrency group: {}",
                    entry.who, entry.group
                ));
            }
        }
        let mut member = GroupMember {
            ticket,
            age: entry.age,
            who: entry.who,
            stop,
            turn: Some(turn),
        };
        if members.is_empty() {
            member.go_on();
        }
        // After a restart they come in any order.
        let waiting = members.iter().skip(1);
        let older = waiting.filter(|other| other.age <= member.age).count();
        members.insert(members.len().min(1 + older), member);
        drop(groups);
        let place = GroupPlace {
            groups: self.clone(),
            key,
            ticket,
        };
        (place, mine)
    }

    /// Who goes on in a group, in words.
    pub(crate) fn holder(&self, repo: &RepoName, group: &str) -> Option<String> {
        let groups = self.0.lock();
        let members = groups.get(&(repo.clone(), group.to_lowercase()))?;
        members.first().map(|member| member.who.clone())
    }
}

impl GroupPlace {
    /// The name of the group.
    pub(crate) fn group(&self) -> &str {
        &self.key.1
    }
}

/// A job as others in its group are told of it.
pub(crate) fn job_in_words(job: &str, pipeline: PipelineId) -> String {
    format!("the job {job} of pipeline {pipeline}")
}

impl GroupMember {
    fn go_on(&mut self) {
        if let Some(turn) = self.turn.take() {
            // One that went has its place dropped as well.
            let _ = turn.send(());
        }
    }
}

impl Drop for GroupPlace {
    fn drop(&mut self) {
        let mut groups = self.groups.0.lock();
        let Some(members) = groups.get_mut(&self.key) else {
            return;
        };
        members.retain(|member| member.ticket != self.ticket);
        match members.first_mut() {
            Some(first) => first.go_on(),
            None => drop(groups.remove(&self.key)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(cancels: bool, is_single: bool) -> GroupEntry {
        GroupEntry {
            repo: RepoName::parse("demo").unwrap(),
            group: "Deploy".to_owned(),
            cancels,
            is_single,
            who: "pipeline 1".to_owned(),
            age: (PipelineId::new(), 0),
        }
    }

    #[test]
    fn all_wait_in_their_order() {
        let groups = ConcurrencyGroups::default();
        let stops: [StopHandle; 3] = Default::default();
        let mut entered: Vec<_> = stops
            .iter()
            .map(|stop| groups.enter(entry(false, false), stop.clone()))
            .collect();
        assert!(entered[0].1.try_recv().is_ok());
        assert!(entered[1].1.try_recv().is_err());
        // One that waits may go.
        drop(entered.remove(1));
        drop(entered.remove(0));
        assert!(entered[0].1.try_recv().is_ok());
        assert!(stops.iter().all(|stop| !stop.is_stopped()));
        entered.clear();
        assert_eq!(groups.holder(&entry(false, false).repo, "deploy"), None);
    }

    #[test]
    fn an_older_one_that_comes_late_is_before_younger_ones_that_wait() {
        let groups = ConcurrencyGroups::default();
        let entries: [GroupEntry; 4] = std::array::from_fn(|_| entry(false, false));
        let enter = |n: usize| groups.enter(entries[n].clone(), StopHandle::default());
        // The first is there whatever its age is.
        let holder = enter(2);
        let (mut youngest, mut oldest) = (enter(3), enter(0));
        let mut middle = enter(1);
        drop(holder);
        assert!(oldest.1.try_recv().is_ok());
        drop(oldest);
        assert!(middle.1.try_recv().is_ok() && youngest.1.try_recv().is_err());
        drop(middle);
        assert!(youngest.1.try_recv().is_ok());
    }

    #[test]
    fn the_file_may_cancel_those_before() {
        let groups = ConcurrencyGroups::default();
        let stops: [StopHandle; 4] = Default::default();
        let first = groups.enter(entry(false, true), stops[0].clone());
        let waiting = groups.enter(entry(false, true), stops[1].clone());
        let newest = groups.enter(entry(false, true), stops[2].clone());
        assert!(!stops[0].is_stopped() && stops[1].is_stopped() && !stops[2].is_stopped());
        let cancelling = groups.enter(entry(true, false), stops[3].clone());
        assert!(stops[0].is_stopped() && stops[2].is_stopped());
        assert!(stops[0].reason().unwrap().contains("pipeline 1"));
        drop((first, waiting, newest, cancelling));
    }
}
