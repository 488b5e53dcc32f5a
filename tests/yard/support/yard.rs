//! The daemon under test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use branchyard::server::Server;
use branchyard_config::{Config, Environment, Flags, Sources};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_stream::StreamExt;

use super::binary::ORDINARY;
use super::{Binary, Event, Origin, end_processes_in, processes_in, read_events};

/// Longer than anything here takes; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_branchyard");

/// What a test changes of the configuration.
#[derive(Debug, Default)]
pub struct Options {
    /// Lines for the top of the file.
    pub top: String,
    /// Lines for `[timeouts]`.
    pub timeouts: String,
    /// Whole further tables.
    pub tables: String,
    /// Lines for `[git]`.
    pub git: String,
    /// Where the demo is cloned from, if not from the origin's directory.
    pub url: Option<String>,
    /// Lines for `[repos.demo]`.
    pub repo: String,
    /// No repo, and none on this machine allowed: what a daemon with an empty configuration is.
    pub bare: bool,
}

pub struct Yard {
    pub dir: TempDir,
    pub origin: Origin,
    pub url: String,
    pub workspaces: PathBuf,
    pub client: Client,
    options: Options,
    daemon: Option<Daemon>,
}

struct Daemon {
    stop: oneshot::Sender<()>,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Yard {
    pub async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        let mut yard = Self::asleep(options);
        yard.start().await;
        yard
    }

    /// A yard without a daemon yet.
    pub fn asleep(options: Options) -> Self {
        // A sandbox has a /dev of its own, and tests may put their files into memory there.
        let place = match options.tables.contains("[sandbox]") {
            true => PathBuf::from("/tmp"),
            false => std::env::temp_dir(),
        };
        let dir = tempfile::Builder::new()
            .prefix("branchyard-test-")
            .tempdir_in(place)
            .unwrap();
        let origin = Origin::new(dir.path());
        Self {
            origin,
            url: String::new(),
            workspaces: dir.path().join("yard"),
            client: Client::builder().no_proxy().build().unwrap(),
            dir,
            options,
            daemon: None,
        }
    }

    /// Changes the configuration for the next start.
    pub fn configure(&mut self, options: Options) {
        self.options = options;
    }

    /// Starts a daemon on what is on disk.
    pub async fn start(&mut self) {
        let (server, listener) = self.open().await;
        let (stop, stopped) = oneshot::channel();
        let stop_asked = async { drop(stopped.await) };
        let serving = tokio::spawn(server.serve(listener, stop_asked, std::future::pending()));
        self.daemon = Some(Daemon { stop, serving });
    }

    /// A daemon on what is on disk that does not serve yet.
    pub async fn open(&mut self) -> (Server, TcpListener) {
        let file = self.write_config();
        let env = Environment::from_iter([
            ("PATH", env!("PATH")),
            ("HOME", self.dir.path().to_str().unwrap()),
        ]);
        let config = Config::load(Sources {
            file: Some(file),
            env,
            flags: Flags::default(),
        })
        .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Server::open(config, &listener, PROGRAM.into())
            .await
            .unwrap();
        self.url = server.url().to_owned();
        (server, listener)
    }

    /// Starts the real program on what is on disk, with these variables and no others but PATH and
    /// HOME, and waits until it serves.
    pub async fn start_binary(&mut self, env: &[(&str, &str)]) -> Binary {
        self.start_program(PROGRAM, env).await
    }

    /// As [`Yard::start_binary`], from another copy of the program.
    pub async fn start_program(&mut self, program: &str, env: &[(&str, &str)]) -> Binary {
        let file = self.write_config();
        self.serving(Binary::spawn(program, &file, self.dir.path(), env))
            .await
    }

