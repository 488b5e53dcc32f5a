//! Secrets of jobs. They are given where the commit is the newest that the remote has on a branch of the secret, and to
//! variables of steps alone: whatever is written down holds none.

use std::collections::BTreeMap;

use crate::disk::FrozenPlan;
use crate::pipelines::Pipelines;
use crate::planned::job_path;
use branchyard_model::{ErrorKind, PipelineRecord, PipelineSource, Problem};
use branchyard_process::Redactor;
use branchyard_runs::secrets;
use branchyard_workflow::PlannedJob;
use branchyard_workspace::repos::Repo;

/// A shorter line of a secret is found in other texts, too.
const SHORTEST_LINE: usize = 16;

/// The values by their names, hence no `Debug`.
#[derive(Default)]
pub(crate) struct JobSecrets(BTreeMap<String, String>);

impl JobSecrets {
    pub(crate) fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    pub(crate) fn values(&self) -> Vec<String> {
        self.0.values().cloned().collect()
    }

    /// Refuses a text that is to be written down, if a secret is in it.
    pub(crate) fn check(&self, what: &str, text: &str) -> Result<(), String> {
        let is_in = |value: &&String| {
            let mut lines = value.lines().filter(|line| line.len() >= SHORTEST_LINE);
            text.contains(value.trim_end()) || lines.any(|line| text.contains(line))
        };
        let mut named = self.0.iter();
        match named.find(|(_, value)| is_in(value)) {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "{what} has the secret {name} in it, which is given by `env` of a step alone (unsafe_interpolation)"
            )),
        }
    }

    /// A text without the secrets in it, such as why an expression has no value.
    pub(crate) fn hide_in(&self, text: String) -> String {
        match Redactor::new(&self.values()) {
            None => text,
            Some(mut redactor) => {
                String::from_utf8_lossy(&redactor.whole(text.as_bytes())).into_owned()
            }
        }
    }

    /// Takes the variables that hold a secret out of `env`.
    pub(crate) fn take_from(&self, env: &mut BTreeMap<String, String>) -> BTreeMap<String, String> {
        env.extract_if(.., |_, value| self.check("", value).is_err())
            .collect()
    }
}

impl JobSecrets {
    /// What a job is given, or why it is not.
    pub(crate) fn of(
        pipelines: &Pipelines,
        repo: &Repo,
        record: &PipelineRecord,
        (plan, job): (&FrozenPlan, &PlannedJob),
    ) -> Result<Self, Problem> {
        let names = &job.secrets;
        let Some(first) = names.first() else {
            return Ok(Self::default());
        };
        if first == "GITHUB_TOKEN" {
            let detail = "the job names the secret GITHUB_TOKEN, and there is no such token here";
            return Err(secrets::secret_refused(detail.to_owned())
                .help("leave it out, or name a secret of the operator's"));
        }
        if !plan.is_remote_tip {
            let what = match record.source {
                PipelineSource::Workspace => "what is in a workspace",
                PipelineSource::Commit => "this commit",
            };
            let detail = format!(
                "the job names the secret {first}, which is given only to the newest commit that the remote has for {}, and not to {what}",
                record.branch
            );
            return Err(Problem::new(ErrorKind::Forbidden, "secret_refused", detail)
                .field("secrets")
                .help("push the branch, and start a pipeline of it without `commit` or `source`"));
        }
        let called = job_path(&plan.plan.file, &job.job);
        let runs = &pipelines.inner().runs;
        let given = secrets::for_job(runs, (repo.name(), &record.branch), &called, names);
        given.map(Self)
    }
}
