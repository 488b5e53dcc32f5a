//! reflog.

use std::fmt::Write;

use super::fit::{brief, fitting, keep};
use crate::app::AuthorizedApp;
use crate::app::verbs::run_verb;
use crate::app::verbs::verb::{At, Render, VerbOutput};
use branchyard_git::verbs::reflog::{self, Reflog, Request};
use branchyard_model::Problem;

pub(super) async fn reflog(
    app: AuthorizedApp,
    at: At,
    request: Request,
) -> Result<VerbOutput<Reflog>, Problem> {
    run_verb::look(&app, &at, move |workspace, repo| {
        Ok(reflog::reflog(repo, workspace.branch(), &request)?)
    })
    .await
}

impl Render for Reflog {
    fn text(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let (id, selector) = (brief(&entry.id), &entry.selector);
            let _ = writeln!(text, "{id} {selector}: {}", entry.message);
        }
        if self.entries.is_empty() {
            let _ = writeln!(text, "nothing is noted of {}", self.of);
        }
        if let Some(next) = self.next {
            let _ = writeln!(text, "({} in all; more with skip {next})", self.total);
        }
        text
    }

    fn cut(&mut self, room: usize) {
        let kept = fitting(&self.entries, room).max(1);
        if keep(&mut self.entries, kept) {
            self.next = Some(self.skip + kept);
        }
    }
}