    /// Starts the real program as a user who is not root, who owns all of the yard and the program.
    /// Tests that are not run by root start it as themselves.
    pub async fn start_ordinary(&mut self) -> Binary {
        let file = self.write_config();
        if !rustix::process::geteuid().is_root() {
            return self.start_binary(&[]).await;
        }
        let program = self.dir.path().join("program");
        // It may be running already.
        if !program.exists() {
            std::fs::copy(PROGRAM, &program).unwrap();
        }
        give_to_ordinary(self.dir.path());
        let program = program.to_str().unwrap();
        let binary = Binary::spawn_ordinary(program, &file, self.dir.path());
        self.serving(binary).await
    }

    async fn serving(&mut self, mut binary: Binary) -> Binary {
        let welcome = binary.until_said(" serves http://").await;
        let (_, url) = welcome.split_once(" serves ").unwrap();
        self.url = url.trim_end_matches('/').to_owned();
        binary
    }

    pub fn spawn_binary(&self, env: &[(&str, &str)]) -> Binary {
        Binary::spawn(PROGRAM, &self.write_config(), self.dir.path(), env)
    }

    fn write_config(&self) -> PathBuf {
        let file = self.dir.path().join("yard.toml");
        std::fs::write(&file, self.config_text()).unwrap();
        file
    }

    fn config_text(&self) -> String {
        let Options {
            top,
            timeouts,
            tables,
            git,
            url,
            repo,
            bare,
        } = &self.options;
        // Short, so that no test waits for it by chance; a test about it brings its own.
        let grace = if timeouts.contains("grace") {
            ""
        } else {
            "grace = \"1s\""
        };
        // Nothing goes by itself, however many there are and however full this machine is; a test about
        // that brings its own.
        let reaper = if tables.contains("[reaper]") {
            ""
        } else {
            "[reaper]\nmax_worktrees_per_repo = 10000\nlow_water = \"1B\"\nhigh_water = \"1B\""
        };
        // Contained builds cost some milliseconds each, and many tests have theirs write beside their
        // worktree to be seen; a test about the sandbox brings its own section.
        let sandbox = if tables.contains("[sandbox]") {
            ""
        } else {
            "[sandbox]\nprofile = \"none\""
        };
        // As many at once on every machine; a test about limits brings its own.
        let limits = if tables.contains("[limits]") {
            ""
        } else {
            "[limits]\nmax_concurrent_runs = 16\nmax_concurrent_runs_per_repo = 16"
        };
        // A run outlives its daemon, and would outlive a test that was itself killed.
        let common = format!(
            "{top}\nworkspaces = {:?}\n[timeouts]\nrun = \"4m\"\n{grace}\n{timeouts}\n{tables}\n{reaper}\n{sandbox}\n{limits}\n",
            self.workspaces
        );
        // A new workspace has what its commit has and nothing else; a test about warm starts brings its own.
        let warm = if repo.contains("warm") {
            ""
        } else {
            "warm = \"off\""
        };
        if *bare {
            return common;
        }
        format!(
            "{common}[git]\nallow_local = true\n{git}\n[repos.demo]\nurl = {:?}\n{warm}\n{repo}\n",
            url.clone().unwrap_or_else(|| self.origin.url()),
        )
    }

    /// TERM: drains and waits until the daemon has ended.
    pub async fn stop(&mut self) {
        let daemon = self.daemon.take().unwrap();
        daemon.stop.send(()).unwrap();
        let ended = tokio::time::timeout(PATIENCE, daemon.serving).await;
        ended.expect("the daemon stops").unwrap().unwrap();
    }

    pub fn key(&self) -> String {
        let header =
            std::fs::read_to_string(self.workspaces.join(".branchyard/auth.header")).unwrap();
        header
            .trim()
            .strip_prefix("Authorization: Bearer ")
            .unwrap()
            .to_owned()
    }

    /// Has a token made; its text.
    pub async fn token(&self, asked: Value) -> String {
        let made = self.post_json("/api/tokens", asked).await;
        made["token"].as_str().unwrap().to_owned()
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(self.key())
    }

    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub async fn put(&self, path: &str, body: Value) -> Response {
        let request = self.request(Method::PUT, path).json(&body);
        request.send().await.unwrap()
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.request(Method::DELETE, path).send().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.request(Method::POST, path)
            .json(&body)
            .send()
            .await
            .unwrap()
    }

