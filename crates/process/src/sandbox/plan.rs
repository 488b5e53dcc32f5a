//! What a build sees: bwrap's options for one run. Everything that is not named here is not there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::confine::BLANK_SIZE;
use super::host_inodes::LEFT_TO_INIT;
use super::system::System;
use super::{KeptWorktree, Mount, Sandbox, Shown};
use branchyard_config::exposes;
use branchyard_model::SandboxProfile;

/// Where the private home is when the daemon's own cannot be covered.
const OTHER_HOME: &str = "/home/build";
const TMP: &str = "/tmp";

impl Sandbox {
    /// The sandbox of one run, or why there can be none.
    pub(super) fn plan(
        system: &System,
        profile: SandboxProfile,
        shown: &Shown<'_>,
    ) -> Result<Self, String> {
        let mut plan = SandboxPlan::begin(system, profile, shown.tmp_size);
        if shown.network.is_some() {
            plan.add(&["--unshare-net"]);
        }
        if let Some(kept) = shown.kept {
            plan.add(&["--bind", text(&real(kept.tmp)?)?, TMP]);
        }
        let workspaces = real(shown.workspaces)?;
        let home = plan.private_home(shown.home, &workspaces);
        plan.places(shown, &home, &workspaces)?;
        // Whatever was bound so far, of the yard nothing but this is there.
        plan.add(&["--tmpfs", text(&workspaces)?]);
        for mount in shown.of_yard {
            plan.mount(mount)?;
        }
        let cwd = match shown.kept {
            Some(kept) => plan.worktree(kept, shown.cwd)?,
            None => real(shown.cwd)?,
        };
        plan.mask(shown.secret_files)?;
        plan.add(&["--remount-ro", text(&workspaces)?]);
        plan.end();
        Ok(Self {
            profile,
            program: system.bubblewrap().to_owned(),
            options: plan.options,
            writable: plan.writable,
            cwd,
            home,
            network: shown.network.map(<[_]>::to_vec),
        })
    }
}

