//! What `git merge-tree --write-tree -z` prints: the tree, the files in conflict with their stages, an
//! empty word, and messages, each with the files that it is about.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verbs::Verbosity;
use crate::verbs::person::text;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    pub path: String,
    /// Git's own words for what is wrong: `contents`, `modify/delete`, `add/add`, `rename/delete` and so on.
    pub kinds: Vec<String>,
    /// What git says about it; not with `minimal`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The file where the two parted; not with `minimal`.
    pub base: Option<Side>,
    /// The file in `into`; not with `minimal`.
    pub ours: Option<Side>,
    /// The file in `from`; not with `minimal`.
    pub theirs: Option<Side>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// As git writes it: `100644` is a file, `100755` an executable one, `120000` a link.
    pub mode: String,
    /// The object with its content.
    pub id: String,
}

pub(super) fn parsed(output: &[u8], verbosity: Verbosity) -> (Option<String>, Vec<Conflict>) {
    let mut words = output.split(|byte| *byte == 0).map(text);
    let tree = words.next().filter(|tree| !tree.is_empty());
    let mut conflicts: BTreeMap<String, Conflict> = BTreeMap::new();
    let more = verbosity > Verbosity::Minimal;
    for entry in words.by_ref().take_while(|word| !word.is_empty()) {
        let Some((path, stage, side)) = staged(&entry) else {
            continue;
        };
        let conflict = conflicts.entry(path).or_default();
        let place = match stage {
            "1" => &mut conflict.base,
            "2" => &mut conflict.ours,
            _ => &mut conflict.theirs,
        };
        *place = Some(side).filter(|_| more);
    }
    while let Some(count) = words.next().and_then(|count| count.parse().ok()) {
        let paths: Vec<String> = words.by_ref().take(count).collect();
        let (Some(kind), Some(message)) = (words.next(), words.next()) else {
            break;
        };
        // What is only information, such as `Auto-merging`, is told of files in conflict, too.
        let kind = kind
            .strip_prefix("CONFLICT (")
            .and_then(|kind| kind.strip_suffix(')'));
        for path in paths {
            if let Some(conflict) = conflicts.get_mut(&path) {
                conflict.kinds.extend(kind.map(str::to_owned));
                let message = message.trim().to_owned();
                conflict.messages.extend(Some(message).filter(|_| more));
            }
        }
    }
    let conflicts = conflicts.into_iter();
    let conflicts = conflicts.map(|(path, conflict)| Conflict { path, ..conflict });
    (tree, conflicts.collect())
}

/// `<mode> <id> <stage> TAB <path>`
fn staged(entry: &str) -> Option<(String, &str, Side)> {
    let (facts, path) = entry.split_once('\t')?;
    let mut facts = facts.split(' ');
    let (mode, id, stage) = (facts.next()?, facts.next()?, facts.next()?);
    let side = Side {
        mode: mode.to_owned(),
        id: id.to_owned(),
    };
    Some((path.to_owned(), stage, side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_and_messages_come_together_by_file() {
        let output = "tree\x00100644 aa 1\tx\ty\x00100644 bb 2\tx\ty\x00100755 cc 3\tz\0\0\
                      1\0x\ty\0Auto-merging\0Auto-merging x\n\0\
                      2\0x\ty\0z\0CONFLICT (rename/delete)\0CONFLICT (rename/delete): so\n\0";
        let (tree, conflicts) = parsed(output.as_bytes(), Verbosity::Standard);
        assert_eq!(tree.as_deref(), Some("tree"));
        let paths: Vec<_> = conflicts.iter().map(|c| c.path.as_str()).collect();
        assert_eq!(paths, ["x\ty", "z"]);
        assert_eq!(conflicts[0].kinds, ["rename/delete"]);
        assert_eq!(conflicts[0].messages.len(), 2);
        assert_eq!(conflicts[0].ours.as_ref().unwrap().id, "bb");
        assert_eq!(conflicts[1].theirs.as_ref().unwrap().mode, "100755");
        assert_eq!(conflicts[1].kinds, ["rename/delete"]);
        let (_, brief) = parsed(output.as_bytes(), Verbosity::Minimal);
        assert!(brief[0].ours.is_none() && brief[0].messages.is_empty());
    }

    #[test]
    fn a_clean_merge_is_a_tree_alone() {
        let told = parsed(b"tree\0", Verbosity::Standard);
        assert_eq!(told, (Some("tree".to_owned()), Vec::new()));
    }
}
