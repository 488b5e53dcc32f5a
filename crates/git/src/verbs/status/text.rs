//! A status in a few lines, in git's short form.

use std::fmt::Write;

use crate::verbs::verb::Render;

use super::{Change, Conflict, Operation, Status};

impl Render for Status {
    /// A line about where the branch stands, then one for each file.
    fn text(&self) -> String {
        let mut text = format!("## {}", self.on.as_deref().unwrap_or("HEAD (detached)"));
        if let Some(upstream) = &self.upstream {
            let (name, ahead, behind) = (&upstream.name, upstream.ahead, upstream.behind);
            text += &format!("...{name} [ahead {ahead}, behind {behind}]");
        }
        text.push('\n');
        if let Some(operation) = &self.operation {
            text += &operation.text();
            text.push('\n');
        }
        if self.clean {
            text += "clean\n";
        }
        text += &self.counts.text();
        for conflict in self.conflicted.iter().flatten() {
            text += &conflict.line();
        }
        for change in self.staged.iter().flatten() {
            text += &change.line(&format!("{} ", change.change.letter()));
        }
        for change in self.unstaged.iter().flatten() {
            text += &change.line(&format!(" {}", change.change.letter()));
        }
        for path in self.untracked.iter().flatten() {
            text += &format!("?? {path}\n");
        }
        for path in self.ignored.iter().flatten() {
            text += &format!("!! {path}\n");
        }
        for submodule in &self.submodules {
            text += &format!("submodule {submodule}\n");
        }
        if self.truncated {
            text += "not all are listed: ask again with paths\n";
        }
        text
    }
}

impl super::Counts {
    fn text(&self) -> String {
        let mut text = String::new();
        for (count, what) in [
            (Some(self.conflicted), "in conflict"),
            (Some(self.staged), "staged"),
            (Some(self.unstaged), "unstaged"),
            (self.untracked, "untracked"),
            (self.ignored, "ignored"),
        ] {
            if let Some(count) = count.filter(|count| *count > 0) {
                let comma = if text.is_empty() { "" } else { ", " };
                let _ = write!(text, "{comma}{count} {what}");
            }
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }
}

impl Operation {
    fn text(&self) -> String {
        let mut text = self.kind.clone();
        if let Some(of) = &self.of {
            text += &format!(" of {of}");
        }
        if let (Some(step), Some(total)) = (self.step, self.total) {
            text += &format!(", step {step} of {total},");
        }
        text += " under way";
        if let (Some(by), Some(age)) = (&self.by, &self.age) {
            text += &format!(", begun by {by} {age} ago");
        }
        text
    }
}

impl Change {
    fn line(&self, letters: &str) -> String {
        match &self.from {
            Some(from) => format!("{letters} {from} -> {}\n", self.path),
            None => format!("{letters} {}\n", self.path),
        }
    }
}

impl Conflict {
    fn line(&self) -> String {
        format!("{} {}\n", self.kind.letters(), self.path)
    }
}
