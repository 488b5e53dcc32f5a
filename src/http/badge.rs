//! The badge of a branch: a small picture that says how it is doing, for a README.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{At, Params, RepoAt};
use super::problem::HttpResult;
use super::route::Access::Open;
use super::route::{Route, reads};
use crate::app::App;
use crate::app::badge::{self, Standing};
use branchyard_model::BranchName;

const SVG: &str = "image/svg+xml";
const LABEL: &str = "build";
/// What a letter of 11 pixels takes on average, and what is left beside the words.
const LETTER: usize = 7;
const MARGIN: usize = 10;

/// What the badge is of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BadgeQuery {
    /// The branch; the default branch if left out.
    branch: Option<BranchName>,
    /// The workflow file, as its path or its name alone; all of them if left out.
    file: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("showBadge", "A picture that says how a branch is doing")
            .says(
                "How its newest pipelines went, or where it has none its newest `make` run. Without a credential, where \
                 `badge` of the repository says so.",
            )
            .writes(200, "The picture.", &[SVG])
            .get("/badges/{repo}", Open, show),
    ]
}

async fn show(
    State(app): State<App>,
    At(repo): RepoAt,
    Params(query): Params<BadgeQuery>,
) -> HttpResult<Response> {
    let standing = badge::standing(&app, &repo, query.branch, query.file).await?;
    let headers = [
        (header::CONTENT_TYPE, SVG),
        // Forges and browsers keep pictures; this one is to be asked for again.
        (header::CACHE_CONTROL, "no-cache, max-age=0"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; sandbox",
        ),
    ];
    Ok((headers, picture(standing)).into_response())
}

fn picture(standing: Standing) -> String {
    let (word, colour) = match standing {
        Standing::Passing => ("passing", "#2a7d2e"),
        Standing::Failing => ("failing", "#b3261e"),
        Standing::Running => ("running", "#8a6100"),
        Standing::Cancelled => ("cancelled", "#5f6368"),
        Standing::Unknown => ("unknown", "#5f6368"),
    };
    let [left, right] = [LABEL, word].map(|text| text.len() * LETTER + MARGIN);
    let (width, label_at, word_at) = (left + right, left / 2, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" role=\"img\" \
         aria-label=\"{LABEL}: {word}\"><title>{LABEL}: {word}</title>\
         <rect width=\"{width}\" height=\"20\" rx=\"3\" fill=\"{colour}\"/>\
         <path d=\"M3 0h{edge}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3\" fill=\"#3c4043\"/>\
         <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\" text-anchor=\"middle\">\
         <text x=\"{label_at}\" y=\"14\">{LABEL}</text><text x=\"{word_at}\" y=\"14\">{word}</text></g></svg>\n",
        edge = left - 3,
    )
}
