//! A terminal of a size: a pty, with an emulator that knows what is on the screen.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use vt100::Parser;

use super::PATIENCE;

pub struct Terminal {
    master: File,
    /// Ours, so that what a command leaves of the settings can be seen when it has gone.
    slave: OwnedFd,
    parser: Parser,
    output: mpsc::UnboundedReceiver<Vec<u8>>,
    /// All that was written to it.
    pub written: Vec<u8>,
    child: Child,
}

impl Terminal {
    /// Starts a command on a terminal of its own.
    pub fn start(command: &Command, (columns, rows): (u16, u16)) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = open(name.as_c_str(), flags, Mode::empty()).unwrap();
        tcsetwinsize(&slave, size(columns, rows)).unwrap();
        let stdio = || Stdio::from(slave.try_clone().unwrap());
        let std = command.as_std();
        // The terminal is the command's own, so that it hears Ctrl-C.
        let mut child = Command::new("setsid");
        child
            .args(["--ctty", "--wait"])
            .arg(std.get_program())
            .args(std.get_args())
            .env_clear()
            .env("TERM", "xterm-256color")
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .kill_on_drop(true);
        for (name, value) in std.get_envs() {
            child.env(name, value.unwrap());
        }
        if let Some(dir) = std.get_current_dir() {
            child.current_dir::<&Path>(dir);
        }
        let child = child.spawn().unwrap();
        let master = File::from(master);
        let output = pump(master.try_clone().unwrap());
        Self {
            master,
            slave,
            parser: Parser::new(rows, columns, 0),
            output,
            written: Vec::new(),
            child,
        }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.slave, size(columns, rows)).unwrap();
    }

    /// The lines on the screen, as far as anything is on it.
    pub fn text(&self) -> String {
        self.parser.screen().contents()
    }

    pub fn settings(&self) -> Termios {
        tcgetattr(&self.slave).unwrap()
    }

    /// Whether a program has the other screen.
    pub fn is_taken(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// No line went on in the next one.
    pub fn assert_no_wrap(&self) {
        let screen = self.parser.screen();
        let (rows, _) = screen.size();
        for row in 0..rows {
            assert!(!screen.row_wrapped(row), "row {row}: {}", self.text());
        }
    }

    /// Waits for a screen that is as wanted.
    pub async fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let reading = async {
            loop {
                let text = self.text();
                if wanted(&text) {
                    return text;
                }
                match self.output.recv().await {
                    Some(bytes) => {
                        self.parser.process(&bytes);
                        self.written.extend(bytes);
                    }
                    None => panic!("it ended before: {text}"),
                }
            }
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        match read {
            Ok(text) => text,
            Err(_) => panic!("it never came: {}", self.text()),
        }
    }

    pub async fn until_shown(&mut self, text: &str) -> String {
        self.until(|screen| screen.contains(text)).await
    }

    /// Waits for the end of the command; its exit code.
    pub async fn end(&mut self) -> i32 {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = ended.expect("it ends").unwrap();
        // What it wrote last may still be on its way: a mark of our own comes after that.
        let mark = b"\x1b]7;mark\x07";
        File::from(self.slave.try_clone().unwrap())
            .write_all(mark)
            .unwrap();
        while !self.written.windows(mark.len()).any(|bytes| bytes == mark) {
            let bytes = self.output.recv().await.unwrap();
            self.parser.process(&bytes);
            self.written.extend(bytes);
        }
        status.code().expect("not by a signal")
    }

    /// The process on the terminal.
    pub fn pid(&self) -> u32 {
        self.child.id().unwrap()
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Reads all that is written to a terminal.
fn pump(mut master: File) -> mpsc::UnboundedReceiver<Vec<u8>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        // A terminal that nobody has any more ends with an error.
        while let Ok(count @ 1..) = master.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}
