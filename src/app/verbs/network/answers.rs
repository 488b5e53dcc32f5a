//! What is told of the remote, in words, and what of it can be left out.

use crate::app::verbs::verb::Render;
use branchyard_git::verbs::conflicts::{Conflict, fit};
use branchyard_git::verbs::integration::named;
use branchyard_git::verbs::{Brief, deliver, fetch, pull, push, remote, withheld};

impl Render for fetch::Fetched {
    fn text(&self) -> String {
        let mut lines: Vec<_> = self
            .updated
            .iter()
            .map(|updated| match (&updated.old, &updated.new) {
                (None, Some(new)) => format!("{} is new, at {new}", updated.name),
                (Some(_), Some(new)) => format!("{} moved to {new}", updated.name),
                (_, None) => format!("{} is gone", updated.name),
            })
            .collect();
        if let Some(all) = self.updated_in_all {
            lines.push(format!("… {all} in all"));
        }
        if lines.is_empty() {
            lines.push("nothing changed on the remote".to_owned());
        }
        lines.extend(
            self.missing
                .iter()
                .map(|branch| format!("the remote has no branch {branch}")),
        );
        lines.join("\n")
    }

    fn cut(&mut self, room: usize) {
        let all = self.updated_in_all.unwrap_or(self.updated.len());
        let most = room / 200;
        if self.updated.len() > most {
            self.updated.truncate(most);
            self.updated_in_all = Some(all);
        }
    }
}

impl Render for pull::Pulled {
    fn text(&self) -> String {
        let Self {
            from, from_commit, ..
        } = self;
        let there = format!("origin/{from} ({from_commit})");
        match self.state {
            pull::State::UpToDate => format!("{there} is all here already"),
            pull::State::FastForward => format!("moved forward to {there}"),
            pull::State::Rebased => format!("rebased onto {there}"),
            pull::State::Merged => format!("merged {there}"),
            pull::State::Conflicts => format!(
                "conflicts with {there}; resolve them with git_resolve and continue, or abort:\n{}",
                files(&self.conflicts, self.conflicts_in_all)
            ),
            pull::State::Aborted => format!(
                "conflicts with {there}; everything is as it was before:\n{}",
                files(&self.conflicts, self.conflicts_in_all)
            ),
        }
    }

    fn cut(&mut self, room: usize) {
        cut_conflicts(&mut self.conflicts, &mut self.conflicts_in_all, room);
    }
}

impl Render for push::Pushed {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        if let Some(commit) = &self.committed {
            lines.push(format!("committed {commit}"));
        }
        if let Some(upstream) = &self.integrated {
            lines.push(format!("took in the remote's {upstream}"));
        }
        if let Some(old) = &self.replaced {
            lines.push(format!("replaced the remote's {old}"));
        }
        let remote = self.remote_commit.as_ref().map(ToString::to_string);
        let remote = remote.unwrap_or_default();
        lines.push(match self.state {
            push::State::Pushed => format!("pushed: the remote has {remote} now"),
            push::State::UpToDate => format!("the remote has it all already: {remote}"),
            push::State::DryRun => "nothing was pushed: this is what would be".to_owned(),
            push::State::Conflicts => format!(
                "nothing was pushed: conflicts with what the remote has. Take it in with git_pull, resolve with git_resolve, and push again:\n{}",
                files(&self.conflicts, self.conflicts_in_all)
            ),
        });
        for commit in self.outgoing.iter().flatten() {
            lines.push(format!("  {} {}", commit.id, commit.subject));
        }
        if let Some(all) = self.outgoing_in_all {
            lines.push(format!("  … {all} in all"));
        }
        lines.extend(withheld::lines(&self.withheld, self.withheld_in_all));
        if self.attempts > 1 {
            lines.push(format!("it took {} attempts", self.attempts));
        }
        lines.join("\n")
    }

    fn cut(&mut self, room: usize) {
        cut_conflicts(&mut self.conflicts, &mut self.conflicts_in_all, room);
        let most = room / 400;
        withheld::shorten(&mut self.withheld, &mut self.withheld_in_all, most);
        if let Some(outgoing) = &mut self.outgoing {
            cut_outgoing(outgoing, &mut self.outgoing_in_all, most);
        }
    }
}

impl Render for deliver::Delivered {
    fn text(&self) -> String {
        let (into, there) = (&self.into, &self.remote_commit);
        let mut lines = vec![match self.state {
            deliver::DeliveryState::Delivered => {
                format!("delivered: {into} on the remote is at {there}")
            }
            deliver::DeliveryState::UpToDate => format!("{into} has it all already: {there}"),
            deliver::DeliveryState::Conflicts => format!(
                "nothing was pushed: conflicts with {into} ({there}). They wait in this workspace: resolve with git_resolve, continue with git_merge or git_rebase, and deliver again"
            ),
        }];
        lines.extend(named(
            &self.conflicts,
            self.conflicts_in_all.unwrap_or(self.conflicts.len()),
        ));
        for commit in &self.outgoing {
            lines.push(format!("  {} {}", commit.id, commit.subject));
        }
        if let Some(all) = self.outgoing_in_all {
            lines.push(format!("  … {all} in all"));
        }
        if self.attempts > 1 {
            lines.push(format!("it took {} attempts", self.attempts));
        }
        lines.join("\n")
    }

    fn cut(&mut self, room: usize) {
        cut_conflicts(&mut self.conflicts, &mut self.conflicts_in_all, room);
        cut_outgoing(&mut self.outgoing, &mut self.outgoing_in_all, room / 400);
    }
}

impl Render for remote::Remote {
    fn text(&self) -> String {
        let default = self.default_branch.as_deref().unwrap_or("not known yet");
        let mut text = format!(
            "{} is {}; default branch {default}; {} branches; protected: {}",
            self.name,
            self.url,
            self.branches,
            self.protected.join(", ")
        );
        for head in self.heads.iter().flatten() {
            text.push_str(&format!("\n{} {}", head.at, head.name));
        }
        text
    }

    fn cut(&mut self, room: usize) {
        let most = room / 120;
        if let Some(heads) = &mut self.heads
            && heads.len() > most
        {
            heads.truncate(most);
            self.truncated = Some(true);
        }
    }
}

/// The files, one a line.
fn files(conflicts: &[Conflict], in_all: Option<usize>) -> String {
    let mut lines: Vec<_> = conflicts.iter().map(|found| found.path.clone()).collect();
    if let Some(all) = in_all {
        lines.push(format!("… {all} in all"));
    }
    lines.join("\n")
}

fn cut_conflicts(conflicts: &mut Vec<Conflict>, in_all: &mut Option<usize>, room: usize) {
    let all = in_all.unwrap_or(conflicts.len());
    if !conflicts.is_empty() && fit(conflicts, room) > 0 {
        *in_all = Some(all);
    }
}

fn cut_outgoing(outgoing: &mut Vec<Brief>, in_all: &mut Option<usize>, most: usize) {
    if outgoing.len() > most {
        in_all.get_or_insert(outgoing.len());
        outgoing.truncate(most);
    }
}
