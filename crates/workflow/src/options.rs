//! What is not in the files.

/// What the operator says of workflows.
#[derive(Debug, Clone, Default)]
pub struct WorkflowOptions {
    /// Globs of actions whose steps are left out, such as `codecov/*`.
    pub skip_actions: Vec<String>,
    /// Labels of `runs-on` that stand for Linux, beside `ubuntu-*` and `linux`.
    pub linux_labels: Vec<String>,
}
