//! The keys that are pressed while `top` is on the screen.

use std::io::{self, Read};
use std::thread;

use tokio::sync::mpsc;

const ESC: u8 = 0x1b;
/// More than any key sends.
const LONGEST: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Letter(char),
}

/// Keys as they are pressed.
pub(super) struct KeyPresses(mpsc::UnboundedReceiver<Vec<Key>>);

impl KeyPresses {
    /// Reads on a thread of its own, until the process ends: a read of a terminal cannot be called off.
    pub(super) fn listen() -> io::Result<Self> {
        let (sender, receiver) = mpsc::unbounded_channel();
        thread::Builder::new().name("keys".into()).spawn(move || {
            let mut buffer = [0; LONGEST];
            while let Ok(count @ 1..) = io::stdin().lock().read(&mut buffer) {
                if sender.send(parse(&buffer[..count])).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self(receiver))
    }

    /// No keys at all.
    pub(super) fn none() -> Self {
        Self(mpsc::unbounded_channel().1)
    }

    /// What was pressed next; it waits for ever where nothing can be pressed any more.
    pub(super) async fn next(&mut self) -> Vec<Key> {
        match self.0.recv().await {
            Some(keys) => keys,
            None => std::future::pending().await,
        }
    }
}

/// The keys in what a terminal sent at once. A lone ESC is the key of that name.
fn parse(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(first) = bytes.first() {
        if *first == ESC {
            let (key, taken) = sequence(bytes);
            keys.extend(key);
            bytes = &bytes[taken..];
            continue;
        }
        let text = bytes.split(|byte| *byte == ESC).next().unwrap_or_default();
        keys.extend(String::from_utf8_lossy(text).chars().filter_map(plain));
        bytes = &bytes[text.len()..];
    }
    keys
}

fn plain(letter: char) -> Option<Key> {
    Some(match letter {
        '\r' | '\n' => Key::Enter,
        '\u{7f}' | '\u{8}' => Key::Backspace,
        _ if letter.is_control() => return None,
        _ => Key::Letter(letter),
    })
}

/// The key of an escape sequence, and how long that is.
fn sequence(bytes: &[u8]) -> (Option<Key>, usize) {
    if !matches!(bytes.get(1), Some(b'[' | b'O')) {
        return (Some(Key::Escape), 1);
    }
    let last = bytes[2..]
        .iter()
        .position(|byte| (0x40..=0x7e).contains(byte));
    let Some(last) = last.map(|at| at + 2) else {
        return (None, bytes.len());
    };
    let key = match (&bytes[2..last], bytes[last]) {
        (b"", b'A') => Some(Key::Up),
        (b"", b'B') => Some(Key::Down),
        (b"", b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
        (b"", b'F') | (b"4" | b"8", b'~') => Some(Key::End),
        (b"5", b'~') => Some(Key::PageUp),
        (b"6", b'~') => Some(Key::PageDown),
        _ => None,
    };
    (key, last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        for (bytes, keys) in [
            (&b"q"[..], vec![Key::Letter('q')]),
            (b"\x1b[A\x1bOB", vec![Key::Up, Key::Down]),
            (b"\x1b[5~\x1b[6~", vec![Key::PageUp, Key::PageDown]),
            (b"\x1b[H\x1b[4~", vec![Key::Home, Key::End]),
            (b"\x1b", vec![Key::Escape]),
            (b"\r", vec![Key::Enter]),
            (b"a\x7f", vec![Key::Letter('a'), Key::Backspace]),
            ("é".as_bytes(), vec![Key::Letter('é')]),
            // Keys that mean nothing here, and half a sequence.
            (b"\x1b[15~\x1b[1;5Cj", vec![Key::Letter('j')]),
            (b"\x1b[1;", vec![]),
            (b"\x01\x02", vec![]),
        ] {
            assert_eq!(parse(bytes), keys, "{bytes:?}");
        }
    }
}