    /// A request that must succeed; its JSON.
    pub async fn get_json(&self, path: &str) -> Value {
        json_of(self.get(path).await).await
    }

    pub async fn post_json(&self, path: &str, body: Value) -> Value {
        json_of(self.post(path, body).await).await
    }

    /// The answer of a git verb that must succeed.
    pub async fn verb(&self, branch: &str, verb: &str, body: Value) -> Value {
        json_of(self.try_verb(branch, verb, body).await).await
    }

    /// Whatever a git verb answers.
    pub async fn try_verb(&self, branch: &str, verb: &str, body: Value) -> Response {
        let path = format!("/api/repos/demo/branches/{}/git/{verb}", encode(branch));
        self.post(&path, body).await
    }

    /// A run to its end, as events.
    pub async fn run(&self, kind: &str, branch: &str, body: Value) -> Vec<Event> {
        let path = format!("/stream/repos/demo/branches/{}/{kind}", encode(branch));
        events_of(self.post(&path, body).await).await
    }

    pub async fn make(&self, branch: &str, args: &[&str]) -> Vec<Event> {
        self.run("make", branch, json!({ "args": args })).await
    }

    /// Starts a run and reads its stream until `enough`; the rest is still to come.
    pub async fn start_run(&self, kind: &str, branch: &str, body: Value) -> Following {
        let path = format!("/stream/repos/demo/branches/{}/{kind}", encode(branch));
        let response = self
            .request(Method::POST, &path)
            .header("accept", "application/x-ndjson")
            .json(&body)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        Following::new(response)
    }

    /// Starts a `make` that nobody watches; its id.
    pub async fn start_detached(&self, branch: &str, body: Value) -> String {
        let path = format!("/stream/repos/demo/branches/{}/make", encode(branch));
        let request = self
            .request(Method::POST, &path)
            .header("prefer", "respond-async")
            .json(&body);
        let record = json_of(request.send().await.unwrap()).await;
        record["run_id"].as_str().unwrap().to_owned()
    }

    /// A viewer of a run, from its start.
    pub async fn follow(&self, run: &str) -> Following {
        let request = self
            .request(Method::GET, &format!("/stream/runs/{run}"))
            .header("accept", "application/x-ndjson");
        Following::new(request.send().await.unwrap())
    }

    /// The record of a run once it has ended.
    pub async fn ended(&self, run: &str) -> Value {
        let path = format!("/api/runs/{run}?wait=50s");
        let record = self.get_json(&path).await;
        assert!(record["ended_at"].is_string(), "{record}");
        record
    }

    /// Everything that a run has printed; waits for its end.
    pub async fn log(&self, run: &str) -> String {
        let log = self.get(&format!("/api/runs/{run}/log")).await;
        log.text().await.unwrap()
    }

    /// What was saved of a branch, the newest first.
    pub async fn salvages(&self, branch: &str) -> Vec<Value> {
        let path = format!("/api/salvage?repo=demo&branch={}", encode(branch));
        let page = self.get_json(&path).await;
        page["items"].as_array().unwrap().clone()
    }

    pub async fn restore(&self, salvage: &Value, body: Value) -> Value {
        let id = salvage["id"].as_str().unwrap();
        let path = format!("/api/salvage/{id}/restore");
        self.post_json(&path, body).await
    }

    pub fn workspace(&self, branch: &str) -> PathBuf {
        let name = branchyard_model::BranchName::parse(branch).unwrap();
        self.workspaces.join("demo").join(name.dir().as_str())
    }

    pub fn store(&self) -> PathBuf {
        self.workspaces.join("demo/.git")
    }
}

impl Drop for Yard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            end_processes_in(self.dir.path());
            return;
        }
        assert!(self.daemon.is_none(), "a test ends with yard.stop()");
        assert_eq!(
            processes_in(self.dir.path()),
            Vec::<String>::new(),
            "a process was left behind"
        );
    }
}

