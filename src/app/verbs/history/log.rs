//! log.

use std::fmt::Write;

use super::fit::{day, fitting, keep, shorten, size};
use crate::app::verbs::verb::{At, Render, VerbOutput};
use crate::app::{AuthorizedApp, inspect};
use branchyard_git::verbs::log::{Log, LogEntry, Request};
use branchyard_model::Problem;
use branchyard_workspace::verbs;

pub(super) async fn log(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Log>, Problem> {
    let query = request.check()?;
    let read = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
        let query = query.clone();
        async move { verbs::log(&workspace, query).await }
    });
    let (about, answer) = read.await?;
    Ok(VerbOutput {
        about,
        warnings: Vec::new(),
        answer,
    })
}

impl Render for Log {
    fn text(&self) -> String {
        let mut text: String = self.commits.iter().map(line).collect();
        if self.commits.is_empty() {
            text.push_str("no commits\n");
        }
        if let Some(next) = self.next {
            let _ = writeln!(text, "(more with skip {next})");
        }
        if let Some(at) = &self.stopped_at {
            let _ = writeln!(text, "(stopped looking at {at}; ask for less history)");
        }
        text
    }

    fn cut(&mut self, room: usize) {
        let kept = fitting(&self.commits, room).max(1);
        if keep(&mut self.commits, kept) {
            self.next = Some(self.skip + kept);
            self.truncated = true;
        }
        if let [only] = &mut self.commits[..] {
            cut_entry(only, room);
        }
    }
}

fn line(commit: &LogEntry) -> String {
    let LogEntry {
        short_id,
        author,
        subject,
        ..
    } = commit;
    let mut line = format!(
        "{short_id} {} {}: {subject}",
        day(&author.date),
        author.name
    );
    if let Some(refs) = commit.refs.as_ref().filter(|refs| !refs.is_empty()) {
        let _ = write!(line, " ({})", refs.join(", "));
    }
    if let Some(path) = &commit.path {
        let _ = write!(line, " [{path}]");
    }
    if let Some(stat) = &commit.stat {
        let (files, more, less) = (stat.files, stat.additions, stat.deletions);
        let _ = write!(line, " {files} files, +{more} -{less}");
    }
    line.push('\n');
    if let Some(patch) = &commit.patch {
        line.push_str(&patch.text);
    }
    line
}

/// Of a commit that is too long by itself, the beginnings of what is long.
fn cut_entry(commit: &mut LogEntry, room: usize) {
    if size(commit) <= room {
        return;
    }
    let part = room / 5;
    let LogEntry {
        subject,
        body,
        parents,
        refs,
        stat,
        patch,
        ..
    } = commit;
    let mut is_cut = shorten(subject, part);
    if let Some(body) = body {
        is_cut |= shorten(body, part);
    }
    for list in [parents, refs].into_iter().flatten() {
        let kept = fitting(list, part);
        is_cut |= keep(list, kept);
    }
    if let Some(files) = stat.as_mut().and_then(|stat| stat.by_file.as_mut()) {
        let kept = fitting(files, part);
        is_cut |= keep(files, kept);
    }
    if let Some(patch) = patch {
        patch.truncated |= shorten(&mut patch.text, part);
    }
    commit.truncated |= is_cut;
}
