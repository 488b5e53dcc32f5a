//! The `args` of a request and the rules that hold for every word, whatever program it is for.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use branchyard_model::Problem;

const MAX_WORDS: usize = 1024;
const MAX_BYTES: usize = 128 * 1024;
const SHOWN_CHARS: usize = 80;

/// The `args` of a request: an array of words, or one string that is split once by the shell's
/// rules for words and quotes. Nothing in it is ever expanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Args {
    List(Vec<String>),
    Line(String),
}

impl JsonSchema for Args {
    fn schema_name() -> Cow<'static, str> {
        "Args".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["array", "string"], "items": { "type": "string" } })
    }
}

impl Default for Args {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Args {
    /// The words, within the limits of what a process can be started with.
    pub fn into_words(self) -> Result<Vec<String>, Problem> {
        let words = match self {
            Self::List(words) => words,
            Self::Line(line) => {
                if line.len() > MAX_BYTES {
                    return Err(too_long());
                }
                shlex::split(&line).ok_or_else(|| {
                    Problem::bad(
                        "args",
                        "a quote is not closed, or the last backslash has nothing after it",
                    )
                    .help("send args as an array of words, which needs no quoting")
                })?
            }
        };
        if words.len() > MAX_WORDS {
            return Err(Problem::bad(
                "args",
                format!("there are more than {MAX_WORDS} words"),
            ));
        }
        if words.iter().map(String::len).sum::<usize>() > MAX_BYTES {
            return Err(too_long());
        }
        words.iter().try_for_each(|word| without_nul(word))?;
        Ok(words)
    }
}

/// No argument of a process can hold a NUL: the word would end there.
pub(super) fn without_nul(word: &str) -> Result<(), Problem> {
    if word.contains('\0') {
        return Err(refusal(word, "it holds a NUL"));
    }
    Ok(())
}

/// A refused word and the rule that it breaks: 400 in HTTP.
pub(super) fn refusal(word: &str, rule: &str) -> Problem {
    Problem::bad("args", format!("{} is refused: {rule}", shown(word)))
}

/// A word as it may stand in a message: quoted, escaped, and never long.
pub(super) fn shown(word: &str) -> String {
    match word.char_indices().nth(SHOWN_CHARS) {
        None => format!("{word:?}"),
        Some((end, _)) => format!("{:?}…", &word[..end]),
    }
}

fn too_long() -> Problem {
    Problem::bad(
        "args",
        format!(
            "the words are longer than {} KiB together",
            MAX_BYTES / 1024
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(text: &str) -> Result<Vec<String>, Problem> {
        Args::Line(text.to_owned()).into_words()
    }

    #[test]
    fn a_string_is_split_by_shell_words_and_never_expanded() {
        for (text, words) in [
            ("", &[] as &[&str]),
            ("-j4  test", &["-j4", "test"]),
            ("CFLAGS='-O2 -g' V=\"a b\"", &["CFLAGS=-O2 -g", "V=a b"]),
            ("a\\ b ''", &["a b", ""]),
            ("$(id) `id` $HOME *.c", &["$(id)", "`id`", "$HOME", "*.c"]),
            (
                "a;id | b && c > d",
                &["a;id", "|", "b", "&&", "c", ">", "d"],
            ),
        ] {
            assert_eq!(line(text).expect(text), words, "{text}");
        }
    }

    #[test]
    fn both_forms_are_read_from_json() {
        let words = |json: &str| {
            serde_json::from_str::<Args>(json)
                .expect(json)
                .into_words()
                .expect(json)
        };
        assert_eq!(words(r#"["-k", "a b"]"#), ["-k", "a b"]);
        assert_eq!(words(r#""-k 'a b'""#), ["-k", "a b"]);
        assert!(serde_json::from_str::<Args>("{}").is_err());
        assert!(serde_json::from_str::<Args>("[1]").is_err());
        assert_eq!(Args::default().into_words().expect("empty"), [""; 0]);
    }

    #[test]
    fn broken_quotes_nul_and_floods_are_refused() {
        let list = |words: Vec<String>| Args::List(words).into_words();
        for refused in [
            line("'open"),
            line("open\\"),
            line(&"x".repeat(MAX_BYTES + 1)),
            list(vec!["a\0b".to_owned()]),
            list(vec![String::new(); MAX_WORDS + 1]),
            list(vec!["x".repeat(MAX_BYTES / 2 + 1); 2]),
        ] {
            let problem = refused.expect_err("refused");
            assert_eq!(problem.field.as_deref(), Some("args"));
        }
        assert!(list(vec!["x".repeat(MAX_BYTES / MAX_WORDS); MAX_WORDS]).is_ok());
    }

    #[test]
    fn a_message_never_repeats_a_long_word() {
        let problem = refusal(&"é".repeat(5000), "it is long");
        assert!(problem.detail.chars().count() < 150);
    }

    proptest! {
        #[test]
        fn an_array_comes_out_as_it_went_in(words in prop::collection::vec("\\PC{0,20}", 0..20)) {
            prop_assert_eq!(Args::List(words.clone()).into_words(), Ok(words));
        }

        #[test]
        fn a_line_never_panics(text in any::<String>()) {
            let _ = line(&text);
        }
    }
}
