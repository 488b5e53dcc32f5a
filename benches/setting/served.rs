//! The real daemon, in a process of its own: one that shares the client's would be measured with it.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use super::Site;
use crate::support::{Binary, encode, json_of, kib};

/// A daemon that has spent no time in this has nothing to do.
const A_WHILE: Duration = Duration::from_millis(500);
/// One that has something to do for longer than this will not come to rest.
const PATIENCE: Duration = Duration::from_secs(300);

/// Who asks a daemon; cheap to copy, so that many can ask at once.
#[derive(Clone)]
pub struct Asker {
    client: Client,
    pub url: String,
    pub key: String,
}

pub struct Served {
    pub site: Site,
    daemon: Binary,
    asker: Asker,
}

impl Deref for Served {
    type Target = Asker;

    fn deref(&self) -> &Asker {
        &self.asker
    }
}

impl Served {
    pub(super) async fn start(mut site: Site, program: &Path) -> Self {
        let program = program.to_str().expect("a program whose name is text");
        let daemon = site.yard.start_program(program, &[]).await;
        let asker = Asker {
            client: Client::builder().no_proxy().build().unwrap(),
            url: site.yard.url.clone(),
            key: site.yard.key(),
        };
        Self {
            site,
            daemon,
            asker,
        }
    }

    pub fn asker(&self) -> Asker {
        self.asker.clone()
    }

    pub fn workspace(&self, branch: &str) -> PathBuf {
        self.site.workspace(branch)
    }

    pub fn pid(&self) -> u32 {
        self.daemon.pid()
    }

    /// The daemon's memory, in bytes.
    pub fn memory(&self) -> f64 {
        self.bytes("VmRSS:")
    }

    /// What of it is the daemon's alone: the rest is the program's file, which the system may have back.
    pub fn own_memory(&self) -> f64 {
        self.bytes("RssAnon:")
    }

    /// The most that it had since [`Served::forget_peak`], in bytes.
    pub fn peak_memory(&self) -> f64 {
        self.bytes("VmHWM:")
    }

    pub fn forget_peak(&self) {
        std::fs::write(format!("/proc/{}/clear_refs", self.daemon.pid()), "5").unwrap();
    }

    fn bytes(&self, field: &str) -> f64 {
        kib(self.daemon.pid(), "status", field) as f64 * 1024.0
    }

    /// What the daemon's threads have computed so far, in seconds, by the kernel's count: its children's is not in it.
    pub fn processor_time(&self) -> f64 {
        let pid = Pid::from_raw(self.daemon.pid().cast_signed());
        let clock = clock_getcpuclockid(pid).unwrap();
        Duration::from(clock_gettime(clock).unwrap()).as_secs_f64()
    }

    /// Page faults of the daemon's children that have ended: they grow with every process that it starts.
    pub fn faults_of_children(&self) -> f64 {
        self.stat(11)
    }

    /// Waits until the daemon has nothing left to do: what it does by the way is not part of an answer.
    pub async fn until_idle(&self) {
        let spent = || self.stat(14) + self.stat(15);
        let (began, mut before) = (Instant::now(), f64::NAN);
        while spent() != before {
            assert!(began.elapsed() < PATIENCE, "the daemon is never idle");
            before = spent();
            tokio::time::sleep(A_WHILE).await;
        }
    }

    /// A field of what the kernel tells of the daemon, counted from 1.
    fn stat(&self, field: usize) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.daemon.pid())).unwrap();
        // The name, which is the second, may have spaces in it.
        let after_name = stat.rsplit_once(')').unwrap().1;
        let value = after_name.split_whitespace().nth(field - 3).unwrap();
        value.parse().unwrap()
    }

    /// Starts a daemon; how long it takes to its first answer.
    pub async fn start_timed(site: Site) -> (Self, f64) {
        let began = Instant::now();
        let served = site.serve().await;
        served.get("/api/runs?limit=1").await;
        (served, began.elapsed().as_secs_f64())
    }

    /// Stops the daemon and starts it anew.
    pub async fn restart(self) -> (Self, f64) {
        Self::start_timed(self.end().await).await
    }

    /// Stops the daemon; what it worked on stays.
    pub async fn end(mut self) -> Site {
        self.daemon.stop().await;
        self.site
    }

    pub async fn stop(self) {
        self.end().await;
    }
}

impl Asker {
    /// The body of an answer, which must be a success.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Bytes {
        let request = self.client.request(method, format!("{}{path}", self.url));
        let mut request = request.bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status();
        let body = answer.bytes().await.unwrap();
        let shown = String::from_utf8_lossy(&body);
        assert!(status.is_success(), "{path}: {status}: {shown}");
        body
    }

    pub async fn get(&self, path: &str) -> Bytes {
        self.ask(Method::GET, path, None).await
    }

    /// How long it takes, and what is answered.
    pub async fn timed(&self, method: Method, path: &str, body: Option<&Value>) -> (f64, Bytes) {
        let began = Instant::now();
        let answer = self.ask(method, path, body).await;
        (began.elapsed().as_secs_f64(), answer)
    }

    /// Whether there is such an address.
    pub async fn knows(&self, path: &str) -> bool {
        let request = self.client.get(format!("{}{path}", self.url));
        let answer = request.bearer_auth(&self.key).send().await.unwrap();
        answer.status().is_success()
    }

    /// Makes a workspace ready; how long it took.
    pub async fn prepare(&self, branch: &str) -> f64 {
        let path = format!("/api/repos/demo/branches/{}", encode(branch));
        self.timed(Method::PUT, &path, None).await.0
    }

    pub async fn remove(&self, branch: &str) {
        let path = format!("/api/repos/demo/branches/{}?force=true", encode(branch));
        self.ask(Method::DELETE, &path, None).await;
    }

    /// A `make` from the request to the end of its stream; how long that took.
    pub async fn make(&self, branch: &str, args: &[&str], sync: &str) -> f64 {
        let path = format!("/stream/repos/demo/branches/{}/make", encode(branch));
        let body = json!({ "args": args, "sync": sync });
        let (took, stream) = self.timed(Method::POST, &path, Some(&body)).await;
        let stream = String::from_utf8_lossy(&stream);
        assert!(stream.contains("\"state\":\"succeeded\""), "{stream}");
        took
    }

    /// A `make` that nobody follows; its id.
    pub async fn make_detached(&self, branch: &str, args: &[&str]) -> String {
        let path = format!("/stream/repos/demo/branches/{}/make", encode(branch));
        let request = self.client.post(format!("{}{path}", self.url));
        let request = request
            .bearer_auth(&self.key)
            .header("prefer", "respond-async")
            .json(&json!({ "args": args, "sync": "none" }));
        let record = json_of(request.send().await.unwrap()).await;
        record["run_id"].as_str().unwrap().to_owned()
    }

    /// Waits for the end of a run, which must be a good one.
    pub async fn ended(&self, run: &str) {
        let answer = self.get(&format!("/api/runs/{run}?wait=60s")).await;
        let record: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(record["state"], "succeeded", "{record}");
    }
}
