//! `mcp config`: what to paste into an agent's configuration. stdout holds that and nothing else; what
//! else is to know goes to stderr. The key is named by where it is, never by what it is.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::scope::{self, ScopeArgs};
use crate::cli::endpoint::Lookup;
use crate::cli::exit::{self, Failure};
use crate::cli::render::Console;

/// Where a daemon listens that was not told otherwise.
const DEFAULT_URL: &str = "http://127.0.0.1:3344";
/// The variable that the daemon itself takes its key from.
const KEY_VARIABLE: &str = "BRANCHYARD_SESSION_KEY";
const KEY_INPUT: &str = "branchyard-key";
const KEY_CHANGES: &str = "the key is new with every start of the daemon, unless it was given one \
                           (`branchyard serve --key-file FILE`)";

/// Print what a coding agent's configuration needs
///
/// Prints what to paste, or the command to run, for stdio and for HTTP; what else is to know goes
/// to stderr. Over stdio the agent starts `branchyard mcp`, which finds the daemon by itself and
/// goes on when it is started anew; over HTTP the agent needs the daemon's key, which is never
/// printed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard mcp config claude
  branchyard mcp config codex --stdio --repo app >> ~/.codex/config.toml
  branchyard mcp config cursor --stdio --repo app --branch main
  branchyard mcp config vscode --http --role dev")]
pub(crate) struct ConfigArgs {
    /// The coding agent
    client: AgentClient,
    /// Only the configuration for stdio
    #[arg(long, conflicts_with = "http")]
    stdio: bool,
    /// Only the configuration for HTTP
    #[arg(long)]
    http: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AgentClient {
    /// Claude Code: commands to run
    Claude,
    /// Codex: ~/.codex/config.toml
    Codex,
    /// Cursor: ~/.cursor/mcp.json, or .cursor/mcp.json of a project
    Cursor,
    /// VS Code: .vscode/mcp.json
    Vscode,
}

pub(crate) fn config(console: &Console, lookup: &Lookup, args: &ConfigArgs) -> Result<u8, Failure> {
    let server = Server::find(console, lookup, args)?;
    let both = args.stdio == args.http;
    let mut snippets = Vec::new();
    if both || args.stdio {
        snippets.push(server.stdio(args.client)?);
    }
    if both || args.http {
        snippets.push(server.http(args.client)?);
    }
    for (place, (notes, text)) in snippets.iter().enumerate() {
        for note in notes {
            console.note(note);
        }
        let apart = if place > 0 { "\n" } else { "" };
        console.print_line(&format!("{apart}{text}"))?;
    }
    Ok(exit::OK)
}

/// What is to know, and what to paste.
type Snippet = (Vec<String>, String);

/// The yard as an agent is told of it.
struct Server {
    program: String,
    /// What the program is started with.
    words: Vec<String>,
    url: String,
    key_file: PathBuf,
    headers: Vec<(&'static str, String)>,
}

impl Server {
    fn find(console: &Console, lookup: &Lookup, args: &ConfigArgs) -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(|error| {
            Failure::local(format!("cannot tell where this program is: {error}"))
        })?;
        let (url, key_file) = match lookup.find() {
            Ok(endpoint) => {
                let url = endpoint.web().map(str::to_owned);
                let url = url.ok_or_else(|| format!("{} is for stdio alone", endpoint.url));
                (url, endpoint.key_file)
            }
            Err(failure) if failure.exit == exit::USAGE => return Err(failure),
            Err(failure) => (Err(failure.detail), None),
        };
        let url = url.unwrap_or_else(|why| {
            if !args.stdio {
                console.note(&format!("{why}: for HTTP, {DEFAULT_URL} is assumed"));
            }
            DEFAULT_URL.to_owned()
        });
        let key_file = key_file.unwrap_or_else(|| {
            let workspaces = lookup.default_workspaces().unwrap_or_default();
            workspaces.join(".branchyard/auth.header")
        });
        let mut words = vec!["mcp".to_owned()];
        words.extend(scope::flags(&args.scope));
        let named = lookup.named();
        if let Some(url) = named.url {
            words.extend(["--url".to_owned(), url]);
        }
        for (flag, file) in [("--key-file", named.key_file), ("--ca-file", named.ca_file)] {
            if let Some(file) = file {
                words.extend([flag.to_owned(), text(&absolute(&file))?]);
            }
        }
        Ok(Self {
            program: text(&program)?,
            words,
            url: format!("{url}/mcp"),
            key_file: absolute(&key_file),
            headers: scope::pairs(&args.scope),
        })
    }

