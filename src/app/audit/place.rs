//! Where a call was: what it names, and where that belongs.

use super::Auditor;
use branchyard_db::security_db::audit::Call;
use branchyard_model::{BranchName, GroupId, PipelineId, RepoName, RunId, SalvageId};
use branchyard_runs::groups;
use branchyard_workspace::salvage;

/// What a call names, as far as it makes sense. What does not is the caller's own, and not kept.
#[derive(Debug, Clone, Default)]
pub struct Named {
    repo: Option<RepoName>,
    branch: Option<BranchName>,
    run: Option<RunId>,
    group: Option<GroupId>,
    pipeline: Option<PipelineId>,
    salvage: Option<SalvageId>,
    token: Option<String>,
}

impl Named {
    /// `get` knows what the call says of `repo`, `branch`, `run`, `group`, `pipeline`, `salvage` and `token`.
    pub fn by<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let token = get("token").filter(|name| is_plain(name));
        Self {
            repo: get("repo").and_then(|name| RepoName::parse(name).ok()),
            branch: get("branch").and_then(|name| BranchName::parse(name).ok()),
            run: get("run").and_then(|id| RunId::parse(id).ok()),
            group: get("group").and_then(|id| GroupId::parse(id).ok()),
            pipeline: get("pipeline").and_then(|id| PipelineId::parse(id).ok()),
            salvage: get("salvage").and_then(|id| SalvageId::parse(id).ok()),
            token: token.map(str::to_owned),
        }
    }

    pub fn at(repo: Option<RepoName>, branch: Option<BranchName>) -> Self {
        Self {
            repo,
            branch,
            ..Self::default()
        }
    }

    fn subject(&self) -> Option<String> {
        let run = self.run.map(|id| id.to_string());
        run.or_else(|| self.group.map(|id| id.to_string()))
            .or_else(|| self.pipeline.map(|id| id.to_string()))
            .or_else(|| self.salvage.map(|id| id.to_string()))
            .or_else(|| self.token.clone())
    }
}

/// A token is named by its name or id. The secret itself has more in it.
fn is_plain(name: &str) -> bool {
    name.len() <= 64 && !name.starts_with("byt_")
}

impl Auditor {
    /// Adds to what is known of a call what it names, and where that belongs.
    pub async fn locate(&self, call: &mut Call, named: &Named) {
        if let Some(subject) = named.subject() {
            call.run = Some(subject);
        }
        if named.repo.is_some() {
            call.repo.clone_from(&named.repo);
        }
        if named.branch.is_some() {
            call.branch.clone_from(&named.branch);
        }
        if call.repo.is_some() {
            return;
        }
        let (runs, pipelines) = (&self.0.runs, &self.0.pipelines);
        if let Some(run) = named.run.and_then(|run| runs.record(run).ok()) {
            call.repo = Some(run.spec.repo);
            call.branch = Some(run.spec.branch);
        } else if let Some(group) = named.group.and_then(|id| groups::group(runs, id).ok()) {
            call.repo = Some(group.repo);
        } else if let Some(pipeline) = named.pipeline.and_then(|id| pipelines.record(id).ok()) {
            call.repo = Some(pipeline.repo);
            call.branch = Some(pipeline.branch);
        } else if let Some(id) = named.salvage {
            for repo in self.0.repos.list() {
                let found = salvage::read(&self.0.workspaces, &repo, id).await;
                if let Ok(Some((manifest, _))) = found {
                    call.repo = Some(manifest.salvage().repo.clone());
                    call.branch = Some(manifest.salvage().branch.clone());
                    return;
                }
            }
        }
    }
}
