//! log, blame, reflog, changelog, merge_preview.

mod blame;
mod changelog;
mod fit;
mod log;
mod merge_preview;
mod reflog;

use super::verb::{Effect, Verb, VerbEntry};

pub(super) fn verbs() -> Vec<Verb> {
    vec![
        Verb::new(
            VerbEntry {
                name: "log",
                title: "History",
                description: "Lists commits, the youngest first: of the branch, of a range such as `main..HEAD`, or of all branches, filtered by time, author, message or path. Ask for `stat` or `patch` to see what each commit changed.",
                effect: Effect::READS,
            },
            log::log,
        ),
        Verb::new(
            VerbEntry {
                name: "blame",
                title: "Who wrote which line",
                description: "Says for each line of a file which commit it is from, by whom and why; lines of the workspace that are not committed are told as such. Give `start_line` and `end_line` for the lines in question; `git_log` with the `path` tells the rest of its history.",
                effect: Effect::READS,
            },
            blame::blame,
        ),
        Verb::new(
            VerbEntry {
                name: "reflog",
                title: "Where a branch has been",
                description: "Lists where the branch, HEAD or another branch has pointed to, the latest first. Use it to find commits that a reset, rebase or amend left behind; their ids can then be given to any other git tool.",
                effect: Effect::READS,
            },
            reflog::reflog,
        ),
        Verb::new(
            VerbEntry {
                name: "changelog",
                title: "Material for release notes",
                description: "Sorts the commits since the last tag, or between two tags or revisions, by the type and scope of conventional commits, with breaking changes apart, authors, pull request numbers and a suggested next version. Write release notes from it.",
                effect: Effect::READS,
            },
            changelog::changelog,
        ),
        Verb::new(
            VerbEntry {
                name: "merge_preview",
                title: "Would it merge?",
                description: "Tries whether this branch would merge into another, the remote's default branch where none is named, and lists the files in conflict, without touching any workspace. Only what is committed counts; use it before a merge, a rebase or a pull request.",
                effect: Effect {
                    reaches_out: true,
                    ..Effect::READS
                },
            },
            merge_preview::merge_preview,
        ),
    ]
}
