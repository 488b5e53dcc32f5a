//! Is anybody in there? Asked before a lock file is called stale.

use std::fs;
use std::path::Path;

/// Whether a process other than this one has its working directory or an open file in `dir`.
/// Processes that cannot be looked at, being another user's, cannot write here either.
pub fn is_in_use(dir: &Path) -> bool {
    let own = std::process::id().to_string();
    let Ok(processes) = fs::read_dir("/proc") else {
        return true;
    };
    processes
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_str()
                .is_some_and(|pid| pid != own && pid.parse::<u32>().is_ok())
        })
        .any(|entry| uses(&entry.path(), dir))
}

fn uses(process: &Path, dir: &Path) -> bool {
    let leads_inside =
        |link: &Path| fs::read_link(link).is_ok_and(|target| target.starts_with(dir));
    if leads_inside(&process.join("cwd")) {
        return true;
    }
    fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|fd| leads_inside(&fd.path()))
}
