//! A client of `/mcp`, of either era, that looks at every byte.

use std::sync::atomic::{AtomicU64, Ordering};

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use super::{PATIENCE, Yard};

pub const OLDER: &str = "2025-11-25";
pub const NEWER: &str = "2026-07-28";
/// What a whole answer may take.
const MOST: usize = 20_000;

/// Speaks to a yard's `/mcp` as one agent does.
pub struct Agent {
    client: Client,
    url: String,
    key: String,
    headers: Vec<(&'static str, String)>,
    /// Of the older protocol.
    session: Option<String>,
    ids: AtomicU64,
}

/// An answer under way.
pub struct Answering {
    response: Response,
    /// A piece may end within a character.
    buffer: Vec<u8>,
    is_stream: bool,
    size: usize,
}

impl Agent {
    /// Of the newer protocol, which has no sessions.
    pub fn new(yard: &Yard) -> Self {
        Self::with(yard, &[])
    }

    /// With headers, as a client's configuration gives them.
    pub fn with(yard: &Yard, headers: &[(&'static str, &str)]) -> Self {
        Self {
            client: yard.client.clone(),
            url: format!("{}/mcp", yard.url),
            key: yard.key(),
            headers: headers
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()))
                .collect(),
            session: None,
            ids: AtomicU64::new(1),
        }
    }

    /// The same with another credential than the session key.
    pub fn holding(mut self, token: &str) -> Self {
        self.key = token.to_owned();
        self
    }