    fn stdio(&self, client: AgentClient) -> Result<Snippet, Failure> {
        let Self { program, words, .. } = self;
        let text = match client {
            AgentClient::Claude => {
                let mut command = format!("claude mcp add branchyard -- {}", quoted(program)?);
                for word in words {
                    command.push_str(&format!(" {}", quoted(word)?));
                }
                command
            }
            AgentClient::Codex => toml(&json!({ "command": program, "args": words }))?,
            AgentClient::Cursor => {
                let server = json!({ "command": program, "args": words });
                format!("{:#}", json!({ "mcpServers": { "branchyard": server } }))
            }
            AgentClient::Vscode => {
                let server = json!({ "type": "stdio", "command": program, "args": words });
                format!("{:#}", json!({ "servers": { "branchyard": server } }))
            }
        };
        let notes = vec![format!("over stdio: {}", place_of(client))];
        Ok((notes, text))
    }

    fn http(&self, client: AgentClient) -> Result<Snippet, Failure> {
        // The file holds the bare key or a whole header line; the key is its last word.
        let key = format!("awk '{{print $NF}}' {}", quoted(&text(&self.key_file)?)?);
        let url = &self.url;
        let mut notes = vec![format!("over HTTP: {}", place_of(client))];
        let export = format!("first, where it is started: export {KEY_VARIABLE}=\"$({key})\"");
        let text = match client {
            AgentClient::Claude => {
                let url = quoted(url)?;
                let mut command = format!("claude mcp add --transport http branchyard {url}");
                command.push_str(&format!(" --header \"Authorization: Bearer $({key})\""));
                for (name, value) in &self.headers {
                    let header = quoted(&format!("{name}: {value}"))?;
                    command.push_str(&format!(" --header {header}"));
                }
                command
            }
            AgentClient::Codex => {
                notes.push(export);
                let mut server = json!({ "url": url, "bearer_token_env_var": KEY_VARIABLE });
                if !self.headers.is_empty() {
                    server["http_headers"] = self.headers().into();
                }
                toml(&server)?
            }
            AgentClient::Cursor => {
                notes.push(export);
                let headers = self.headers_with(&format!("${{env:{KEY_VARIABLE}}}"));
                let server = json!({ "url": url, "headers": headers });
                format!("{:#}", json!({ "mcpServers": { "branchyard": server } }))
            }
            AgentClient::Vscode => {
                let note = format!("VS Code asks for the key, which this prints: {key}");
                notes.push(note);
                let headers = self.headers_with(&format!("${{input:{KEY_INPUT}}}"));
                let input = json!({
                    "type": "promptString", "id": KEY_INPUT, "password": true,
                    "description": "The key of the branchyard daemon",
                });
                let server = json!({ "type": "http", "url": url, "headers": headers });
                let servers = json!({ "branchyard": server });
                format!("{:#}", json!({ "inputs": [input], "servers": servers }))
            }
        };
        notes.push(KEY_CHANGES.to_owned());
        Ok((notes, text))
    }

    fn headers(&self) -> Map<String, Value> {
        let headers = self.headers.iter();
        headers
            .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
            .collect()
    }

    fn headers_with(&self, key: &str) -> Map<String, Value> {
        let mut headers = self.headers();
        headers.insert("Authorization".to_owned(), format!("Bearer {key}").into());
        headers
    }
}

fn place_of(client: AgentClient) -> &'static str {
    match client {
        AgentClient::Claude => "run this command",
        AgentClient::Codex => "put this into ~/.codex/config.toml",
        AgentClient::Cursor => {
            "put this into ~/.cursor/mcp.json, or into .cursor/mcp.json of a project"
        }
        AgentClient::Vscode => "put this into .vscode/mcp.json of a project",
    }
}

fn toml(server: &Value) -> Result<String, Failure> {
    let text = toml::to_string(&json!({ "mcp_servers": { "branchyard": server } }))
        .map_err(|error| Failure::local(format!("the configuration cannot be written: {error}")))?;
    Ok(text.trim_end().to_owned())
}

fn quoted(word: &str) -> Result<String, Failure> {
    shlex::try_quote(word)
        .map(std::borrow::Cow::into_owned)
        .map_err(|error| Failure::local(format!("{word:?} cannot be part of a command: {error}")))
}

/// An agent starts us wherever it is.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// What these files and commands can hold, so that nobody is given the name of another file.
fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        let shown = path.display();
        Failure::local(format!("{shown} is not UTF-8, which configurations are"))
    })
}
