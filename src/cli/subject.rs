//! What is followed and cancelled: one run, the runs of a group, or a pipeline.

use branchyard_model::{GroupId, PipelineId, RunId};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Run(RunId),
    Group(GroupId),
    Pipeline(PipelineId),
}

impl Subject {
    /// From the `Location` that a request to start something was answered with.
    pub(super) fn at(location: &str) -> Option<Self> {
        let (rest, id) = location.rsplit_once('/')?;
        match rest.rsplit('/').next()? {
            "runs" => RunId::parse(id).ok().map(Self::Run),
            "groups" => GroupId::parse(id).ok().map(Self::Group),
            "pipelines" => PipelineId::parse(id).ok().map(Self::Pipeline),
            _ => None,
        }
    }

    /// Where its record is.
    pub(super) fn path(self) -> String {
        self.below("/api")
    }

    pub(super) fn stream_path(self) -> String {
        self.below("/stream")
    }

    fn below(self, root: &str) -> String {
        match self {
            Self::Run(run) => format!("{root}/runs/{run}"),
            Self::Group(group) => format!("{root}/groups/{group}"),
            Self::Pipeline(pipeline) => format!("{root}/pipelines/{pipeline}"),
        }
    }

    /// In a sentence.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Run(_) => "run",
            Self::Group(_) => "group",
            Self::Pipeline(_) => "pipeline",
        }
    }

    /// The command that follows it.
    pub(super) fn follow_command(self) -> String {
        match self {
            Self::Run(run) => format!("branchyard follow {run}"),
            Self::Group(group) => format!("branchyard follow --group {group}"),
            Self::Pipeline(pipeline) => format!("branchyard pipeline follow {pipeline}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_names_a_run_a_group_or_a_pipeline() {
        let id = "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b";
        for kind in ["runs", "groups", "pipelines"] {
            let path = format!("/api/{kind}/{id}");
            assert_eq!(Subject::at(&path).unwrap().path(), path);
        }
        for other in ["", "/api/runs/latest", "/api/repos/demo", id] {
            assert_eq!(Subject::at(other), None, "{other:?}");
        }
    }
}
