//! Cuts libgit2 off from the machine's and the user's git configuration, as the wrapper does for
//! the command: what a repository answers must not depend on who started the daemon.

use std::sync::Once;

use git2::ConfigLevel;

/// Must be called before libgit2 is first used; later calls do nothing.
#[expect(
    unsafe_code,
    reason = "libgit2 keeps its search paths in globals; there is no other way to set them"
)]
pub fn isolate_libgit2() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for level in [
            ConfigLevel::ProgramData,
            ConfigLevel::System,
            ConfigLevel::XDG,
            ConfigLevel::Global,
        ] {
            // SAFETY: the globals are written once, behind `Once`, before any repository is opened.
            // An error would mean an unknown level, and these four are fixed.
            let _ = unsafe { git2::opts::set_search_path(level, "") };
        }
        // Objects are checked by git when they arrive; hashing each again on every read buys nothing.
        git2::opts::strict_hash_verification(false);
    });
}
