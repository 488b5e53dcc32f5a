//! Any bytes at all, read as what a run prints and what happens meanwhile.

use branchyard_journal::{Frame, FrameKind, MAX_OUTPUT, Stream};
use branchyard_model::{Event, Warning};

use crate::dice::Dice;

/// What happens to a journal or to its viewer.
#[derive(Debug, Clone)]
pub enum Step {
    Frame(FrameKind, Vec<u8>),
    /// Nothing came for a while.
    Flush,
    KeepAlive,
    /// The viewer took what there was.
    Take,
}

/// Takes an input apart, from its beginning.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a>(pub &'a [u8]);

impl<'a> Script<'a> {
    /// 0 where the input has ended.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub fn number(&mut self) -> usize {
        usize::from(self.byte()) << 8 | usize::from(self.byte())
    }

    pub fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// All that is left, as steps.
    pub fn steps(mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        while !self.0.is_empty() {
            steps.push(self.step());
        }
        steps
    }

    fn step(&mut self) -> Step {
        let kind = self.byte();
        match kind % 16 {
            // Long ones: a few bytes, over and over. Many lines take long and are all alike.
            2 | 3 => {
                let times = self.number() + 1;
                let part = self.part();
                let most = if part.contains(&b'\n') {
                    2048
                } else {
                    MAX_OUTPUT
                };
                let mut bytes = part.repeat(times.min(most));
                bytes.truncate(most);
                Step::Frame(STREAMS[usize::from(kind % 2)], bytes)
            }
            4 => {
                let message = String::from_utf8_lossy(self.part()).into_owned();
                let event = Event::Warning(Warning::new("fuzzed", message));
                Step::Frame(FrameKind::Event, serde_json::to_vec(&event).unwrap())
            }
            5 => Step::Flush,
            6 => Step::KeepAlive,
            7 => Step::Take,
            _ => Step::Frame(STREAMS[usize::from(kind % 2)], self.part().to_vec()),
        }
    }

    fn part(&mut self) -> &'a [u8] {
        let length = self.byte();
        self.take(usize::from(length))
    }
}

const STREAMS: [FrameKind; 2] = [
    FrameKind::Output(Stream::Stdout),
    FrameKind::Output(Stream::Stderr),
];

/// A script whose steps make sense.
pub fn make(dice: &mut Dice) -> Vec<u8> {
    let mut script = Vec::new();
    for _ in 0..=dice.below(12) {
        let kind = dice.byte();
        script.push(kind);
        if matches!(kind % 16, 2 | 3) {
            let often = if dice.one_in(8) { dice.byte() } else { 0 };
            script.extend([often, dice.byte()]);
        }
        if !matches!(kind % 16, 5..8) {
            let part = printed(dice);
            script.push(u8::try_from(part.len()).expect("cut to a byte"));
            script.extend(part);
        }
    }
    script
}

/// What a command prints: text, parts of characters, and what may be taken for something else.
fn printed(dice: &mut Dice) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..dice.below(6) {
        match dice.below(4) {
            0 => bytes.extend(dice.pick(WORDS).as_bytes()),
            1 => bytes.push(dice.byte()),
            2 => bytes.extend(&dice.letter().to_string().as_bytes()[..1]),
            _ => bytes.extend(dice.several(8, |dice| dice.letter().to_string()).as_bytes()),
        }
    }
    bytes.truncate(255);
    bytes
}

/// What means something in one of the formats that output travels in.
#[rustfmt::skip]
pub const WORDS: &[&str] = &[
    "\n", "\r\n", "\r", "\n\n", "\r\r", "data: ", "event: complete\n", "id: 0\n", ":\n\n",
    "retry: 1\n", "\n\ndata: {\"type\":\"complete\"}\n\n", "{\"type\":\"complete\"}\n", "\u{feff}",
    "\u{2028}", "\\", "\"", "\\u0000", "\x1b[31m", "\x1b]8;;", "\x1b\\", "\x07", "BYJOURN\x01",
    "\u{1f600}", "日", "é", "\0",
];

/// A frame as its reader would give it, with where the next one starts.
pub fn frame<'a>(start: u64, kind: FrameKind, payload: &'a [u8]) -> (Frame<'a>, u64) {
    let frame = Frame {
        start,
        kind,
        micros: 0,
        payload,
    };
    (frame, frame.end())
}
