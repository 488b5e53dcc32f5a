//! Tags. All workspaces of a repo share them, so whatever changes one holds the registry lock.

use std::sync::Arc;

use branchyard_git::Repository;

use super::in_gits_words;
use crate::{Error, Report, Reporter, Workspace};
use branchyard_git as git;
use branchyard_git::verbs::tag::{self, Action, Request, Tags, Verdict, Verification};
use branchyard_git::verbs::{confirm_needed, revision};
use branchyard_model::{TagName, Warning};

/// The tags, or one of them. Blocks.
pub fn look_at_tags(
    _workspace: &Workspace,
    repo: &Repository,
    request: &Request,
) -> Result<Tags, Error> {
    if request.action == Action::List {
        return Ok(tag::list(repo, request)?);
    }
    Ok(Tags {
        tag: Some(tag::show(repo, &request.tag()?)?),
        ..Tags::of(request.action)
    })
}

/// Makes or deletes a tag.
pub async fn change_tag(
    workspace: &Arc<Workspace>,
    request: Request,
    report: &Reporter,
) -> Result<Tags, Error> {
    let name = request.tag()?;
    let _registry = workspace.repo().registry().lock().await;
    match request.action {
        Action::Delete => delete_tag(workspace, &request, name).await,
        _ => create_tag(workspace, request, name, report).await,
    }
}

async fn create_tag(
    workspace: &Arc<Workspace>,
    request: Request,
    name: TagName,
    report: &Reporter,
) -> Result<Tags, Error> {
    let git = workspace.repo().git();
    let signs = request.message.is_some() && git.is_to_sign(request.sign)?;
    let (asked, tag, tell) = (request.clone(), name.clone(), report.clone());
    let (was, target) = workspace
        .with_repository(move |_, repo| {
            let was = tag::find(repo, &tag)?;
            if let Some(was) = was.filter(|_| !asked.force) {
                return Err(tag::tag_exists(&tag, was).into());
            }
            let target = match &asked.target {
                Some(revision) => revision::object_id(repo, "target", revision)?,
                None => git::head(repo)?.commit,
            };
            warn_of_twin(repo, &tag, &tell)?;
            Ok((was, target))
        })
        .await?;
    let made = tag::create(
        git,
        workspace.repo().store().path(),
        &request,
        &name,
        target,
        signs,
    )
    .await;
    made.map_err(in_gits_words)?;
    workspace
        .with_repository(move |_, repo| {
            Ok(Tags {
                tag: Some(tag::show(repo, &name)?),
                was: was.map(git::commit_id).transpose()?,
                ..Tags::of(Action::Create)
            })
        })
        .await
}

async fn delete_tag(
    workspace: &Arc<Workspace>,
    request: &Request,
    name: TagName,
) -> Result<Tags, Error> {
    let (tag, confirm) = (name.clone(), request.confirm);
    let (was, item) = workspace
        .with_repository(move |_, repo| {
            let item = tag::show(repo, &tag)?;
            if !confirm {
                let lost = [format!("the name {tag} for {}", item.target)];
                return Err(confirm_needed("to delete a tag", &lost).into());
            }
            let was = tag::find(repo, &tag)?.ok_or_else(|| tag::no_such_tag(&tag))?;
            Ok((was, item))
        })
        .await?;
    let deleted = tag::delete(
        workspace.repo().git(),
        workspace.repo().store().path(),
        &name,
        was,
    )
    .await;
    deleted.map_err(in_gits_words)?;
    Ok(Tags {
        tag: Some(item),
        was: Some(git::commit_id(was)?),
        ..Tags::of(Action::Delete)
    })
}

/// Has the signature of a tag checked. The caller shares the files.
pub async fn verify_tag(workspace: &Arc<Workspace>, request: Request) -> Result<Tags, Error> {
    let tags = workspace
        .with_repository(move |this, repo| look_at_tags(this, repo, &request))
        .await?;
    let signed = tags.tag.as_ref().filter(|tag| tag.signed);
    let signature = match signed {
        Some(tag) => {
            let tag = git::object_id(&tag.id)?;
            tag::verify(workspace.repo().git(), workspace.repo().store().path(), tag).await?
        }
        None => Verification {
            verdict: Verdict::Unsigned,
            signer: None,
            key: None,
        },
    };
    Ok(Tags {
        signature: Some(signature),
        ..tags
    })
}

/// Where a branch has the same name, that name alone means the tag.
fn warn_of_twin(repo: &Repository, tag: &TagName, report: &Reporter) -> Result<(), Error> {
    if git::read_ref(repo, &format!("refs/heads/{tag}"))?.is_some() {
        report(Report::Warning(Warning::new(
            "tag_hides_branch",
            format!(
                "there is a branch {tag} as well: as a revision, {tag} now means the tag, and refs/heads/{tag} the branch"
            ),
        )));
    }
    Ok(())
}
