//! The screen of `top`. What was on the terminal before is there again when it goes.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use jiff::Timestamp;
use rustix::termios::tcgetwinsize;

use super::super::exit::Failure;
use super::super::render::Console;
use super::state::TopState;

/// The terminal's other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// Where the terminal does not say.
const USUAL: (u16, u16) = (80, 24);

pub(super) struct Screen {
    console: Console,
}

impl Screen {
    pub(super) fn open(console: Console) -> Result<Self, Failure> {
        console.print(ENTER.as_bytes())?;
        Ok(Self { console })
    }

    pub(super) fn draw(&self, state: &TopState) -> Result<(), Failure> {
        let (width, height) = match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => USUAL,
        };
        let text = state.shown(width, self.console.color_stdout, Timestamp::now());
        let mut drawn = HOME.to_owned();
        for line in text.lines().take(height.into()) {
            let _ = write!(drawn, "{line}{CLEAR_LINE}\r\n");
        }
        // The last line has no end: it would push the first one out.
        drawn.truncate(drawn.trim_end().len());
        drawn.push_str(CLEAR_BELOW);
        self.console.print(drawn.as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = io::stdout().write_all(LEAVE.as_bytes());
        let _ = io::stdout().flush();
    }
}
