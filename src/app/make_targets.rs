//! The targets of a workspace's Makefile, for people to choose from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, AuthorizedApp, inspect};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName};
use branchyard_workspace::ReadRequest;

/// In the order in which make looks for them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const MOST: usize = 500;

/// What `make` can be asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MakeTargets {
    /// In the order of the Makefile, so that the first is the one that is made by default. Targets of included files and those
    /// whose names are computed are not among them: only make itself knows these, and to ask it is to run what the
    /// branch says.
    pub items: Vec<String>,
    /// There are more than these.
    pub truncated: bool,
}

pub async fn make_targets(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
) -> Result<(About, MakeTargets), Problem> {
    for name in MAKEFILES {
        let request = ReadRequest {
            path: name.to_owned(),
            ..ReadRequest::default()
        };
        match inspect::read_file(app, repo, branch, request).await {
            Ok((about, part)) => {
                let text = String::from_utf8_lossy(&part.bytes);
                let mut targets = targets(&text);
                targets.truncated |= part.truncated;
                return Ok((about, targets));
            }
            Err(problem) if problem.code == "file_not_found" => {}
            Err(problem) => return Err(problem),
        }
    }
    let detail = format!("{branch} has no Makefile");
    Err(Problem::new(ErrorKind::NotFound, "no_makefile", detail)
        .help("add one to the branch, or run a declared task or a command"))
}

/// The explicit targets of rules, without those that mean something to make alone.
fn targets(makefile: &str) -> MakeTargets {
    let mut found = MakeTargets::default();
    let mut is_definition = false;
    let mut is_continued = false;
    for line in makefile.lines() {
        let (was_continued, is_recipe) = (is_continued, line.starts_with('\t'));
        is_continued = line.ends_with('\\');
        let word = line.split_whitespace().next().unwrap_or_default();
        match word {
            "define" => is_definition = true,
            "endef" => is_definition = false,
            _ => {}
        }
        if was_continued || is_recipe || is_definition {
            continue;
        }
        for name in names(line) {
            if found.items.len() == MOST {
                found.truncated = true;
                return found;
            }
            if !found.items.iter().any(|known| known == name) {
                found.items.push(name.to_owned());
            }
        }
    }
    found
}

/// What stands before the colon of a rule, if the line is one and every name can be told.
fn names(line: &str) -> Vec<&str> {
    let line = line.split('#').next().unwrap_or_default();
    let Some((names, rest)) = line.split_once(':') else {
        return Vec::new();
    };
    // `CC := cc` and `CC ::= cc` set a variable, and so does `CC = a:b`.
    let is_rule = !rest.trim_start_matches(':').starts_with('=') && !names.contains('=');
    let is_plain = |name: &&str| {
        !name.starts_with(['.', '-']) && !name.contains(['$', '%', '(', ')', '"', '\'', '\\'])
    };
    let is_told = names.split_whitespace().all(|name| name != "&");
    match is_rule && is_told {
        true => names.split_whitespace().filter(is_plain).collect(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_those_that_a_person_would_type() {
        let found = targets(
            "CC := cc\nX ::= y\nURL = http://a:b\n.PHONY: all test\nall: build test\n\n\
             build lint:: src/*.c # not: this\n\tcc: x\n%.o: %.c\n$(OUT): x\nall: more\n\
             define recipe\nnone: here\nendef\nLONG = a \\\nalso: not\nout/prog.bin: main.c\ntest: ; run\n-include x\n",
        );
        assert_eq!(
            found.items,
            ["all", "build", "lint", "out/prog.bin", "test"]
        );
        assert!(!found.truncated);
    }

    #[test]
    fn there_are_no_more_than_can_be_chosen_from() {
        let many: String = (0..=MOST).map(|n| format!("t{n}:\n")).collect();
        let found = targets(&many);
        assert_eq!((found.items.len(), found.truncated), (MOST, true));
    }
}
