//! How much code there is: lines of what is shipped, without tests, comments and blank lines.

use std::collections::BTreeSet;

use crate::source::{Files, Source};

/// Size is a cost. A commit that needs more than this says why where it raises it.
/// Callers' own files and commands (docs/CODE.md) took it from 82,037 to 85,296; commands in the background, limits by
/// day and the list of hosts that builds may connect to took it to 86,736; ports, the readers of test reports in a dozen
/// formats (`crates/reports`, 3,000 of them), tests as data and diagnostics of seven more tools took it to 91,863; set-ups
/// of workspaces, what is kept of them, and files that the operator supplies took it to 94,080; what is told of output that was
/// cut and of a full disk, and the disk quota of changes to files, took it to 94,163; workflow files (`crates/workflow`: a reader
/// that refuses with line and column, expressions, plans) and `pipeline check` took it to 100,110; artifacts and caches of jobs
/// (`crates/artifacts`), and the records of pipelines, took it to 102,860; running them (`crates/pipelines`: jobs, steps, reuse,
/// going on after a restart, held worktrees, bisects), their routes, tools and commands, artifacts that commands unpack, and
/// snapshots of workspaces took it to 116,100; set-ups of jobs took it to 116,700; actions of
/// the repository, what a pipeline would do, and what real workflow files needed besides took it to 118,950; held worktrees
/// by command and tool, artifacts of runs by command, and tests of jobs by page, command and tool took it to 119,350;
/// submodules in jobs of pipelines took it to 120,200, and those in workspaces, where they hold work, to 121,900; contents of
/// LFS files, and verbs that know submodules, took it to 123,800; what starts by itself (`crates/triggers`), talking with
/// forges in and out (`crates/forge`, `crates/outbox`), and tags and pull requests as sources took it to 127,800; runs of these,
/// badges, and deliveries by command and tool took it to 128,050; tests over time (an index of results, their list by route,
/// command, tool and page) took it to 129,150; the operator's commands at the end of runs and pipelines took it to 130,000; runs
/// named by a part of their ids took it to 130,150; tables that fit the terminal, `top` with keys, where the command stands and
/// completions of what the daemon has took it to 131,750; what a run complains about while it goes on, who works on a
/// branch, targets of a Makefile, and persons at the log-in took it to this.
const MOST_CODE_LINES: usize = 132_200;

/// A package that only tests depend on.
const FOR_TESTS: &str = "crates/reference/";

pub fn excess(source: &Source, files: &Files) -> Vec<String> {
    let files_of_modules = source.modules.values().map(|module| &module.file);
    let shipped: BTreeSet<_> = files_of_modules
        .filter(|file| !file.starts_with(FOR_TESTS))
        .collect();
    let lines: usize = shipped.iter().map(|file| code_lines(&files[*file])).sum();
    println!("{lines} lines of code in {} files", shipped.len());
    match lines <= MOST_CODE_LINES {
        true => Vec::new(),
        false => vec![format!("{lines} lines where {MOST_CODE_LINES} were enough")],
    }
}

/// Items for tests end at a brace that is as far in as they begin: rustfmt sees to that.
fn code_lines(text: &str) -> usize {
    let mut lines = text.lines();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let code = line.trim_start();
        if code == "#[cfg(test)]" {
            let margin = &line[..line.len() - code.len()];
            skip_item(&mut lines, margin);
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

fn skip_item<'a>(lines: &mut impl Iterator<Item = &'a str>, margin: &str) {
    let is_own = |line: &&str| {
        line.strip_prefix(margin)
            .is_some_and(|rest| !rest.starts_with(' '))
    };
    // An attribute, or the head of the item, up to the line that ends it.
    for line in lines.filter(is_own) {
        let ends = line.ends_with(';') || line.ends_with(',') || line.ends_with('}');
        if ends && !line.trim_start().starts_with("#[") {
            return;
        }
    }
}

#[test]
fn tests_comments_and_blank_lines_are_no_code() {
    let text = "//! About.\n\nfn a() {\n    // Why.\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n    use x;\n\n    #[test]\n    fn t() {\n    }\n}\nconst C: u8 = 1;\n";
    assert_eq!(code_lines(text), 4);
    let text = "impl A {\n    #[cfg(test)]\n    #[must_use]\n    fn t(\n        &self,\n    ) -> u8 {\n        1\n    }\n\n    fn b() {}\n}\n#[cfg(test)]\nmod tests;\nfn c() {}\n";
    assert_eq!(code_lines(text), 4);
}
