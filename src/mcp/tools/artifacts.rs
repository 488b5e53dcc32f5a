//! What jobs of pipelines and runs left behind: listed, shown, read.

use std::fmt::Write;
use std::io::{Read, Seek, SeekFrom};

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::action::{needed, only_for};
use super::excerpt::{ByteCursor, Excerpt, ExcerptSource};
use crate::app::artifacts;
use crate::mcp::call::Call;
use crate::mcp::page::{Paged, paged};
use crate::mcp::reply::{CONTENT, Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_artifacts::{ArtifactFile, ArtifactSet, SetOwner};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, ErrorKind, PipelineId, Problem, RepoName, RunId, Scope};
use branchyard_pipelines::artifacts as stored;

pub(super) fn tool() -> Tool {
    Tool::new::<ArtifactsArgs, Paged<Answer>, _>(
        &ToolEntry {
            name: "artifacts",
            title: "Look at artifacts",
            description: "Lists the artifacts of a pipeline or a run, shows the files of one, or reads one of them: by pipeline_id \
                or run_id, or, by repo and branch, of the newest pipeline that succeeded and has one of that name. A \
                long file is cut by lines: go on with next_cursor.",
            set: Toolset::Pipelines,
            right: Scope::RepoRead,
            effect: Effect::READS,
        },
        artifacts,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ArtifactsArgs {
    /// list needs pipeline_id or run_id. show needs name too, or repo and name; read needs path besides.
    action: ArtifactsAction,
    pipeline_id: Option<PipelineId>,
    /// In place of pipeline_id.
    run_id: Option<RunId>,
    /// In place of pipeline_id.
    repo: Option<RepoName>,
    /// With repo: the branch, if not the default branch.
    branch: Option<BranchName>,
    /// For show and read: the artifact.
    name: Option<String>,
    /// For read: the file, as show lists it.
    path: Option<String>,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ArtifactsAction {
    List,
    Show,
    Read,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline_id: Option<PipelineId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    /// By name; the one that was asked for.
    artifacts: Vec<ListedArtifact>,
    /// The files of the one that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<ArtifactFile>>,
    /// What was read of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<Excerpt>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedArtifact {
    name: String,
    /// The job that made it.
    job: Option<String>,
    files: usize,
    bytes: u64,
    created_at: Timestamp,
    expires_at: Option<Timestamp>,
}

async fn artifacts(call: Call, asked: ArtifactsArgs) -> Result<Reply, Problem> {
    let action = asked.action;
    for (field, is_given, actions) in [
        ("repo", asked.repo.is_some(), "show and read"),
        ("branch", asked.branch.is_some(), "show and read"),
        ("name", asked.name.is_some(), "show and read"),
        ("path", asked.path.is_some(), "read"),
    ] {
        only_for(field, is_given, actions, action)?;
    }
    let cursor = asked.cursor.as_deref();
    match action {
        ArtifactsAction::List => {
            let of = needed("pipeline_id", owner(&asked)?, "list")?;
            list(&call, of, cursor).await
        }
        ArtifactsAction::Show => {
            let set = found(&call, &asked).await?;
            show(&call, &set, cursor)
        }
        ArtifactsAction::Read => {
            let path = needed("path", asked.path.as_deref(), "read")?;
            let set = found(&call, &asked).await?;
            read(&call, &set, (path, cursor)).await
        }
    }
}

/// Whose artifacts are meant, where that is said by an id.
fn owner(asked: &ArtifactsArgs) -> Result<Option<SetOwner>, Problem> {
    match (asked.pipeline_id, asked.run_id) {
        (Some(_), Some(_)) => Err(Problem::unprocessable(
            "run_id",
            "give either pipeline_id or run_id",
        )),
        (pipeline, run) => Ok(pipeline.map(SetOwner::from).or(run.map(SetOwner::from))),
    }
}

/// The artifact that is meant.
async fn found(call: &Call, asked: &ArtifactsArgs) -> Result<ArtifactSet, Problem> {
    let name = asked.name.clone();
    let name = name.ok_or_else(|| Problem::unprocessable("name", "no artifact is named"))?;
    match (owner(asked)?, &asked.repo) {
        (Some(of), None) if asked.branch.is_none() => {
            let asking =
                artifacts::ask(call.app(), of, move |all| stored::artifact(all, of, &name));
            call.in_time(asking).await
        }
        (None, Some(repo)) => {
            let asking = artifacts::latest(call.app(), repo, asked.branch.clone(), &name);
            call.in_time(asking).await
        }
        _ => Err(Problem::unprocessable(
            "pipeline_id",
            "give either pipeline_id, or run_id, or repo and perhaps branch",
        )),
    }
}

async fn list(call: &Call, of: SetOwner, cursor: Option<&str>) -> Result<Reply, Problem> {
    let asking = artifacts::ask(call.app(), of, move |all| stored::list(all, of));
    let sets = call.in_time(asking).await?;
    paged(&sets, cursor, |page| {
        let answer = Answer {
            artifacts: page.shown.iter().map(ListedArtifact::of).collect(),
            ..Answer::of(of)
        };
        let mut text: String = answer.artifacts.iter().map(ListedArtifact::line).collect();
        if sets.is_empty() {
            text.push_str("there are no artifacts");
        }
        page.reply(call, &answer, text, false)
    })
}

fn show(call: &Call, set: &ArtifactSet, cursor: Option<&str>) -> Result<Reply, Problem> {
    paged(&set.files, cursor, |page| {
        let artifact = ListedArtifact::of(set);
        let mut text = artifact.line();
        for file in page.shown {
            let _ = writeln!(text, "{} {}", file.size, file.path);
        }
        let answer = Answer {
            artifacts: vec![artifact],
            files: Some(page.shown.to_vec()),
            ..Answer::of(set.owner)
        };
        page.reply(call, &answer, text, false)
    })
}

async fn read(
    call: &Call,
    set: &ArtifactSet,
    (path, cursor): (&str, Option<&str>),
) -> Result<Reply, Problem> {
    let cursor = cursor.map(ByteCursor::read).transpose()?;
    let (of, name, wanted) = (set.owner, set.name.clone(), path.to_owned());
    let from = cursor.map_or(0, |cursor| cursor.byte);
    let reading = artifacts::ask(call.app(), of, move |all| {
        let (file, mut content) = stored::artifact_file(all, of, &name, &wanted)?;
        let mut bytes = Vec::new();
        let start = from.min(file.size);
        let seek = content.seek(SeekFrom::Start(start));
        // No answer holds more.
        let read = seek.and_then(|_| content.take(CONTENT as u64).read_to_end(&mut bytes));
        read.map_err(|error| {
            let detail = format!("the content of {wanted} cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "artifact_unreadable", detail)
        })?;
        Ok((start, bytes, file.size))
    });
    let (start_byte, bytes, size) = call.in_time(reading).await?;
    let source = ExcerptSource {
        bytes: &bytes,
        start_byte,
        // Further on, lines would have to be counted from the beginning.
        first_line: (start_byte == 0).then_some(1),
        more: start_byte + (bytes.len() as u64) < size,
        exact: cursor.is_some_and(|cursor| cursor.exact),
    };
    fitted_items(bytes.len().min(CONTENT), |most| {
        let excerpt = source.excerpt(most);
        let text = excerpt.told(call.is_text_alone());
        let next_cursor = excerpt.next_cursor().map(str::to_owned);
        let answer = Answer {
            artifacts: vec![ListedArtifact::of(set)],
            file: Some(excerpt),
            ..Answer::of(of)
        };
        call.reply(&Paged::new(answer, next_cursor), text)
    })
}

impl Answer {
    fn of(owner: SetOwner) -> Self {
        let mut answer = Self::default();
        match owner {
            SetOwner::Pipeline(id) => answer.pipeline_id = Some(id),
            SetOwner::Run(id) => answer.run_id = Some(id),
        }
        answer
    }
}

impl ListedArtifact {
    fn of(set: &ArtifactSet) -> Self {
        Self {
            name: set.name.clone(),
            job: set.job.clone(),
            files: set.files.len(),
            bytes: set.bytes,
            created_at: set.created_at,
            expires_at: set.expires_at,
        }
    }

    fn line(&self) -> String {
        let (name, files, bytes) = (&self.name, self.files, self.bytes);
        let job = self.job.as_deref().unwrap_or("a job");
        format!("{name} of {job}: {files} files, {bytes} bytes\n")
    }
}
