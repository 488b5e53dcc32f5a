//! The API as a document: what the daemon answers is what the document says.

use jsonschema::Draft;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::{Event, Following, Options, Yard, events_of};

struct Document(Value);

impl Document {
    async fn of(yard: &Yard) -> Self {
        let response = yard.client.get(format!("{}/openapi.json", yard.url));
        let response = response.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "application/json");
        Self(response.json().await.unwrap())
    }

    /// Asserts that an answer is one that the operation has; its body.
    async fn checked(&self, method: &Method, path: &str, response: Response) -> Value {
        let status = response.status();
        let kind = response.headers().get("content-type").cloned();
        let kind = kind.map(|kind| kind.to_str().unwrap().to_owned());
        let body = response.text().await.unwrap();
        let what = format!("{method} {path}: {status} {kind:?} {body}");

        let operation = &self.0["paths"][path][method.as_str().to_lowercase()];
        assert!(operation.is_object(), "{what}");
        let responses = &operation["responses"];
        let described = match &responses[status.as_str()] {
            Value::Null if status.is_client_error() => {
                &self.0["components"]["responses"]["Problem"]
            }
            described => described,
        };
        assert!(described.is_object(), "{what}");
        let Some(kind) = kind else {
            assert!(described["content"].is_null() && body.is_empty(), "{what}");
            return Value::Null;
        };
        let kind = kind.split(';').next().unwrap();
        let schema = &described["content"][kind]["schema"];
        assert!(schema.is_object(), "{what}");
        let body = match kind.ends_with("json") {
            true => serde_json::from_str(&body).unwrap(),
            false => Value::String(body),
        };
        let wrong = self.wrong(schema, &body);
        assert!(wrong.is_empty(), "{what}\n{}", wrong.join("\n"));
        body
    }

    /// What about a body is not as the schema says.
    fn wrong(&self, schema: &Value, body: &Value) -> Vec<String> {
        let mut schema = schema.clone();
        schema["components"] = self.0["components"].clone();
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        let wrong = validator.iter_errors(body);
        wrong.map(|wrong| wrong.to_string()).collect()
    }
}

/// Whoever asks, and compares.
struct Reader<'a> {
    yard: &'a Yard,
    document: Document,
    /// What stands in the braces of an address.
    names: Vec<(&'static str, String)>,
}

impl Reader<'_> {
    async fn ask(&self, method: Method, address: &str, body: Value, status: u16) -> Value {
        let mut path = address.to_owned();
        for (name, value) in &self.names {
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let mut request = self.yard.request(method.clone(), &path);
        if method != Method::GET {
            request = request.header("prefer", "respond-async").json(&body);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), status, "{method} {path}");
        let address = address.split('?').next().unwrap();
        self.document.checked(&method, address, response).await
    }

    async fn get(&self, address: &str) -> Value {
        self.ask(Method::GET, address, Value::Null, 200).await
    }

    async fn post(&self, address: &str, body: Value, status: u16) -> Value {
        self.ask(Method::POST, address, body, status).await
    }

    fn name(&mut self, name: &'static str, value: &Value) {
        self.names.push((name, value.as_str().unwrap().to_owned()));
    }
}

const BRANCH: &str = "/api/repos/{repo}/branches/{branch}";

