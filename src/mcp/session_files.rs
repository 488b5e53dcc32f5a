//! What is kept of sessions on disk: a file for each, for the daemon's user alone, and not too many of them.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rmcp::transport::streamable_http_server::session::SessionState;
use serde::{Deserialize, Serialize};

use branchyard_runtime::disk::DiskGuard;

/// A session that nobody named for so long is forgotten.
const KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Most clients end without a word. Where there are more sessions than this, those go that were named
/// longest ago, of those who have most, some at once so that it is done rarely.
const MOST: usize = 4_096;
const LEFT: usize = MOST / 4 * 3;

/// All of it blocks.
#[derive(Debug)]
pub(super) struct SessionFiles {
    dir: PathBuf,
    margin: DiskGuard,
    count: AtomicUsize,
    /// Held by the one who tidies up.
    tidying: Mutex<()>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredSession {
    pub(super) principal: String,
    pub(super) state: SessionState,
}

impl SessionFiles {
    /// Forgets the old ones on the way.
    pub(super) fn open(dir: PathBuf, margin: DiskGuard) -> Self {
        let files = Self {
            dir,
            margin,
            count: AtomicUsize::new(0),
            tidying: Mutex::default(),
        };
        if let Err(error) = files.make_dir().and_then(|()| files.tidy()) {
            tracing::warn!(%error, "old MCP sessions cannot be looked through");
        }
        files
    }

    fn make_dir(&self) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.dir)?;
        fs::set_permissions(&self.dir, Permissions::from_mode(0o700))
    }

    fn tidy(&self) -> io::Result<()> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            match entry.metadata().and_then(|meta| meta.modified()) {
                // Its client ended it just now.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                used => found.push((used?, entry.path())),
            }
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        let mut most = MOST;
        if found.len() > MOST {
            found = by_turns(found);
            most = LEFT;
        }
        let now = SystemTime::now();
        let is_old = |used| now.duration_since(used).is_ok_and(|idle| idle > KEPT);
        let mut left = 0;
        for (used, path) in found {
            if left < most && !is_old(used) {
                left += 1;
                continue;
            }
            match fs::remove_file(&path) {
                // Its client ended it meanwhile.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(path = %path.display(), %error, "an old MCP session stays");
                }
                _ => {}
            }
        }
        self.count.store(left, Ordering::Relaxed);
        Ok(())
    }

    /// Ids are UUIDs in their one plain form; nothing else is looked for on disk.
    fn file(&self, id: &str) -> Option<PathBuf> {
        let plain = uuid::Uuid::try_parse(id).ok()?.to_string();
        (plain == id).then(|| self.dir.join(plain))
    }

    pub(super) fn read(&self, id: &str) -> io::Result<Option<StoredSession>> {
        let Some(file) = self.file(id) else {
            return Ok(None);
        };
        match fs::read(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // One that was cut off in the middle is as good as none.
            text => Ok(serde_json::from_slice(&text?).ok()),
        }
    }

    /// It is in use: its age counts from now.
    pub(super) fn touch(&self, id: &str) -> io::Result<()> {
        match self.file(id).map(File::open) {
            Some(Ok(file)) => file.set_modified(SystemTime::now()),
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Some(Err(_)) | None => Ok(()),
        }
    }

    pub(super) fn write(&self, id: &str, kept: &StoredSession) -> io::Result<()> {
        let Some(path) = self.file(id) else {
            return Err(io::Error::other("the session's id is not a UUID"));
        };
        let text = serde_json::to_vec(kept)?;
        self.margin.spend(|| {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(&path)?.write_all(&text)
        })?;
        if self.count.fetch_add(1, Ordering::Relaxed) >= MOST {
            let _one = self.tidying.lock().unwrap_or_else(PoisonError::into_inner);
            // Of those who come at once the first does it for all.
            if self.count.load(Ordering::Relaxed) > MOST {
                self.tidy()?;
            }
        }
        Ok(())
    }

    pub(super) fn remove(&self, id: &str) -> io::Result<()> {
        match self.file(id).map(fs::remove_file) {
            Some(Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Of files from the newest to the oldest first the newest of each principal, then the next of each: whoever
/// has many makes room before others do.
fn by_turns(found: Vec<(SystemTime, PathBuf)>) -> Vec<(SystemTime, PathBuf)> {
    let mut counts = HashMap::<String, usize>::new();
    let mut placed: Vec<_> = found
        .into_iter()
        .map(|(used, path)| {
            // One that cannot be read is nobody's.
            let kept = fs::read(&path).ok();
            let kept = kept.and_then(|text| serde_json::from_slice::<StoredSession>(&text).ok());
            let count = counts.entry(kept.map_or_else(String::new, |kept| kept.principal));
            let count = count.or_default();
            *count += 1;
            (*count, used, path)
        })
        .collect();
    placed.sort_by_key(|(place, ..)| *place);
    let placed = placed.into_iter().map(|(_, used, path)| (used, path));
    placed.collect()
}
