//! The producers themselves, as they are installed on this machine.

use std::path::Path;
use std::process::Command;

use crate::fixtures::{reports, wrong_counts};

/// The exit code of the script for a producer that is not installed.
const NOT_INSTALLED: i32 = 3;

#[test]
#[ignore = "runs the test runners that are installed: make soak"]
fn soak_producers_agree_with_their_own_counts() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/make.sh");
    let listed = Command::new(&script).arg("list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let (mut skipped, mut wrong, mut read) = (Vec::new(), Vec::new(), 0);
    for producer in listed.lines() {
        let out = tempfile::tempdir().unwrap();
        let made = Command::new(&script)
            .arg(producer)
            .arg(out.path())
            .output()
            .unwrap();
        match made.status.code() {
            Some(0) => {}
            Some(NOT_INSTALLED) => {
                skipped.push(producer);
                continue;
            }
            code => {
                let said = String::from_utf8_lossy(&made.stderr);
                wrong.push(format!("{producer}: {code:?}: {said}"));
            }
        }
        let all = reports(out.path());
        read += all.len();
        wrong.extend(all.iter().filter_map(|path| wrong_counts(path)));
    }
    println!("{read} reports read; not installed: {}", skipped.join(", "));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
