//! Commands in the background: others run beside them, and they end when they are to.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{Agent, Options, Yard, is_alive, problem_of, processes_of, text_of, until};

const BRANCH: &str = "feature";
const PATH: &str = "/stream/repos/demo/branches/feature/exec";

fn yard(more: &str) -> Yard {
    let yard = Yard::asleep(Options {
        tables: format!("[sandbox]\nprofile = \"standard\"\n{more}\n"),
        timeouts: "grace = \"1s\"\ndrain = \"500ms\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.push(BRANCH);
    yard
}

/// One that nothing listens on.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Yard {
    /// Starts a command in the background; its record.
    async fn begin(&self, mut body: Value) -> Value {
        body["background"] = true.into();
        let request = self.request(reqwest::Method::POST, PATH).json(&body);
        let request = request.header("prefer", "respond-async");
        request.send().await.unwrap().json().await.unwrap()
    }

    /// The same, when it is ready or has ended.
    async fn helper(&self, body: Value) -> Value {
        let begun = self.begin(body).await;
        let id = begun["run_id"]
            .as_str()
            .unwrap_or_else(|| panic!("{begun}"));
        self.get_json(&format!("/api/runs/{id}?wait=50s&ready=true"))
            .await
    }

    async fn write(&self, path: &str) {
        let at = format!("/api/repos/demo/branches/{BRANCH}/write_file");
        let body = json!({ "path": path, "content": "x" });
        self.post_json(&at, body).await;
    }

    async fn cancel(&self, id: &str) -> Value {
        self.post_json(&format!("/api/runs/{id}/cancel"), json!({}))
            .await;
        self.ended(id).await
    }
}

fn id_of(run: &Value) -> String {
    run["run_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn others_run_beside_it_and_the_next_daemon_goes_on_with_it() {
    let mut yard = yard("");
    let mut daemon = yard.start_binary(&[]).await;
    let port = free_port();
    let serve = json!({
        "argv": ["python3", "-m", "http.server", "--bind", "127.0.0.1", port.to_string()],
        "ready": { "port": port },
    });
    let helper = yard.helper(serve.clone()).await;
    assert_eq!(helper["state"], "running", "{helper}");
    assert!(helper["ready_at"].is_string(), "{helper}");
    let id = id_of(&helper);

    let fetch = json!({ "argv": ["python3", "-c", format!(
        "import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/Makefile').status)"
    )] });
    let events = yard.run("exec", BRANCH, fetch.clone()).await;
    assert!(text_of(&events).contains("200"), "{events:?}");
    let warned = events
        .iter()
        .find(|event| event.data["code"] == "helper_at_work");
    assert!(warned.is_some_and(|event| event.data["message"].as_str().unwrap().contains(&id)));
    // Git and edits do not wait for it either.
    yard.write("new.txt").await;
    let new = json!({ "paths": ["new.txt"] });
    assert_eq!(yard.try_verb(BRANCH, "add", new).await.status(), 200);
    // The port is taken now.
    let second = yard.helper(serve).await;
    assert_eq!(second["error"]["code"], "port_in_use", "{second}");

    daemon.kill().await;
    let mut daemon = yard.start_binary(&[]).await;
    let events = yard.run("exec", BRANCH, fetch).await;
    assert!(text_of(&events).contains("200"), "{events:?}");
    let adopted = yard
        .get_json(&format!("/api/runs/{id}?wait=50s&ready=true"))
        .await;
    assert_eq!(
        (&adopted["state"], &adopted["ready_at"]),
        (&json!("running"), &helper["ready_at"])
    );
    let ended = yard.cancel(&id).await;
    assert_eq!(ended["state"], "cancelled", "{ended}");
    assert_eq!(processes_of(&id), [""; 0]);
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_ready_by_a_line_or_a_file_or_is_ended() {
    let mut yard = yard("");
    yard.start().await;
    let slow = "echo is; sleep 0.3; printf 'up and '; sleep 0.3; echo running >&2; touch there; exec sleep 60";
    for (ready, is_ready) in [
        (json!({ "line": "up and" }), true),
        (json!({ "line": "running", "within": "20s" }), true),
        (json!({ "file": "there" }), true),
        // No line has both.
        (json!({ "line": "is up", "within": "2s" }), false),
        (
            json!({ "file": "Makefile/there", "within": "500ms" }),
            false,
        ),
        (json!({ "port": free_port(), "within": "500ms" }), false),
    ] {
        let run = yard
            .helper(json!({ "argv": ["sh", "-c", slow], "ready": ready }))
            .await;
        assert_eq!(run["ready_at"].is_string(), is_ready, "{ready}: {run}");
        let _ = std::fs::remove_file(yard.workspace(BRANCH).join("there"));
        let (state, reason) = (&run["state"], run["reason"].as_str().unwrap_or_default());
        match is_ready {
            true => assert_eq!(yard.cancel(&id_of(&run)).await["state"], "cancelled"),
            false => {
                assert_eq!(state, "cancelled");
                assert!(reason.starts_with("it was not ready within"), "{reason}");
            }
        }
    }
    // What was there before says nothing.
    let old = json!({ "argv": ["sleep", "60"], "ready": { "file": "Makefile" } });
    let run = yard.helper(old).await;
    assert_eq!(run["error"]["code"], "file_in_use", "{run}");
    // One that ends first is not waited for, and keeps its own end.
    let run = yard
        .helper(json!({ "argv": ["sh", "-c", "exit 7"], "ready": { "line": "x" } }))
        .await;
    assert_eq!(
        (&run["state"], &run["exit_code"]),
        (&json!("failed"), &json!(7))
    );
    // It is bounded in time like any other.
    let run = yard
        .helper(json!({ "argv": ["sleep", "60"], "timeout": "1s" }))
        .await;
    assert_eq!(yard.ended(&id_of(&run)).await["state"], "timed_out");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_with_its_workspace_which_is_not_reaped_meanwhile() {
    let reaper =
        "[reaper]\nmax_size = \"1B\"\nlow_water = \"1B\"\nhigh_water = \"1B\"\ninterval = \"1h\"";
    let mut yard = yard(reaper);
    yard.start().await;
    let helper = yard
        .helper(json!({ "argv": ["sh", "-c", "cd /; exec sleep 60"] }))
        .await;
    let id = id_of(&helper);
    yard.put("/api/repos/demo/branches/main", json!({})).await;
    yard.post_json("/api/reap", json!({})).await;
    assert!(yard.workspace(BRANCH).exists());
    assert!(!yard.workspace("main").exists());
    let supervisor = yard.supervisor_of(&id);

    // Work keeps the workspace, and so the helper.
    yard.write("work.txt").await;
    let at = format!("/api/repos/demo/branches/{BRANCH}");
    let (status, refused) = problem_of(yard.delete(&at).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("workspace_has_work")),
        "{refused}"
    );
    assert!(is_alive(supervisor));
    let removed = yard.delete(&format!("{at}?force=true")).await;
    assert!(removed.status().is_success());
    assert!(!yard.workspace(BRANCH).exists());
    let ended = yard.ended(&id).await;
    assert_eq!(ended["reason"], "its workspace is removed", "{ended}");
    until("it is gone", || !is_alive(supervisor)).await;
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_and_what_is_too_many_is_refused() {
    let mut yard = yard("[limits]\nmax_background_runs_per_principal = 2\n");
    yard.start().await;
    let sleep = || json!({ "argv": ["sleep", "60"], "background": true });
    for (ready, field) in [
        (json!({}), "ready"),
        (json!({ "port": 1, "line": "x" }), "ready"),
        (json!({ "port": 0 }), "ready.port"),
        (json!({ "line": "" }), "ready.line"),
        (json!({ "line": "two\nlines" }), "ready.line"),
        (json!({ "file": "../x" }), "ready.file"),
        (json!({ "file": "/etc/passwd" }), "ready.file"),
        (json!({ "line": "x", "within": "soon" }), "ready.within"),
    ] {
        let mut body = sleep();
        body["ready"] = ready;
        let (status, problem) = problem_of(yard.post(PATH, body).await).await;
        assert_eq!(
            (status, problem["field"].as_str()),
            (422, Some(field)),
            "{problem}"
        );
    }
    let unasked = json!({ "argv": ["sleep", "60"], "ready": { "line": "x" } });
    let (status, problem) = problem_of(yard.post(PATH, unasked).await).await;
    assert_eq!((status, problem["field"].as_str()), (422, Some("ready")));
    let make = PATH.replace("/exec", "/make");
    let (status, problem) = problem_of(yard.post(&make, json!({ "background": true })).await).await;
    assert_eq!(
        (status, problem["field"].as_str()),
        (422, Some("background"))
    );

    let running = [yard.helper(sleep()).await, yard.helper(sleep()).await];
    let (status, problem) = problem_of(yard.post(PATH, sleep()).await).await;
    assert_eq!(
        (status, &problem["code"]),
        (429, &json!("too_many_background_runs"))
    );
    for run in &running {
        yard.cancel(&id_of(run)).await;
    }
    // An agent has the same, and is told what to do next.
    let agent = Agent::with(&yard, &[("branchyard-toolsets", "code")]);
    let asked = json!({
        "repo": "demo", "branch": BRANCH, "argv": ["sh", "-c", "echo up; exec sleep 60"],
        "background": true, "ready": { "line": "up" },
    });
    let told = agent.call("exec", asked).await;
    assert_eq!(
        (&told["state"], &told["ready"]),
        (&json!("running"), &json!(true))
    );
    assert!(
        told["next"].as_str().unwrap().contains("run_cancel"),
        "{told}"
    );
    let cancelled = Agent::new(&yard)
        .call("run_cancel", json!({ "run_id": told["run_id"] }))
        .await;
    assert_eq!(cancelled["state"], "cancelled", "{cancelled}");
    yard.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_a_network_of_its_own_is_not_waited_for() {
    let mut yard = Yard::asleep(Options {
        tables: "[sandbox]\nprofile = \"strict\"\n".to_owned(),
        ..Options::default()
    });
    yard.origin.push(BRANCH);
    yard.start().await;
    let port = free_port();
    let body = json!({ "argv": ["sleep", "60"], "background": true, "ready": { "port": port } });
    let (status, problem) = problem_of(yard.post(PATH, body).await).await;
    assert_eq!(
        (status, problem["field"].as_str()),
        (422, Some("ready.port")),
        "{problem}"
    );
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("a network of their own"), "{detail}");
    let runs = yard.get_json("/api/runs?kind=exec").await;
    assert_eq!(runs["items"], json!([]), "none was started");
    yard.stop().await;
}

/// What is made while it is at work may be its doing as well as another command's.
#[tokio::test(flavor = "multi_thread")]
async fn what_it_makes_beside_another_command_is_work() {
    let mut yard = yard("");
    yard.start().await;
    let ignored = "echo made > .git-ignored; mv .git-ignored kept.ignored";
    yard.origin.write(".gitignore", "*.ignored\n");
    yard.origin.commit("ignore");
    yard.origin.push(BRANCH);
    let serves =
        format!("while [ ! -e go ]; do sleep 0.02; done; {ignored}; touch done; exec sleep 60");
    let helper = yard.helper(json!({ "argv": ["sh", "-c", serves] })).await;
    let waits = "touch go; while [ ! -e done ]; do sleep 0.02; done; rm go done";
    let events = yard
        .run("exec", BRANCH, json!({ "argv": ["sh", "-c", waits] }))
        .await;
    assert_eq!(events.last().unwrap().data["state"], "succeeded");
    // Nothing is ended before it is known that the workspace may go.
    let at = format!("/api/repos/demo/branches/{BRANCH}");
    let (status, refused) = problem_of(yard.delete(&at).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("workspace_has_work")),
        "{refused}"
    );
    // Nor does the branch get another name.
    let rename = json!({ "action": "rename", "name": BRANCH, "new_name": "other" });
    let (status, refused) = problem_of(yard.try_verb(BRANCH, "branch", rename).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("workspace_in_use")),
        "{refused}"
    );
    assert!(
        refused["detail"]
            .as_str()
            .unwrap()
            .contains(&id_of(&helper)),
        "{refused}"
    );
    yard.cancel(&id_of(&helper)).await;
    let (status, refused) = problem_of(yard.delete(&at).await).await;
    assert_eq!(
        (status, &refused["code"]),
        (409, &json!("workspace_has_work")),
        "{refused}"
    );
    yard.stop().await;
}
