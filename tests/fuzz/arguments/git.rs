//! Git's command line: whatever a caller says, nothing that reaches out is in it.

use branchyard_model::{BranchName, Problem};
use branchyard_runs::argv::{git, git_quick};

use super::shape_of;

/// Options that run programs, read or write files of the caller's choice, or reach what others share.
const NEVER: &str = "\
    --output --no-index --open-files-in-pager --exec --contents --file --template --ext-diff \
    --textconv --upload-pack --receive-pack --git-dir --work-tree --exec-path --stdin --edit \
    --interactive --show-signature --gpg-sign --pathspec-from-file --recurse-submodules \
    --hard --force-with-lease --mirror --delete --config --config-env --namespace \
    --autostash";

pub fn check(mut words: Vec<String>) -> Result<Vec<String>, Problem> {
    let operation = match words.is_empty() {
        true => String::new(),
        false => words.remove(0),
    };
    let own = BranchName::parse("main").unwrap();
    let call = git(&operation, words.clone(), &own)?;
    if let Ok(quick) = git_quick(&operation, words) {
        assert_eq!(quick, call);
    }
    assert_eq!(call.args[0], operation);
    let end = call
        .args
        .iter()
        .position(|word| word == "--")
        .unwrap_or(call.args.len());
    let (front, back) = call.args.split_at(end);
    for word in front {
        let name = word.split('=').next().unwrap_or_default();
        assert!(
            !NEVER.split_whitespace().any(|never| never == name),
            "{call:?}"
        );
        assert!(!word.starts_with('/') && !word.contains('\0'), "{call:?}");
    }
    for path in back.iter().skip(1) {
        assert!(
            !path.starts_with(['-', '/']) && path.split('/').all(|part| part != ".."),
            "{call:?}"
        );
    }
    if call.pushes() {
        let refs = call.args.iter().filter(|word| word.contains("refs/"));
        assert!(
            refs.clone().all(|spec| spec.ends_with(":refs/heads/main")),
            "{call:?}"
        );
        assert!(
            refs.clone().all(|spec| !spec.starts_with(['+', ':'])),
            "{call:?}"
        );
        assert!(
            refs.count() > 0 && call.args.contains(&"origin".to_owned()),
            "{call:?}"
        );
    }
    Ok(call.args.iter().map(|word| shape_of(word)).collect())
}