#[tokio::test]
async fn answers_are_as_the_document_says() {
    let mut yard = Yard::with(Options {
        repo: "tasks.hello = [\"echo\", \"hello\"]".to_owned(),
        ..Options::default()
    })
    .await;
    yard.origin.branch("other");
    let mut reader = Reader {
        document: Document::of(&yard).await,
        yard: &yard,
        names: vec![("repo", "demo".to_owned()), ("branch", "main".to_owned())],
    };

    let run = reader
        .post(
            "/stream/repos/{repo}/branches/{branch}/make",
            json!({ "args": ["who"] }),
            202,
        )
        .await;
    reader.name("run", &run["run_id"]);
    reader.get("/api/runs/{run}?wait=50s").await;
    let failing = json!({ "args": ["no-such-target"] });
    let failed = reader
        .post("/stream/repos/{repo}/branches/{branch}/make", failing, 202)
        .await;
    yard.ended(failed["run_id"].as_str().unwrap()).await;
    let group = json!({ "branches": ["main", "other"], "args": ["who"] });
    let group = reader.post("/stream/repos/{repo}/make", group, 202).await;
    reader.name("group", &group["group_id"]);
    reader.get("/api/groups/{group}?wait=50s").await;
    reader
        .post(
            "/stream/repos/{repo}/branches/{branch}/task",
            json!({ "task": "hello" }),
            202,
        )
        .await;

    // A credential with bounds, and one that is taken back.
    let asked = json!({ "role": "ui", "name": "wall", "repos": ["demo"], "expires": "1d" });
    let token = reader.post("/api/tokens", asked, 201).await;
    reader.name("token", &token["id"]);

    // Work that is saved on its way out.
    reader.ask(Method::PUT, BRANCH, json!({}), 200).await;
    std::fs::write(yard.workspace("other").join("note.txt"), "note\n").unwrap();
    let mut other = Reader {
        document: Document(reader.document.0.clone()),
        yard: &yard,
        names: vec![("repo", "demo".to_owned()), ("branch", "other".to_owned())],
    };
    other
        .ask(
            Method::PUT,
            &format!("{BRANCH}/pin"),
            json!({ "reason": "mine" }),
            200,
        )
        .await;
    other
        .ask(Method::DELETE, &format!("{BRANCH}/pin"), json!({}), 204)
        .await;
    let gone = other
        .ask(
            Method::DELETE,
            &format!("{BRANCH}?force=true"),
            json!({}),
            200,
        )
        .await;
    other.name("salvage", &gone["salvage"]["id"]);
    for address in [
        "/api/salvage",
        "/api/salvage/{salvage}",
        "/api/salvage/{salvage}/file?path=note.txt",
    ] {
        other.get(address).await;
    }
    other
        .post("/api/salvage/{salvage}/restore", json!({}), 200)
        .await;
    other
        .ask(Method::DELETE, "/api/salvage/{salvage}", json!({}), 204)
        .await;

    for address in LOOKS {
        reader.get(address).await;
    }
    for (address, body) in [
        ("ls", json!({})),
        ("read_file", json!({ "path": "Makefile" })),
        ("grep", json!({ "pattern": "main", "context": 1 })),
        ("git/quick", json!({ "operation": "status" })),
        ("git/status", json!({})),
        ("git/log", json!({})),
        ("git/show", json!({})),
        ("git/diff", json!({})),
        ("git/branch", json!({ "action": "list" })),
        ("git/worktree", json!({})),
        ("git/reflog", json!({})),
        ("git/fetch", json!({})),
    ] {
        reader.post(&format!("{BRANCH}/{address}"), body, 200).await;
    }
    reader.post("/api/reap?dry_run=true", json!({}), 200).await;
    reader.post("/api/findings/mend", json!({}), 200).await;
    reader.post("/api/repos/{repo}/clone", json!({}), 200).await;
    reader
        .post("/api/repos/{repo}/maintain", json!({}), 200)
        .await;
    reader.post("/api/runs/{run}/cancel", json!({}), 202).await;
    reader
        .post("/api/groups/{group}/cancel", json!({}), 202)
        .await;
    reader.post("/api/session", json!({}), 200).await;
    reader.post("/api/session/ticket", json!({}), 201).await;
    reader
        .ask(Method::DELETE, "/api/tokens/{token}", json!({}), 200)
        .await;
    let agent = json!({ "repo": "demo", "agent_id": "a", "task_id": "t" });
    reader.post("/api/git/clone", agent, 200).await;
    reader
        .post("/api/git/init", json!({ "repo": "fresh" }), 200)
        .await;
    // What failed is no problem unless the caller says so, and then it is still the run.
    reader.names.retain(|(name, _)| *name != "run");
    reader.name("run", &failed["run_id"]);
    reader.get("/api/runs/{run}/diagnostics").await;
    reader
        .ask(Method::GET, "/api/runs/{run}?fail=true", Value::Null, 422)
        .await;
    yard.stop().await;
}

#[tokio::test]
async fn events_are_as_the_document_says() {
    let mut yard = Yard::new().await;
    yard.origin.branch("other");
    let document = Document::of(&yard).await;
    let item = |method: &str, path: &str| {
        let content = &document.0["paths"][path][method]["responses"]["200"]["content"];
        let item = content["application/x-ndjson"]["x-item-schema"].clone();
        assert_eq!(content["text/event-stream"]["x-item-schema"], item);
        for (what, kind) in [("a made-up one", "made_up"), ("an empty one", "status")] {
            let wrong = document.wrong(&item, &json!({ "type": kind }));
            assert!(!wrong.is_empty(), "{path}: {what} passes");
        }
        item
    };
    let check = |item: &Value, events: &[Event], kinds: &[&str]| {
        for event in events {
            let wrong = document.wrong(item, &event.data);
            assert!(wrong.is_empty(), "{}\n{}", event.data, wrong.join("\n"));
        }
        for kind in kinds {
            let is_told = events.iter().any(|event| event.kind == *kind);
            assert!(is_told, "{kind} is not among {events:?}");
        }
    };
    let watching = yard.request(Method::GET, "/stream/events");
    let watching = watching.header("accept", "application/x-ndjson");
    let mut watching = Following::new(watching.send().await.unwrap());

    let runs = item("post", "/stream/repos/{repo}/branches/{branch}/make");
    let printing = "all:\n\t@printf 'a\\r\\n\\377\\nb'; echo c >&2; exit 3\n";
    yard.origin.write("Makefile", printing);
    yard.origin.commit("print all kinds of lines");
    yard.origin.push("main");
    let failed = yard.make("main", &[]).await;
    check(&runs, &failed, &["status", "stdout", "stderr", "complete"]);
    assert!(failed.iter().any(|event| event.data["b64"].is_string()));
    yard.origin.branch("topic");
    yard.make("topic", &["who"]).await;
    yard.origin.delete("topic");
    check(&runs, &yard.make("topic", &[]).await, &["error"]);
    std::fs::write(yard.workspace("main").join("Makefile"), "all:\n").unwrap();
    check(&runs, &yard.make("main", &[]).await, &["warning"]);

    let groups = item("post", "/stream/repos/{repo}/make");
    let asked = json!({ "branches": ["main", "other"], "args": [] });
    let group = yard.post("/stream/repos/demo/make", asked).await;
    let group = events_of(group).await;
    check(&groups, &group, &["group", "started", "ended", "summary"]);
    let id = group[0].data["group_id"].as_str().unwrap();
    let output = yard.get(&format!("/stream/groups/{id}?output=true")).await;
    check(&groups, &events_of(output).await, &["stdout"]);

    let gone = yard
        .delete("/api/repos/demo/branches/main?force=true")
        .await;
    assert_eq!(gone.status(), 200);
    watching
        .until(|event| event.kind == "workspace" && event.data["change"] == "removed")
        .await;
    let told = ["hello", "queue", "workspace", "run", "repo", "salvage"];
    check(&item("get", "/stream/events"), &watching.events, &told);
    yard.stop().await;
}

