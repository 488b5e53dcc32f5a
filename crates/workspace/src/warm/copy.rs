//! The copy of a sibling: its tracked files and its build output, by several threads, with their times.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, OFlags, Timestamps, fchmod, fstat, futimens, mkdirat, readlinkat, statat,
};
use rustix::io::Errno;

use super::AT_ONCE;
use super::naming::{Home, Naming};
use super::output::OutputFile;
use super::seed::Seed;
use super::stale_outputs::StaleOutputs;
use super::tracked::{LINK, TYPE};
use crate::Error;
use crate::file_copy::{
    CopyTarget, Hand, Transfer, copy_link, create, enter, leads_out, modified, modified_at,
    open_dir, open_source,
};
use branchyard_git::FileStat;
use branchyard_runtime::disk::{if_there, parallel};

const PERMISSIONS: u32 = 0o777;

/// A copy under way.
pub(super) struct Copies<'a> {
    seed: &'a Seed,
    home: Home,
    to: OwnedFd,
    transfer: Transfer,
}

/// How much build output was copied.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) files: u64,
    pub(super) bytes: u64,
}

/// What a thread copied of the build output.
#[derive(Default)]
struct Share {
    tally: Tally,
    /// Files that were left out, and what is made as they say.
    left_out: Vec<(usize, Vec<Vec<u8>>)>,
}

impl<'a> Copies<'a> {
    pub(super) fn new(seed: &'a Seed, to: &Path) -> Result<Self, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let to = rustix::fs::open(to, flags, Mode::empty())
            .map_err(|errno| Error::io("open the workspace")(errno.into()))?;
        Ok(Self {
            seed,
            home: Home::new(seed.lent.workspace().repo().home()),
            to,
            transfer: Transfer::new(),
        })
    }

    /// Copies all tracked files, and returns what their copies are like on disk, in the order of the index.
    pub(super) fn tracked(&self) -> Result<Vec<Option<FileStat>>, Error> {
        let (index, expected) = (&self.seed.index, &self.seed.tracked.stats);
        let entries = index.entries();
        let path = |n: usize| Path::new(OsStr::from_bytes(index.path(&entries[n])));
        self.make_dirs((0..entries.len()).flat_map(|n| {
            // A submodule is an empty directory.
            let submodule = expected[n].is_none().then(|| path(n));
            path(n).parent().into_iter().chain(submodule)
        }))?;
        let new = || (Hand::new(), Vec::new());
        let shares = parallel::share(entries.len(), AT_ONCE, new, |(hand, stats), n| {
            if let Some(expected) = expected[n] {
                let stat = self.tracked_file(hand, path(n), entries[n].mode(), expected)?;
                stats.push((n, stat));
            }
            Ok(())
        })
        .map_err(Error::io("copy the files of a sibling"))?;
        let mut stats = vec![None; entries.len()];
        for (n, stat) in shares.into_iter().flat_map(|(_, stats)| stats) {
            stats[n] = Some(stat);
        }
        Ok(stats)
    }

    /// Copies build output, except for what names its place or is made of what is not there.
    pub(super) fn output(&self) -> Result<Tally, Error> {
        let output = &self.seed.output;
        self.make_dirs(output.dirs.iter().map(PathBuf::as_path))?;
        let new = || (Hand::new(), Share::default());
        let shares = parallel::share(output.files.len(), AT_ONCE, new, |(hand, share), n| {
            match self.output_file(hand, &output.files[n])? {
                None => {}
                Some(Naming::Yes { targets }) => share.left_out.push((n, targets)),
                Some(Naming::No) => {
                    share.tally.files += 1;
                    share.tally.bytes += output.files[n].size;
                }
            }
            Ok(())
        })
        .map_err(Error::io("copy the build output of a sibling"))?;
        let mut tally = Tally::default();
        let mut stale = StaleOutputs::new(&output.files, self.seed.lent.workspace().path());
        for (_, share) in shares {
            tally.files += share.tally.files;
            tally.bytes += share.tally.bytes;
            for (n, targets) in share.left_out {
                stale.add(n, &targets);
            }
        }
        stale
            .remove_from(&self.to)
            .map_err(Error::io("remove what is of no use in a copy"))?;
        self.finish_dirs()
            .map_err(Error::io("keep the times of a sibling's directories"))?;
        Ok(tally)
    }

