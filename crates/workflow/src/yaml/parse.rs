//! Text into a tree, within bounds: a file that grows when its aliases are followed is refused.

use serde_saphyr::{Budget, DuplicateKeyPolicy, MergeKeyPolicy};

use super::lines::LineIndex;
use super::node::{WrittenNode, YamlNode};

/// A longer file is refused.
const MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 32;
const MAX_NODES: usize = 50_000;
const MAX_ANCHORS: usize = 100;
const MAX_ALIASES: usize = 200;

/// The tree, or what is wrong and at which byte.
pub(crate) fn parse(lines: &LineIndex) -> Result<YamlNode, (usize, String)> {
    let text = lines.text();
    if text.len() > MAX_BYTES {
        let message = format!(
            "the file has {} bytes; a workflow has at most {MAX_BYTES}",
            text.len()
        );
        return Err((0, message));
    }
    let mut budget = Budget::default();
    budget.max_depth = MAX_DEPTH;
    budget.flow_nesting_limit = MAX_DEPTH;
    budget.max_nodes = MAX_NODES;
    budget.max_events = MAX_NODES * 4;
    budget.max_anchors = MAX_ANCHORS;
    budget.max_aliases = MAX_ALIASES;
    budget.max_documents = 1;
    budget.max_total_scalar_bytes = MAX_BYTES * 4;
    let mut options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        // GitHub refuses `<<` too. Keys that are written twice are reported by the reader, with all else.
        merge_keys: MergeKeyPolicy::Error,
        duplicate_keys: DuplicateKeyPolicy::LastWins,
    };
    options.alias_limits.max_total_replayed_events = MAX_NODES;
    options.budget = Some(budget);
    match serde_saphyr::from_str_with_options::<WrittenNode>(text, options) {
        Ok(written) => Ok(written.into_node(lines)),
        Err(error) => {
            let place = error.location();
            let at = place.map_or(0, |place| lines.byte_of(&place));
            let message = error.without_snippet().to_string();
            Err((
                at,
                format!("the file is no valid YAML for a workflow: {message}"),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::YamlKind;
    use super::*;

    fn tree(text: &str) -> Result<YamlNode, (usize, String)> {
        parse(&LineIndex::new(text))
    }

    /// The entries of a mapping, each as key, kind and the byte of the value.
    fn entries(text: &str) -> Vec<(String, String, usize)> {
        let YamlKind::Map(entries) = tree(text).unwrap().kind else {
            panic!("{text} is no mapping");
        };
        let entries = entries.into_iter();
        let shown = entries.map(|(key, value)| {
            (
                key.scalar_text().unwrap(),
                format!("{:?}", value.kind),
                value.at,
            )
        });
        shown.collect()
    }

    #[test]
    fn scalars_have_the_types_of_yaml_1_2() {
        for (written, kind) in [
            ("on", r#"Text("on")"#),
            ("yes", r#"Text("yes")"#),
            ("true", "Bool(true)"),
            ("3.10", "Number(3.1)"),
            ("'3.10'", r#"Text("3.10")"#),
            ("0x1f", "Number(31.0)"),
            ("12:30", r#"Text("12:30")"#),
            ("~", "Null"),
            ("", "Null"),
            ("\"a\\nb\"", r#"Text("a\nb")"#),
        ] {
            assert_eq!(entries(&format!("k: {written}"))[0].1, kind, "{written}");
        }
    }

    #[test]
    fn places_are_where_the_value_is_written() {
        let found = entries("a: é\nb:   'x'\nc: |\n  text\nd: [1]\n");
        let places: Vec<_> = found.iter().map(|entry| entry.2).collect();
        assert_eq!(places[..2], [3, 11]);
        assert!((17..=24).contains(&places[2]), "{places:?}");
    }

    #[test]
    fn aliases_work_and_double_keys_are_kept() {
        let found = entries("a: &x {k: 1}\nb: *x\nb: 2\n");
        assert_eq!(found.len(), 3);
        assert!(found[1].1.contains("Number(1.0)"));
    }

    #[test]
    fn what_is_no_yaml_is_refused_at_its_place() {
        for text in [
            "a: [",
            "a: b: c",
            "a: *none",
            "a: 1\n---\nb: 2",
            "<<: {a: 1}",
            "a: 'x",
        ] {
            let (at, message) = tree(text).unwrap_err();
            assert!(at <= text.len(), "{text}: {message}");
        }
        assert!(tree(&" ".repeat(MAX_BYTES + 1)).is_err());
        assert!(tree(&"[".repeat(1000)).is_err());
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let inner = format!("*a{}, ", level - 1).repeat(9);
            text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        assert!(tree(&text).is_err());
    }
}
