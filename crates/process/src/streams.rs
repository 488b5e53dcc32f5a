//! The two streams of a command, on their way into the journal: read as they come, secrets taken out.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::masks::{self, MaskFinder};
use super::{Launch, Redactor};
use branchyard_journal::{MAX_OUTPUT, Recorder, Stream};
use branchyard_model::Event;
use branchyard_runtime::disk::Room;

/// A larger pipe lets a chatty command run ahead instead of waking us for every few lines.
const PIPE_SIZE: usize = 1024 * 1024;
/// Output that may be the beginning of a secret is held back for this long before it is looked at again.
const HELD_BACK: Duration = Duration::from_millis(100);

pub(super) struct Streams {
    log: Log,
    sources: [StreamSource; 2],
    masks: Option<Masks>,
    buffer: Vec<u8>,
    held_until: Option<Instant>,
}

/// What the command masks itself.
struct Masks {
    file: PathBuf,
    finders: [MaskFinder; 2],
    /// All that is hidden by now.
    secrets: Vec<String>,
}

/// The journal, as far as the disk takes it. A full disk must not end the build: its output is dropped,
/// and counted, and its end still told.
struct Log {
    journal: Recorder,
    /// Where the journal stands.
    home: PathBuf,
    /// Why something could not be written, the first time.
    unwritten: Option<io::Error>,
}

/// What of the output is not in the journal.
pub(super) struct Missing {
    /// Bytes at its end that could not be written.
    pub(super) lost: u64,
    /// Bytes that the limit left out.
    pub(super) left_out: u64,
    /// Why some could not be written, the first time.
    pub(super) unwritten: Option<io::Error>,
}

struct StreamSource {
    stream: Stream,
    /// None once it has ended.
    fd: Option<OwnedFd>,
    redactor: Option<Redactor>,
}

impl Streams {
    /// Takes over the two streams of a command, each the reading end of a pipe.
    pub(super) fn of(
        [stdout, stderr]: [Option<OwnedFd>; 2],
        journal: Recorder,
        launch: &Launch,
    ) -> io::Result<Self> {
        let redactor = Redactor::new(&launch.secrets);
        let source = |stream, fd| StreamSource {
            stream,
            fd,
            redactor: redactor.clone(),
        };
        let sources = [
            source(Stream::Stdout, stdout),
            source(Stream::Stderr, stderr),
        ];
        for source in &sources {
            if let Some(fd) = &source.fd {
                rustix::io::ioctl_fionbio(fd, true)?;
                // Only a speed-up; the system's limit on pipe memory may refuse it.
                let _ = rustix::pipe::fcntl_setpipe_size(fd, PIPE_SIZE);
            }
        }
        Ok(Self {
            log: Log {
                journal,
                home: launch.home.clone(),
                unwritten: None,
            },
            sources,
            masks: launch.masks.clone().map(|file| Masks {
                file,
                finders: Default::default(),
                secrets: launch.secrets.clone(),
            }),
            buffer: vec![0; MAX_OUTPUT],
            held_until: None,
        })
    }

    /// The streams that have not ended, to be waited for.
    pub(super) fn open(&self) -> [Option<&OwnedFd>; 2] {
        self.sources.each_ref().map(|source| source.fd.as_ref())
    }

    pub(super) fn are_drained(&self) -> bool {
        self.open().iter().all(Option::is_none)
    }

    /// When [`Streams::look_again`] is due.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.held_until
    }

    /// Takes one read of what a stream has.
    pub(super) fn pump(&mut self, index: usize) {
        let source = &mut self.sources[index];
        let Some(fd) = &source.fd else {
            return;
        };
        let read = match rustix::io::read(fd.as_fd(), &mut self.buffer) {
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            Ok(0) | Err(_) => {
                source.fd = None;
                return;
            }
            Ok(n) => &self.buffer[..n],
        };
        let unmasked = self.masks.as_mut().map(|masks| masks.pass(index, read));
        if let (Some(masks), Some((_, true))) = (&self.masks, &unmasked) {
            // Both streams hide it from here on.
            for source in &mut self.sources {
                let before = source.redactor.take();
                source.redactor = Redactor::with_secrets(before, &masks.secrets);
            }
        }
        let source = &mut self.sources[index];
        let read = unmasked.as_ref().map_or(read, |(passed, _)| passed);
        let redacted = source.redactor.as_mut().map(|redactor| {
            let mut shown = Vec::with_capacity(read.len());
            redactor.feed(read, &mut shown);
            shown
        });
        if redacted.is_some() {
            self.held_until = Instant::now().checked_add(HELD_BACK);
        }
        let shown = redacted.as_deref().unwrap_or(read);
        self.log.output(source.stream, shown);
    }

    /// Gives out what was held back for a while and turned out to be nothing.
    pub(super) fn look_again(&mut self, now: Instant) {
        if self.held_until.is_some_and(|at| at <= now) {
            self.held_until = None;
            self.give_out(Redactor::pause);
        }
    }

    /// Journals an event among the output.
    pub(super) fn event(&mut self, event: &Event) {
        let written = self.log.journal.event(event);
        self.log.note(written);
    }

    /// Gives out all that is left. Returns what is missing after all.
    pub(super) fn finish(mut self) -> Missing {
        for index in [0, 1] {
            let Some(masks) = &mut self.masks else { break };
            let left = masks.finders[index].finish();
            let source = &mut self.sources[index];
            let mut shown = Vec::new();
            match &mut source.redactor {
                Some(redactor) => redactor.feed(&left, &mut shown),
                None => shown = left,
            }
            self.log.output(source.stream, &shown);
        }
        self.give_out(Redactor::finish);
        let finished = self.log.journal.finish();
        self.log.note(finished);
        Missing {
            lost: self.log.journal.lost(),
            left_out: self.log.journal.left_out(),
            unwritten: self.log.unwritten,
        }
    }

    fn give_out(&mut self, how: impl Fn(&mut Redactor, &mut Vec<u8>)) {
        for source in &mut self.sources {
            if let Some(redactor) = &mut source.redactor {
                let mut shown = Vec::new();
                how(redactor, &mut shown);
                self.log.output(source.stream, &shown);
            }
        }
    }
}

impl Masks {
    /// What of `bytes` goes on to be looked through for secrets, and whether there are new ones.
    fn pass(&mut self, index: usize, bytes: &[u8]) -> (Vec<u8>, bool) {
        let mut passed = Vec::with_capacity(bytes.len());
        let found = self.finders[index].feed(bytes, &mut passed);
        let is_new = !found.is_empty();
        for value in found {
            // What cannot be kept is hidden in the output of this command all the same.
            let _ = masks::keep(&self.file, &value);
            self.secrets.push(value);
        }
        (passed, is_new)
    }
}

impl Log {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // Once some is lost, what little room there is belongs to the ends of runs.
        if self.journal.lost() > 0 && Room::shortage_at(&self.home).is_some() {
            self.journal.lose(bytes);
            return;
        }
        let written = self.journal.output(stream, bytes);
        self.note(written);
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.unwritten.get_or_insert(error);
        }
    }
}