    fn make_dirs<'p>(&self, dirs: impl Iterator<Item = &'p Path>) -> Result<(), Error> {
        let mut all = BTreeSet::new();
        for dir in dirs {
            for dir in dir.ancestors().filter(|dir| !dir.as_os_str().is_empty()) {
                // Who has one of them has those above it.
                if !all.insert(dir) {
                    break;
                }
            }
        }
        for dir in all {
            match mkdirat(&self.to, dir, Mode::from_raw_mode(PERMISSIONS)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(Error::io("copy a directory")(errno.into())),
            }
        }
        Ok(())
    }

    /// Gives the directories of build output their times and permissions, now that nothing more comes into
    /// them.
    fn finish_dirs(&self) -> io::Result<()> {
        for dir in &self.seed.output.dirs {
            let stat = match statat(&self.seed.root, dir, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => continue,
                stat => stat?,
            };
            let copy = open_dir(&self.to, dir)?;
            let bits = stat.st_mode & PERMISSIONS | 0o700;
            fchmod(&copy, Mode::from_raw_mode(bits))?;
            let (seconds, nanos) = modified_at(&stat);
            futimens(&copy, &modified(seconds, nanos))?;
        }
        Ok(())
    }

    fn tracked_file(
        &self,
        hand: &mut Hand,
        path: &Path,
        mode: u32,
        expected: FileStat,
    ) -> io::Result<FileStat> {
        let place = enter(&mut hand.place, self.ends(), path)?;
        let name = path.file_name().unwrap_or_default();
        let (seconds, nanos) = expected.modified();
        let times = modified(i64::from(seconds), i64::from(nanos));
        if mode & TYPE == LINK {
            copy_link(place, name, &times)?;
            let stat = statat(&place.to, name, AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(FileStat::of(&stat));
        }
        let source = open_source(&place.from, name)?;
        // As git gives them, whatever the sibling's are.
        let copy = create(&place.to, name, 0o666 | mode & 0o111)?;
        let size = u64::from(expected.size());
        self.transfer
            .copy(&mut hand.buffer, (&source, &copy), size, false)?;
        if FileStat::of(&fstat(&source)?) != expected {
            return Err(changed(path));
        }
        futimens(&copy, &times)?;
        Ok(FileStat::of(&fstat(&copy)?))
    }

    /// `None` where it is gone meanwhile.
    fn output_file(&self, hand: &mut Hand, file: &OutputFile) -> io::Result<Option<Naming>> {
        if self.seed.lent.is_called_back() {
            return Err(io::Error::other("the sibling is wanted for something else"));
        }
        let Some(place) = if_there(enter(&mut hand.place, self.ends(), &file.path))? else {
            return Ok(None);
        };
        let name = file.path.file_name().unwrap_or_default();
        let times = modified(file.modified.0, file.modified.1);
        if file.is_link {
            return self.output_link(place, file, name, &times);
        }
        let Some(source) = if_there(open_source(&place.from, name))? else {
            return Ok(None);
        };
        if file.is_bound {
            let naming = self.home.look_in(&source, file.size, &mut hand.buffer)?;
            if naming != Naming::No {
                return Ok(Some(naming));
            }
            let sources = &self.seed.sources;
            if let Some(targets) = sources.outdate_rules(&file.path, &source, file.size)? {
                return Ok(Some(Naming::Yes { targets }));
            }
        }
        let mode = file.mode & PERMISSIONS;
        let copy = create(&place.to, name, mode)?;
        self.transfer
            .copy(&mut hand.buffer, (&source, &copy), file.size, file.is_bound)?;
        let now = fstat(&source)?;
        let is_same =
            modified_at(&now) == file.modified && u64::try_from(now.st_size) == Ok(file.size);
        if !is_same {
            return Err(changed(&file.path));
        }
        if fstat(&copy)?.st_mode & PERMISSIONS != mode {
            fchmod(&copy, Mode::from_raw_mode(mode))?;
        }
        futimens(&copy, &times)?;
        Ok(Some(Naming::No))
    }

    /// A link that leads to another workspace is of no use.
    fn output_link(
        &self,
        place: &CopyTarget,
        file: &OutputFile,
        name: &OsStr,
        times: &Timestamps,
    ) -> io::Result<Option<Naming>> {
        let target = match readlinkat(&place.from, name, Vec::new()) {
            Err(Errno::NOENT | Errno::INVAL) => return Ok(None),
            target => target?,
        };
        let named = [target.as_bytes(), b"/"].concat();
        let leads_to = Path::new(OsStr::from_bytes(target.as_bytes()));
        if self.home.is_in(&named) || leads_out(&file.path, leads_to) {
            return Ok(Some(Naming::Yes {
                targets: Vec::new(),
            }));
        }
        copy_link(place, name, times)?;
        Ok(Some(Naming::No))
    }

    fn ends(&self) -> (&OwnedFd, &OwnedFd) {
        (&self.seed.root, &self.to)
    }
}

fn changed(path: &Path) -> io::Error {
    io::Error::other(format!("{} changed while it was copied", path.display()))
}
