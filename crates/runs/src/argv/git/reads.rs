//! Verbs that only look. What they print may come from any revision of the repository; nothing
//! here can write a file, start a program, or read a file that is not in the workspace's tree.

use super::GitAccess::Read;
use super::verb::{Parsed, Verb, forbidden};
use branchyard_model::Problem;

/// External diff programs and text converters come from configuration and attributes; both are
/// programs, so they are off whatever these say.
const NO_PROGRAMS: &[&str] = &["--no-ext-diff", "--no-textconv"];

pub(super) const VERBS: &[Verb] = &[
    // To see whether a nested repository is dirty, git runs a git in it, by its configuration.
    Verb::new("status", Read, &[STATUS]).always(&["--ignore-submodules=dirty"]),
    Verb::new("log", Read, &[LOG, HISTORY, DIFF]).always(NO_PROGRAMS),
    Verb::new("show", Read, &[LOG, HISTORY, DIFF]).always(NO_PROGRAMS),
    Verb::new("diff", Read, &[DIFF, DIFF_ONLY]).always(&[
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=dirty",
    ]),
    Verb::new("branch", Read, &[REF_LIST, BRANCH])
        .forbids(
            "\
                -d -D --delete -m -M --move -c -C --copy -f --force -t --track -u --set-upstream-to \
                --unset-upstream --edit-description --create-reflog",
            BRANCH_HELP,
        )
        .check(list_branches),
    Verb::new("tag", Read, &[REF_LIST, "-n[=]"])
        .forbids(
            "-d --delete -a --annotate -s --sign -f --force -m --message -u --local-user",
            TAG_HELP,
        )
        .check(list_tags),
    Verb::new("blame", Read, &[BLAME]).always(&["--no-textconv"]),
    Verb::new("rev-parse", Read, &[REV_PARSE]),
    Verb::new("rev-list", Read, &[HISTORY, REV_LIST]),
    Verb::new("ls-files", Read, &[LS_FILES]),
    Verb::new("ls-tree", Read, &[LS_TREE]),
    Verb::new("describe", Read, &[DESCRIBE]),
    Verb::new("shortlog", Read, &[SHORTLOG]).check(shortlog_of_head),
    Verb::new("grep", Read, &[GREP]).check(pattern_as_option),
    Verb::new("reflog", Read, &[REFLOG]).always(&["show"]).check(reflog_show),
    Verb::new("merge-base", Read, &[MERGE_BASE]),
    Verb::new("cat-file", Read, &["-p -t -s -e"]),
    Verb::new("name-rev", Read, &[NAME_REV]).forbids(
        "--all",
        "`rev-list --all` lists the commits of all branches and tags",
    ),
];

const BRANCH_HELP: &str = "the yard makes and removes branches: PUT or DELETE the branch; `branch --list <pattern>` lists them";
const TAG_HELP: &str = "tags are shared by all workspaces and are not made or removed here; `tag --list <pattern>` lists them";

/// Without `--list`, a word behind `git branch` is a branch to make.
fn list_branches(parsed: &mut Parsed) -> Result<(), Problem> {
    only_lists(parsed, "git branch makes no branch here", BRANCH_HELP)
}

fn list_tags(parsed: &mut Parsed) -> Result<(), Problem> {
    only_lists(parsed, "git tag makes no tag here", TAG_HELP)
}

fn only_lists(parsed: &Parsed, detail: &str, help: &str) -> Result<(), Problem> {
    if parsed.operands().next().is_some() && !parsed.has_any(&["-l", "--list"]) {
        return Err(forbidden("args", detail, help));
    }
    Ok(())
}

/// Without a revision, shortlog reads a log from its input and there is none.
fn shortlog_of_head(parsed: &mut Parsed) -> Result<(), Problem> {
    if parsed.before.is_empty() {
        parsed.before.push("HEAD".to_owned());
    }
    Ok(())
}

/// The first word behind `git grep` is a pattern, to which the rules for paths do not apply.
fn pattern_as_option(parsed: &mut Parsed) -> Result<(), Problem> {
    if parsed.has_any(&["-e"]) {
        return Ok(());
    }
    if parsed.before.first().is_none_or(String::is_empty) {
        return Err(Problem::bad(
            "args",
            "git grep has no pattern, or an empty one, before the paths",
        ));
    }
    let pattern = parsed.before.remove(0);
    parsed.options.push(format!("-e{pattern}"));
    Ok(())
}

/// `show` is always said, so that no other word can be taken for a subcommand.
fn reflog_show(parsed: &mut Parsed) -> Result<(), Problem> {
    match parsed.before.first().map(String::as_str) {
        Some("show") => {
            parsed.before.remove(0);
        }
        Some(verb @ ("expire" | "delete" | "drop" | "write")) => {
            return Err(forbidden(
                "args",
                format!("git reflog {verb} is not for callers"),
                "the reflog is how lost work is found again; `reflog show` reads it",
            ));
        }
        _ => {}
    }
    Ok(())
}

const STATUS: &str = "\
    -s --short -b --branch --no-branch --show-stash --ahead-behind --no-ahead-behind \
    --porcelain[=] --long -z --null -u[=all|normal|no] --untracked-files[=all|normal|no] \
    --ignored[=traditional|matching|no] --renames --no-renames --find-renames[=] --column[=] \
    --no-column";

const BRANCH: &str = "\
    -a --all -r --remotes -v --verbose --show-current --abbrev[=] --no-abbrev";

const REF_LIST: &str = "\
    -l --list -i --ignore-case --omit-empty --sort= --format= --color[=] --no-color \
    --column[=] --no-column --merged=? --no-merged=? --contains=? --no-contains=? \
    --points-at=?";

