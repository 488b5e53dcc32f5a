//! A part of the output, a piece at a time.

use std::io;

use bytes::Bytes;
use tokio_stream::Stream;

use super::{AnsiFilter, Output};

/// A piece for the wire.
const CHUNK: usize = 64 * 1024;
/// How much is read for one piece at most, even if nothing of it is wanted: whoever asked may be gone.
const STEP: usize = 512 * 1024;

/// Something that is made bit by bit out of a journal.
pub trait Pieces: Send + 'static {
    /// The next piece, which may be empty; `None` at the end. Blocks.
    fn piece(&mut self) -> io::Result<Option<Bytes>>;
}

/// The pieces as they are wanted, made on the blocking pool; nothing goes on once the stream is gone.
pub fn stream<P: Pieces>(mut pieces: P) -> impl Stream<Item = io::Result<Bytes>> + Send {
    async_stream::try_stream! {
        loop {
            let (moved, piece) = tokio::task::spawn_blocking(move || {
                let piece = pieces.piece();
                (pieces, piece)
            })
            .await
            .map_err(io::Error::other)?;
            pieces = moved;
            match piece? {
                Some(piece) if piece.is_empty() => {}
                Some(piece) => yield piece,
                None => break,
            }
        }
    }
}

/// Reads output for one piece: gives it to `take`, which tells how long the piece is, or `None` if it wants no more at
/// all, until there is a piece, a step is done or the output ends. True if there may be more.
pub(super) fn step(
    output: &mut Output,
    mut take: impl FnMut(&[u8]) -> Option<usize>,
) -> io::Result<bool> {
    let (mut read, mut more) = (0, false);
    while let Some(bytes) = output.more()? {
        read += bytes.len();
        let piece = take(bytes);
        more = piece.is_some_and(|len| len >= CHUNK || read >= STEP);
        if more || piece.is_none() {
            break;
        }
    }
    output.release();
    Ok(more)
}

/// A run of bytes or lines of the output.
#[derive(Debug)]
pub struct Excerpt {
    output: Output,
    left: Left,
    filter: Option<AnsiFilter>,
}

#[derive(Debug, Clone, Copy)]
enum Left {
    Bytes(u64),
    Lines(u64),
}

impl Excerpt {
    /// `count` bytes from byte `first` on, counted from 0.
    pub fn bytes(mut output: Output, first: u64, count: u64) -> io::Result<Self> {
        output.seek_byte(first)?;
        Ok(Self::of(output, Left::Bytes(count)))
    }

    /// `count` lines from line `first` on, counted from 1.
    pub fn lines(mut output: Output, first: u64, count: u64) -> io::Result<Self> {
        output.seek_line(first)?;
        Ok(Self::of(output, Left::Lines(count)))
    }

    /// The last `count` lines.
    pub fn tail(mut output: Output, count: u64) -> io::Result<Self> {
        let lines = output.totals()?.lines;
        Self::lines(output, lines.saturating_sub(count) + 1, count)
    }

    fn of(mut output: Output, left: Left) -> Self {
        output.release();
        Self {
            output,
            left,
            filter: None,
        }
    }

    /// The same without terminal escapes. Lines keep their numbers.
    #[must_use]
    pub fn without_ansi(mut self) -> Self {
        self.filter = Some(AnsiFilter::default());
        self
    }
}

impl Left {
    /// The beginning of `bytes` that is wanted.
    fn take<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Bytes(left) => {
                let wanted = usize::try_from(*left)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                *left -= wanted as u64;
                &bytes[..wanted]
            }
            Self::Lines(left) => {
                for newline in memchr::memchr_iter(b'\n', bytes) {
                    *left = left.saturating_sub(1);
                    if *left == 0 {
                        return &bytes[..=newline];
                    }
                }
                bytes
            }
        }
    }

    fn is_none(self) -> bool {
        matches!(self, Self::Bytes(0) | Self::Lines(0))
    }
}

impl Pieces for Excerpt {
    fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.left.is_none() {
            return Ok(None);
        }
        let mut piece = Vec::with_capacity(CHUNK);
        let more = step(&mut self.output, |bytes| {
            let wanted = self.left.take(bytes);
            match &mut self.filter {
                Some(filter) => filter.pass(wanted, &mut piece),
                None => piece.extend_from_slice(wanted),
            }
            (!self.left.is_none()).then_some(piece.len())
        })?;
        if !more {
            self.left = Left::Bytes(0);
        }
        Ok(Some(piece.into()))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio_stream::StreamExt;

