//! Names of log-ins to the page: `page-ID`, or `page-PERSON-ID` where it is known who logged in.
//!
//! The name is what runs, commits and the audit are credited to, so the person is part of it.

const PREFIX: &str = "page-";

pub(super) fn name(person: Option<&str>, id: &str) -> String {
    match person {
        Some(person) => format!("{PREFIX}{person}-{id}"),
        None => format!("{PREFIX}{id}"),
    }
}

/// The person, if the token with this name and id is a log-in; empty where it is not known.
pub(super) fn person<'a>(name: &'a str, id: &str) -> Option<&'a str> {
    let person = name.strip_prefix(PREFIX)?.strip_suffix(id)?;
    match person.strip_suffix('-') {
        None if person.is_empty() => Some(person),
        person => person,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_in_is_known_by_its_name_and_says_of_whom() {
        let id = "0123456789abcdef";
        for of in [None, Some("ada"), Some("page-ada"), Some("a-b.c_d")] {
            assert_eq!(person(&name(of, id), id), Some(of.unwrap_or_default()));
        }
        for name in [
            "page-ada",
            "ada-0123456789abcdef",
            id,
            "page-ada0123456789abcdef",
        ] {
            assert_eq!(person(name, id), None, "{name}");
        }
    }
}
