//! A small file system of its own, which can be filled to the last byte or inode and emptied again.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Options, Yard, end_processes_in};

/// What a disk can run out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    Bytes,
    Inodes,
}

/// Mounted for as long as it lives.
pub struct SmallDisk {
    dir: PathBuf,
}

/// A yard whose workspaces are on a small disk. The disk goes first: the yard's directory holds it.
pub struct SmallYard {
    pub disk: SmallDisk,
    pub yard: Yard,
}

impl SmallYard {
    /// `None`, with the reason on standard error, where this test may not mount anything.
    pub fn new(mib: u64, inodes: u64, options: Options) -> Option<Self> {
        let mut yard = Yard::asleep(options);
        let disk = match SmallDisk::mount(yard.dir.path().join("disk"), mib, inodes) {
            Ok(disk) => disk,
            Err(why) => {
                eprintln!("SKIPPED: a test of a full disk needs to mount a tmpfs: {why}");
                return None;
            }
        };
        yard.workspaces = disk.dir.join("yard");
        Some(Self { disk, yard })
    }

    /// Whether the daemon holds all of its reserve: eight shares of a 128th of the disk.
    pub fn has_reserve(&self) -> bool {
        let stat = rustix::fs::statvfs(&self.disk.dir).unwrap();
        let share = stat.f_blocks * stat.f_frsize / 128;
        let reserve = self.yard.workspaces.join(".branchyard/reserve");
        (0..8).all(|n| {
            let dir = reserve.join(n.to_string());
            let files = fs::read_dir(&dir).map_or(0, Iterator::count) as u64;
            fs::metadata(dir.join("bulk")).is_ok_and(|bulk| bulk.blocks() * 512 >= share)
                && files + 1 >= stat.f_files.div_euclid(128).min(16)
        })
    }
}

impl SmallDisk {
    fn mount(dir: PathBuf, mib: u64, inodes: u64) -> Result<Self, String> {
        fs::create_dir(&dir).map_err(|error| error.to_string())?;
        let limits = format!("size={mib}m,nr_inodes={inodes},mode=0700");
        run("mount", &["-t", "tmpfs", "-o", &limits, "tmpfs"], &dir)?;
        Ok(Self { dir })
    }

    /// What is left for others than the daemon's reserve.
    pub fn left(&self, of: Resource) -> u64 {
        let stat = rustix::fs::statvfs(&self.dir).unwrap();
        match of {
            Resource::Bytes => stat.f_bavail * stat.f_frsize,
            Resource::Inodes => stat.f_favail,
        }
    }

    /// Uses up all but `left`, whatever was used up before.
    pub fn fill(&self, with: Resource, left: u64) {
        match with {
            Resource::Bytes => self.fill_bytes(left),
            Resource::Inodes => self.fill_inodes(left),
        }
        assert!(self.left(with) <= left, "{} are left", self.left(with));
    }

    fn fill_bytes(&self, left: u64) {
        let file = self.dir.join("filler");
        let mut filler = File::options()
            .append(true)
            .create(true)
            .open(file)
            .unwrap();
        for block in [1 << 20, 4096] {
            let bytes = vec![b'x'; block];
            while self.left(Resource::Bytes) >= left + block as u64 {
                match filler.write_all(&bytes) {
                    Err(error) if error.kind() == io::ErrorKind::StorageFull => break,
                    written => written.unwrap(),
                }
            }
        }
    }

    fn fill_inodes(&self, left: u64) {
        let dir = self.dir.join("fillers");
        fs::create_dir_all(&dir).unwrap();
        for n in fs::read_dir(&dir).unwrap().count().. {
            if self.left(Resource::Inodes) <= left {
                return;
            }
            match File::create_new(dir.join(n.to_string())) {
                Err(error) if error.kind() == io::ErrorKind::StorageFull => return,
                made => drop(made.unwrap()),
            }
        }
    }

    /// Gives back what [`SmallDisk::fill`] took.
    pub fn empty(&self) {
        let gone = [
            fs::remove_file(self.dir.join("filler")),
            fs::remove_dir_all(self.dir.join("fillers")),
        ];
        assert!(gone.iter().any(Result::is_ok), "{gone:?}");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if std::thread::panicking() {
            end_processes_in(&self.dir);
        }
        // What was killed a moment ago may still be on its way out.
        let gone = run("umount", &[], &self.dir).or_else(|_| run("umount", &["-l"], &self.dir));
        if let Err(why) = gone {
            eprintln!("{} stays mounted: {why}", self.dir.display());
        }
    }
}

fn run(program: &str, args: &[&str], dir: &Path) -> Result<(), String> {
    let done = Command::new(program)
        .args(args)
        .arg(dir)
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}
