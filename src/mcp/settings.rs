//! What a client's own configuration says, with every request: by header, or in the URL for clients that cannot
//! send headers (`/mcp?toolsets=yard,git_read&read_only=true`).

use std::borrow::Cow;

use axum::http::{HeaderMap, HeaderValue, Uri};
use url::form_urlencoded;

use super::headers::{
    BRANCH, CONTENT, EXCLUDE_TOOLS, PREFIX, READ_ONLY, REPO, ROLE, TOOLS, TOOLSETS,
};
use branchyard_model::Problem;

const KNOWN: [&str; 8] = [
    REPO,
    BRANCH,
    TOOLSETS,
    TOOLS,
    EXCLUDE_TOOLS,
    ROLE,
    READ_ONLY,
    CONTENT,
];

#[derive(Debug)]
pub(super) struct Settings<'a> {
    headers: &'a HeaderMap,
    query: Vec<(Cow<'a, str>, Cow<'a, str>)>,
}

impl<'a> Settings<'a> {
    pub(super) fn read(headers: &'a HeaderMap, uri: &'a Uri) -> Result<Self, Problem> {
        let query = uri.query().unwrap_or_default();
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
        for (name, _) in &query {
            if !KNOWN.iter().any(|known| in_url(known) == *name) {
                let known: Vec<_> = KNOWN.iter().map(|known| in_url(known)).collect();
                return Err(Problem::bad(name, format!("there is no setting {name:?}"))
                    .help(format!("the settings in the URL are {}", known.join(", "))));
            }
        }
        Ok(Self { headers, query })
    }

    /// What it is set to, by header or else in the URL; empty is not set.
    pub(super) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, Problem> {
        let header = self.headers.get(name).map(HeaderValue::to_str).transpose();
        let header = header.map_err(|_| Problem::bad(name, "the header is not plain text"))?;
        let header = match header {
            // Names beyond ASCII come percent-encoded: a header can carry nothing else safely.
            Some(text) if name == BRANCH => Some(decoded(text)?),
            header => header.map(Cow::Borrowed),
        };
        let in_url = in_url(name);
        let query = || {
            let mut query = self.query.iter();
            query.find(|(name, _)| *name == in_url)
        };
        let found = header.or_else(|| query().map(|(_, value)| value.clone()));
        Ok(found.filter(|text| !text.is_empty()))
    }

    /// The same, read as what it names.
    pub(super) fn parsed<T>(
        &self,
        name: &str,
        parse: fn(&str) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let parsed = self.text(name)?.map(|text| parse(&text)).transpose();
        parsed.map_err(|problem| problem.field(name))
    }

    /// Words with commas between them.
    pub(super) fn words(&self, name: &str) -> Result<Option<Vec<String>>, Problem> {
        let text = self.text(name)?;
        Ok(text.map(|text| {
            let words = text.split(',').map(str::trim);
            words
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect()
        }))
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.text(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                let detail = format!("{other:?} is neither true nor false");
                Err(Problem::bad(name, detail))
            }
        }
    }
}

/// The name of a header, in a URL.
fn in_url(header: &str) -> String {
    header.trim_start_matches(PREFIX).replace('-', "_")
}

fn decoded<'a>(text: &str) -> Result<Cow<'a, str>, Problem> {
    percent_encoding::percent_decode_str(text)
        .decode_utf8()
        .map(|text| Cow::Owned(text.into_owned()))
        .map_err(|_| Problem::bad(BRANCH, "the name is not UTF-8 after its %-escapes"))
}
