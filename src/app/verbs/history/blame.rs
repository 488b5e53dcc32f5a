//! blame.

use std::fmt::Write;

use super::fit::{brief, day, fitting, keep, shorten, size};
use crate::app::verbs::verb::{At, Render, VerbOutput};
use crate::app::{AuthorizedApp, inspect};
use branchyard_git::verbs::blame::{Blame, Hunk, Request};
use branchyard_model::Problem;
use branchyard_workspace::verbs;

pub(super) async fn blame(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Blame>, Problem> {
    let read = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
        let request = request.clone();
        async move { verbs::blame(&workspace, request).await }
    });
    let (about, answer) = read.await?;
    Ok(VerbOutput {
        about,
        warnings: Vec::new(),
        answer,
    })
}

impl Render for Blame {
    fn text(&self) -> String {
        let mut text: String = self.hunks.iter().map(paragraph).collect();
        if self.hunks.is_empty() {
            text.push_str("no lines\n");
        }
        if let Some(next) = self.next {
            let _ = writeln!(text, "(more with start_line {next})");
        }
        text
    }

    fn cut(&mut self, room: usize) {
        let kept = fitting(&self.hunks, room).max(1);
        let next = self.hunks.get(kept).map(|hunk| hunk.start_line);
        if keep(&mut self.hunks, kept) {
            self.next = next;
        }
        if let [only] = &mut self.hunks[..]
            && size(only) > room
        {
            self.next = cut_hunk(only, room / 2).or(self.next);
        }
    }
}

fn paragraph(hunk: &Hunk) -> String {
    let mut text = format!("{}-{} ", hunk.start_line, hunk.end_line);
    match (&hunk.id, &hunk.author) {
        (Some(id), Some(author)) => {
            let (id, day) = (brief(id), day(&author.date));
            let _ = write!(text, "{id} {day} {}", author.name);
        }
        _ => text.push_str("not committed"),
    }
    if let Some(subject) = &hunk.subject {
        let _ = write!(text, ": {subject}");
    }
    text.push('\n');
    text.push_str(hunk.text.as_deref().unwrap_or_default());
    text
}

/// Leaves out the last lines of a hunk; the first of those. A line that does not fit by itself is cut.
fn cut_hunk(hunk: &mut Hunk, room: usize) -> Option<usize> {
    let text = hunk.text.as_mut()?;
    let mut left = room;
    let fits = |line: &&str| {
        let rest = left.checked_sub(size(line));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let kept = text.split_inclusive('\n').take_while(fits).count().max(1);
    let bytes = text.split_inclusive('\n').take(kept).map(str::len).sum();
    text.truncate(bytes);
    hunk.truncated |= shorten(text, room);
    let next = hunk.start_line + kept;
    let more = next <= hunk.end_line;
    hunk.end_line = hunk.end_line.min(next - 1);
    more.then_some(next)
}
