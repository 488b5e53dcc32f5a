//! What the agent writes, line by line, from a thread of its own: a read that never returns holds
//! nobody up, not even the exit.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::cli::exit::Failure;

/// Lines that wait for those before them.
const WAITING: usize = 16;
/// How far into a line that is too long we look for whose it is.
const LOOKED_THROUGH: u64 = 64 << 20;

#[derive(Debug, PartialEq)]
pub(super) enum InputLine {
    Whole(Vec<u8>),
    /// Its id, where it has one, and what it may have at most.
    TooLong(Value, usize),
}

/// Reads until the agent is gone, then says so. No line may be longer than `most` says at the time.
pub(super) fn lines(
    most: Arc<AtomicUsize>,
    gone: CancellationToken,
) -> Result<mpsc::Receiver<InputLine>, Failure> {
    let (tell, lines) = mpsc::channel(WAITING);
    let reading = move || {
        let _gone = gone.drop_guard();
        let mut stdin = io::stdin().lock();
        // A stdin that cannot be read is as good as closed.
        while let Ok(Some(line)) = next(&mut stdin, most.load(Ordering::Relaxed)) {
            if tell.blocking_send(line).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new()
        .name("stdin".to_owned())
        .spawn(reading)
        .map_err(|error| Failure::local(format!("cannot read stdin: {error}")))?;
    Ok(lines)
}

fn next(input: &mut impl BufRead, most: usize) -> io::Result<Option<InputLine>> {
    let mut line = Vec::new();
    let mut limited = input.by_ref().take((most as u64).saturating_add(1));
    if limited.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > most {
        let mut rest = RestOfLine {
            input,
            ended: false,
        };
        let id = id_of((&*line).chain(rest.by_ref().take(LOOKED_THROUGH)));
        io::copy(&mut rest, &mut io::sink())?;
        return Ok(Some(InputLine::TooLong(id, most)));
    }
    Ok(Some(InputLine::Whole(line)))
}

/// The id of a message, read without holding the message.
fn id_of(message: impl Read) -> Value {
    #[derive(Deserialize)]
    struct Identified {
        id: Value,
    }
    match serde_json::from_reader(message) {
        Ok(Identified { id }) if id.is_string() || id.is_number() => id,
        _ => Value::Null,
    }
}

/// Ends where the line ends, and takes its end along.
struct RestOfLine<'a, R> {
    input: &'a mut R,
    ended: bool,
}

impl<R: BufRead> Read for RestOfLine<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        let available = self.input.fill_buf()?;
        let most = available.len().min(buffer.len());
        let (taken, consumed) = match memchr::memchr(b'\n', &available[..most]) {
            Some(end) => (end, end + 1),
            None => (most, most),
        };
        buffer[..taken].copy_from_slice(&available[..taken]);
        self.ended = taken != consumed || most == 0;
        self.input.consume(consumed);
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_line_is_refused_by_its_id_and_the_next_one_is_read() {
        let long = "x".repeat(100_000);
        for (line, id) in [
            (json!({"id": 7, "params": long}).to_string(), json!(7)),
            (
                format!("{{\"params\":\"{long}\",\"id\":\"a\"}}"),
                json!("a"),
            ),
            (
                json!({"params": {"id": 7}, "x": long}).to_string(),
                json!(null),
            ),
            (long.clone(), json!(null)),
            ("[".repeat(100_000), json!(null)),
        ] {
            let text = format!("{line}\nshort\n");
            // Small buffers, so that the line's end is found wherever it is.
            let mut input = io::BufReader::with_capacity(13, text.as_bytes());
            assert_eq!(
                next(&mut input, 50).unwrap(),
                Some(InputLine::TooLong(id, 50))
            );
            assert_eq!(
                next(&mut input, 50).unwrap(),
                Some(InputLine::Whole(b"short".to_vec()))
            );
            assert_eq!(next(&mut input, 50).unwrap(), None);
        }
    }

    #[test]
    fn a_line_may_be_as_long_as_allowed_and_the_last_one_needs_no_end() {
        let mut input = &b"12345\n\n12345"[..];
        assert_eq!(
            next(&mut input, 5).unwrap(),
            Some(InputLine::Whole(b"12345".to_vec()))
        );
        assert_eq!(
            next(&mut input, 5).unwrap(),
            Some(InputLine::Whole(Vec::new()))
        );
        assert_eq!(
            next(&mut input, 5).unwrap(),
            Some(InputLine::Whole(b"12345".to_vec()))
        );
        assert_eq!(next(&mut input, 5).unwrap(), None);
    }
}
