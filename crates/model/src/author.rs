//! Who a commit is by, as git writes it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::Problem;

const LONGEST: usize = 300;

/// `Name <address>`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Author {
    name: String,
    email: String,
}

impl Author {
    /// Anything else than `Name <address>` git would look for in the authors of all commits.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let parts = text
            .strip_suffix('>')
            .and_then(|rest| rest.split_once(" <"));
        let is_plain = |part: &str| {
            !part.trim().is_empty() && !part.contains(|c: char| c.is_control() || "<>".contains(c))
        };
        match parts {
            Some((name, email)) if is_plain(name) && is_plain(email) && text.len() <= LONGEST => {
                Ok(Self {
                    name: name.to_owned(),
                    email: email.to_owned(),
                })
            }
            _ => {
                let detail = "an author is given as `Name <address>`";
                Err(Problem::bad("author", detail))
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn email(&self) -> &str {
        &self.email
    }
}

impl fmt::Display for Author {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} <{}>", self.name, self.email)
    }
}

impl TryFrom<String> for Author {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).map_err(|problem| problem.detail)
    }
}

impl From<Author> for String {
    fn from(author: Author) -> Self {
        author.to_string()
    }
}

impl JsonSchema for Author {
    fn schema_name() -> Cow<'static, str> {
        "Author".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": LONGEST })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_author_is_a_name_and_an_address() {
        let ada = Author::parse("Ada Lovelace <ada@example.org>").unwrap();
        assert_eq!(
            (ada.name(), ada.email()),
            ("Ada Lovelace", "ada@example.org")
        );
        assert_eq!(ada.to_string(), "Ada Lovelace <ada@example.org>");
        for author in [
            "",
            "Ada",
            "<a@b>",
            "Ada <>",
            "Ada <a\nb>",
            "Ada <a> <b>",
            "A\0 <b>",
            " <a@b>",
        ] {
            assert!(Author::parse(author).is_err(), "{author:?}");
        }
        assert!(Author::parse(&format!("{} <a@b>", "x".repeat(300))).is_err());
    }
}
