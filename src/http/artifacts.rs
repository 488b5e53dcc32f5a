//! Artifacts of pipelines and runs: listed, shown, and given file by file or whole.

use std::io::{self, Write};

use axum::Json;
use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, Method, header};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::extract::{At, Params};
use super::listed::Listed;
use super::problem::HttpResult;
use super::raw::{attachment, download};
use super::route::Access::Needs;
use super::route::{IF_RANGE, RANGE, Route, reads};
use crate::app::{AuthorizedApp, artifacts};
use branchyard_artifacts::{ArtifactSet, SetOwner};
use branchyard_model::{BranchName, PipelineId, RepoName, RunId, Scope};
use branchyard_pipelines::artifacts::{self as stored, ArchiveFormat};

/// What is sent of an archive at once, and how many such pieces wait for a slow caller.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;

pub(super) fn routes() -> Vec<Route> {
    let latest = reads(
        "showLatestArtifact",
        "Show the artifact of the newest pipeline of a branch that succeeded",
    )
    .gives("The artifact.")
    .get(
        "/api/repos/{repo}/artifacts/{name}",
        Needs(Scope::RepoRead),
        latest,
    );
    let mut routes = routes_of::<PipelineId>("/api/pipelines/{pipeline}", "");
    routes.extend(routes_of::<RunId>("/api/runs/{run}", "Run"));
    routes.push(latest);
    routes
}

/// What has artifacts: a pipeline or a run.
trait OwnerId: DeserializeOwned + Into<SetOwner> + Send + 'static {}

impl OwnerId for PipelineId {}
impl OwnerId for RunId {}

fn routes_of<Id: OwnerId>(owner: &str, of: &str) -> Vec<Route> {
    let bytes = &["application/octet-stream"];
    let at = |what: &str| format!("{owner}/artifacts{what}");
    vec![
        reads(format!("list{of}Artifacts"), "List the artifacts")
            .gives("All of them, by name.")
            .get(at(""), Needs(Scope::RepoRead), list::<Id>),
        reads(
            format!("show{of}Artifact"),
            "Show an artifact: its files, with their digests",
        )
        .gives("The artifact.")
        .get(at("/{name}"), Needs(Scope::RepoRead), show::<Id>),
        reads(
            format!("read{of}ArtifactFile"),
            "A file of an artifact, byte for byte",
        )
        .says("As a download, with its SHA-256 as the `ETag`.")
        .headers(&[RANGE, IF_RANGE])
        .writes(200, "Its bytes.", bytes)
        .writes(206, "The bytes of the range.", bytes)
        .only(304, "It is what `If-None-Match` names.")
        .get(
            at("/{name}/files/{*path}"),
            Needs(Scope::RepoRead),
            file::<Id>,
        ),
        reads(
            format!("read{of}ArtifactArchive"),
            "A whole artifact as one archive",
        )
        .writes(
            200,
            "The archive, as it is made.",
            &["application/zip", "application/x-tar"],
        )
        .get(at("/{name}/archive"), Needs(Scope::RepoRead), archive::<Id>),
    ]
}

async fn list<Id: OwnerId>(
    app: AuthorizedApp,
    At(id): At<Id>,
) -> HttpResult<Json<Listed<ArtifactSet>>> {
    let of = id.into();
    let sets = artifacts::ask(&app, of, move |all| stored::list(all, of)).await?;
    Ok(Json(Listed::all(sets)))
}

async fn show<Id: OwnerId>(
    app: AuthorizedApp,
    At((id, name)): At<(Id, String)>,
) -> HttpResult<Json<ArtifactSet>> {
    let of = id.into();
    let set = artifacts::ask(&app, of, move |all| stored::artifact(all, of, &name)).await?;
    Ok(Json(set))
}

async fn file<Id: OwnerId>(
    app: AuthorizedApp,
    At((id, name, path)): At<(Id, String, String)>,
    method: Method,
    headers: HeaderMap,
) -> HttpResult {
    let of = id.into();
    let found = artifacts::ask(&app, of, move |all| {
        stored::artifact_file(all, of, &name, &path)
    });
    let (found, content) = found.await?;
    let tag = format!("\"{}\"", found.sha256);
    let last = found.path.rsplit('/').next().unwrap_or_default();
    download((content, found.size), last, Some(tag), (&method, &headers)).await
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Zip,
    Tar,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ArchiveParams {
    /// `zip`, which is the default, or `tar`.
    #[serde(default)]
    format: Format,
}

async fn archive<Id: OwnerId>(
    app: AuthorizedApp,
    At((id, name)): At<(Id, String)>,
    Params(params): Params<ArchiveParams>,
) -> HttpResult {
    let (of, wanted) = (id.into(), name.clone());
    let set = artifacts::ask(&app, of, move |all| stored::artifact(all, of, &wanted)).await?;
    let (format, kind, extension) = match params.format {
        Format::Zip => (ArchiveFormat::Zip, "application/zip", "zip"),
        Format::Tar => (ArchiveFormat::Tar, "application/x-tar", "tar"),
    };
    let (pieces, body) = mpsc::channel(PIECES);
    let failed = pieces.clone();
    let writing = tokio::task::spawn_blocking(move || {
        let mut out = io::BufWriter::with_capacity(PIECE, Pieces(pieces));
        artifacts::write_archive(&app, &set, format, &mut out)?;
        out.flush()
    });
    tokio::spawn(async move {
        let written = writing.await.map_err(io::Error::other).flatten();
        if let Err(error) = written {
            // The body breaks off, so that it does not look whole. The caller may be gone.
            let _ = failed.send(Err(error)).await;
        }
    });
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (
            header::CONTENT_DISPOSITION,
            attachment(&format!("{name}.{extension}")),
        ),
        (header::CACHE_CONTROL, "private, no-cache".to_owned()),
    ];
    let body = HttpBody::from_stream(ReceiverStream::new(body));
    Ok((headers, body).into_response())
}

/// Hands what is written on to a body.
struct Pieces(mpsc::Sender<io::Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = Bytes::copy_from_slice(bytes);
        let sent = self.0.blocking_send(Ok(piece));
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LatestParams {
    /// The branch; the default branch if left out.
    branch: Option<BranchName>,
}

async fn latest(
    app: AuthorizedApp,
    At((repo, name)): At<(RepoName, String)>,
    Params(params): Params<LatestParams>,
) -> HttpResult<Json<ArtifactSet>> {
    let set = artifacts::latest(&app, &repo, params.branch, &name).await?;
    Ok(Json(set))
}
