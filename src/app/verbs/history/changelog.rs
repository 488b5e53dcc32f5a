//! changelog.

use std::fmt::Write;

use super::fit::{keep, shorten, size};
use crate::app::AuthorizedApp;
use crate::app::verbs::run_verb;
use crate::app::verbs::verb::{At, Render, VerbOutput};
use branchyard_git::verbs::changelog::{self, Change, Changelog, Group, Request};
use branchyard_model::Problem;

pub(super) async fn changelog(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Changelog>, Problem> {
    run_verb::look(&app, &at, move |_, repo| {
        Ok(changelog::changelog(repo, &request)?)
    })
    .await
}

impl Render for Changelog {
    fn text(&self) -> String {
        let from = self.from.as_ref().map_or("the beginning", |end| &end.name);
        let mut text = format!(
            "{} commits from {from} to {} by {} authors",
            self.commits, self.to.name, self.authors_total
        );
        if let Some(next) = &self.next_version {
            let _ = write!(text, "; {} after {}", next.suggested, next.last);
        }
        text.push('\n');
        for breaking in &self.breaking {
            let _ = writeln!(text, "BREAKING: {}", breaking.description);
        }
        for group in self.groups.iter().chain([&self.other]) {
            if group.count > 0 {
                paragraph(&mut text, group);
            }
        }
        if self.truncated {
            text.push_str("(cut; give `from` and `to` nearer to each other for the rest)\n");
        }
        text
    }

    fn cut(&mut self, room: usize) {
        let mut limits = ChangelogLimits::new(self, room);
        while size(self) > room && limits.tighten() {
            shrink(self, limits);
        }
    }
}

/// How much is left of an answer that does not fit.
#[derive(Debug, Clone, Copy)]
struct ChangelogLimits {
    /// Changes of one scope.
    changes: usize,
    /// Bytes of one text.
    text: usize,
    /// Items of any other list.
    items: usize,
}

impl ChangelogLimits {
    fn new(log: &Changelog, room: usize) -> Self {
        Self {
            changes: log.commits,
            text: room,
            items: log.commits.max(log.authors_total),
        }
    }

    /// A little of everything is worth more than all of something, so that whole lists go last. Whether
    /// there was anything left to give.
    fn tighten(&mut self) -> bool {
        if self.changes > 1 || self.text > 80 {
            self.changes = (self.changes / 2).max(1);
            self.text = (self.text / 2).max(80);
            return true;
        }
        let before = self.items;
        self.items = (self.items / 2).max(1);
        self.items < before
    }
}

fn paragraph(text: &mut String, group: &Group) {
    let _ = writeln!(text, "{} ({}):", group.kind, group.count);
    for scope in &group.scopes {
        for change in &scope.changes {
            text.push_str("- ");
            if let Some(scope) = &scope.scope {
                let _ = write!(text, "{scope}: ");
            }
            text.push_str(&change.description);
            text.push('\n');
        }
        let left_out = scope.count - scope.changes.len();
        if left_out > 0 {
            let _ = writeln!(text, "- … and {left_out} more");
        }
    }
}

/// Leaves no more than the limits allow. The counts stay.
fn shrink(log: &mut Changelog, limits: ChangelogLimits) {
    let ChangelogLimits {
        changes,
        text,
        items,
    } = limits;
    let mut is_cut = keep(&mut log.breaking, items);
    is_cut |= keep(&mut log.authors, items);
    is_cut |= keep(&mut log.groups, items);
    for breaking in &mut log.breaking {
        is_cut |= keep(&mut breaking.notes, changes);
        is_cut |= shorten(&mut breaking.description, text);
        for note in &mut breaking.notes {
            is_cut |= shorten(note, text);
        }
    }
    for author in &mut log.authors {
        is_cut |= shorten(&mut author.name, text) | shorten(&mut author.email, text);
    }
    for group in log.groups.iter_mut().chain([&mut log.other]) {
        is_cut |= shorten(&mut group.kind, text);
        is_cut |= keep(&mut group.scopes, items);
        for scope in &mut group.scopes {
            is_cut |= keep(&mut scope.changes, changes);
            if let Some(name) = &mut scope.scope {
                is_cut |= shorten(name, text);
            }
            for change in &mut scope.changes {
                is_cut |= shrink_change(change, limits);
            }
        }
    }
    log.truncated |= is_cut;
}

fn shrink_change(change: &mut Change, limits: ChangelogLimits) -> bool {
    let mut is_cut = keep(&mut change.pull_requests, limits.items);
    is_cut |= shorten(&mut change.description, limits.text);
    for text in [&mut change.body, &mut change.author].into_iter().flatten() {
        is_cut |= shorten(text, limits.text);
    }
    is_cut
}