pub(super) struct SandboxPlan {
    size: String,
    options: Vec<String>,
    /// What is there of the machine, so that what lies below it is there as well.
    visible: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl SandboxPlan {
    /// The machine without anything of the yard's.
    pub(super) fn begin(system: &System, profile: SandboxProfile, tmp_size: u64) -> Self {
        let mut plan = Self {
            size: tmp_size.to_string(),
            options: Vec::new(),
            visible: system.visible(profile),
            writable: ["/dev", "/proc", TMP].map(PathBuf::from).into(),
        };
        if system.user_namespace() {
            plan.add(&["--unshare-user"]);
        }
        plan.add(&["--unshare-ipc", "--unshare-pid", "--unshare-uts"]);
        plan.add(&["--unshare-cgroup-try"]);
        if profile == SandboxProfile::Strict {
            plan.add(&["--unshare-net"]);
        }
        // Root would keep all of its rights.
        plan.add(&["--cap-drop", "ALL", "--die-with-parent", "--as-pid-1"]);
        if system.is_root() {
            for capability in LEFT_TO_INIT {
                plan.add(&["--cap-add", capability]);
            }
        }
        plan.add(&["--chdir", "/"]);
        plan.options.extend(system.options(profile));
        plan.add(&["--proc", "/proc"]);
        plan.options.extend_from_slice(system.kernel_options());
        plan.devices(profile);
        plan.private(Path::new(TMP), "1777");
        plan.add(&[
            "--dir",
            "/run",
            "--dir",
            "/var",
            "--symlink",
            "../tmp",
            "/var/tmp",
        ]);
        plan
    }

    pub(super) fn options(&self) -> &[String] {
        &self.options
    }

    pub(super) fn writable(&self) -> &[PathBuf] {
        &self.writable
    }

    /// Nothing can be put where nothing was meant to be: the root is memory as well.
    pub(super) fn end(&mut self) {
        self.add(&["--remount-ro", "/dev", "--remount-ro", "/"]);
    }

    fn devices(&mut self, profile: SandboxProfile) {
        if profile == SandboxProfile::Strict {
            self.add(&["--tmpfs", "/dev"]);
            for name in ["null", "zero", "full", "random", "urandom"] {
                let device = format!("/dev/{name}");
                self.add(&["--dev-bind", &device, &device]);
            }
            for (name, target) in [
                ("fd", "/proc/self/fd"),
                ("stdin", "/proc/self/fd/0"),
                ("stdout", "/proc/self/fd/1"),
                ("stderr", "/proc/self/fd/2"),
            ] {
                self.add(&["--symlink", target, &format!("/dev/{name}")]);
            }
        } else {
            self.add(&["--dev", "/dev"]);
        }
        self.private(Path::new("/dev/shm"), "1777");
    }

    /// A directory in memory, empty at the start and gone at the end. It is bounded: what a build writes to
    /// the disk is in its worktree, or where the operator let it write.
    fn private(&mut self, path: &Path, mode: &str) {
        let size = self.size.clone();
        self.add(&["--perms", mode, "--size", &size, "--tmpfs"]);
        self.options.push(path.to_string_lossy().into_owned());
    }

    /// Where the private home is: at the daemon's own path, so that what is bound below it is found by
    /// those who look in their home.
    fn private_home(&self, home: Option<&Path>, workspaces: &Path) -> PathBuf {
        let is_free = |home: &&Path| {
            let roots = ["/proc", "/dev", TMP].map(Path::new);
            let visible = self.visible.iter().map(PathBuf::as_path);
            let mut others = visible.chain(roots);
            home.is_absolute()
                && !others.any(|other| other.starts_with(home))
                && !home.starts_with(workspaces)
        };
        let home = home.filter(is_free);
        home.map_or_else(|| PathBuf::from(OTHER_HOME), Path::to_owned)
    }

    /// The worktree under its name inside; its link to the store can be read alone. Returns where the command starts.
    fn worktree(&mut self, kept: KeptWorktree<'_>, cwd: &Path) -> Result<PathBuf, String> {
        let (from, to) = kept.worktree;
        let from = real(from)?;
        self.add(&["--bind", text(&from)?, text(to)?]);
        let (link, inside) = (from.join(".git"), to.join(".git"));
        self.add(&["--ro-bind", text(&link)?, text(&inside)?]);
        self.writable.push(to.to_owned());
        Ok(cwd.to_owned())
    }

    /// The home and the operator's binds, what is above before what is below it.
    fn places(&mut self, shown: &Shown<'_>, home: &Path, workspaces: &Path) -> Result<(), String> {
        let read_only = shown.read_only.iter().map(|path| (path, "--ro-bind"));
        let writable = shown.writable.iter().map(|path| (path, "--bind"));
        // One that is named twice is bound once, the way that allows more.
        let binds: BTreeMap<_, _> = read_only.chain(writable).collect();
        let mut binds: Vec<_> = binds.into_iter().collect();
        binds.sort_by_key(|(path, _)| path.components().count());
        let below_home = binds
            .partition_point(|(path, _)| path.components().count() < home.components().count());
        let (above, below) = binds.split_at(below_home);
        for (path, how) in above {
            self.show(path, how, shown, workspaces)?;
        }
        match shown.kept {
            Some(kept) => self.add(&["--bind", text(&real(kept.home)?)?, text(home)?]),
            None => self.private(home, "0700"),
        }
        self.writable.push(home.to_owned());
        for (path, how) in below {
            self.show(path, how, shown, workspaces)?;
        }
        Ok(())
    }

    fn show(
        &mut self,
        path: &Path,
        how: &str,
        shown: &Shown<'_>,
        workspaces: &Path,
    ) -> Result<(), String> {
        let found = real(path)?;
        // Looked at again: where a link leads may have changed since the start.
        let secrets = shown.secret_files.iter().filter_map(|file| real(file).ok());
        if exposes(&found, workspaces) || secrets.into_iter().any(|file| exposes(&found, &file)) {
            let (path, found) = (path.display(), found.display());
            return Err(format!(
                "{path} leads to {found}, which would show a build what is the daemon's"
            ));
        }
        self.bind(how, &found, path)?;
        if how == "--bind" {
            self.writable.push(found.clone());
        }
        self.visible.push(found);
        Ok(())
    }

    fn mount(&mut self, mount: &Mount) -> Result<(), String> {
        match mount {
            Mount::ReadOnly(path) => self.bind("--ro-bind", &real(path)?, path),
            Mount::ReadOnlyIfThere(path) => {
                self.add(&["--ro-bind-try", text(path)?, text(path)?]);
                Ok(())
            }
            Mount::Writable(path) => {
                let found = real(path)?;
                self.writable.push(found.clone());
                self.bind("--bind", &found, path)
            }
            Mount::Blank(path) => {
                let found = real(path)?;
                self.add(&["--size", BLANK_SIZE, "--tmpfs", text(&found)?]);
                self.writable.push(found);
                Ok(())
            }
            Mount::Hidden(path) => {
                self.add(&["--tmpfs", text(path)?, "--remount-ro", text(path)?]);
                Ok(())
            }
        }
    }

    /// Binds what is at `found` there, since that is the name by which the kernel tells others of it, and
    /// makes it found by the name that it was asked for by.
    fn bind(&mut self, how: &str, found: &Path, asked: &Path) -> Result<(), String> {
        self.add(&[how, text(found)?, text(found)?]);
        let is_there = self.visible.iter().any(|dir| asked.starts_with(dir));
        if found != asked && !is_there {
            self.add(&["--symlink", text(found)?, text(asked)?]);
        }
        Ok(())
    }

    /// Covers secrets that lie in the midst of the system: files, or directories with all that is in them.
    fn mask(&mut self, secret_files: &[PathBuf]) -> Result<(), String> {
        for file in secret_files.iter().filter_map(|file| real(file).ok()) {
            if !self.visible.iter().any(|dir| file.starts_with(dir)) {
                continue;
            }
            match file.is_dir() {
                true => self.add(&["--tmpfs", text(&file)?, "--remount-ro", text(&file)?]),
                false => self.add(&["--ro-bind", "/dev/null", text(&file)?]),
            }
        }
        Ok(())
    }

    fn add(&mut self, options: &[&str]) {
        self.options
            .extend(options.iter().map(|option| (*option).to_owned()));
    }
}

fn real(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize()
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("{} is not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A yard with one workspace, and what `home`, binds and secrets make of its sandbox.
    fn planned(home: &str, binds: &[&Path], secrets: &[&Path]) -> Result<Sandbox, String> {
        let dir = tempfile::tempdir().unwrap();
        let workspaces = dir.path().join("yard");
        let (worktree, store) = (workspaces.join("demo/main"), workspaces.join("demo/.git"));
        fs::create_dir_all(&worktree).unwrap();
        fs::create_dir_all(&store).unwrap();
        let owned = |paths: &[&Path]| paths.iter().map(|path| path.to_path_buf()).collect();
        let (read_only, secret_files): (Vec<PathBuf>, Vec<PathBuf>) =
            (owned(binds), owned(secrets));
        let shown = Shown {
            workspaces: &workspaces,
            of_yard: &[Mount::ReadOnly(store), Mount::Writable(worktree.clone())],
            cwd: &worktree,
            home: Some(Path::new(home)),
            read_only: &read_only,
            writable: &[],
            secret_files: &secret_files,
            network: None,
            tmp_size: 1,
            kept: None,
        };
        let system = System::look("/usr/bin/bwrap".into(), true);
        Sandbox::plan(&system, SandboxProfile::Standard, &shown)
    }

    #[test]
    fn the_home_is_where_it_was_unless_the_system_is_there() {
        assert_eq!(planned("/root", &[], &[]).unwrap().home, Path::new("/root"));
        for home in ["/", "/usr", "/tmp", "/proc", "relative"] {
            let home = planned(home, &[], &[]).unwrap().home;
            assert_eq!(home, Path::new(OTHER_HOME));
        }
    }

    #[test]
    fn a_secret_in_the_midst_of_the_system_is_covered() {
        let secret = Path::new("/usr/bin/env").canonicalize().unwrap();
        let options = planned("/root", &[], &[&secret]).unwrap().options;
        let covered = ["--ro-bind", "/dev/null", secret.to_str().unwrap()];
        assert!(
            options.windows(3).any(|three| three == covered),
            "{options:?}"
        );
    }

    #[test]
    fn a_link_to_a_secret_is_not_bound() {
        let dir = tempfile::tempdir().unwrap();
        let (secret, link) = (dir.path().join("secret"), dir.path().join("link"));
        fs::write(&secret, "").unwrap();
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        let refusal = planned("/root", &[&link], &[&secret]).unwrap_err();
        assert!(refusal.contains("what is the daemon's"), "{refusal}");
        let missing = dir.path().join("missing");
        assert!(planned("/root", &[&missing], &[]).is_err());
    }
}
