//! An answer as it comes out of a socket: the least that a viewer can do, so that the daemon is measured
//! and not its client.

/// Takes an HTTP/1.1 answer with a chunked body apart, whatever pieces it comes in.
#[derive(Debug, Default)]
pub struct Answer {
    head: Vec<u8>,
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    /// The length of a chunk, as far as it was read.
    Length(usize),
    Chunk(usize),
    /// So many bytes of the line break behind a chunk.
    Break(usize),
    Ended,
}

impl Answer {
    /// The request for one.
    pub fn request(url: &str, key: &str, line: &str, accept: &str, body: &str) -> String {
        let host = url.strip_prefix("http://").unwrap();
        format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\nAccept: {accept}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Shows `take` each piece of the body in what was received; whether the answer has ended.
    pub fn feed(&mut self, mut received: &[u8], mut take: impl FnMut(&[u8])) -> bool {
        while !received.is_empty() && self.state != State::Ended {
            match self.state {
                State::Head => received = self.head(received),
                State::Length(length) => {
                    let byte = received[0];
                    received = &received[1..];
                    self.state = match char::from(byte).to_digit(16) {
                        Some(digit) => State::Length(length * 16 + digit as usize),
                        None if byte == b'\n' && length == 0 => State::Ended,
                        None if byte == b'\n' => State::Chunk(length),
                        None => State::Length(length),
                    };
                }
                State::Chunk(left) => {
                    let (now, later) = received.split_at(left.min(received.len()));
                    take(now);
                    received = later;
                    self.state = match left - now.len() {
                        0 => State::Break(2),
                        left => State::Chunk(left),
                    };
                }
                State::Break(left) => {
                    received = &received[1..];
                    self.state = match left {
                        1 => State::Length(0),
                        _ => State::Break(left - 1),
                    };
                }
                State::Ended => {}
            }
        }
        self.state == State::Ended
    }

    /// Whether the head is there.
    pub fn has_begun(&self) -> bool {
        self.state != State::Head
    }

    fn head<'a>(&mut self, received: &'a [u8]) -> &'a [u8] {
        let before = self.head.len();
        self.head.extend_from_slice(received);
        let Some(end) = self.head.windows(4).position(|four| four == b"\r\n\r\n") else {
            return &[];
        };
        let head = String::from_utf8_lossy(&self.head[..end]).to_lowercase();
        assert!(head.starts_with("http/1.1 200 "), "{head}");
        assert!(head.contains("transfer-encoding: chunked"), "{head}");
        self.state = State::Length(0);
        &received[end + 4 - before..]
    }
}
