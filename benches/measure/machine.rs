//! What the numbers were taken on.

use std::fmt::{self, Display, Formatter};
use std::path::Path;
use std::process::Command;

use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Machine {
    at: String,
    cores: usize,
    cpu: String,
    memory_bytes: u64,
    kernel: String,
    /// Of where the repositories and the yard are.
    file_system: String,
    git: String,
    make: String,
    /// Of programs that want the processor, at the start: whether the machine had other things to do.
    load: String,
    optimised: bool,
}

impl Machine {
    pub fn here() -> Self {
        let cpu = field("/proc/cpuinfo", "model name").unwrap_or_default();
        let memory = field("/proc/meminfo", "MemTotal").unwrap_or_default();
        let kib: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            at: jiff::Timestamp::now().strftime("%F %H:%M UTC").to_string(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu,
            memory_bytes: kib * 1024,
            kernel: kernel.trim().to_owned(),
            file_system: file_system(&std::env::temp_dir()),
            git: first_line("git"),
            make: first_line("make"),
            load: load.split(' ').take(3).collect::<Vec<_>>().join(" "),
            optimised: !cfg!(debug_assertions),
        }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let gib = self.memory_bytes as f64 / f64::from(1 << 30);
        write!(
            f,
            "{}: {} cores ({}), {gib:.0} GiB, Linux {}, {}, {}, {}; load {}{}",
            self.at,
            self.cores,
            self.cpu,
            self.kernel,
            self.file_system,
            self.git,
            self.make,
            self.load,
            if self.optimised {
                ""
            } else {
                "; NOT OPTIMISED"
            },
        )
    }
}

/// The value of the first line that begins with this name.
fn field(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn first_line(program: &str) -> String {
    let output = Command::new(program).arg("--version").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().unwrap_or_default().to_owned()
}

/// The kind of the file system that holds `path`: of all mounts above it the deepest, and of those the
/// last.
fn file_system(path: &Path) -> String {
    let path = std::fs::canonicalize(path).unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let kinds = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        path.starts_with(place)
            .then(|| (place.len(), kind.to_owned()))
    });
    kinds
        .max_by_key(|(depth, _)| *depth)
        .map_or_else(|| "unknown file system".to_owned(), |(_, kind)| kind)
}
