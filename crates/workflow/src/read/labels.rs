//! Whether a job is for Linux, by the labels of its runner.

/// Whether the labels name Linux, or one that the operator says is.
pub(crate) fn is_linux(labels: &[String], linux: &[String]) -> bool {
    let is_other = |label: &String| {
        let label = label.to_ascii_lowercase();
        ["windows", "macos"]
            .iter()
            .any(|system| label.starts_with(system))
    };
    let is_linux = |label: &String| {
        let lower = label.to_ascii_lowercase();
        lower == "linux"
            || lower.starts_with("ubuntu-")
            || linux.iter().any(|name| name.eq_ignore_ascii_case(label))
    };
    !labels.iter().any(is_other) && labels.iter().any(is_linux)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_is_known_by_its_labels() {
        let is = |labels: &[&str]| {
            let labels: Vec<_> = labels.iter().map(ToString::to_string).collect();
            is_linux(&labels, &["big-box".to_owned()])
        };
        assert!(is(&["ubuntu-latest"]) && is(&["self-hosted", "Linux", "x64"]) && is(&["BIG-box"]));
        assert!(!is(&["windows-latest"]) && !is(&["macos-14"]) && !is(&["gpu"]) && !is(&[]));
        assert!(!is(&["self-hosted", "linux", "windows-2022"]));
    }
}
