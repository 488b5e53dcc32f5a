//! Server-sent events, put together from chunks.

use std::time::Duration;

use crate::cli::exit::Failure;
use crate::cli::stream::Lines;

/// What one message of the daemon may take.
pub(super) const MOST: usize = 64 << 20;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: Vec<u8>,
    /// Where to go on after it.
    pub(super) id: Option<String>,
    /// How long to wait before a broken stream is taken up again.
    pub(super) retry: Option<Duration>,
}

#[derive(Debug)]
pub(super) struct Events {
    lines: Lines,
    /// The event whose end has not come.
    next: Event,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            lines: Lines::of_at_most(MOST),
            next: Event::default(),
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.lines.push(chunk);
    }

    /// The next event that is whole.
    pub(super) fn next(&mut self) -> Result<Option<Event>, Failure> {
        while let Some(line) = self.lines.line()? {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                let event = std::mem::take(&mut self.next);
                if event != Event::default() {
                    return Ok(Some(event));
                }
                continue;
            }
            let colon = memchr::memchr(b':', line).unwrap_or(line.len());
            let (name, value) = line.split_at(colon);
            let value = value.strip_prefix(b":").unwrap_or(value);
            let value = value.strip_prefix(b" ").unwrap_or(value);
            match name {
                b"data" => {
                    if self.next.data.len() + value.len() >= MOST {
                        return Err(Failure::daemon("the daemon sent an event that never ends"));
                    }
                    if !self.next.data.is_empty() {
                        self.next.data.push(b'\n');
                    }
                    self.next.data.extend_from_slice(value);
                }
                b"id" => self.next.id = text(value),
                b"retry" => {
                    let millis = text(value).and_then(|text| text.parse().ok());
                    self.next.retry = millis.map(Duration::from_millis);
                }
                // Comments and fields of tomorrow.
                _ => {}
            }
        }
        Ok(None)
    }
}

fn text(value: &[u8]) -> Option<String> {
    std::str::from_utf8(value).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_wherever_the_chunks_are_cut() {
        let text = ": keep\n\nid: 0\nretry: 3000\ndata:\n\nevent: message\r\ndata: {\"a\":\r\ndata:1}\r\n\r\n\
                    data: x\n\ndata: half";
        for size in 1..text.len() {
            let mut events = Events::new();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                events.push(chunk);
                while let Some(event) = events.next().unwrap() {
                    seen.push(event);
                }
            }
            let priming = Event {
                id: Some("0".to_owned()),
                retry: Some(Duration::from_secs(3)),
                ..Event::default()
            };
            let of = |data: &str| Event {
                data: data.as_bytes().to_vec(),
                ..Event::default()
            };
            assert_eq!(seen, [priming, of("{\"a\":\n1}"), of("x")]);
        }
    }
}