/// Which commits: for `log`, `show` and `rev-list`.
const HISTORY: &str = "\
    -<n> -n= --max-count= --skip= --since= --after= --until= --before= --author= --committer= \
    --grep= --all-match --invert-grep -i --regexp-ignore-case -E --extended-regexp \
    --fixed-strings -P --perl-regexp --merges --no-merges --min-parents= --max-parents= \
    --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --all \
    --branches[=] --tags[=] --remotes[=] --glob= --exclude= --ignore-missing --left-only \
    --right-only --cherry-mark --cherry-pick --cherry --left-right -g --walk-reflogs \
    --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse \
    --simplify-merges --ancestry-path[=] --date-order --author-date-order --topo-order \
    --reverse --no-walk[=sorted|unsorted] --do-walk --pretty[=] --format= --oneline \
    --abbrev-commit --no-abbrev-commit --abbrev[=] --no-abbrev --date= --relative-date \
    --parents --children --graph --no-graph --encoding= --color[=] --no-color";

const LOG: &str = "\
    --follow --decorate[=short|full|auto|no] --no-decorate --decorate-refs= \
    --decorate-refs-exclude= --source --log-size -L= --notes[=] --no-notes --expand-tabs[=] \
    --no-expand-tabs -m --cc --diff-merges= --no-diff-merges --combined-all-paths -t --root \
    --mailmap --no-mailmap --use-mailmap --no-use-mailmap";

const REV_LIST: &str = "--count --timestamp --header --objects --no-commit-header --quiet";

/// How differences are shown: for `diff`, `log` and `show`.
const DIFF: &str = "\
    -p -u --patch -s --no-patch -U[=] --unified[=] --raw --patch-with-raw --minimal --patience \
    --histogram --anchored= --diff-algorithm= --stat[=] --stat-width= --stat-name-width= \
    --stat-count= --compact-summary --numstat --shortstat --dirstat[=] --cumulative --summary \
    --patch-with-stat -z --name-only --name-status --color[=] --no-color --color-moved[=] \
    --no-color-moved --color-moved-ws= --word-diff[=] --word-diff-regex= --color-words[=] \
    --no-renames --rename-empty --no-rename-empty --check --ws-error-highlight= --full-index \
    --binary --abbrev[=] -B[=] --break-rewrites[=] -M[=] --find-renames[=] --find-copies[=] \
    --find-copies-harder -D --irreversible-delete -l= --diff-filter= -S= -G= --find-object= \
    --pickaxe-all --pickaxe-regex -R --relative[=] --no-relative -a --text --ignore-cr-at-eol \
    --ignore-space-at-eol -b --ignore-space-change -w --ignore-all-space --ignore-blank-lines \
    -I= --ignore-matching-lines= --inter-hunk-context= -W --function-context --src-prefix= \
    --dst-prefix= --no-prefix --default-prefix --line-prefix= --indent-heuristic \
    --no-indent-heuristic";

const DIFF_ONLY: &str = "\
    --cached --staged --merge-base --exit-code --quiet -q --cc --ours --theirs --base";

const BLAME: &str = "\
    -b --root --show-stats -L= -l -t -p --porcelain --line-porcelain --incremental --date= \
    -M[=] -f --show-name -n --show-number -s -e --show-email -w --abbrev[=] --ignore-rev= \
    --first-parent --since= --minimal";

const REV_PARSE: &str = "\
    --verify -q --quiet --short[=] --abbrev-ref[=strict|loose] --symbolic --symbolic-full-name \
    --revs-only --all --branches[=] --tags[=] --remotes[=] --show-toplevel --show-prefix \
    --show-cdup --is-inside-work-tree --is-bare-repository --is-shallow-repository \
    --show-object-format";

const LS_FILES: &str = "\
    --cached -d --deleted -m --modified --others -i --ignored -s --stage -u --unmerged -k \
    --killed -z -t -v --directory --no-empty-directory --exclude= --exclude-standard \
    --error-unmatch --with-tree= --full-name --eol --deduplicate --abbrev[=] --format=";

const LS_TREE: &str = "\
    -d -r -t -l --long -z --name-only --name-status --object-only --full-name --full-tree \
    --abbrev[=] --format=";

const DESCRIBE: &str = "\
    --dirty[=] --broken[=] --all --tags --contains --abbrev[=] --candidates= --exact-match \
    --long --match= --exclude= --always --first-parent --debug";

const SHORTLOG: &str = "\
    -s --summary -n --numbered -e --email --committer --group= -w[=] --all --no-merges \
    --merges --since= --until= --after= --before= --author= --grep= --first-parent \
    --max-count=";

const GREP: &str = "\
    -<n> --cached --untracked --exclude-standard --no-exclude-standard -a --text -i \
    --ignore-case -I --max-depth= -r --recursive --no-recursive -w --word-regexp -v \
    --invert-match -h -H --full-name -E --extended-regexp -G --basic-regexp -P --perl-regexp \
    --fixed-strings -n --line-number --column -l --files-with-matches --name-only -L \
    --files-without-match -z --null --only-matching --count --color[=] --no-color --break \
    --heading -p --show-function -A= --after-context= -B= --before-context= --context= -W \
    --function-context -m= --max-count= -e= --and --or --not --all-match -q --quiet";

const REFLOG: &str = "\
    -<n> -n= --max-count= --skip= --since= --until= --grep= --all --oneline --pretty[=] \
    --format= --date= --abbrev-commit --no-abbrev-commit --abbrev[=] --no-abbrev \
    --decorate[=short|full|auto|no] --no-decorate --stat[=] --name-only --name-status \
    --color[=] --no-color";

const MERGE_BASE: &str = "-a --all --octopus --independent --is-ancestor --fork-point";

const NAME_REV: &str = "--name-only --tags --refs= --exclude= --always --no-undefined";
