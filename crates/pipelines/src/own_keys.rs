//! What the operator says of jobs in place of their file, which may not have Branchyard's own keys.

use crate::planned::job_path;
use branchyard_config::{JobReuse, RepoConfig, RepoJob, RetryOn};
use branchyard_workflow::{JobExtras, PlannedJob, RetryRule};

pub(crate) fn apply(config: &RepoConfig, file: &str, jobs: &mut [PlannedJob]) {
    for job in jobs {
        let path = job_path(file, &job.job);
        let mut declared = config.pipelines.jobs.iter();
        if let Some((_, own)) = declared.find(|(name, _)| name.as_str() == path) {
            replace(&mut job.extras, own);
        }
    }
}

fn replace(extras: &mut JobExtras, own: &RepoJob) {
    if let Some(inputs) = &own.inputs {
        extras.inputs = Some(inputs.patterns().to_vec());
    }
    if let Some(reports) = &own.reports {
        extras.reports = reports.patterns().to_vec();
    }
    if let Some(retry) = &own.retry {
        let on = retry.on.iter().map(|on| match on {
            RetryOn::Flaky => "flaky",
            RetryOn::Lost => "lost",
        });
        extras.retry = Some(RetryRule {
            max: u8::try_from(retry.max).unwrap_or(u8::MAX),
            on: on.map(str::to_owned).collect(),
        });
    }
    if let Some(hold) = own.hold {
        extras.hold_seconds = Some(hold.as_secs().max(1));
    }
    if let Some(warm) = own.warm {
        extras.warm = warm;
    }
    if let Some(reuse) = own.reuse {
        let reuse = match reuse {
            JobReuse::Tree => "tree",
            JobReuse::Inputs => "inputs",
            JobReuse::Off => "off",
        };
        extras.reuse = Some(reuse.to_owned());
    }
}
