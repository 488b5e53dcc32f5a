//! The machine that builds: its size and its tools.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_process::{Timeouts, capture, find_program, plain_command};
use branchyard_runtime::disk::Room;

/// Asked for their version, in this order; what is not installed is left out.
const TOOLS: [&str; 14] = [
    "git", "make", "cc", "gcc", "g++", "clang", "ld", "cmake", "ninja", "cargo", "rustc", "go",
    "python3", "node",
];
const PATIENCE: Duration = Duration::from_secs(5);

/// What a build finds.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct EnvironmentReport {
    pub machine: Machine,
    pub tools: Vec<Tool>,
    pub environment: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    pub os: String,
    pub cpus: usize,
    pub memory_bytes: u64,
    /// Free for the yard, on the file system of its workspaces.
    pub disk_free_bytes: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    pub name: String,
    pub path: String,
    pub version: String,
}

impl Machine {
    pub fn read(workspaces: &Path) -> Self {
        let uname = rustix::system::uname();
        let info = rustix::system::sysinfo();
        Self {
            os: format!(
                "{} {} {}",
                uname.sysname().to_string_lossy(),
                uname.release().to_string_lossy(),
                uname.machine().to_string_lossy()
            ),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: info.totalram * u64::from(info.mem_unit),
            disk_free_bytes: Room::of(workspaces).map_or(0, |room| room.free()),
        }
    }
}

/// The tools that a build finds on `path`, with the first line of what they say of their version.
pub(super) async fn tools(path: &str, dir: &Path) -> Vec<Tool> {
    let mut asked = Vec::new();
    for name in TOOLS {
        if let Some(file) = find_program(name, path) {
            let (path, dir) = (path.to_owned(), dir.to_owned());
            asked.push(tokio::spawn(async move {
                let program = file.to_string_lossy().into_owned();
                let version = version(&program, name, &path, &dir).await?;
                Some(Tool {
                    name: name.to_owned(),
                    path: program,
                    version,
                })
            }));
        }
    }
    let mut tools = Vec::new();
    for tool in asked {
        tools.extend(tool.await.ok().flatten());
    }
    tools
}

async fn version(program: &str, name: &str, path: &str, dir: &Path) -> Option<String> {
    let flag = if name == "go" { "version" } else { "--version" };
    let mut command = plain_command(program, dir);
    command.arg(flag).env("PATH", path).env("LC_ALL", "C");
    let timeouts = Timeouts {
        total: Some(PATIENCE),
        stall: None,
    };
    let said = capture(command, timeouts, None, 64 * 1024, |_| {}).await;
    let said = said.ok().filter(|said| said.status.success())?;
    let text = String::from_utf8_lossy(&said.stdout);
    text.lines().next().map(str::to_owned)
}
