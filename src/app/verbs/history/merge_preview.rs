//! merge_preview.

use std::fmt::Write;

use super::fit::{fitting, keep, shorten, size};
use crate::app::verbs::verb::{At, Render, VerbOutput};
use crate::app::{AuthorizedApp, inspect};
use branchyard_git::verbs::merge_preview::{Conflict, MergePreview, Outcome, Request};
use branchyard_model::Problem;
use branchyard_workspace::verbs;

pub(super) async fn merge_preview(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<MergePreview>, Problem> {
    if request.fetch {
        app.yard().margin.check()?;
        let workspace = app.workspace(&at.repo, &at.branch)?;
        let brought = verbs::bring_for(&workspace, &request).await;
        brought.map_err(|error| app.yard().margin.judge(error.problem()))?;
    }
    let read = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
        let request = request.clone();
        async move { verbs::merge_preview(&workspace, request).await }
    });
    let (about, answer) = read.await?;
    Ok(VerbOutput {
        about,
        warnings: Vec::new(),
        answer,
    })
}

impl Render for MergePreview {
    fn text(&self) -> String {
        let (from, into) = (&self.from.name, &self.into.name);
        let mut text = match self.outcome {
            Outcome::AlreadyMerged => format!("{into} has all of {from} already"),
            Outcome::FastForward => format!("{into} can be moved on to {from}"),
            Outcome::Clean => format!("{from} merges into {into} without conflicts"),
            Outcome::Conflicts => format!(
                "{from} does not merge into {into}: {} files in conflict",
                self.conflicted
            ),
            Outcome::Unrelated => format!("{from} and {into} have no commit in common"),
        };
        let _ = writeln!(
            text,
            " ({} commits, {} missing)",
            self.incoming, self.missing
        );
        for conflict in &self.conflicts {
            let _ = writeln!(text, "{}: {}", conflict.path, conflict.kinds.join(", "));
        }
        if self.truncated {
            text.push_str("(cut)\n");
        }
        text
    }

    fn cut(&mut self, room: usize) {
        let kept = fitting(&self.conflicts, room).max(1);
        self.truncated |= keep(&mut self.conflicts, kept);
        if let [only] = &mut self.conflicts[..]
            && size(only) > room
        {
            self.truncated |= cut_conflict(only, room / 4);
        }
    }
}

fn cut_conflict(conflict: &mut Conflict, part: usize) -> bool {
    let mut is_cut = shorten(&mut conflict.path, part);
    for list in [&mut conflict.kinds, &mut conflict.messages] {
        let kept = fitting(list, part);
        is_cut |= keep(list, kept);
    }
    is_cut
}
