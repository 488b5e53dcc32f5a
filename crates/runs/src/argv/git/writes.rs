//! Verbs that change the workspace, its index or its own branch, and nothing that others share.
//! None signs, stashes, picks hunks by hand or leaves the branch.

use super::GitAccess::Write;
use super::verb::{Parsed, Verb, forbidden};
use branchyard_model::Problem;

pub(super) const STAYS: &str =
    "a workspace never moves to another branch; ask for that branch instead";

pub(super) const VERBS: &[Verb] = &[
    Verb::new("add", Write, &[ADD]),
    Verb::new("commit", Write, &[COMMIT]),
    Verb::new("restore", Write, &[RESTORE]),
    Verb::new("rm", Write, &[RM]).check(remove_no_changes),
    Verb::new("mv", Write, &[MV]),
    Verb::new("reset", Write, &[RESET]).forbids(
        "--hard --merge --keep",
        "start a run with sync \"reset\": it saves all work before it resets",
    ),
    Verb::new("merge", Write, &[MERGE, STRATEGY, STRATEGY_SHORT]),
    Verb::new("rebase", Write, &[REBASE, STRATEGY, STRATEGY_SHORT]).check(stay_while_rebasing),
    Verb::new("cherry-pick", Write, &[PICK, STRATEGY, CHERRY_PICK]),
    Verb::new("revert", Write, &[PICK, STRATEGY]),
    Verb::new("checkout", Write, &[CHECKOUT])
        .forbids(
            "\
                -b -B --orphan -d --detach -t --track --no-track -l --guess -f --force \
                --ignore-other-worktrees",
            STAYS,
        )
        .check(only_paths),
];

/// By force, rm deletes changes that are nowhere else; and where a directory was replaced by a link,
/// files that are not even in the workspace.
fn remove_no_changes(parsed: &mut Parsed) -> Result<(), Problem> {
    if parsed.has_any(&["-f", "--force"]) && !parsed.has_any(&["--cached"]) {
        return Err(forbidden(
            "args",
            "git rm takes force only with --cached",
            "commit the changes first, or leave the file in place with `rm --cached`",
        ));
    }
    Ok(())
}

/// With paths behind `--`, checkout copies files and leaves HEAD alone; with none it moves it.
fn only_paths(parsed: &mut Parsed) -> Result<(), Problem> {
    let paths = parsed.after.iter().flatten().count();
    if paths == 0 || parsed.before.len() > 1 {
        return Err(forbidden(
            "args",
            "git checkout takes only the form `checkout [<tree-ish>] -- <paths>`",
            STAYS,
        ));
    }
    Ok(())
}

/// A second word behind rebase is a branch to switch to first; so is the first with `--root`.
fn stay_while_rebasing(parsed: &mut Parsed) -> Result<(), Problem> {
    let operands = parsed.operands().count();
    if operands > usize::from(!parsed.has_any(&["--root"])) {
        return Err(forbidden(
            "args",
            "git rebase takes no branch to rebase: it is the workspace's own",
            STAYS,
        ));
    }
    Ok(())
}

const ADD: &str = "\
    -n --dry-run -v --verbose -f --force -u --update -A --all --no-all --ignore-removal -N \
    --intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod=+x|-x";

const COMMIT: &str = "\
    -a --all -m= --message= --amend --no-edit --reset-author --author= --date= --allow-empty \
    --allow-empty-message --fixup= --squash= -s --signoff --no-signoff --cleanup= -q --quiet \
    -n --no-verify --only --include --dry-run --short --branch --porcelain --long \
    -u[=all|normal|no] --untracked-files[=all|normal|no]";

const RESTORE: &str = "\
    -s= --source= -S --staged -W --worktree -q --quiet --ours --theirs -m --merge \
    --conflict=merge|diff3|zdiff3 --ignore-unmerged --overlay --no-overlay";

const RM: &str = "-r -f --force -n --dry-run --cached --ignore-unmatch -q --quiet";

const MV: &str = "-f --force -k -n --dry-run -v --verbose";

const RESET: &str = "--soft --mixed -N --intent-to-add -q --quiet --refresh --no-refresh";

/// Any other strategy is a program of the name git-merge-<strategy>.
const STRATEGY: &str = "\
    --strategy=ort|recursive|resolve|octopus|ours|subtree \
    -X=ours|theirs|patience|histogram|ignore-space-change|ignore-all-space|ignore-space-at-eol|ignore-cr-at-eol|renormalize|no-renormalize|find-renames|no-renames";

/// For cherry-pick and revert, `-s` is `--signoff`.
const STRATEGY_SHORT: &str = "-s=ort|recursive|resolve|octopus|ours|subtree";

const MERGE: &str = "\
    --commit --no-commit --no-edit --ff --no-ff --ff-only --squash --no-squash -m= --message= \
    --log[=] --no-log -n --stat --no-stat --signoff -q --quiet -v --verbose \
    --allow-unrelated-histories --cleanup= --no-verify --abort --continue";

const REBASE: &str = "\
    --onto= --keep-base --root --continue --skip --abort --show-current-patch --apply -m \
    --merge --no-ff --ff -f --force-rebase --fork-point --no-fork-point -q --quiet -v \
    --verbose --stat -n --no-stat --signoff --no-verify --empty=drop|keep|stop --keep-empty \
    --no-keep-empty --reapply-cherry-picks --no-reapply-cherry-picks \
    --committer-date-is-author-date --reset-author-date --ignore-whitespace --autosquash \
    --no-autosquash -r[=rebase-cousins|no-rebase-cousins] \
    --rebase-merges[=rebase-cousins|no-rebase-cousins] --no-rebase-merges";

const PICK: &str = "\
    -n --no-commit -m= --mainline= --no-edit -s --signoff --cleanup= --continue --skip --abort \
    --quit";

const CHECKOUT: &str = "\
    -q --quiet --ours --theirs -m --merge --conflict=merge|diff3|zdiff3 --overlay --no-overlay";

const CHERRY_PICK: &str = "-x --ff --allow-empty --allow-empty-message --keep-redundant-commits";
