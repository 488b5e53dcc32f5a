//! A collect that the disk has no room for.

use std::process::Command;

use branchyard_artifacts::ArtifactLimits;
use branchyard_model::{ErrorKind, Problem};

use crate::yard::{Yard, write};

#[test]
fn a_full_disk_is_told_as_such_and_nothing_stays_staged() {
    let dir = tempfile::tempdir().unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(dir.path())
        .output();
    if !mount.as_ref().is_ok_and(|mount| mount.status.success()) {
        eprintln!("SKIPPED: a test of a full disk needs to mount a tmpfs: {mount:?}");
        return;
    }
    let mounted = dir.path().to_owned();
    let yard = Yard::at(dir, ArtifactLimits::default());
    yard.write(&["small"]);
    let small = yard.collect("small", &["small"]).is_ok();
    write(&yard.job().join("large"), vec![1; 600 << 10]);
    let problem = yard.collect("large", &["large"]).map_err(Problem::from);
    let left = (yard.staged(), yard.store.set(&yard.owner, "large"));
    // Mounted, it could not be removed.
    let _ = Command::new("umount").arg("--lazy").arg(mounted).status();
    let problem = problem.unwrap_err();
    assert_eq!(
        (problem.kind, &*problem.code),
        (ErrorKind::StorageFull, "disk_full")
    );
    assert_eq!((small, left), (true, (0, None)));
}
