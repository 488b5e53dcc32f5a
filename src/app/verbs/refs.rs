//! branch, worktree, tag: the names of a repository, which all its workspaces share.

use super::branch;
use super::shorten::{missing, shorten};
use super::verb::{At, Effect, Render, Verb, VerbEntry, VerbOutput};
use crate::app::verbs::run_verb;
use crate::app::{AuthorizedApp, inspect};
use branchyard_git::verbs::{tag, worktree};
use branchyard_model::Problem;
use branchyard_workspace::{Files, verbs};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(BRANCH, branch::branch).looking(&["list", "show"]),
        Verb::new(WORKTREE, worktrees),
        Verb::new(TAG, tag).looking(&["list", "show", "verify"]),
    ]
}

const BRANCH: VerbEntry = VerbEntry {
    name: "branch",
    title: "Branches",
    description: "Lists branches, shows one, creates one with a workspace of its own, renames or deletes one. With commits or work of its own it is deleted with `force: true` only, and saved first.",
    effect: Effect {
        reaches_out: true,
        ..Effect::DESTROYS
    },
};

const WORKTREE: VerbEntry = VerbEntry {
    name: "worktree",
    title: "List workspaces",
    description: "Lists the workspaces of the repository: branch, directory, commit, who is at work there. They come with the first request for a branch (git_branch with action create, `workspace`), and go with `workspace` and action remove.",
    effect: Effect::READS,
};

const TAG: VerbEntry = VerbEntry {
    name: "tag",
    title: "Tags",
    description: "Lists tags, shows, creates, verifies the signature of, or deletes one. Tags are shared by all workspaces, and are only here until git_push sends them.",
    effect: Effect::DESTROYS,
};

async fn worktrees(
    app: AuthorizedApp,
    at: At,
    request: worktree::Request,
) -> Result<VerbOutput<worktree::Worktrees>, Problem> {
    let told = run_verb::look(&app, &at, |_, _| Ok(())).await?;
    let repo = app.repo(&at.repo)?;
    let found = verbs::worktrees(
        &app.yard().workspaces,
        &repo,
        app.branches_on_disk(&repo),
        (at.branch.clone(), request),
    )
    .await;
    Ok(told.with(found.map_err(|error| error.problem())?))
}

async fn tag(
    app: AuthorizedApp,
    at: At,
    request: tag::Request,
) -> Result<VerbOutput<tag::Tags>, Problem> {
    request.check()?;
    match request.action {
        tag::Action::List | tag::Action::Show => {
            run_verb::look(&app, &at, move |workspace, repo| {
                verbs::look_at_tags(workspace, repo, &request)
            })
            .await
        }
        tag::Action::Verify => {
            let told = run_verb::look(&app, &at, |_, _| Ok(())).await?;
            let tags = inspect::read(&app, &at.repo, &at.branch, move |workspace| {
                let request = request.clone();
                async move { verbs::verify_tag(&workspace, request).await }
            })
            .await?;
            Ok(told.with(tags))
        }
        tag::Action::Create | tag::Action::Delete => {
            // It is everybody's, whatever their branches.
            app.principal().require_all_branches()?;
            run_verb::change(
                &app,
                &at,
                "git tag",
                Files::Untouched,
                move |workspace, report| async move {
                    verbs::change_tag(&workspace, request, &report).await
                },
            )
            .await
        }
    }
}

impl<T> VerbOutput<T> {
    /// The same about another answer.
    pub(super) fn with<U>(self, answer: U) -> VerbOutput<U> {
        VerbOutput {
            about: self.about,
            warnings: self.warnings,
            answer,
        }
    }
}

impl Render for worktree::Worktrees {
    fn text(&self) -> String {
        let mut text = format!("{} workspace(s)", self.total);
        for item in &self.worktrees {
            let head = item.head.as_ref().map_or("?", |head| head.as_str());
            text.push_str(&format!("\n{head} {} in {}", item.of, item.path));
            if let Some(holder) = &item.holder {
                text.push_str(&format!(", busy with {}", holder.what));
            }
        }
        text + &missing(self.left_out)
    }

    fn cut(&mut self, room: usize) {
        let gone = shorten(&mut self.worktrees, room / 2);
        if gone > 0 {
            self.left_out = Some(self.left_out.unwrap_or(0) + gone);
        }
    }
}

impl Render for tag::Tags {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for item in self.tag.iter().chain(self.tags.iter().flatten()) {
            let message = item.message.as_ref().or(item.subject.as_ref());
            let message = message.map_or("", |text| text.as_str());
            lines.push(
                format!("{} {} {message}", item.name, item.target)
                    .trim_end()
                    .to_owned(),
            );
        }
        if let Some(signature) = &self.signature {
            let signer = signature.signer.as_deref().unwrap_or("nobody known");
            lines.push(format!("signature: {:?}, by {signer}", signature.verdict));
        }
        if let Some(was) = &self.was {
            lines.push(format!(
                "it was {was}; a tag with that as its target is the same again"
            ));
        }
        if let (Some(next), Some(total)) = (self.next, self.total) {
            lines.push(format!("of {total}; go on with skip: {next}"));
        }
        match lines.is_empty() {
            true => "no tags".to_owned(),
            false => lines.join("\n"),
        }
    }

    fn cut(&mut self, room: usize) {
        let Some(tags) = &mut self.tags else {
            return;
        };
        let gone = shorten(tags, room / 2);
        self.next = go_on(self.next, self.total, gone);
    }
}

/// Where a list goes on of which this many more did not fit.
pub(super) fn go_on(next: Option<usize>, total: Option<usize>, gone: usize) -> Option<usize> {
    match gone {
        0 => next,
        gone => next.or(total).map(|end| end.saturating_sub(gone)),
    }
}