    /// Of the older protocol, after its handshake.
    pub async fn older(yard: &Yard, headers: &[(&'static str, &str)]) -> Self {
        Self::older_able(yard, headers, json!({})).await
    }

    /// The same with capabilities of the client's.
    pub async fn older_able(
        yard: &Yard,
        headers: &[(&'static str, &str)],
        capabilities: Value,
    ) -> Self {
        Self::with(yard, headers).shake_hands(capabilities).await
    }

    /// Of the older protocol, with another credential than the session key.
    pub async fn older_holding(yard: &Yard, token: &str) -> Self {
        Self::new(yard).holding(token).shake_hands(json!({})).await
    }

    async fn shake_hands(self, capabilities: Value) -> Self {
        let mut agent = self;
        let hello = json!({
            "protocolVersion": OLDER,
            "capabilities": capabilities,
            "clientInfo": { "name": "tests", "version": "1" },
        });
        let message = agent.message("initialize", &hello);
        let response = agent.send(&message).await;
        assert_eq!(response.status(), 200);
        let session = response.headers()["mcp-session-id"]
            .to_str()
            .unwrap()
            .to_owned();
        Answering::new(response).end().await.unwrap();
        agent.session = Some(session);
        agent.notify("notifications/initialized", json!({})).await;
        agent
    }

    /// Goes on with another daemon, as after a restart.
    pub fn move_to(&mut self, yard: &Yard) {
        self.url = format!("{}/mcp", yard.url);
        self.key = yard.key();
    }

    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    fn message(&self, method: &str, params: &Value) -> Value {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Sends a message as it is, with the headers that its protocol asks for.
    pub async fn send(&self, message: &Value) -> Response {
        let mut message = message.clone();
        let opening = message["method"] == "initialize";
        let mut request = self
            .client
            .request(Method::POST, &self.url)
            .header("authorization", format!("Bearer {}", self.key))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(session) = &self.session {
            request = request
                .header("mcp-session-id", session)
                .header("mcp-protocol-version", OLDER);
        } else if !opening {
            request = request
                .header("mcp-protocol-version", NEWER)
                .header("mcp-method", message["method"].as_str().unwrap());
            let params = &message["params"];
            let named = ["name", "uri", "taskId"];
            if let Some(name) = named.iter().find_map(|field| params[*field].as_str()) {
                request = request.header("mcp-name", name);
            }
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": NEWER,
                "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let known = message["params"]["_meta"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            let mut all = meta.as_object().cloned().unwrap();
            all.extend(known);
            message["params"]["_meta"] = all.into();
        }
        tokio::time::timeout(PATIENCE, request.body(message.to_string()).send())
            .await
            .unwrap()
            .unwrap()
    }

    pub async fn notify(&self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        assert_eq!(self.send(&message).await.status(), 202);
    }

    /// Asks, and leaves the answer to be read.
    pub async fn ask(&self, method: &str, params: Value) -> Answering {
        Answering::new(self.send(&self.message(method, &params)).await)
    }

    /// The result, or the error's `code` and `message`.
    pub async fn request(&self, method: &str, params: Value) -> Result<Value, Value> {
        self.ask(method, params).await.end().await
    }

    /// The result, or the error; no larger than any answer may be.
    pub async fn bounded(&self, method: &str, params: Value) -> Result<Value, Value> {
        let mut answering = self.ask(method, params).await;
        let answer = answering.end().await;
        let size = answering.size;
        assert!(size <= MOST, "{method} answered with {size} bytes");
        answer
    }

    /// The content of a resource, or the error.
    pub async fn read(&self, uri: &str) -> Result<Value, Value> {
        let read = self
            .bounded("resources/read", json!({ "uri": uri }))
            .await?;
        let contents = read["contents"].as_array().unwrap();
        assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)));
        Ok(contents[0].clone())
    }

    /// The text of a resource that must be there.
    pub async fn text(&self, uri: &str) -> String {
        let content = self.read(uri).await;
        let content = content.unwrap_or_else(|error| panic!("{uri}: {error}"));
        content["text"].as_str().unwrap().to_owned()
    }

    /// What a prompt says, or the error.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<String, Value> {
        let params = json!({ "name": name, "arguments": arguments });
        let prompt = self.bounded("prompts/get", params).await?;
        let message = &prompt["messages"][0];
        assert_eq!(message["role"], "user");
        Ok(message["content"]["text"].as_str().unwrap().to_owned())
    }

    /// Watches resources, each protocol in its own way; the changes come on the stream.
    pub async fn watch(&self, uris: &[&str]) -> Answering {
        if self.session.is_none() {
            let wanted = json!({ "notifications": { "resourceSubscriptions": uris } });
            let mut changes = self.ask("subscriptions/listen", wanted).await;
            let told = changes.next().await.unwrap();
            assert_eq!(
                told["method"], "notifications/subscriptions/acknowledged",
                "{told}"
            );
            assert_eq!(
                told["params"]["notifications"]["resourceSubscriptions"],
                json!(uris)
            );
            // Each is told of once at the start.
            let mut told = Vec::new();
            for _ in uris {
                told.push(changes.update().await);
            }
            told.sort();
            let mut uris = uris.to_vec();
            uris.sort_unstable();
            assert_eq!(told, uris);
            return changes;
        }
        let changes = self.notifications().await;
        for uri in uris {
            let subscribed = self.request("resources/subscribe", json!({ "uri": uri }));
            subscribed.await.unwrap();
        }
        changes
    }

    /// What a session is told outside of any request.
    pub async fn notifications(&self) -> Answering {
        let request = self
            .client
            .get(&self.url)
            .header("authorization", format!("Bearer {}", self.key))
            .header("accept", "text/event-stream")
            .header("mcp-protocol-version", OLDER)
            .header("mcp-session-id", self.session.as_deref().unwrap());
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Answering::new(response)
    }

    /// With all git tools, at work on one branch of the demo.
    pub fn of_git(yard: &Yard, branch: &str) -> Self {
        let sets = "yard,build,git_read,git_write";
        let headers = [
            ("branchyard-toolsets", sets),
            ("branchyard-repo", "demo"),
            ("branchyard-branch", branch),
        ];
        Self::with(yard, &headers)
    }

    /// The whole result of a tool, whatever it says.
    pub async fn tool(&self, name: &str, arguments: Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let mut answering = self.ask("tools/call", params).await;
        let result = answering
            .end()
            .await
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(
            answering.size <= MOST,
            "{name} answered with {} bytes",
            answering.size
        );
        result
    }

    /// The structured content of a tool that must not refuse.
    pub async fn call(&self, name: &str, arguments: Value) -> Value {
        let result = self.tool(name, arguments).await;
        assert_ne!(result["isError"], true, "{name}: {result}");
        result["structuredContent"].clone()
    }

    /// What a tool says that must refuse.
    pub async fn refusal(&self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await;
        assert_eq!(result["isError"], true, "{name}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

impl Answering {
    pub fn new(response: Response) -> Self {
        let kind = response.headers().get("content-type").cloned();
        let is_stream = kind.is_some_and(|kind| kind == "text/event-stream");
        Self {
            response,
            buffer: Vec::new(),
            is_stream,
            size: 0,
        }
    }

    /// The next message: a notification or the answer; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            let end = match self.is_stream {
                true => self
                    .buffer
                    .windows(2)
                    .position(|two| two == b"\n\n")
                    .map(|end| end + 2),
                false => None,
            };
            if let Some(end) = end {
                let event: Vec<u8> = self.buffer.drain(..end).collect();
                let event = String::from_utf8(event).unwrap();
                let data: String = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:").map(str::trim))
                    .collect();
                if !data.is_empty() {
                    self.size = data.len();
                    return Some(serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            let chunk = tokio::time::timeout(PATIENCE, self.response.chunk());
            match chunk.await.unwrap().unwrap() {
                Some(chunk) => self.buffer.extend(chunk),
                None if self.buffer.is_empty() => return None,
                None => {
                    let whole = String::from_utf8(std::mem::take(&mut self.buffer)).unwrap();
                    self.size = whole.len();
                    return Some(serde_json::from_str(&whole).unwrap_or(Value::String(whole)));
                }
            }
        }
    }

    /// The resource that the next notification says was updated.
    pub async fn update(&mut self) -> String {
        let told = tokio::time::timeout(PATIENCE, self.next()).await;
        let told = told.expect("an update comes").unwrap();
        assert_eq!(told["method"], "notifications/resources/updated", "{told}");
        told["params"]["uri"].as_str().unwrap().to_owned()
    }

    /// The answer itself, past all notifications.
    pub async fn end(&mut self) -> Result<Value, Value> {
        while let Some(message) = self.next().await {
            if let Some(result) = message.get("result") {
                return Ok(result.clone());
            }
            if let Some(error) = message.get("error") {
                return Err(error.clone());
            }
            assert!(message.get("method").is_some(), "{message}");
        }
        panic!("the stream ended without an answer");
    }
}
