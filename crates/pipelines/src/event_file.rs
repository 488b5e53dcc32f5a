//! The event that started a pipeline, as a file for the steps of a job.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::context;
use branchyard_model::RunId;
use branchyard_workflow::{WorkflowPlan, render};

/// Among the temporary files of the job.
const NAME: &str = "_github_event.json";

/// Where steps find it that find their temporary files in `tmp`.
pub(crate) fn path(tmp: &Path) -> PathBuf {
    tmp.join(NAME)
}

/// Writes what `github.event` is. An earlier daemon may have done so, and steps have begun since: nothing that one of them put
/// there is written to.
pub(crate) fn write(tmp: &Path, plan: &WorkflowPlan) -> io::Result<()> {
    // A bisect has no event.
    if !plan.contexts.contains_key("github") {
        return Ok(());
    }
    let event = render(
        "${{ toJSON(github.event) }}",
        &context::of_plan(plan).eval(),
    );
    let event = event.map_err(|fault| io::Error::other(fault.to_string()))?;
    let fresh = tmp.join(format!("{NAME}.{}", RunId::new()));
    let mut file = File::create_new(&fresh)?;
    file.write_all(event.as_bytes())?;
    fs::rename(fresh, path(tmp))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use branchyard_workflow::{EventKind, PlanFacts, WorkflowEvent, WorkflowOptions, check};

    #[test]
    fn the_event_is_written_and_no_link_is_followed() {
        let text = "on: {workflow_dispatch: {inputs: {level: {default: a b}}}}\njobs: {a: {runs-on: linux, steps: [{run: x}]}}\n";
        let workflow = check(
            ".branchyard/workflows/ci.yml",
            text,
            &WorkflowOptions::default(),
            &BTreeMap::new(),
        );
        let event = WorkflowEvent::new(EventKind::WorkflowDispatch, "refs/heads/main");
        let plan = workflow.unwrap().plan(&event, &PlanFacts::default());
        let plan = plan.unwrap().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let other = dir.path().join("other");
        fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, path(dir.path())).unwrap();
        write(dir.path(), &plan).unwrap();
        let written = fs::read(path(dir.path())).unwrap();
        let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
        assert_eq!(written, serde_json::json!({"inputs": {"level": "a b"}}));
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
