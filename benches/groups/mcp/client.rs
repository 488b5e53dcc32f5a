//! One client for every server: newline-delimited JSON-RPC over a child's pipes, in the older protocol,
//! which all of them speak.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub struct Client {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    /// Starts the server and shakes hands.
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut client = Self {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            child,
            id: 0,
        };
        client.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            }),
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers write it on the spot"
    )]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, &params);
        loop {
            let message = self.read();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{message}");
                return message["result"].clone();
            }
        }
    }

    /// What a tool says, all of it.
    pub fn call(&mut self, (tool, arguments): &(&str, Value)) -> String {
        let result = self.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result.to_string()
    }

    /// So many calls, `at_once` of them under way.
    pub fn calls(&mut self, (tool, arguments): &(&str, Value), count: usize, at_once: usize) {
        let params = json!({ "name": tool, "arguments": arguments });
        let mut open = HashSet::new();
        let mut left = count;
        while left > 0 || !open.is_empty() {
            while left > 0 && open.len() < at_once {
                open.insert(self.request("tools/call", &params));
                left -= 1;
            }
            let message = self.read();
            if let Some(id) = message["id"]
                .as_u64()
                .filter(|_| message["method"].is_null())
            {
                assert!(open.remove(&id), "{message}");
                assert_ne!(message["result"]["isError"], true, "{message}");
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.id += 1;
        let id = self.id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
        self.to.flush().unwrap();
    }

    /// The next message; one of the servers logs to its stdout as well.
    fn read(&mut self) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.from.read_line(&mut line).unwrap() > 0,
                "the server is gone"
            );
            match serde_json::from_str::<Value>(&line) {
                Ok(message) if message["jsonrpc"] == "2.0" => return message,
                _ => {}
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It is ours, and there is nothing to save in it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
