//! An outbox whose time is told by the test, beside a forge that is down.

mod forge;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use jiff::SignedDuration;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use branchyard_config::{Environment, Flags, Sources};
use branchyard_model::PipelineId;
use forge::{ForgeAnswer, LoopbackForge, StatusAttempt};

const UP: ForgeAnswer = ForgeAnswer::Status(201, "{}");
/// More turns than any test here takes.
const MANY: usize = 1000;

/// A pipeline by its commit and workflow file.
struct ToldPipeline {
    id: PipelineId,
    commit: char,
    file: &'static str,
}

impl ToldPipeline {
    fn new(commit: char, file: &'static str) -> Self {
        let id = PipelineId::new();
        Self { id, commit, file }
    }

    fn is(&self, state: &str) -> PipelineRecord {
        let commit = self.commit.to_string().repeat(40);
        let record = json!({
            "pipeline_id": self.id,
            "repo": "demo",
            "branch": "main",
            "commit": commit,
            "tree": commit,
            "file": format!(".branchyard/workflows/{}", self.file),
            "event": "push",
            "principal": "push",
            "state": state,
            "attempt": 1,
            "jobs": [],
            "created_at": "2026-11-19T00:00:00Z",
        });
        serde_json::from_value(record).unwrap()
    }
}

/// What happens beside the outbox.
enum Happening {
    Pipeline(Box<PipelineRecord>),
    Forge(ForgeAnswer),
    /// The daemon is killed, and another one goes on.
    Restart,
}

struct Simulation {
    dir: TempDir,
    config: Arc<Config>,
    forge: LoopbackForge,
    outbox: Outbox,
    now: Timestamp,
}

impl Simulation {
    async fn start() -> Self {
        let forge = LoopbackForge::start().await;
        let dir = tempfile::tempdir().unwrap();
        let config = Arc::new(config(dir.path(), &forge.url));
        Self {
            outbox: opened(&config, dir.path()),
            now: "2026-11-19T00:00:00Z".parse().unwrap(),
            dir,
            config,
            forge,
        }
    }

    /// Lets all that happens be, at its minute, and time go on until nothing is left to do. Ends at the last of it.
    async fn run(&mut self, happenings: Vec<(i64, Happening)>) {
        let start = self.now;
        let at = |minute| start + SignedDuration::from_mins(minute);
        let mut coming: VecDeque<_> = happenings.into();
        for _ in 0..MANY {
            while coming
                .front()
                .is_some_and(|(minute, _)| at(*minute) <= self.now)
            {
                let (_, happening) = coming.pop_front().unwrap();
                self.apply(happening);
            }
            let due = self.send_due().await;
            let next = coming.front().map(|(minute, _)| at(*minute));
            match due.into_iter().chain(next).min() {
                Some(next) => self.now = next,
                None => return,
            }
        }
        panic!("it never comes to rest");
    }

    fn apply(&mut self, happening: Happening) {
        match happening {
            Happening::Pipeline(record) => self.outbox.note_at(&record, self.now).unwrap(),
            Happening::Forge(answer) => self.forge.answer(answer),
            Happening::Restart => {
                self.outbox = opened(&self.config, self.dir.path());
            }
        }
    }

    /// Sends what is due now; when the next is.
    async fn send_due(&self) -> Option<Timestamp> {
        loop {
            match self.outbox.next(self.now, |_| true) {
                Ok(message) => {
                    let result = self.outbox.send(&message, &no_commands()).await;
                    self.outbox.settle(&message, result, self.now);
                }
                Err(next) => return next,
            }
        }
    }
}

fn opened(config: &Arc<Config>, state: &Path) -> Outbox {
    let parts = OutboxParts {
        config: config.clone(),
        state,
        is_copy: false,
    };
    Outbox::open(parts).unwrap()
}

/// None is declared.
fn no_commands() -> RunAfter {
    Arc::new(|call| panic!("{call:?}"))
}

fn config(dir: &Path, forge: &str) -> Config {
    let file = dir.join("yard.toml");
    let text = format!(
        "public_url = \"https://yard.example.org\"\n\
         [repos.demo]\nurl = \"https://forge.example.org/team/demo.git\"\n\
         [forges.\"forge.example.org\"]\nkind = \"github\"\napi = {forge:?}\ntoken_env = \"FORGE_TOKEN\"\n"
    );
    std::fs::write(&file, text).unwrap();
    let env = [("HOME", dir.to_str().unwrap()), ("FORGE_TOKEN", "a-token")];
    Config::load(Sources {
        file: Some(file),
        env: Environment::from_iter(env),
        flags: Flags::default(),
    })
    .unwrap()
}

/// What a status tells of: a pipeline, and how that is.
fn told(body: &serde_json::Value) -> (String, String) {
    let text = |field: &str| body[field].as_str().unwrap();
    let id = text("target_url").rsplit('/').next().unwrap();
    (id.to_owned(), text("description").to_owned())
}

