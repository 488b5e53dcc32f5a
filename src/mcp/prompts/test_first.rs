//! `test_first`: from a test that fails to a push.

use super::arguments::{Arguments, needed};
use crate::mcp::call::Call;
use branchyard_model::Problem;

pub(super) fn text(call: &Call, mut arguments: Arguments) -> Result<String, Problem> {
    let repo = needed(arguments.repo()?, "repo")?;
    let branch = needed(arguments.branch()?, "branch")?;
    arguments.finish()?;
    call.app().check(&repo, &branch)?;
    Ok(format!(
        "\
Write a test first, then the code that it is for (repo {repo}, branch {branch}).

1. Look at what is there with `ls`, `grep` and `read_file`: how tests are written and run in this repo.
2. Write one test for what is wanted with `write_file`, and run it with `exec`. It has to fail, and for the reason that \
you expect: read stderr, or the answer's diagnostics. A test that passes at once tests nothing new.
3. If a module is missing, the answer names the call that installs it: `install_dependencies`. Run the test again.
4. Write the code with `edit_file`, or several files at once with `apply_patch`. Give `expected` with the sha256 that \
`read_file` told, so that nothing of another's is overwritten.
5. Run the test again. While it fails: read what it says, change the code and not the test, run it again.
6. Run all tests of the repo as its builds do, with `make` or `task`. A result with `edited_meanwhile` saw files that \
were changed beneath it: run it again.
7. Commit and push with `git_push` and a message that says why. `git_diff` shows first what it will be.
"
    ))
}
