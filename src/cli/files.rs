//! `ls`, `cat` and `env`: what is in a workspace, and what a build there would find.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use super::args::{CatArgs, EnvArgs, LsArgs};
use super::client::{branch_path, encode};
use super::exit::{self, Failure};
use super::progress::patiently;
use super::render::{Cell, Listing, Tone, human_size};

const PREPARING: &str = "preparing the workspace";

pub(super) async fn ls(context: &Context, args: &LsArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let path = branch_path(&args.repo, &args.branch, "/ls");
    let body = json!({"path": args.path, "recursive": args.recursive, "all": args.all});
    let answer = patiently(console, PREPARING, context.client.post(&path, &body)).await?;
    if console.json() {
        console.print_json(&answer)?;
        return Ok(exit::OK);
    }
    let found: DirectoryListing = answer.parse()?;
    let is_cut = found.truncated;
    let listing = entries(found);
    if !listing.is_empty() {
        console.print_listing(&listing)?;
    }
    if is_cut {
        console.warning("there is more: the list was cut; ask for a directory further down");
        return Ok(exit::LOCAL);
    }
    Ok(exit::OK)
}

pub(super) async fn cat(context: &Context, args: &CatArgs) -> Result<u8, Failure> {
    // What a URL would take for steps up or down in it, the daemon is told in a body.
    let is_plain = !args
        .path
        .split('/')
        .any(|name| ["", ".", ".."].contains(&name));
    if args.lines.is_none() && !context.console.json() && is_plain {
        whole_file(context, args).await
    } else {
        parts_of_file(context, args).await
    }
}

/// All bytes of a file, as they come.
async fn whole_file(context: &Context, args: &CatArgs) -> Result<u8, Failure> {
    let names: Vec<_> = args.path.split('/').map(encode).collect();
    let path = format!("/raw/{}", names.join("/"));
    let path = branch_path(&args.repo, &args.branch, &path);
    let opening = context.client.bytes(&path);
    let response = patiently(&context.console, PREPARING, opening).await?;
    let broke_off = |cause| Failure::daemon(format!("the file broke off: {cause}"));
    context.print_as_it_comes(response, broke_off).await
}

/// A file or lines of it, in as many parts as the daemon gives them: `--json` prints an answer for each.
async fn parts_of_file(context: &Context, args: &CatArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let path = branch_path(&args.repo, &args.branch, "/read_file");
    let mut body = json!({"path": args.path});
    match args.lines {
        Some(lines) => {
            body["start_line"] = json!(lines.start);
            body["end_line"] = json!(lines.end);
        }
        None => body["start_byte"] = json!(0),
    }
    let mut passage = console.passage();
    loop {
        let answer = patiently(console, PREPARING, context.client.post(&path, &body)).await?;
        let part: Part = answer.parse()?;
        if console.json() {
            console.print_json(&answer)?;
        } else {
            passage.print(&part.bytes()?)?;
        }
        if !part.truncated {
            return Ok(exit::OK);
        }
        if part.text.is_empty() {
            let what = "the daemon's answer makes no sense: it is cut, and holds nothing";
            return Err(Failure::daemon(what));
        }
        body["start_line"] = Value::Null;
        body["start_byte"] = json!(part.end_byte);
    }
}

pub(super) async fn env(context: &Context, args: &EnvArgs) -> Result<u8, Failure> {
    let console = &context.console;
    let path = branch_path(&args.repo, &args.branch, "/env");
    let answer = patiently(console, PREPARING, context.client.get_slowly(&path)).await?;
    if console.json() {
        console.print_json(&answer)?;
    } else {
        console.print_listing(&surroundings(answer.parse()?))?;
    }
    Ok(exit::OK)
}

