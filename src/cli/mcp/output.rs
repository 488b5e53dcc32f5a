//! What the agent reads: one message on each line, whole and at once, from a thread of its own, so that a
//! request that is dropped cannot leave half a line behind.

use std::io::{self, Write};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::cli::exit::Failure;

/// Messages that wait for an agent who does not read; those who have more wait themselves.
const WAITING: usize = 16;

#[derive(Debug, Clone)]
pub(super) struct Output(mpsc::Sender<Vec<u8>>);

/// Tells when all was written, once nobody has anything to write any more.
pub(super) type Written = oneshot::Receiver<()>;

impl Output {
    /// Says that the agent is gone when it reads no more.
    pub(super) fn open(gone: CancellationToken) -> Result<(Self, Written), Failure> {
        let (tell, mut lines) = mpsc::channel::<Vec<u8>>(WAITING);
        let (done, written) = oneshot::channel();
        let writing = move || {
            let _done = done;
            let mut stdout = io::stdout().lock();
            while let Some(line) = lines.blocking_recv() {
                if stdout
                    .write_all(&line)
                    .and_then(|()| stdout.flush())
                    .is_err()
                {
                    gone.cancel();
                    return;
                }
            }
        };
        std::thread::Builder::new()
            .name("stdout".to_owned())
            .spawn(writing)
            .map_err(|error| Failure::local(format!("cannot write to stdout: {error}")))?;
        Ok((Self(tell), written))
    }

    pub(super) async fn message(&self, message: &[u8]) {
        // Where no writer is left the agent is gone, and all of this ends.
        let _ = self.0.send(line_of(message)).await;
    }
}

/// Line breaks in JSON are blanks; those within a string are spelt otherwise.
fn line_of(message: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(message.len() + 1);
    line.extend(message.iter().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        other => *other,
    }));
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_however_it_was_laid_out() {
        assert_eq!(
            line_of(b"{\r\n \"a\": \"\\n\"\n}"),
            b"{   \"a\": \"\\n\" }\n"
        );
    }
}
