//! A journal as text: the bytes that were printed, and what is said of the end.

use bytes::{BufMut, Bytes, BytesMut};

use branchyard_journal::{AnsiFilter, CHUNK, Frame, FrameKind, Sink};
use branchyard_model::{Event, MemberEnded, Summary};

/// Renders a journal as the bytes that the command wrote, with or without a last line that says how
/// it ended.
#[derive(Debug)]
pub struct Text {
    buffer: BytesMut,
    with_end: bool,
    last_byte: Option<u8>,
    filter: Option<AnsiFilter>,
}

impl Text {
    /// The output and one last line `branchyard: …`.
    pub fn with_end() -> Self {
        Self {
            buffer: BytesMut::new(),
            with_end: true,
            last_byte: None,
            filter: None,
        }
    }

    /// Exactly the output.
    pub fn exact() -> Self {
        Self {
            with_end: false,
            ..Self::with_end()
        }
    }

    /// The same without terminal escapes.
    pub fn without_ansi(mut self) -> Self {
        self.filter = Some(AnsiFilter::default());
        self
    }

    /// What was printed last is no whole line.
    fn is_unended(&self) -> bool {
        self.last_byte.is_some_and(|byte| byte != b'\n')
    }

    fn end(&mut self, event: &Event) {
        let how = match event {
            Event::Complete(complete) => {
                let mut how = complete.end.state.as_str().to_owned();
                if let Some(code) = complete.end.exit_code {
                    how.push_str(&format!(", exit code {code}"));
                }
                if let Some(signal) = complete.end.signal {
                    how.push_str(&format!(", signal {signal}"));
                }
                if let Some(commit) = &complete.end.commit {
                    how.push_str(&format!(", commit {commit}"));
                }
                how.push_str(&format!(", {} ms", complete.end.duration_ms));
                if let Some(earlier) = complete.cached {
                    how.push_str(&format!(", cached from run {earlier}"));
                }
                if let Some(reason) = &complete.end.reason {
                    how.push_str(&format!(" ({reason})"));
                }
                how
            }
            Event::Error(problem) => format!("rejected: {}", problem.detail),
            // One branch of a group has ended.
            Event::Ended(ended) => {
                return self.say(&format!("{}: {}", ended.member.branch, ended_as(ended)));
            }
            Event::Summary(summary) => summed_up(summary),
            Event::Job(job) if job.state.is_ended() => {
                return self.say(&format!("{}: {}", job.name, job.state.as_str()));
            }
            Event::Pipeline(pipeline) if pipeline.state.is_ended() => {
                let ms = pipeline.duration_ms.unwrap_or_default();
                format!("{}: {ms} ms", pipeline.state.as_str())
            }
            Event::Status(_)
            | Event::Warning(_)
            | Event::Gap(_)
            | Event::Group(_)
            | Event::Started(_)
            | Event::Pipeline(_)
            | Event::Job(_) => return,
        };
        self.say(&format!("branchyard: {how}"));
    }

    /// A line of our own, which begins on a line of its own.
    fn say(&mut self, line: &str) {
        let (before, note) = match self.is_unended() {
            true => ("\n", " [no newline at end of output]"),
            false => ("", ""),
        };
        let line = format!("{before}{line}{note}\n");
        self.buffer.put_slice(line.as_bytes());
        self.last_byte = None;
    }
}

fn ended_as(ended: &MemberEnded) -> String {
    let mut how = ended.end.state.as_str().to_owned();
    if let Some(code) = ended.end.exit_code.filter(|code| *code != 0) {
        how.push_str(&format!(", exit code {code}"));
    }
    let (ms, run) = (ended.end.duration_ms, ended.member.run_id);
    how.push_str(&format!(", {ms} ms, run {run}"));
    let error = ended.error.as_ref().map(|problem| problem.detail.as_str());
    if let Some(why) = ended.end.reason.as_deref().or(error) {
        how.push_str(&format!(" ({why})"));
    }
    how
}

fn summed_up(summary: &Summary) -> String {
    let counts = summary.counts.iter();
    let counts: Vec<_> = counts.map(|(state, n)| format!("{n} {state}")).collect();
    let (state, ms) = (summary.state.as_str(), summary.duration_ms);
    format!("{state}: {}, {ms} ms", counts.join(", "))
}

/// It does not keep the connection alive: every byte would be taken for output.
impl Sink for Text {
    fn frame(&mut self, frame: &Frame<'_>, skip: usize) -> usize {
        match frame.kind {
            FrameKind::Output(_) => {
                let room = CHUNK.saturating_sub(self.buffer.len());
                let through = frame.payload.len().min(skip + room);
                let output = &frame.payload[skip..through];
                match &mut self.filter {
                    Some(filter) => filter.pass(output, &mut self.buffer),
                    None => self.buffer.put_slice(output),
                }
                self.last_byte = output.last().copied().or(self.last_byte);
                return through;
            }
            FrameKind::Event if self.with_end => {
                if let Ok(event) = serde_json::from_slice(frame.payload) {
                    self.end(&event);
                }
            }
            FrameKind::Event => {}
        }
        frame.payload.len()
    }

    fn buffered(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.buffer).freeze()
    }

    fn format_id(&self) -> Option<u8> {
        let is_unended = self.is_unended();
        match self.filter {
            // 0 and 1 are those of events.
            None => Some(2 + u8::from(self.with_end) + 2 * u8::from(is_unended)),
            Some(_) => None,
        }
    }

    fn skip(&mut self, piece: &Bytes) {
        self.last_byte = piece.last().copied();
    }
}
