//! `branchyard mcp`: a coding agent on stdio, in both eras of the protocol.

mod builds;
mod config;
mod cut;
mod hostile;
mod restart;
mod speaks;
mod stand_in;
mod streams;

use std::collections::HashMap;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, Command};

use super::{Said, Stderr, Underway, bare, command, said};
use crate::support::PATIENCE;

const OLDER: &str = "2025-11-25";
const NEWER: &str = "2026-07-28";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    Older,
    Newer,
}

/// An agent that speaks to the command as its child.
struct Agent {
    era: Era,
    stdin: Option<ChildStdin>,
    underway: Underway,
    stderr: Stderr,
    next_id: u64,
    /// What came while something else was waited for.
    answers: HashMap<String, Value>,
}

impl Agent {
    /// Starts the command; of the older era, after the handshake.
    async fn start(mut command: Command, era: Era) -> Self {
        command.stdin(Stdio::piped());
        let mut underway = Underway::start(command);
        let mut agent = Self {
            era,
            stdin: underway.child.stdin.take(),
            stderr: Stderr::of(&mut underway),
            underway,
            next_id: 1,
            answers: HashMap::new(),
        };
        if era == Era::Older {
            let hello = json!({
                "protocolVersion": OLDER, "capabilities": {},
                "clientInfo": { "name": "tests", "version": "1" },
            });
            let id = agent.ask("initialize", hello).await;
            let welcome = agent.result(&id).await;
            assert_eq!(welcome["protocolVersion"], OLDER);
            agent.notify("notifications/initialized", json!({})).await;
        }
        agent
    }

    async fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        let line = format!("{line}\n");
        let writing = tokio::time::timeout(PATIENCE, stdin.write_all(line.as_bytes()));
        writing.await.unwrap().unwrap();
    }

    async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.write(&message.to_string()).await;
    }

    /// Asks, and leaves the answer to be read; its id.
    async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        let id = json!(self.next_id);
        self.next_id += 1;
        if self.era == Era::Newer {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": NEWER,
                "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.write(&message.to_string()).await;
        id
    }

    async fn ask_tool(&mut self, name: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
        .await
    }

    /// The whole answer to a request, whenever it came.
    async fn answer(&mut self, id: &Value) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id.to_string()) {
                return answer;
            }
            let message = self.message().await;
            if message["method"].is_string() {
                continue;
            }
            let known = self.answers.insert(message["id"].to_string(), message);
            assert!(known.is_none(), "answered twice: {known:?}");
        }
    }

    /// The next message, whatever it is.
    async fn message(&mut self) -> Value {
        let line = self.underway.until(|_| true).await;
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    async fn result(&mut self, id: &Value) -> Value {
        let answer = self.answer(id).await;
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    async fn error(&mut self, id: &Value) -> (i64, String) {
        let answer = self.answer(id).await;
        let error = &answer["error"];
        let message = error["message"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"));
        (error["code"].as_i64().unwrap(), message.to_owned())
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.result(&id).await
    }

    /// The structured content of a tool that must not refuse.
    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.ask_tool(name, arguments).await;
        let result = self.result(&id).await;
        assert_ne!(result["isError"], true, "{name}: {result}");
        result["structuredContent"].clone()
    }

    /// Watches resources, each protocol in its own way.
    async fn watch(&mut self, uris: &[&str]) {
        if self.era == Era::Newer {
            let wanted = json!({ "notifications": { "resourceSubscriptions": uris } });
            self.ask("subscriptions/listen", wanted).await;
            let told = self.message().await;
            assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
            return;
        }
        for uri in uris {
            self.request("resources/subscribe", json!({ "uri": uri }))
                .await;
        }
    }

    /// Waits to be told of a resource until it reads so; all that was told of until then.
    async fn until_updated(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let told = self.message().await;
            if told["method"] != "notifications/resources/updated" {
                continue;
            }
            all.push(told["params"]["uri"].clone());
            if told["params"]["uri"] != uri {
                continue;
            }
            let read = self.request("resources/read", json!({ "uri": uri })).await;
            if read["contents"][0]["text"] == text {
                return all;
            }
        }
    }

    async fn tool_names(&mut self) -> Vec<String> {
        let tools = self.request("tools/list", json!({})).await;
        let tools = tools["tools"].as_array().unwrap().iter();
        tools
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Closes stdin and waits for the end, which must be a good one; what it said to people.
    async fn leave(mut self) -> String {
        self.stdin = None;
        let ended = self.underway.end().await;
        let said = self.stderr.rest().await;
        assert_eq!(ended.code, 0, "{said}");
        // The daemon may have told something by itself.
        let is_answer = |line: &&str| !line.contains("\"method\"");
        assert_eq!(ended.text().lines().find(is_answer), None);
        said
    }
}
