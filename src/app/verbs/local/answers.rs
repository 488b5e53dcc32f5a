//! What these verbs answer, in a few lines, and what of it is left out where there is little room.

use crate::app::verbs::shorten::{missing, shorten, shorten_told};
use crate::app::verbs::verb::Render;
use branchyard_git::verbs::{
    Change, ChangeKind, Kept, add, checkout, clean, commit, reset, stash, withheld,
};

impl Render for add::Added {
    fn text(&self) -> String {
        let mut text = match self.staged_files {
            0 => "nothing is staged".to_owned(),
            count => format!("{count} file(s) staged{}", lines(self.staged.as_deref())),
        };
        if !self.ignored.is_empty() {
            text.push_str(&format!(
                "\nleft out, for they are ignored: {}",
                self.ignored.join(", ")
            ));
        }
        for line in withheld::lines(&self.withheld, self.withheld_in_all) {
            text.push_str(&format!("\n{line}"));
        }
        text + &missing(self.left_out)
    }

    fn cut(&mut self, room: usize) {
        withheld::shorten(&mut self.withheld, &mut self.withheld_in_all, room / 400);
        let left_out = &mut self.left_out;
        let gone = shorten(&mut self.ignored, room / 8);
        if gone > 0 {
            *left_out = Some(left_out.unwrap_or(0) + gone);
        }
        shorten_told(&mut self.staged, room / 4, left_out);
        shorten_told(&mut self.unstaged, room / 4, left_out);
        shorten_told(&mut self.untracked, room / 4, left_out);
    }
}

impl Render for commit::Committed {
    fn text(&self) -> String {
        let amended = match &self.amended {
            Some(old) => format!(" in place of {old}"),
            None => String::new(),
        };
        format!(
            "{} {}{amended}\n{} file(s), +{} -{}{}{}",
            self.id,
            self.subject,
            self.files_changed,
            self.additions,
            self.deletions,
            lines(self.files.as_deref()),
            missing(self.left_out),
        )
    }

    fn cut(&mut self, room: usize) {
        let left_out = &mut self.left_out;
        shorten_told(&mut self.files, room / 4, left_out);
        shorten_told(&mut self.unstaged, room / 4, left_out);
        shorten_told(&mut self.untracked, room / 4, left_out);
    }
}

impl Render for reset::Done {
    fn text(&self) -> String {
        let mut text = match self.was_at == self.now_at {
            true => format!("the branch stays at {}", self.now_at),
            false => format!("the branch went from {} to {}", self.was_at, self.now_at),
        };
        if self.left_behind > 0 {
            text.push_str(&format!(
                "\n{} commit(s) are on no branch any more; a reset to {} brings them back",
                self.left_behind, self.was_at
            ));
        }
        if let Some(kept) = &self.kept {
            text.push_str(&saved(kept));
        }
        text.push_str(&format!("\n{} file(s) staged", self.staged_files));
        text + &lines(self.staged.as_deref()) + &missing(self.left_out)
    }

    fn cut(&mut self, room: usize) {
        shorten_told(&mut self.staged, room / 2, &mut self.left_out);
    }
}

impl Render for clean::Cleaned {
    fn text(&self) -> String {
        let done = if self.removed { "removed" } else { "would go" };
        let mut text = format!("{} {done}", self.count);
        for entry in self.entries.iter().flatten() {
            text.push_str(&format!("\n{}", entry.path));
        }
        if !self.repositories_kept.is_empty() {
            let kept = self.repositories_kept.join(", ");
            text.push_str(&format!("\nrepositories that stay: {kept}"));
        }
        if let Some(kept) = &self.kept {
            text.push_str(&saved(kept));
        }
        text + &missing(self.left_out)
    }

    fn cut(&mut self, room: usize) {
        shorten_told(&mut self.entries, room / 2, &mut self.left_out);
    }
}

impl Render for stash::Stashed {
    fn text(&self) -> String {
        let mut text = String::new();
        for item in self.stash.iter().chain(self.stashes.iter().flatten()) {
            text.push_str(&format!("{} {}\n", item.id, item.message));
        }
        if self.stashes.as_ref().is_some_and(Vec::is_empty) {
            text.push_str("this branch has no stash\n");
        }
        for file in self.conflicts.iter().flatten() {
            text.push_str(&format!("conflict: {file}\n"));
        }
        if let Some(kept) = &self.kept {
            text.push_str(saved(kept).trim_start());
        }
        let mut text = text.trim_end().to_owned() + &lines(self.files.as_deref());
        if let Some(patch) = &self.patch {
            text.push_str(&format!("\n{patch}"));
        }
        text + &missing(self.left_out)
    }

    fn cut(&mut self, room: usize) {
        shorten_told(&mut self.stashes, room / 4, &mut self.left_out);
        shorten_told(&mut self.files, room / 4, &mut self.left_out);
        shorten_told(&mut self.conflicts, room / 4, &mut self.left_out);
        if let Some(patch) = &mut self.patch {
            let whole = patch.len();
            let end = patch.floor_char_boundary(room / 4);
            patch.truncate(end);
            if whole > end {
                self.left_out = Some(self.left_out.unwrap_or(0) + whole - end);
            }
        }
    }
}

impl Render for checkout::CheckedOut {
    fn text(&self) -> String {
        let mut text = format!("{} file(s) brought back", self.count);
        for file in self.files.iter().flatten() {
            text.push_str(&format!("\n{file}"));
        }
        if let Some(kept) = &self.kept {
            text.push_str(&saved(kept));
        }
        text + &missing(self.left_out)
    }

    fn cut(&mut self, room: usize) {
        shorten_told(&mut self.files, room / 2, &mut self.left_out);
    }
}

/// A line for each change.
fn lines(changes: Option<&[Change]>) -> String {
    let line = |change: &Change| {
        let letter = match change.change {
            ChangeKind::Added => 'A',
            ChangeKind::Modified => 'M',
            ChangeKind::Deleted => 'D',
            ChangeKind::Renamed => 'R',
            ChangeKind::TypeChanged => 'T',
            ChangeKind::Conflicted => 'U',
        };
        match &change.from {
            Some(from) => format!("\n{letter} {from} -> {}", change.path),
            None => format!("\n{letter} {}", change.path),
        }
    };
    changes.unwrap_or_default().iter().map(line).collect()
}

pub(in crate::app::verbs) fn saved(kept: &Kept) -> String {
    format!("\nsaved as salvage {}: {}", kept.salvage_id, kept.restore)
}