#[derive(Deserialize)]
struct DirectoryListing {
    entries: Vec<ListedFile>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct ListedFile {
    path: String,
    kind: String,
    #[serde(default)]
    size: Option<u64>,
    /// As git spells it, or a number.
    #[serde(default)]
    mode: Value,
    #[serde(default)]
    target: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    text: String,
    #[serde(default)]
    encoding: Option<String>,
    #[serde(default)]
    end_byte: u64,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct BuildSurroundings {
    #[serde(default)]
    commit: Option<String>,
    machine: Machine,
    #[serde(default)]
    tools: Vec<FileTool>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Machine {
    os: String,
    #[serde(default)]
    cpus: Option<u64>,
    #[serde(default)]
    memory_bytes: Option<u64>,
    #[serde(default)]
    disk_free_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct FileTool {
    name: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    version: Option<String>,
}

impl Part {
    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        if self.encoding.as_deref() == Some("base64") {
            STANDARD.decode(&self.text).map_err(|error| {
                Failure::daemon(format!("the daemon's answer makes no sense: {error}"))
            })
        } else {
            Ok(self.text.clone().into_bytes())
        }
    }
}

fn entries(directory: DirectoryListing) -> Listing {
    let mut listing = Listing::new(&["KIND", "MODE", "SIZE", "PATH", "TARGET"]);
    for entry in directory.entries {
        let mode = match &entry.mode {
            Value::String(mode) => mode.clone(),
            Value::Number(mode) => mode
                .as_u64()
                .map(|mode| format!("{mode:o}"))
                .unwrap_or_default(),
            _ => String::new(),
        };
        let is_dir = entry.kind == "dir";
        let path = Cell::text(entry.path.as_str());
        let path = if is_dir {
            path.shown_as(format!("{}/", entry.path))
        } else {
            path
        };
        listing.row(vec![
            Cell::text(entry.kind).tone(Tone::Faint),
            Cell::text(mode).tone(Tone::Faint),
            // The size of a directory entry means nothing to anybody.
            Cell::size(entry.size.filter(|_| !is_dir)),
            path,
            Cell::text(entry.target.unwrap_or_default()),
        ]);
    }
    listing
}

fn surroundings(found: BuildSurroundings) -> Listing {
    let mut listing = Listing::new(&["WHAT", "NAME", "VALUE", "WHERE"]);
    let mut fact = |name: &str, value: Cell| {
        listing.row(vec![
            Cell::text("machine").tone(Tone::Faint),
            Cell::text(name),
            value,
            Cell::text(""),
        ]);
    };
    let machine = found.machine;
    fact("os", Cell::text(machine.os));
    if let Some(cpus) = machine.cpus {
        fact("cpus", Cell::text(cpus.to_string()));
    }
    // Sizes among words stand to the left.
    for (name, size) in [
        ("memory", machine.memory_bytes),
        ("disk_free", machine.disk_free_bytes),
    ] {
        if let Some(bytes) = size {
            fact(
                name,
                Cell::text(bytes.to_string()).shown_as(human_size(bytes)),
            );
        }
    }
    if let Some(commit) = &found.commit {
        fact("commit", Cell::commit(Some(commit)));
    }
    for tool in found.tools {
        listing.row(vec![
            Cell::text("tool").tone(Tone::Faint),
            Cell::text(tool.name),
            Cell::text(tool.version.unwrap_or_default()),
            Cell::text(tool.path.unwrap_or_default()),
        ]);
    }
    for (name, value) in found.environment {
        listing.row(vec![
            Cell::text("env").tone(Tone::Faint),
            Cell::text(name),
            Cell::text(value),
            Cell::text(""),
        ]);
    }
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_lines_that_cut_can_take_apart() {
        let directory = serde_json::from_str(
            r#"{"repo":"app","branch":"main","commit":"c","path":".","entries":[
                {"path":"src","kind":"dir","size":4096,"mode":"040000"},
                {"path":"run.sh","kind":"file","size":12,"mode":33261},
                {"path":"link","kind":"symlink","size":6,"mode":"120000","target":"run.sh"}],"truncated":false}"#,
        )
        .unwrap();
        assert_eq!(
            entries(directory).plain(),
            "dir\t040000\t\tsrc\t\nfile\t100755\t12\trun.sh\t\nsymlink\t120000\t6\tlink\trun.sh\n"
        );
    }

    #[test]
    fn a_file_is_its_bytes_whatever_the_encoding() {
        let file = |json: &str| serde_json::from_str::<Part>(json).unwrap();
        assert_eq!(
            file(r#"{"text":"a\r\nb","encoding":"utf-8"}"#)
                .bytes()
                .unwrap(),
            b"a\r\nb"
        );
        assert_eq!(
            file(r#"{"text":"/wA=","encoding":"base64"}"#)
                .bytes()
                .unwrap(),
            [0xff, 0]
        );
        assert!(file(r#"{"text":"?","encoding":"base64"}"#).bytes().is_err());
    }

    #[test]
    fn surroundings_are_one_list() {
        let found = serde_json::from_str(
            r#"{"repo":"app","branch":"main","commit":"1a2b","machine":{"os":"linux","cpus":2,"memory_bytes":1024,"disk_free_bytes":2048},
                "tools":[{"name":"make","path":"/usr/bin/make","version":"4.3"}],"environment":{"CI":"true"}}"#,
        )
        .unwrap();
        assert_eq!(
            surroundings(found).plain(),
            "machine\tos\tlinux\t\nmachine\tcpus\t2\t\nmachine\tmemory\t1024\t\nmachine\tdisk_free\t2048\t\n\
             machine\tcommit\t1a2b\t\ntool\tmake\t4.3\t/usr/bin/make\nenv\tCI\ttrue\t\n"
        );
    }
}
