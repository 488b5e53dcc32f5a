//! Commands of the operator's at the end of runs and pipelines: which are due, and what each is told.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::{fs, io};

use jiff::Timestamp;
use serde::Serialize;

use crate::message::{Addressee, MessageSubject, OutgoingMessage, STATE_VARIABLE};
use crate::news;
use branchyard_config::{After, AfterKind, Config, TaskName};
use branchyard_model::{
    DeliveryId, EndState, PipelineRecord, PipelineState, Problem, RepoName, RunRecord, RunState,
};

/// A reason may quote what a branch says, and the kernel limits how long a variable is.
const LONGEST_REASON: usize = 1000;

/// A command that is to be run now.
#[derive(Debug)]
pub struct AfterCall {
    /// The same whenever it is tried again.
    pub id: DeliveryId,
    pub repo: RepoName,
    pub command: After,
    /// What it is told in its environment.
    pub variables: BTreeMap<String, String>,
    /// And on its standard input: the record of what has ended, as JSON.
    pub record: String,
    /// Its directory, which need not be there. It goes once what became of the command is written down.
    pub home: PathBuf,
}

/// Runs a command to its end. An error says why it did not do what it is there for. Dropped, it may go on: a call with the
/// same id finds out how it ended.
pub type RunAfter = Arc<
    dyn Fn(AfterCall) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync,
>;

/// Removes what a command left, if it left anything.
pub(crate) fn discard(home: &Path) {
    match fs::remove_dir_all(home) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(path = %home.display(), %error, "what a command left stays on disk");
        }
        _ => {}
    }
}

/// Removes what is left of commands for which no message waits.
pub(crate) fn sweep<'a>(commands: &Path, messages: impl Iterator<Item = &'a OutgoingMessage>) {
    let waiting = messages.filter(|message| message.is_command() && message.is_waiting());
    let wanted: HashSet<_> = waiting.map(|message| message.home(commands)).collect();
    for left in fs::read_dir(commands).into_iter().flatten().flatten() {
        if !wanted.contains(&left.path()) {
            discard(&left.path());
        }
    }
}

/// What has ended, and how.
struct Ended<'a> {
    subject: MessageSubject,
    /// Each end is an event of its own, whatever ended before.
    nth: u32,
    repo: &'a RepoName,
    kind: AfterKind,
    state: EndState,
}

/// Those that are due at the end of a run; none before that.
pub(crate) fn of_run(config: &Config, record: &RunRecord) -> Vec<OutgoingMessage> {
    let spec = &record.spec;
    let (Some(kind), RunState::Ended(state)) = (AfterKind::of_run(spec.kind), record.state) else {
        return Vec::new();
    };
    let ended = Ended {
        subject: MessageSubject::Run(record.run_id),
        nth: 1,
        repo: &spec.repo,
        kind,
        state,
    };
    ended.commands(config, || {
        let about = record.about.as_ref();
        let variables = [
            ("BRANCHYARD_BRANCH", spec.branch.to_string()),
            ("BRANCHYARD_COMMIT", shown(about.map(|about| &about.commit))),
            ("BRANCHYARD_EXIT_CODE", shown(record.exit_code)),
            ("BRANCHYARD_DURATION_MS", shown(record.duration_ms)),
            ("BRANCHYARD_PRINCIPAL", spec.principal.clone()),
            ("BRANCHYARD_REASON", reason(&record.reason, &record.error)),
        ];
        (variables, record.clone().shown())
    })
}

/// The same of a pipeline.
pub(crate) fn of_pipeline(config: &Config, record: &PipelineRecord) -> Vec<OutgoingMessage> {
    let state = match record.state {
        PipelineState::Queued | PipelineState::Running => return Vec::new(),
        PipelineState::Succeeded => EndState::Succeeded,
        PipelineState::Failed => EndState::Failed,
        PipelineState::Cancelled => EndState::Cancelled,
        PipelineState::Rejected => EndState::Rejected,
    };
    let ended = Ended {
        subject: MessageSubject::Pipeline(record.pipeline_id),
        nth: record.attempt,
        repo: &record.repo,
        kind: AfterKind::Pipeline,
        state,
    };
    ended.commands(config, || {
        let variables = [
            ("BRANCHYARD_BRANCH", record.branch.to_string()),
            ("BRANCHYARD_COMMIT", record.commit.to_string()),
            ("BRANCHYARD_EXIT_CODE", String::new()),
            ("BRANCHYARD_DURATION_MS", shown(record.duration_ms)),
            ("BRANCHYARD_PRINCIPAL", record.principal.clone()),
            ("BRANCHYARD_REASON", reason(&record.reason, &record.error)),
        ];
        (variables, record.clone().shown())
    })
}

impl Ended<'_> {
    /// A message for each command that is to be run after it. `told` says what only its record knows.
    fn commands<R: Serialize>(
        &self,
        config: &Config,
        told: impl FnOnce() -> ([(&'static str, String); 6], R),
    ) -> Vec<OutgoingMessage> {
        let due = config.after.iter();
        let due = due.filter(|(_, after)| after.is_for(self.repo, self.kind, self.state));
        let due: Vec<_> = due.map(|(name, _)| name).collect();
        if due.is_empty() {
            return Vec::new();
        }
        let (more, record) = told();
        let page = config.public_url.as_ref().map(|url| url.as_str());
        let (event, run, pipeline) = match self.subject {
            MessageSubject::Run(id) => ("run", id.to_string(), String::new()),
            MessageSubject::Pipeline(id) => ("pipeline", String::new(), id.to_string()),
        };
        let link = page.map(|page| news::link(page, self.subject));
        let variables = [
            ("BRANCHYARD_EVENT", event.to_owned()),
            ("BRANCHYARD_RUN", run),
            ("BRANCHYARD_PIPELINE", pipeline),
            ("BRANCHYARD_REPO", self.repo.to_string()),
            ("BRANCHYARD_KIND", self.kind.as_str().to_owned()),
            (STATE_VARIABLE, self.state.as_str().to_owned()),
            ("BRANCHYARD_URL", link.unwrap_or_default()),
        ];
        let variables: BTreeMap<_, _> = variables
            .into_iter()
            .chain(more)
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        // Plain data with string keys always serialises.
        let record = serde_json::to_string(&record).unwrap_or_default();
        let message = |name: &TaskName| {
            let to = Addressee::After {
                name: name.to_string(),
                variables: variables.clone(),
                record: record.clone(),
            };
            let about = format!("after {name} {event} {} {}", self.subject.id(), self.nth);
            OutgoingMessage::new(about, (self.repo, self.subject), to, Timestamp::now())
        };
        due.into_iter().map(message).collect()
    }
}

fn shown(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Why it ended so, as a variable can hold it.
fn reason(reason: &Option<String>, error: &Option<Problem>) -> String {
    let error = error.as_ref().map(|problem| &problem.detail);
    let text = reason.as_ref().or(error).map_or("", String::as_str);
    let letters = text.chars().filter(|letter| *letter != '\0');
    letters.take(LONGEST_REASON).collect()
}
