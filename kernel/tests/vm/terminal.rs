//! The console of a Debian in the virtual machine, at which a test types as its root.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::machine::{Cpus, report_time, tree};

/// How long a boot or a command may take, in emulation and beside other work.
const PATIENCE: Duration = Duration::from_secs(600);
/// The shell's prompt at first.
const FIRST_PROMPT: &str = ":~# ";
/// No command prints it.
const PROMPT: &str = "\u{1e}# ";

pub struct Terminal {
    machine: Child,
    keyboard: ChildStdin,
    screen: Receiver<Vec<u8>>,
    /// The bytes that were shown and not yet read.
    shown: Vec<u8>,
    /// All that was shown, for people.
    session: String,
    messages: PathBuf,
    began: Instant,
    cpus: u32,
    _taken: Cpus,
}

impl Terminal {
    /// Boots the machine and waits for its shell. Files of `share` are in `/srv`, where the shell is.
    pub fn boot(cpus: u32, share: &Path) -> Self {
        let taken = Cpus::take(cpus);
        let began = Instant::now();
        let messages = share.join("messages");
        let mut machine = Command::new(tree().join("kernel/vm/boot"))
            .args(["--cpus", &cpus.to_string(), "--share"])
            .arg(share)
            .arg("--console")
            .arg(&messages)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("kernel/vm/boot runs");
        let keyboard = machine.stdin.take().expect("a pipe");
        let mut output = machine.stdout.take().expect("a pipe");
        let (send, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let mut terminal = Self {
            machine,
            keyboard,
            screen,
            shown: Vec::new(),
            session: String::new(),
            messages,
            began,
            cpus,
            _taken: taken,
        };
        terminal.log_in();
        terminal
    }

    /// The console has no echo, so what is shown is what commands print, and lines of 80 columns.
    fn log_in(&mut self) {
        self.read_until(FIRST_PROMPT);
        self.type_line("stty -echo -onlcr cols 80; PS1=$'\\x1e# ' PS2= LC_ALL=C.UTF-8; cd /srv");
        self.read_until(PROMPT);
    }

    /// Types a command and returns what it shows, line by line, without spaces at the ends.
    pub fn run(&mut self, command: &str) -> Vec<String> {
        self.type_line(command);
        if command == "reboot" {
            self.log_in();
            return Vec::new();
        }
        let shown = self.read_until(PROMPT);
        self.session += &format!("# {command}\n{shown}");
        shown.lines().map(|line| last_state(line).trim_end().to_owned()).collect()
    }

    /// The only line that a command shows.
    pub fn line(&mut self, command: &str) -> String {
        let lines = self.run(command);
        assert_eq!(lines.len(), 1, "{command}: {lines:?}\n{}", self.session);
        lines.concat()
    }

    /// All that was typed and shown so far.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// Ends the machine, and returns its kernel's messages.
    pub fn power_off(mut self) -> String {
        self.type_line("poweroff");
        loop {
            match self.screen.recv_timeout(PATIENCE) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not power off\n{}", self.session),
            }
        }
        let status = self.machine.wait().expect("it is our child");
        report_time(self.cpus, self.began.elapsed());
        let messages = std::fs::read_to_string(&self.messages).unwrap_or_default();
        assert!(status.success(), "{status}\n{messages}");
        messages
    }

    fn type_line(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("the machine runs");
    }

    fn read_until(&mut self, end: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let found = self.shown.windows(end.len()).position(|bytes| bytes == end.as_bytes());
            if let Some(at) = found {
                let after = self.shown.split_off(at + end.len());
                let before = std::mem::replace(&mut self.shown, after);
                return String::from_utf8_lossy(&before[..at]).into_owned();
            }
            match self.screen.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.shown.extend(bytes),
                Err(why) => {
                    let why = match why {
                        RecvTimeoutError::Timeout => "no prompt came",
                        RecvTimeoutError::Disconnected => "the machine ended",
                    };
                    let messages = std::fs::read_to_string(&self.messages).unwrap_or_default();
                    let shown = String::from_utf8_lossy(&self.shown);
                    panic!("{why}\n{}{shown}\n-- console\n{messages}", self.session);
                }
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.machine.kill();
        let _ = self.machine.wait();
    }
}

/// A carriage return goes back to the line's start, and what follows is written over it.
fn last_state(line: &str) -> &str {
    line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line)
}
