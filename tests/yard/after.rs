//! Commands of the operator's at the end of runs and pipelines.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Options, Yard, text_of, until};

const DELIVERIES: &str = "/api/repos/demo/deliveries";
const WORKFLOW: &str = "on: push\njobs: {test: {runs-on: linux, steps: [{run: make who}]}}\n";

/// Keeps what it is told in a directory of its own below its first argument.
const KEEP: &str = "\
#!/bin/sh
set -eu
told=$(mktemp -d \"$1/new.XXXXXX\")
env > \"$told/env\"
cat > \"$told/record\"
printf '%s\\n' \"$@\" > \"$told/args\"
mv \"$told\" \"$1/told.$$\"
";

/// What a command was told.
struct Told {
    env: BTreeMap<String, String>,
    record: Value,
    args: String,
}

impl Told {
    fn var(&self, name: &str) -> &str {
        let name = format!("BRANCHYARD_{name}");
        self.env
            .get(&name)
            .unwrap_or_else(|| panic!("no {name} in {:?}", self.env))
    }
}

/// A yard that is asleep, whose section `[after.NAME]` has these further lines, and the place where its command keeps what it
/// is told.
fn keeping(sections: &[(&str, &str)]) -> (Yard, PathBuf) {
    let mut yard = Yard::asleep(Options::default());
    let kept = yard.dir.path().join("kept");
    fs::create_dir(&kept).unwrap();
    script(&yard, "keep.sh", KEEP);
    let tables = sections.iter().map(|(name, more)| {
        format!("[after.{name}]\ncommand = [\"./keep.sh\", {kept:?}]\n{more}\n")
    });
    yard.configure(Options {
        top: "public_url = \"https://yard.example.org\"".to_owned(),
        tables: tables.collect(),
        ..Options::default()
    });
    (yard, kept)
}

pub fn script(yard: &Yard, name: &str, text: &str) -> PathBuf {
    let path = yard.dir.path().join(name);
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What all commands were told so far.
fn told(kept: &Path) -> Vec<Told> {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let entries = fs::read_dir(kept).unwrap().map(|entry| entry.unwrap());
    let whole = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("told."));
    whole
        .map(|entry| {
            let env = read(entry.path().join("env"));
            let pairs = env.lines().filter_map(|line| line.split_once('='));
            Told {
                env: pairs
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                record: serde_json::from_str(&read(entry.path().join("record"))).unwrap(),
                args: read(entry.path().join("args")),
            }
        })
        .collect()
}

impl Yard {
    /// Waits until there are so many deliveries and none waits; these, the oldest first.
    pub async fn commands_done(&self, count: usize) -> Vec<Value> {
        let page = self
            .until_json(DELIVERIES, |page| {
                let items = page["items"].as_array().unwrap();
                items.len() == count && items.iter().all(|item| item["state"] != "waiting")
            })
            .await;
        let mut items = page["items"].as_array().unwrap().clone();
        items.reverse();
        items
    }

    async fn push_pipeline(&self) -> Value {
        let asked = json!({ "event": "push" });
        let started = self.post_json("/api/repos/demo/pipelines", asked).await;
        let id = started["pipeline_id"].as_str().unwrap();
        self.get_json(&format!("/api/pipelines/{id}?wait=50s"))
            .await
    }
}

#[tokio::test]
async fn a_command_is_told_of_each_run_and_pipeline_that_ends() {
    let (mut yard, kept) = keeping(&[("all", "")]);
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    // Git commands and steps of pipelines are no ends of their own.
    yard.run("git", "main", json!({ "operation": "status" }))
        .await;
    yard.make("main", &["who"]).await;
    yard.make("main", &["fail"]).await;
    let pipeline = yard.push_pipeline().await;
    let all = yard.commands_done(3).await;
    assert!(all.iter().all(|item| item["kind"] == "after"), "{all:#?}");
    assert!(all.iter().all(|item| item["to"] == "all"));
    let mut told = told(&kept);
    assert_eq!(told.len(), 3);
    told.sort_by_key(|told| told.var("STATE").to_owned() + told.var("KIND"));
    let [failed, good, of_pipeline] = &told[..] else {
        panic!("not three");
    };
    for (told, state, code) in [(failed, "failed", "2"), (good, "succeeded", "0")] {
        let run = told.var("RUN");
        assert_eq!((told.var("EVENT"), told.var("KIND")), ("run", "make"));
        assert_eq!((told.var("STATE"), told.var("EXIT_CODE")), (state, code));
        assert_eq!((told.var("REPO"), told.var("BRANCH")), ("demo", "main"));
        assert_eq!((told.var("PIPELINE"), told.var("REASON")), ("", ""));
        assert_eq!(told.var("PRINCIPAL"), "session");
        assert_eq!(
            told.var("URL"),
            format!("https://yard.example.org/#/run/{run}")
        );
        let shown = yard.get_json(&format!("/api/runs/{run}")).await;
        assert_eq!(told.record["run_id"], shown["run_id"]);
        assert_eq!(told.record["argv"], shown["argv"]);
        assert_eq!(told.var("COMMIT"), shown["about"]["commit"]);
        assert_eq!(told.var("DURATION_MS"), shown["duration_ms"].to_string());
        let delivery = all.iter().find(|item| item["run_id"] == run);
        assert_eq!(delivery.unwrap()["says"], state);
    }
    let id = pipeline["pipeline_id"].as_str().unwrap();
    assert_eq!(
        (of_pipeline.var("EVENT"), of_pipeline.var("KIND")),
        ("pipeline", "pipeline")
    );
    assert_eq!(
        (of_pipeline.var("PIPELINE"), of_pipeline.var("RUN")),
        (id, "")
    );
    assert_eq!(of_pipeline.var("STATE"), "succeeded");
    assert_eq!(of_pipeline.var("COMMIT"), pipeline["commit"]);
    assert_eq!(of_pipeline.record["jobs"][0]["state"], "succeeded");
    // What a run has in its environment, and nothing of the daemon's own.
    assert_eq!(good.env["CI"], "true");
    let left = fs::read_dir(yard.workspaces.join(".branchyard/after")).unwrap();
    assert_eq!(left.count(), 0, "nothing of a command stays");
    yard.stop().await;
}

#[tokio::test]
async fn a_section_says_after_which_ends_of_what() {
    let (mut yard, kept) = keeping(&[
        ("red", "on = [\"failed\"]"),
        ("pipelines", "kinds = [\"pipeline\"]"),
        ("others", "repos = [\"x*\"]"),
    ]);
    yard.origin.workflow("ci.yml", WORKFLOW);
    yard.start().await;
    yard.make("main", &["who"]).await;
    yard.make("main", &["fail"]).await;
    yard.push_pipeline().await;
    let all = yard.commands_done(2).await;
    let sent: Vec<_> = all
        .iter()
        .map(|item| item["to"].as_str().unwrap())
        .collect();
    assert_eq!(sent, ["red", "pipelines"]);
    assert_eq!(told(&kept).len(), 2);
    yard.stop().await;
}

#[tokio::test]
async fn what_a_branch_is_called_stays_data() {
    let branch = "x$(touch${IFS}pwned)\"';touch${IFS}pwned;`id`";
    let (mut yard, kept) = keeping(&[("all", "")]);
    let commit = yard.origin.branch(branch);
    yard.start().await;
    yard.make(branch, &["who"]).await;
    let items = yard.commands_done(1).await;
    assert_eq!(items[0]["state"], "delivered", "{items:#?}");
    let told = told(&kept).remove(0);
    assert_eq!(told.var("BRANCH"), branch);
    assert_eq!(told.record["branch"], branch);
    assert_eq!(told.var("COMMIT"), commit);
    assert_eq!(
        told.args,
        format!("{}\n", kept.display()),
        "the arguments are the operator's"
    );
    yard.stop().await;
}

#[tokio::test]
async fn a_command_that_hangs_delays_nothing_and_is_ended_at_its_limit() {
    let mut yard = Yard::asleep(Options::default());
    let gate = yard.dir.path().join("open");
    let waits =
        format!("i=0; while [ $i -lt 2000 ] && [ ! -e {gate:?} ]; do i=$((i+1)); sleep 0.02; done");
    let tried = yard.dir.path().join("tried");
    let late =
        format!("[ -e {tried:?} ] && exit; touch {tried:?}; sleep 1000 & echo begun; sleep 1000");
    yard.configure(Options {
        tables: format!(
            "[after.hangs]\ncommand = [\"sh\", \"-c\", {waits:?}]\non = [\"succeeded\"]\n\
             [after.late]\ncommand = [\"sh\", \"-c\", {late:?}]\n\
             on = [\"failed\"]\ntimeout = \"300ms\"\n"
        ),
        ..Options::default()
    });
    yard.start().await;
    for _ in 0..5 {
        let events = yard.make("main", &["who"]).await;
        assert_eq!(text_of(&events), "main\n");
    }
    yard.make("main", &["fail"]).await;
    // Five hang, and another receiver is served all the same.
    let is_late = |item: &&Value| item["to"] == "late";
    let page = yard
        .until_json(DELIVERIES, |page| {
            let mut items = page["items"].as_array().unwrap().iter();
            items.find(is_late).unwrap()["failures"] == 1
        })
        .await;
    let items = page["items"].as_array().unwrap();
    let late = items.iter().find(is_late).unwrap();
    assert_eq!(late["problem"], "it ran longer than 300ms: begun");
    let hanging = items.iter().filter(|item| item["to"] == "hangs");
    let states: Vec<_> = hanging.map(|item| &item["state"]).collect();
    assert_eq!(states, ["waiting"; 5]);
    fs::write(gate, "").unwrap();
    yard.until_json(DELIVERIES, |page| {
        let items = page["items"].as_array().unwrap();
        let mut hung = items.iter().filter(|item| item["to"] == "hangs");
        hung.all(|item| item["state"] == "delivered")
    })
    .await;
    yard.stop().await;
}

#[tokio::test]
async fn a_command_that_fails_says_why_without_its_secret_and_is_tried_again() {
    let mut yard = Yard::asleep(Options::default());
    let secret = yard.dir.path().join("key");
    fs::write(&secret, "a-secret-of-the-chat\n").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let mended = yard.dir.path().join("mended");
    script(
        &yard,
        "tell.sh",
        &format!(
            "#!/bin/sh\n[ -e {mended:?} ] && exit 0\necho first\necho \"no chat for $KEY\" >&2\nexit 3\n"
        ),
    );
    yard.configure(Options {
        tables: "[after.chat]\ncommand = [\"./tell.sh\"]\nsecret_files = { KEY = \"key\" }\n\
                 [after.gone]\ncommand = [\"no-such-program\"]\n"
            .to_owned(),
        ..Options::default()
    });
    yard.start().await;
    yard.make("main", &["who"]).await;
    let page = yard
        .until_json(DELIVERIES, |page| {
            let items = page["items"].as_array().unwrap();
            items.len() == 2 && items.iter().all(|item| item["failures"] == 1)
        })
        .await;
    let items = page["items"].as_array().unwrap();
    let of = |name: &str| items.iter().find(|item| item["to"] == name).unwrap();
    assert_eq!(of("chat")["problem"], "exit code 3: no chat for ***");
    let gone = of("gone")["problem"].as_str().unwrap();
    assert!(gone.starts_with("it was not started: "), "{gone}");
    assert!(items.iter().all(|item| item["next_at"].is_string()));
    fs::write(mended, "").unwrap();
    let id = of("chat")["delivery_id"].as_str().unwrap();
    let again = format!("{DELIVERIES}/{id}/redeliver");
    let again = yard.post_json(&again, json!({})).await;
    assert_eq!(again["state"], "waiting");
    yard.until_json(DELIVERIES, |page| {
        let mut items = page["items"].as_array().unwrap().iter();
        items.any(|item| item["to"] == "chat" && item["state"] == "delivered")
    })
    .await;
    yard.stop().await;
}

#[tokio::test]
async fn a_daemon_that_is_killed_around_the_end_of_a_run_has_the_command_run_all_the_same() {
    for point in ["end-recorded", "outbox-written", "end-told", "outbox-sent"] {
        let (mut yard, kept) = keeping(&[("all", "")]);
        let mut killed = yard.start_binary(&[("BRANCHYARD_CRASH_AT", point)]).await;
        // Its answer may never come.
        let path = "/stream/repos/demo/branches/main/make";
        let asked = yard
            .request(reqwest::Method::POST, path)
            .header("prefer", "respond-async")
            .json(&json!({ "args": ["who"] }));
        let _ = asked.send().await;
        assert!(!killed.ended().await.success(), "{point}");
        yard.start().await;
        let items = yard.commands_done(1).await;
        assert_eq!(items[0]["state"], "delivered", "{point}: {items:#?}");
        let told = told(&kept);
        assert_eq!(told.len(), 1, "{point}");
        let left = fs::read_dir(yard.workspaces.join(".branchyard/after")).unwrap();
        assert_eq!(left.count(), 0, "{point}");
        assert!(told.iter().all(|told| told.var("STATE") == "succeeded"));
        yard.stop().await;
    }
}

#[tokio::test]
async fn a_command_goes_on_without_its_daemon_and_is_not_run_twice() {
    let mut yard = Yard::asleep(Options::default());
    let dir = yard.dir.path().to_owned();
    let (begun, gate) = (dir.join("begun"), dir.join("open"));
    script(
        &yard,
        "wait.sh",
        &format!(
            "#!/bin/sh\necho once >> {begun:?}\ni=0\n\
             while [ $i -lt 2000 ] && [ ! -e {gate:?} ]; do i=$((i+1)); sleep 0.02; done\n"
        ),
    );
    yard.configure(Options {
        tables: "[after.waits]\ncommand = [\"./wait.sh\"]\n".to_owned(),
        ..Options::default()
    });
    let mut daemon = yard.start_binary(&[]).await;
    yard.make("main", &["who"]).await;
    until("the command has begun", || begun.exists()).await;
    daemon.kill().await;
    yard.start().await;
    let page = yard.get_json(DELIVERIES).await;
    assert_eq!(page["items"][0]["state"], "waiting", "{page:#}");
    fs::write(gate, "").unwrap();
    let items = yard.commands_done(1).await;
    assert_eq!(items[0]["state"], "delivered");
    assert_eq!(fs::read_to_string(begun).unwrap(), "once\n");
    yard.stop().await;
}

#[tokio::test]
async fn a_command_is_contained_as_runs_are_unless_its_section_says_otherwise() {
    let tables = |dir: &Path| {
        let look = format!(
            "cat >record; [ -s record ] && [ -e {dir:?}/origin.git ] && echo open || echo closed; exit 3"
        );
        format!(
            "[sandbox]\nprofile = \"standard\"\n\
             [after.inside]\ncommand = [\"sh\", \"-c\", {look:?}]\n\
             [after.outside]\ncommand = [\"sh\", \"-c\", {look:?}]\nsandbox = false\n\
             [after.script]\ncommand = [\"./script.sh\"]\n"
        )
    };
    let place = Options {
        tables: "[sandbox]\n".to_owned(),
        ..Options::default()
    };
    let mut yard = Yard::asleep(place);
    script(&yard, "script.sh", "#!/bin/sh\necho found; exit 3\n");
    yard.configure(Options {
        tables: tables(yard.dir.path()),
        ..Options::default()
    });
    yard.start().await;
    let events = yard.make("main", &["who"]).await;
    assert_eq!(text_of(&events), "main\n", "{events:?}");
    let page = yard
        .until_json(DELIVERIES, |page| {
            let items = page["items"].as_array().unwrap();
            items.len() == 3 && items.iter().all(|item| item["failures"] == 1)
        })
        .await;
    for (name, said) in [
        ("inside", "closed"),
        ("outside", "open"),
        ("script", "found"),
    ] {
        let mut items = page["items"].as_array().unwrap().iter();
        let item = items.find(|item| item["to"] == name).unwrap();
        assert_eq!(item["problem"], format!("exit code 3: {said}"), "{name}");
    }
    yard.stop().await;
}

#[tokio::test]
async fn a_daemon_without_such_commands_does_nothing_for_them() {
    let has_outbox = async |yard: &Yard| {
        let ready = yard.get_json("/readyz").await;
        let mut loops = ready["background"].as_array().unwrap().iter();
        loops.any(|one| one["name"] == "outbox")
    };
    let mut yard = Yard::new().await;
    yard.make("main", &["who"]).await;
    assert!(!has_outbox(&yard).await);
    assert_eq!(yard.get_json(DELIVERIES).await["items"], json!([]));
    assert!(!yard.workspaces.join(".branchyard/after").exists());
    yard.stop().await;
    let (mut yard, _) = keeping(&[("all", "")]);
    yard.start().await;
    assert!(has_outbox(&yard).await);
    yard.stop().await;
}
