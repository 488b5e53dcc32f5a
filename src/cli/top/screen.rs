//! The screen of `top`: the terminal's other one, with keys that arrive as they are pressed. What was on the terminal
//! before, and how it was set, is there again when this is dropped.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

use crate::cli::exit::Failure;
use crate::cli::render::Console;

/// The terminal's other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
/// Where the terminal does not say.
const USUAL: (u16, u16) = (80, 24);
/// The code of a special character that is none.
const NO_CHARACTER: u8 = 0;

pub(super) struct Screen {
    console: Console,
    keyboard: Option<Keyboard>,
}

impl Screen {
    pub(super) fn open(console: Console) -> Result<Self, Failure> {
        let keyboard = Keyboard::take();
        // From here on it is left again, whatever comes.
        let screen = Self { console, keyboard };
        console.print(ENTER.as_bytes())?;
        Ok(screen)
    }

    /// Whether keys arrive.
    pub(super) fn has_keys(&self) -> bool {
        self.keyboard.is_some()
    }

    /// Columns and lines.
    pub(super) fn size(&self) -> (u16, u16) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col, size.ws_row),
            _ => USUAL,
        }
    }

    /// Draws as many lines as there are on the screen.
    pub(super) fn draw(&self, lines: &[String]) -> Result<(), Failure> {
        let mut drawn = HOME.to_owned();
        for (number, line) in lines.iter().enumerate() {
            // The last line has no end: it would push the first one out.
            let end = if number == 0 { "" } else { "\r\n" };
            // Cleared first: behind a line that is full, its last letter would go.
            let _ = write!(drawn, "{end}{CLEAR_LINE}{line}");
        }
        self.console.print(drawn.as_bytes())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // A terminal that is gone needs no mending.
        let _ = io::stdout().write_all(LEAVE.as_bytes());
        let _ = io::stdout().flush();
    }
}

/// A terminal that passes keys on as they are pressed, and does not show them. Ctrl-C stays a signal.
struct Keyboard {
    before: Termios,
}

impl Keyboard {
    fn take() -> Option<Self> {
        let stdin = io::stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let before = tcgetattr(&stdin).ok()?;
        let mut now = before.clone();
        now.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        // Stopped, it would leave the shell with this screen.
        now.special_codes[SpecialCodeIndex::VSUSP] = NO_CHARACTER;
        tcsetattr(&stdin, OptionalActions::Now, &now).ok()?;
        Some(Self { before })
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}
