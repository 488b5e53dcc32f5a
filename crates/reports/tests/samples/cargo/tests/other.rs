#[test]
fn passes() {}

#[test]
fn is_flaky() {
    let was_here = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("was-here");
    let first = !was_here.exists();
    std::fs::write(was_here, "").unwrap();
    assert!(!first, "the first try fails");
}

#[test]
fn aborts() {
    if std::env::var_os("NEXTEST").is_some() {
        std::process::abort();
    }
}
