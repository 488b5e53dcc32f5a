//! `GET …/raw/{path}`: a file of a workspace, byte for byte and of any size.
//!
//! Whatever a branch holds is hostile to a browser: it is given as a download, of a kind that runs nothing, and
//! where it is shown all the same it has an origin of its own.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

use super::extract::At;
use super::problem::HttpResult;
use super::range::{self, ByteRange};
use super::route::Access::Needs;
use super::route::{IF_RANGE, RANGE, Route, TEXT, reads, text};
use super::tag;
use crate::app::{AuthorizedApp, inspect};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, Scope};

pub(super) fn routes() -> Vec<Route> {
    let kinds = &[
        "application/octet-stream",
        TEXT,
        "image/png",
        "image/jpeg",
        "image/gif",
        "image/webp",
    ];
    let tag = (
        "If-None-Match",
        "The `ETag` of what the caller has.",
        text as fn() -> _,
    );
    let path = "/api/repos/{repo}/branches/{branch}/raw/{*path}";
    vec![
        reads("readRawFile", "A whole file, byte for byte")
            .says(
                "Of any size, as a download. It is told by its content whether it is text or an \
                 image.",
            )
            .headers(&[RANGE, IF_RANGE, tag])
            .writes(200, "Its bytes.", kinds)
            .writes(206, "The bytes of the range.", kinds)
            .only(304, "It is what `If-None-Match` names.")
            .get(path, Needs(Scope::RepoRead), raw),
    ]
}

/// What is read and sent at once.
const PIECE: usize = 256 * 1024;
/// What tells of a file whether it is text.
const TELLING: u64 = 8 * 1024;

/// What a name needs no escape for in a header.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_');

async fn raw(
    app: AuthorizedApp,
    At((repo, branch, path)): At<(RepoName, BranchName, String)>,
    method: Method,
    headers: HeaderMap,
) -> HttpResult {
    let raw = inspect::raw_file(&app, &repo, &branch, &path).await?;
    let tag = tag::of_stamp(&raw.stamp);
    let name = path.rsplit('/').next().unwrap_or_default();
    download((raw.file, raw.size), name, tag, (&method, &headers)).await
}

/// A file as a download: the bytes that are asked for of it.
pub(super) async fn download(
    (file, size): (File, u64),
    name: &str,
    tag: Option<String>,
    (method, headers): (&Method, &HeaderMap),
) -> HttpResult {
    let is_known = tag.as_ref().is_some_and(|tag| tag::is_known(tag, headers));
    let response = match is_known {
        true => Ok(StatusCode::NOT_MODIFIED.into_response()),
        false => answer((file, size), tag.as_deref(), method, headers).await,
    };
    let response = response.map_err(|error| {
        let detail = format!("the file cannot be read: {error}");
        Problem::new(ErrorKind::Internal, "file_unreadable", detail)
    })?;
    let named = [(header::CONTENT_DISPOSITION, attachment(name))];
    let policy = "sandbox; default-src 'none'";
    let rules = [
        (header::ACCEPT_RANGES, "bytes"),
        // It may change at any moment, and is for callers who may read it alone.
        (header::CACHE_CONTROL, "private, no-cache"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    let tag = tag.map(|tag| [(header::ETAG, tag)]);
    Ok((tag, named, rules, response).into_response())
}

/// The bytes that were asked for, and of which kind they are.
async fn answer(
    (mut file, size): (File, u64),
    tag: Option<&str>,
    method: &Method,
    headers: &HeaderMap,
) -> std::io::Result<Response> {
    let wanted = range::asked(method, headers)
        .filter(|_| tag::allows_range(tag, headers))
        .and_then(|range| ByteRange::parse(range.to_str().ok()?));
    let part = wanted.map(|range| range.within(size));
    if part == Some(None) {
        return Ok(range::unsatisfiable("the file", size));
    }
    let part = part.flatten();
    let (first, count) = part.unwrap_or((0, size));
    let reading = tokio::task::spawn_blocking(move || {
        let mut head = Vec::new();
        (&file).take(TELLING).read_to_end(&mut head)?;
        file.seek(SeekFrom::Start(first))?;
        std::io::Result::Ok((file, kind(&head)))
    });
    let (file, kind) = reading.await.map_err(std::io::Error::other)??;
    let reader = tokio::fs::File::from_std(file).take(count);
    let body = Body::from_stream(ReaderStream::with_capacity(reader, PIECE));
    let response = match part {
        Some(part) => range::partial(body, part, size),
        None => ([(header::CONTENT_LENGTH, size)], body).into_response(),
    };
    Ok(([(header::CONTENT_TYPE, kind)], response).into_response())
}

/// By what the file holds, for its name may say anything. An SVG is text here: as an image it could run scripts.
fn kind(head: &[u8]) -> &'static str {
    match head {
        _ if head.starts_with(b"\x89PNG") => "image/png",
        _ if head.starts_with(b"\xff\xd8\xff") => "image/jpeg",
        _ if head.starts_with(b"GIF8") => "image/gif",
        _ if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") => "image/webp",
        _ if is_text(head) => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn is_text(head: &[u8]) -> bool {
    // The last character may go on behind what is looked at.
    let is_utf8 = std::str::from_utf8(head).map_or_else(
        |error| error.error_len().is_none() && head.len() as u64 == TELLING,
        |_| true,
    );
    is_utf8 && !head.contains(&0)
}

/// To be saved under its name.
pub(super) fn attachment(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_ ".contains(c);
    let plain = name.replace(|c: char| !is_plain(c), "_");
    let exact = utf8_percent_encode(name, PLAIN);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_told_by_content_and_none_runs_anything() {
        let mut cut = vec![b'a'; 8 * 1024 - 1];
        cut.push(0xc3);
        for (head, expected) in [
            (&b""[..], "text/plain; charset=utf-8"),
            (b"<html><script>", "text/plain; charset=utf-8"),
            (b"<svg xmlns=\"\">", "text/plain; charset=utf-8"),
            (b"\x89PNG\r\n\x1a\n", "image/png"),
            (b"\x7fELF\0", "application/octet-stream"),
            (b"caf\xe9", "application/octet-stream"),
            (b"caf\xc3", "application/octet-stream"),
            (&cut, "text/plain; charset=utf-8"),
        ] {
            assert_eq!(kind(head), expected, "{head:?}");
        }
    }

    #[test]
    fn a_name_cannot_leave_its_header() {
        assert_eq!(
            attachment("a\"b\r\nc é.txt"),
            "attachment; filename=\"a_b__c _.txt\"; filename*=UTF-8''a%22b%0D%0Ac%20%C3%A9.txt"
        );
    }
}
