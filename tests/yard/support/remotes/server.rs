//! A program that serves for as long as a test needs it.

use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::support::until;

/// A server and whatever it started; ended with the test.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts what `command` makes of a free port, and waits until it listens there.
    pub async fn start(command: impl FnOnce(u16) -> Command) -> Self {
        let port = free_port();
        let mut command = command(port);
        let child = command
            // Outside of any yard, which must be found empty at the end.
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let mut server = Self { child, port };
        until("the server listens", || {
            if let Some(status) = server.child.try_wait().unwrap() {
                panic!("{command:?} ended: {status}");
            }
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        })
        .await;
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // It may have gone by itself.
            let _ = kill_process_group(Pid::from_raw(group).unwrap(), Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

/// A port that nobody listens on, a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
