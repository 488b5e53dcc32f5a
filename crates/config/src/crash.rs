//! Named places at which a test can have this program killed, as if by `kill -9`, to see that what
//! was on disk at that moment is enough. They exist in debug builds only.

/// Names the place at which to be killed.
pub(super) const VARIABLE: &str = "BRANCHYARD_CRASH_AT";

/// Ends the process at once and without a word if it was started to be killed here.
pub fn crash_point(place: &str) {
    if cfg!(debug_assertions) && std::env::var_os(VARIABLE).is_some_and(|at| at == place) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
        // The signal is pending by now; nothing more may happen here.
        loop {
            std::thread::park();
        }
    }
}

/// What a process of ours must be given so that its own crash points work.
pub fn crash_variable() -> Option<(&'static str, std::ffi::OsString)> {
    let value = std::env::var_os(VARIABLE).filter(|_| cfg!(debug_assertions));
    value.map(|value| (VARIABLE, value))
}