/// What there is to see once something was done.
const LOOKS: &[&str] = &[
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/api/machine",
    "/api/repos",
    "/api/repos/{repo}",
    "/api/findings",
    "/api/repos/{repo}/branches",
    "/api/repos/{repo}/branches?remote=true",
    "/api/repos/{repo}/branches?limit=1",
    "/api/repos/{repo}/branches/{branch}",
    "/api/repos/{repo}/branches/{branch}/env",
    "/api/repos/{repo}/branches/{branch}/activity",
    "/api/repos/{repo}/branches/{branch}/make_targets",
    "/api/runs",
    "/api/runs?limit=1&kind=make&repo=demo",
    "/api/runs/{run}",
    "/api/runs/{run}/diagnostics",
    "/api/runs/{run}/log",
    "/api/runs/{run}/log?tail=1",
    "/stream/runs/{run}",
    "/stream/groups/{group}",
    "/api/groups/{group}",
    "/api/session",
    "/api/whoami",
    "/api/tokens",
    "/api/tokens/{token}",
    "/api/reap",
    "/api/audit",
    "/api/audit?limit=1",
];

#[tokio::test]
async fn an_answer_that_is_not_as_the_document_says_is_noticed() {
    let mut yard = Yard::new().await;
    let document = Document::of(&yard).await;
    let list = json!({ "$ref": "#/components/schemas/RepoSummaryList" });
    let mut repos = yard.get_json("/api/repos").await;
    assert_eq!(document.wrong(&list, &repos), Vec::<String>::new());
    repos["items"][0]["name"] = "no name".into();
    repos["items"][0]["cloned"] = Value::Null;
    assert_eq!(document.wrong(&list, &repos).len(), 2);
    yard.stop().await;
}

#[tokio::test]
async fn problems_are_as_the_document_says() {
    let mut yard = Yard::new().await;
    let reader = Reader {
        document: Document::of(&yard).await,
        yard: &yard,
        names: vec![
            ("repo", "nowhere".to_owned()),
            ("branch", "main".to_owned()),
            ("run", "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b".to_owned()),
        ],
    };
    for (method, address, body, status) in [
        (Method::GET, "/api/repos/{repo}", Value::Null, 404),
        (Method::GET, "/api/runs/{run}", Value::Null, 404),
        (Method::GET, "/api/runs?limit=0", Value::Null, 422),
        (Method::GET, "/api/runs?unknown=1", Value::Null, 422),
        (
            Method::POST,
            "/api/repos",
            json!({ "name": "x", "unknown": 1 }),
            422,
        ),
        (
            Method::POST,
            "/api/repos",
            json!({ "name": "demo", "url": "https://x.example/y" }),
            409,
        ),
        (
            Method::GET,
            "/.well-known/oauth-protected-resource",
            Value::Null,
            404,
        ),
        (Method::PUT, BRANCH, json!({}), 404),
    ] {
        reader.ask(method, address, body, status).await;
    }
    let stranger = yard
        .client
        .get(format!("{}/api/repos", yard.url))
        .send()
        .await
        .unwrap();
    assert_eq!(stranger.status(), StatusCode::UNAUTHORIZED);
    reader
        .document
        .checked(&Method::GET, "/api/repos", stranger)
        .await;
    yard.stop().await;
}

#[tokio::test]
async fn the_document_is_sent_once_to_whoever_keeps_it() {
    let mut yard = Yard::new().await;
    let document = format!("{}/openapi.json", yard.url);
    let first = yard.client.get(&document).send().await.unwrap();
    let tag = first.headers()["etag"].clone();
    let again = yard.client.get(&document).header("if-none-match", tag);
    let again = again.send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert!(again.bytes().await.unwrap().is_empty());
    yard.stop().await;
}
