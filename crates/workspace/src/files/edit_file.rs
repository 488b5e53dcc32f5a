//! `edit_file`: parts of a text file replaced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{not_found, shown};
use super::change::{Editor, MAX_CHANGED, check_expected, check_hash, present, stale};
use crate::Error;
use crate::error::conflict;
use branchyard_git::verbs::conflicts::NewFile;
use branchyard_git::verbs::delta::diff_of_contents;
use branchyard_git::verbs::{Effect, Render, VerbEntry};
use branchyard_model::{Problem, sha256};

pub const VERB: VerbEntry = VerbEntry {
    name: "edit_file",
    title: "Edit a file",
    description: "Replaces parts of a text file of a branch's workspace, one after the other. Each `old` must be there \
                  exactly once, unless all is true: give the lines around it as well. dry_run shows the diff alone.",
    effect: Effect::DESTROYS,
};

/// So many edits are made by one call.
const MOST_EDITS: usize = 100;
/// Of larger files no diff is made: it may take the square of their lines.
const MAX_DIFFED: usize = 256 << 10;
/// So many places are named of a text that is there more than once.
const MOST_PLACES: usize = 5;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Relative to the workspace.
    pub path: String,
    /// What to replace, one after the other.
    #[schemars(length(min = 1, max = MOST_EDITS))]
    pub edits: Vec<Edit>,
    /// The SHA-256 of what is edited, as `read_file` tells it.
    pub expected: Option<String>,
    /// Only show what would change.
    #[serde(default)]
    pub dry_run: bool,
    /// Wait for the run that is under way, in place of changing the file beneath it.
    #[serde(default)]
    pub after_run: bool,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// Exactly as it is in the file, with its blanks and line ends.
    pub old: String,
    pub new: String,
    /// Everywhere, in place of once.
    #[serde(default)]
    pub all: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Edited {
    pub path: String,
    /// Of the whole file, for the `expected` of the next change. With dry_run, of what it would be.
    pub sha256: String,
    /// How many places were replaced.
    pub replaced: usize,
    /// What changed, as a unified diff; not of a large file.
    pub diff: Option<String>,
    /// Nothing was written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        check_hash(self.expected.as_ref())?;
        if !(1..=MOST_EDITS).contains(&self.edits.len()) {
            let detail = format!("there must be 1 to {MOST_EDITS} edits");
            return Err(Problem::unprocessable("edits", detail));
        }
        for (n, edit) in self.edits.iter().enumerate() {
            if edit.old.is_empty() {
                let detail = "an empty text is everywhere; name what is to be replaced";
                return Err(Problem::unprocessable(&format!("edits[{n}].old"), detail));
            }
        }
        Ok(())
    }

    /// By how many bytes the file grows; more where a text is there more than once.
    pub fn grows_by(&self) -> usize {
        let edits = self.edits.iter().filter(|_| !self.dry_run);
        let longer = edits.map(|edit| edit.new.len().saturating_sub(edit.old.len()));
        longer.sum()
    }
}

pub async fn edit_file(editor: Editor, request: Request) -> Result<Edited, Error> {
    editor
        .edit(move |editor, files| {
            let path = editor.path("path", &request.path)?;
            let old = present(files, "path", &path)?.ok_or_else(|| not_found(&path))?;
            check_expected(&path, Some(&old), request.expected.as_deref())?;
            let Ok(before) = std::str::from_utf8(&old.content) else {
                let detail = format!("{} is not UTF-8 text", shown(&path));
                let problem = Problem::bad("path", detail);
                return Err(problem.help("write it whole, with encoding base64").into());
            };
            let (mut after, mut replaced) = (before.to_owned(), 0);
            for (n, edit) in request.edits.iter().enumerate() {
                replaced += replace(&mut after, edit, n, &shown(&path))?;
            }
            let diff = match before.len().max(after.len()) <= MAX_DIFFED {
                true => Some(diff_of_contents(
                    &path,
                    before.as_bytes(),
                    after.as_bytes(),
                )?),
                false => None,
            };
            if !request.dry_run {
                let file = NewFile {
                    content: after.as_bytes(),
                    mode: Some(old.mode),
                    executable: None,
                    replaces: true,
                };
                if !editor.put(files, &path, &file, Some(&old))? {
                    let detail = format!("{} was changed meanwhile", shown(&path));
                    return Err(stale(detail).field("path").into());
                }
            }
            Ok(Edited {
                sha256: sha256(after.as_bytes()),
                replaced,
                diff,
                path: shown(&path),
                dry_run: request.dry_run,
            })
        })
        .await
}

/// Makes the edit with this number, and returns how often.
fn replace(text: &mut String, edit: &Edit, n: usize, path: &str) -> Result<usize, Problem> {
    let found = text.matches(&edit.old).count();
    let refused = |code, detail: String| conflict(code, detail).field(format!("edits[{n}].old"));
    match found {
        0 => {
            let detail = format!("the text of edit {n} is not in {path}");
            Err(refused("no_match", detail).help(
                "nothing was written; read the file and give the text exactly as it is there",
            ))
        }
        2.. if !edit.all => {
            let lines: Vec<_> = text
                .match_indices(&edit.old)
                .take(MOST_PLACES)
                .map(|(at, _)| (text[..at].matches('\n').count() + 1).to_string())
                .collect();
            let lines = lines.join(", ");
            let detail =
                format!("the text of edit {n} is in {path} {found} times, at lines {lines}");
            Err(refused("several_matches", detail)
                .help("nothing was written; give the lines around it as well, or all: true"))
        }
        _ => {
            let grown = text.len() + found * edit.new.len().saturating_sub(edit.old.len());
            if grown as u64 > MAX_CHANGED {
                let detail = format!("the file would have more than {MAX_CHANGED} bytes");
                return Err(Problem::unprocessable(&format!("edits[{n}].new"), detail));
            }
            *text = text.replace(&edit.old, &edit.new);
            Ok(found)
        }
    }
}

impl Render for Edited {
    fn text(&self) -> String {
        let done = if self.dry_run {
            "would replace"
        } else {
            "replaced"
        };
        let diff = self.diff.as_deref().unwrap_or_default();
        format!("{done} {} in {}\n{diff}", self.replaced, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str, all: bool) -> Edit {
        Edit {
            old: old.to_owned(),
            new: new.to_owned(),
            all,
        }
    }

    #[test]
    fn a_text_is_replaced_once_or_everywhere_and_never_by_chance() {
        let mut text = "a b\na c\n".to_owned();
        assert_eq!(
            replace(&mut text, &edit("b", "d", false), 0, "f").unwrap(),
            1
        );
        assert_eq!(text, "a d\na c\n");
        let several = replace(&mut text, &edit("a ", "x", false), 1, "f").unwrap_err();
        assert_eq!(several.code, "several_matches");
        assert!(several.detail.contains("lines 1, 2"), "{}", several.detail);
        let none = replace(&mut text, &edit("z", "x", true), 2, "f").unwrap_err();
        assert_eq!(
            (none.code.as_str(), none.field.as_deref()),
            ("no_match", Some("edits[2].old"))
        );
        assert_eq!(text, "a d\na c\n");
        assert_eq!(
            replace(&mut text, &edit("a ", "", true), 3, "f").unwrap(),
            2
        );
        assert_eq!(text, "d\nc\n");
    }
}