/// Requests by what they are about, in the order in which they came.
fn by_subject(attempts: Vec<StatusAttempt>) -> BTreeMap<(String, String), Vec<StatusAttempt>> {
    let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for attempt in attempts {
        let context = attempt.body["context"].as_str().unwrap().to_owned();
        let about = (attempt.path.clone(), context);
        all.entry(about).or_default().push(attempt);
    }
    all
}

#[tokio::test]
async fn a_forge_that_was_down_for_an_hour_is_told_the_latest_of_each_status_once() {
    let mut simulation = Simulation::start().await;
    let [one, later, other, lint] = [
        ('a', "ci.yml"),
        // Of the same commit and file.
        ('a', "ci.yml"),
        ('b', "ci.yml"),
        ('b', "lint.yaml"),
    ]
    .map(|(commit, file)| ToldPipeline::new(commit, file));
    let (mut happenings, mut order) = (Vec::new(), Vec::new());
    for (minute, subject, state, words) in [
        (0, &one, "queued", "waiting"),
        (1, &one, "running", "running"),
        (2, &other, "queued", "waiting"),
        (2, &lint, "queued", "waiting"),
        (3, &other, "running", "running"),
        (4, &lint, "running", "running"),
        (10, &lint, "cancelled", "cancelled"),
        (20, &one, "failed", "failed"),
        (25, &later, "queued", "waiting"),
        (26, &later, "running", "running"),
        (40, &other, "succeeded", "0 jobs"),
        (50, &later, "succeeded", "0 jobs"),
    ] {
        order.push((subject.id.to_string(), words.to_owned()));
        let record = Box::new(subject.is(state));
        happenings.push((minute, Happening::Pipeline(record)));
    }
    happenings.extend([
        (
            0,
            Happening::Forge(ForgeAnswer::Status(503, "out of order")),
        ),
        (30, Happening::Forge(ForgeAnswer::HangUp)),
        (35, Happening::Restart),
        (60, Happening::Forge(UP)),
    ]);
    // Of those of one minute, what the forge does comes first.
    happenings.sort_by_key(|(minute, it)| (*minute, !matches!(it, Happening::Forge(_))));
    let start = simulation.now;
    simulation.run(happenings).await;

    let took = simulation.now.duration_since(start).as_mins();
    assert!((60..=120).contains(&took), "{took} minutes");
    let (all, _) = simulation.outbox.list(MANY, |_| true);
    assert_eq!(all.len(), 3, "{all:#?}");
    let has_arrived = |it: &Delivery| it.state == DeliveryState::Delivered;
    assert!(all.iter().all(has_arrived), "{all:#?}");

    let by_subject = by_subject(simulation.forge.attempts());
    assert_eq!(by_subject.len(), 3, "{by_subject:#?}");
    for ((path, context), attempts) in &by_subject {
        let place = |attempt: &StatusAttempt| {
            let told = told(&attempt.body);
            order.iter().position(|it| *it == told).unwrap()
        };
        assert!(attempts.is_sorted_by_key(place), "{attempts:#?}");
        assert!(attempts.len() > 3, "{attempts:#?}");
        let is_a = path.ends_with(&"a".repeat(40));
        let (latest, state) = match (is_a, context.as_str()) {
            (true, "branchyard/ci") => (&later, "success"),
            (false, "branchyard/ci") => (&other, "success"),
            (false, "branchyard/lint.yaml") => (&lint, "error"),
            unexpected => panic!("{unexpected:?}"),
        };
        let taken: Vec<_> = attempts.iter().filter(|it| it.was_taken).collect();
        assert_eq!(taken.len(), 1, "{attempts:#?}");
        assert_eq!(taken[0].body["state"], state);
        assert_eq!(told(&taken[0].body).0, latest.id.to_string());
    }
}

#[tokio::test]
async fn a_commit_that_the_forge_lacks_is_told_of_for_minutes_and_not_for_a_day() {
    let mut simulation = Simulation::start().await;
    let refusal = r#"{"message":"No commit found for SHA: aaaa"}"#;
    let record = Box::new(ToldPipeline::new('a', "ci.yml").is("succeeded"));
    let start = simulation.now;
    let happenings = vec![
        (0, Happening::Forge(ForgeAnswer::Status(422, refusal))),
        (0, Happening::Pipeline(record)),
    ];
    simulation.run(happenings).await;
    let took = simulation.now.duration_since(start).as_mins();
    assert_eq!((simulation.forge.attempts().len(), took), (6, 22));
    let (all, _) = simulation.outbox.list(MANY, |_| true);
    assert_eq!(all[0].state, DeliveryState::Failed);
    let problem = all[0].problem.as_deref().unwrap();
    assert_eq!(problem, format!("HTTP 422: {refusal}"));
}
