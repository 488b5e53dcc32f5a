//! Waking the viewers of journals that other processes write. One inotify instance serves all of
//! them: closing one costs milliseconds, and looking every so often would be too slow.

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::{Extent, Frontier};
use branchyard_runtime::background::Loops;

/// What inotify calls a change that it cannot name, because its queue overflowed.
const ANY: i32 = -1;

#[derive(Debug, Clone)]
pub struct Watcher {
    shared: Arc<WatcherInner>,
    _listening: Arc<AbortOnDropHandle<()>>,
}

#[derive(Debug)]
struct WatcherInner {
    inotify: AsyncFd<OwnedFd>,
    journals: Mutex<HashMap<i32, Arc<Journal>>>,
}

#[derive(Debug)]
struct Journal {
    frontier: Mutex<Frontier>,
    extent: watch::Sender<Extent>,
}

/// A journal under watch; dropping it ends the watch.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<WatcherInner>,
    journal: Arc<Journal>,
    descriptor: i32,
}

impl Watcher {
    /// Listens on the current runtime for as long as a clone of it is held.
    pub fn start(loops: Loops) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let shared = Arc::new(WatcherInner {
            inotify: listenable(inotify)?,
            journals: Mutex::default(),
        });
        let listened = shared.clone();
        let listening = loops.keep("journal_watcher", move || listen(listened.clone()));
        let listening = tokio::spawn(listening);
        Ok(Self {
            shared,
            _listening: Arc::new(AbortOnDropHandle::new(listening)),
        })
    }

    /// Has `extent` follow what another process appends to `journal` beyond `from`.
    pub fn watch(
        &self,
        journal: &Path,
        from: u64,
        extent: watch::Sender<Extent>,
    ) -> io::Result<Watch> {
        let frontier = Mutex::new(Frontier::open(journal, from)?);
        // Held while the watch is added, so that its first event finds it in the map.
        let mut journals = self.shared.journals.lock();
        let descriptor = inotify::add_watch(&self.shared.inotify, journal, WatchFlags::MODIFY)?;
        let journal = Arc::new(Journal { frontier, extent });
        journals.insert(descriptor, journal.clone());
        drop(journals);
        let watch = Watch {
            shared: self.shared.clone(),
            journal,
            descriptor,
        };
        // What was written before there was a watch.
        watch.catch_up()?;
        Ok(watch)
    }
}

impl Watch {
    /// Looks now, and returns where the last whole frame ends.
    pub fn catch_up(&self) -> io::Result<u64> {
        self.journal.catch_up()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.journals.lock().remove(&self.descriptor);
        // It is gone already where the file is.
        let _ = inotify::remove_watch(&self.shared.inotify, self.descriptor);
    }
}

impl WatcherInner {
    /// Looks at the journals that have changed.
    fn catch_up(&self, changed: &mut Vec<i32>) {
        for descriptor in changed.drain(..) {
            let journals: Vec<_> = {
                let journals = self.journals.lock();
                match journals.get(&descriptor) {
                    Some(journal) => vec![journal.clone()],
                    // The queue overflowed: any of them may have grown.
                    None if descriptor < 0 => journals.values().cloned().collect(),
                    None => continue,
                }
            };
            for journal in journals {
                if let Err(error) = journal.catch_up() {
                    tracing::error!(%error, "a journal cannot be read");
                }
            }
        }
    }
}

impl Journal {
    fn catch_up(&self) -> io::Result<u64> {
        let mut frontier = self.frontier.lock();
        let len = frontier.advance()?;
        self.extent.send_if_modified(|extent| {
            let grown = len > extent.len;
            extent.len = extent.len.max(len);
            grown
        });
        Ok(len)
    }
}

#[expect(
    deprecated,
    reason = "unsound only for types that lie about their descriptor, and an OwnedFd does not"
)]
fn listenable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}

async fn listen(shared: Arc<WatcherInner>) {
    // Started again, it has missed what came meanwhile.
    let mut changed = vec![ANY];
    loop {
        shared.catch_up(&mut changed);
        let Ok(mut ready) = shared.inotify.readable().await else {
            return;
        };
        let read = ready.try_io(|fd| read_events(fd.get_ref(), &mut changed));
        if let Ok(Err(error)) = read {
            tracing::error!(%error, "the journals cannot be watched any more");
            return;
        }
    }
}

/// The descriptors of everything that changed, each once.
fn read_events(inotify: &OwnedFd, changed: &mut Vec<i32>) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(inotify, &mut buffer);
    loop {
        let descriptor = reader.next()?.wd();
        if !changed.contains(&descriptor) {
            changed.push(descriptor);
        }
        if reader.is_buffer_empty() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FrameKind, Stream, Writer};
    use super::*;

    #[tokio::test]
    async fn what_another_writer_appends_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (writer, mut extent) = Writer::create(&path).unwrap();
        let from = extent.borrow().len;
        let watcher = Watcher::start(Loops::default()).unwrap();
        let watch = watcher.watch(&path, from, writer.extent()).unwrap();
        drop(writer);

        let (mut other, _) = Writer::reopen(&path).unwrap();
        for n in 1u64..=3 {
            other
                .append(FrameKind::Output(Stream::Stdout), b"line\n")
                .unwrap();
            let seen = extent.wait_for(|extent| extent.len >= from + n * 22).await;
            assert_eq!(seen.unwrap().len, from + n * 22);
        }
        drop((watch, other));
        assert!(watcher.shared.journals.lock().is_empty());
        let gone = extent.changed().await;
        assert!(gone.is_err(), "the last sender went with the watch");
    }
}
