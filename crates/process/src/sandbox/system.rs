//! What of the machine every build is shown, to read: its programs and libraries, and of `/etc` what
//! programs look for there. A list of what is shown, not of what is hidden: where the daemon runs as
//! root, a build may read whatever it sees.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use branchyard_model::SandboxProfile;

/// Programs, libraries and what belongs to them.
const PROGRAMS: [&str; 10] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu",
];
/// How many processors there are is asked by many who want to use them all.
const MACHINE: &str = "/sys/devices/system/cpu";
/// What programs need to start, and to know who and when they are.
const ETC_TO_START: [&str; 10] = [
    "alternatives",
    "group",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "localtime",
    "nsswitch.conf",
    "os-release",
    "passwd",
];
/// What else builds look for: names of machines, certificates, settings of compilers and languages. Each
/// is a mount for every run, so nothing is here that is only said to be of use.
const ETC_TO_BUILD: [&str; 16] = [
    "crypto-policies",
    "fonts",
    "gitattributes",
    "gitconfig",
    "hosts",
    "maven",
    "mime.types",
    "npmrc",
    "pip.conf",
    "pki",
    "protocols",
    "resolv.conf",
    "services",
    "ssl",
    "texmf",
    "xml",
];
/// These have a version in their names.
const ETC_TO_BUILD_STARTS: [&str; 1] = ["java-"];
/// Keys of the machine, in the midst of what everybody may read.
const ETC_HIDDEN: [&str; 2] = ["/etc/ssl/private", "/etc/pki/tls/private"];

/// That everybody may read it.
const FOR_ALL: u32 = 0o004;

/// The machine as it was found when the daemon started.
#[derive(Debug, Clone)]
pub(super) struct System {
    bubblewrap: PathBuf,
    /// Root can do without one.
    user_namespace: bool,
    /// Builds are root as well, and own whatever root owns.
    is_root: bool,
    programs: Vec<SystemEntry>,
    to_start: Vec<SystemEntry>,
    to_build: Vec<SystemEntry>,
    hidden: Vec<PathBuf>,
    kernel: Vec<String>,
}

#[derive(Debug, Clone)]
struct SystemEntry {
    path: PathBuf,
    /// It is a link to what is shown anyway.
    target: Option<PathBuf>,
}

impl System {
    pub(super) fn look(bubblewrap: PathBuf, user_namespace: bool) -> Self {
        let etc = |names: &[&str]| -> Vec<SystemEntry> {
            let paths = names.iter().map(|name| Path::new("/etc").join(name));
            paths.filter_map(SystemEntry::find).collect()
        };
        let mut to_build = etc(&ETC_TO_BUILD);
        to_build.extend(versioned().filter_map(SystemEntry::find));
        let is_root = geteuid().is_root();
        let programs = PROGRAMS.iter().copied().chain([MACHINE]);
        Self {
            bubblewrap,
            user_namespace,
            is_root,
            programs: programs
                .map(PathBuf::from)
                .filter_map(SystemEntry::find)
                .collect(),
            to_start: etc(&ETC_TO_START),
            to_build,
            hidden: ETC_HIDDEN
                .map(PathBuf::from)
                .into_iter()
                .filter(|dir| dir.is_dir())
                .collect(),
            kernel: is_root.then(kernel_closed).unwrap_or_default(),
        }
    }

    pub(super) fn bubblewrap(&self) -> &Path {
        &self.bubblewrap
    }

    pub(super) fn user_namespace(&self) -> bool {
        self.user_namespace
    }

    pub(super) fn is_root(&self) -> bool {
        self.is_root
    }

    /// bwrap's options that keep a build from the kernel's own files, once there is a `/proc`.
    pub(super) fn kernel_options(&self) -> &[String] {
        &self.kernel
    }

    fn entries(&self, profile: SandboxProfile) -> impl Iterator<Item = &SystemEntry> {
        let to_build = match profile {
            SandboxProfile::Strict => &[][..],
            _ => &self.to_build,
        };
        self.programs.iter().chain(&self.to_start).chain(to_build)
    }

    /// bwrap's options that show it.
    pub(super) fn options(&self, profile: SandboxProfile) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        // By itself bwrap would make it for its owner only.
        let mut options: Vec<String> = ["--dir", "/etc", "--dir", "/sys"].map(str::to_owned).into();
        for entry in self.entries(profile) {
            let path = text(&entry.path);
            match &entry.target {
                Some(target) => options.extend(["--symlink".to_owned(), text(target), path]),
                // It may go while the daemon runs, as `/etc/resolv.conf` does.
                None => options.extend(["--ro-bind-try".to_owned(), path.clone(), path]),
            }
        }
        if profile != SandboxProfile::Strict {
            for dir in &self.hidden {
                let dir = text(dir);
                options.extend(["--tmpfs".to_owned(), dir.clone()]);
                options.extend(["--remount-ro".to_owned(), dir]);
            }
        }
        options
    }

    /// What is shown, and everything below it.
    pub(super) fn visible(&self, profile: SandboxProfile) -> Vec<PathBuf> {
        self.entries(profile)
            .map(|entry| entry.path.clone())
            .collect()
    }
}

/// Root owns the kernel's files, and may write what it owns without any capability: one line in `/proc/sys` and the
/// kernel runs a program outside. It may change their modes as well, and those are the same in every `/proc` of the
/// machine, `/proc/PID/net` included. So all of `/proc` is read-only, and what is for root alone is not there.
fn kernel_closed() -> Vec<String> {
    let mut options = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else {
            continue;
        };
        if meta.is_file() && meta.permissions().mode() & FOR_ALL == 0 {
            let path = entry.path().to_string_lossy().into_owned();
            options.extend(["--ro-bind-try".to_owned(), "/dev/null".to_owned(), path]);
        }
    }
    options.extend(["--remount-ro".to_owned(), "/proc".to_owned()]);
    options
}

fn versioned() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/etc").into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        ETC_TO_BUILD_STARTS
            .iter()
            .any(|start| name.starts_with(start))
    });
    named.map(|entry| entry.path())
}

impl SystemEntry {
    fn find(path: PathBuf) -> Option<Self> {
        let target = fs::read_link(&path).ok();
        let real = path.canonicalize().ok()?;
        // What is not for everybody is not for a build, whoever runs it.
        let mode = fs::metadata(&real).ok()?.permissions().mode();
        if mode & FOR_ALL == 0 {
            return None;
        }
        // A link to elsewhere would lead nowhere inside: then it is what it leads to that is bound.
        let stays = PROGRAMS.iter().any(|dir| real.starts_with(dir));
        Some(Self {
            path,
            target: target.filter(|_| stays),
        })
    }
}
