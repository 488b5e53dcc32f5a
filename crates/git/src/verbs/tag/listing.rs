//! Looking at tags.

use std::cmp::Ordering;

use git2::{Object, Oid, Tag};
use jiff::Timestamp;

use super::{Action, Item, Request, Sort, Tags, find, no_such_tag};
use crate::verbs::Verbosity;
use crate::verbs::commit::subject;
use crate::verbs::pattern::Pattern;
use crate::verbs::person::text;
use crate::verbs::room::page_of;
use crate::{Error, Repository, commit_id};
use branchyard_model::TagName;

const PREFIX: &str = "refs/tags/";

/// The tags that the request asks for.
pub fn list(repo: &Repository, request: &Request) -> Result<Tags, Error> {
    let pattern = Pattern::new(request.pattern.as_ref())?;
    let mut found: Vec<(String, Oid, i64)> = Vec::new();
    for reference in repo.git2().references_glob(&format!("{PREFIX}*"))? {
        let reference = reference?;
        let name = text(reference.name_bytes());
        let (Some(name), Some(stands_for)) = (name.strip_prefix(PREFIX), reference.target()) else {
            continue;
        };
        if pattern.matches(name) {
            let made = match request.sort {
                Sort::Date => made_at(&repo.git2().find_object(stands_for, None)?),
                Sort::Version => 0,
            };
            found.push((name.to_owned(), stands_for, made));
        }
    }
    found.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| by_version(&b.0, &a.0)));
    let (page, total, next) = page_of(found, request.skip, request.count);
    let page = page.into_iter();
    let tags = page.map(|(name, id, _)| item(repo, &name, id, request.verbosity));
    Ok(Tags {
        tags: Some(tags.collect::<Result<_, Error>>()?),
        total: Some(total),
        next,
        ..Tags::of(Action::List)
    })
}

/// One tag, with all that it says.
pub fn show(repo: &Repository, name: &TagName) -> Result<Item, Error> {
    match find(repo, name)? {
        Some(stands_for) => item(repo, name.as_str(), stands_for.git2(), Verbosity::Full),
        None => Err(no_such_tag(name).into()),
    }
}

fn item(
    repo: &Repository,
    name: &str,
    stands_for: Oid,
    verbosity: Verbosity,
) -> Result<Item, Error> {
    let object = repo.git2().find_object(stands_for, None)?;
    let tag = object.as_tag();
    let target = match tag {
        Some(tag) => tag.peel()?,
        None => object.clone(),
    };
    let is_brief = verbosity == Verbosity::Minimal;
    let (message, signed) = tag.map(said).unwrap_or_default();
    let message = match verbosity {
        Verbosity::Full => message,
        _ => message.lines().next().unwrap_or_default().to_owned(),
    };
    let tagger = tag.and_then(Tag::tagger);
    let tagger =
        tagger.map(|who| format!("{} <{}>", text(who.name_bytes()), text(who.email_bytes())));
    Ok(Item {
        name: name.to_owned(),
        id: commit_id(crate::ObjectId::of(stands_for))?,
        target: commit_id(crate::ObjectId::of(target.id()))?,
        annotated: tag.is_some(),
        signed,
        tagger: tagger.filter(|_| !is_brief),
        made_at: Timestamp::from_second(made_at(&object))
            .ok()
            .filter(|_| !is_brief),
        message: (!is_brief && tag.is_some()).then_some(message),
        subject: target.as_commit().filter(|_| !is_brief).map(subject),
    })
}

/// What a tag says, without its signature, and whether there is one.
fn said(tag: &Tag<'_>) -> (String, bool) {
    let text = text(tag.message_bytes().unwrap_or_default());
    let at = ["SSH", "PGP"].iter().filter_map(|kind| {
        let begin = format!("-----BEGIN {kind} SIGNATURE-----");
        match text.starts_with(&begin) {
            true => Some(0),
            false => text.find(&format!("\n{begin}")),
        }
    });
    match at.min() {
        Some(at) => (text[..at].trim_end().to_owned(), true),
        None => (text.trim_end().to_owned(), false),
    }
}

fn made_at(object: &Object<'_>) -> i64 {
    let tagged = object.as_tag().and_then(|tag| Some(tag.tagger()?.when()));
    let committed = || Some(object.peel_to_commit().ok()?.time());
    tagged.or_else(committed).map_or(0, |time| time.seconds())
}

/// Numbers count as numbers, and what has a suffix such as `-rc1` comes before what has none.
fn by_version(one: &str, other: &str) -> Ordering {
    let (mut a, mut b) = (pieces(one), pieces(other));
    loop {
        return match (a.next(), b.next()) {
            (None, None) => one.cmp(other),
            (Some(Piece::Text(rest)), None) if rest.starts_with('-') => Ordering::Less,
            (None, Some(Piece::Text(rest))) if rest.starts_with('-') => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(x), Some(y)) => match x.cmp(&y) {
                Ordering::Equal => continue,
                differs => differs,
            },
        };
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'a> {
    Text(&'a str),
    /// Without leading zeros: the longer one is greater, whatever its size.
    Number(usize, &'a str),
}

fn pieces(name: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let is_digit = |c: char| c.is_ascii_digit();
        let end = rest.find(|c| is_digit(c) != is_digit(first));
        let (piece, left) = rest.split_at(end.unwrap_or(rest.len()));
        rest = left;
        Some(match is_digit(first) {
            false => Piece::Text(piece),
            true => {
                let digits = piece.trim_start_matches('0');
                Piece::Number(digits.len(), digits)
            }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_put_in_order_as_numbers() {
        let mut tags = [
            "v1.10.0",
            "v1.9.0",
            "v1.9.0-rc1",
            "v1.9",
            "v2",
            "v1.09.1",
            "a",
        ];
        tags.sort_by(|a, b| by_version(a, b));
        assert_eq!(
            tags,
            [
                "a",
                "v1.9",
                "v1.9.0-rc1",
                "v1.9.0",
                "v1.09.1",
                "v1.10.0",
                "v2"
            ]
        );
    }
}