    use super::super::{FrameKind, Stream as Out, Writer, length, pack};
    use super::*;

    fn all_of(mut excerpt: Excerpt) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = excerpt.piece().unwrap() {
            assert!(piece.len() <= CHUNK + super::super::MAX_OUTPUT);
            all.extend_from_slice(&piece);
        }
        all
    }

    fn output(path: &Path) -> Output {
        Output::open(path, length(path).unwrap()).unwrap()
    }

    /// What a person with the whole output in hand would cut out of it.
    fn check(path: &Path, all: &[u8], first: usize, count: usize) {
        let lines: Vec<_> = all.split_inclusive(|byte| *byte == b'\n').collect();
        let (many, few) = (first as u64, count as u64);

        let got = all_of(Excerpt::bytes(output(path), many, few).unwrap());
        let expected: Vec<_> = all.iter().skip(first).take(count).copied().collect();
        assert!(got == expected, "bytes {first} {count}");

        let line = first % (lines.len() + 2) + 1;
        let got = all_of(Excerpt::lines(output(path), line as u64, few).unwrap());
        let expected: Vec<_> = lines.iter().skip(line - 1).take(count).copied().collect();
        assert!(got == expected.concat(), "lines {line} {count}");

        let got = all_of(Excerpt::tail(output(path), few).unwrap());
        let expected = lines[lines.len().saturating_sub(count)..].concat();
        assert!(got == expected, "tail {count}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn parts_are_what_they_are_in_the_whole(
            parts in proptest::collection::vec(prop_oneof![
                "[a\n\r]{1,30}".prop_map(String::into_bytes),
                (1usize..60_000, 1usize..500).prop_map(|(n, every)| (1..=n)
                    .map(|at| if at % every == 0 { b'\n' } else { b'x' })
                    .collect()),
            ], 0..20),
            cuts in proptest::collection::vec((0usize..400_000, prop_oneof![0usize..5, 0usize..300_000]), 1..4),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal");
            let (mut writer, _) = Writer::create(&path).unwrap();
            for part in &parts {
                writer.append(FrameKind::Output(Out::Stdout), part).unwrap();
                writer.append(FrameKind::Event, b"{}").unwrap();
            }
            let all = parts.concat();
            for (first, count) in &cuts {
                check(&path, &all, *first, *count);
            }
            pack(&path).unwrap();
            for (first, count) in &cuts {
                check(&path, &all, *first, *count);
            }
        }
    }

    /// Work that never ends and never has anything to give.
    struct Endless(Arc<AtomicUsize>);

    impl Pieces for Endless {
        fn piece(&mut self) -> io::Result<Option<Bytes>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Some(Bytes::new()))
        }
    }

    #[tokio::test]
    async fn work_for_one_who_is_gone_ends() {
        let held = Arc::new(AtomicUsize::new(0));
        let mut endless = Box::pin(stream(Endless(held.clone())));
        let patience = Duration::from_millis(20);
        assert!(
            tokio::time::timeout(patience, endless.next())
                .await
                .is_err()
        );
        assert!(held.load(Ordering::Relaxed) > 0, "it was at work");
        drop(endless);
        let let_go = async {
            while Arc::strong_count(&held) > 1 {
                tokio::task::yield_now().await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(10), let_go).await;
        ended.expect("it ends");
    }

    #[tokio::test]
    async fn escapes_are_taken_out_across_frames_and_pieces() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, _) = Writer::create(&path).unwrap();
        let text = b"\x1b[31mred\x1b[0m line\n".repeat(20_000);
        for part in text.chunks(7) {
            writer.append(FrameKind::Output(Out::Stdout), part).unwrap();
        }
        let excerpt = Excerpt::lines(output(&path), 2, 19_998).unwrap();
        let pieces: Vec<_> = stream(excerpt.without_ansi()).collect().await;
        let all: Vec<_> = pieces.into_iter().flat_map(Result::unwrap).collect();
        assert!(all == b"red line\n".repeat(19_998));
    }
}