/// A stream that is being read.
pub struct Following {
    body: std::pin::Pin<Box<dyn tokio_stream::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    unread: String,
    pub events: Vec<Event>,
}

impl Following {
    pub fn new(response: Response) -> Self {
        Self {
            body: Box::pin(response.bytes_stream()),
            unread: String::new(),
            events: Vec::new(),
        }
    }

    /// Reads on until an event satisfies `wanted`, and returns it.
    pub async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        let mut looked_at = 0;
        loop {
            while looked_at < self.events.len() {
                if wanted(&self.events[looked_at]) {
                    return self.events[looked_at].clone();
                }
                looked_at += 1;
            }
            tokio::time::timeout(PATIENCE, self.read_on())
                .await
                .expect("more comes")
                .expect("the stream has not ended");
        }
    }

    /// Goes on with another answer, which begins where the last one was cut off.
    pub fn go_on(&mut self, response: Response) {
        self.body = Box::pin(response.bytes_stream());
        self.unread.clear();
    }

    /// Reads on until the stream ends or is cut off.
    pub async fn until_cut(&mut self) {
        let reading = async { while self.read_on().await.is_some() {} };
        tokio::time::timeout(PATIENCE, reading)
            .await
            .expect("the stream ends");
    }

    /// Takes in one more piece of the stream; `None` at its end, whatever ended it.
    async fn read_on(&mut self) -> Option<()> {
        let piece = self.body.next().await?.ok()?;
        self.unread.push_str(std::str::from_utf8(&piece).unwrap());
        while let Some(end) = self.unread.find('\n') {
            let line: String = self.unread.drain(..=end).collect();
            self.events
                .extend(read_events("application/x-ndjson", &line));
        }
        Some(())
    }

    pub async fn until_line(&mut self, line: &str) {
        self.until(|event| event.data["line"] == line).await;
    }

    pub async fn end(&mut self) -> Event {
        self.until(|event| event.kind == "complete" || event.kind == "error")
            .await
    }

    pub fn run_id(&self) -> String {
        self.events[0].data["run_id"].as_str().unwrap().to_owned()
    }
}

/// Makes `path` and everything below it the ordinary user's. Tests that are not run by root own it already.
pub fn give_to_ordinary(path: &Path) {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    std::os::unix::fs::lchown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_to_ordinary(&entry.unwrap().path());
        }
    }
}

pub async fn json_of(response: Response) -> Value {
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{status}: {text}");
    serde_json::from_str(&text).unwrap()
}

/// A problem document: its status and content.
pub async fn problem_of(response: Response) -> (u16, Value) {
    assert_eq!(
        response.headers()["content-type"],
        "application/problem+json"
    );
    let status = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["status"], status);
    (status, problem)
}

pub async fn events_of(response: Response) -> Vec<Event> {
    let status = response.status();
    let kind = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    let text = tokio::time::timeout(PATIENCE, response.text())
        .await
        .expect("the stream ends")
        .unwrap();
    assert!(status.is_success(), "{status}: {text}");
    read_events(&kind, &text)
}

/// A path segment with everything but letters and digits percent-encoded.
pub fn encode(segment: &str) -> String {
    segment
        .bytes()
        .map(|b| {
            if b.is_ascii_alphanumeric() {
                char::from(b).to_string()
            } else {
                format!("%{b:02X}")
            }
        })
        .collect()
}

/// What a run's output says, as text.
pub fn text_of(events: &[Event]) -> String {
    let bytes: Vec<u8> = events.iter().flat_map(Event::bytes).collect();
    String::from_utf8(bytes).unwrap()
}

/// The codes of a run's warnings, in order.
pub fn warnings_of(events: &[Event]) -> Vec<&str> {
    let warnings = events.iter().filter(|event| event.kind == "warning");
    warnings.map(|e| e.data["code"].as_str().unwrap()).collect()
}
