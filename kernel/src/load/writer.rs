//! Writes texts in a thread of its own. A reader who pauses (Ctrl-S, a pager, a pipe that nobody reads) so holds up neither
//! the session nor the signals that end it.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::privileges;

/// The most texts that wait. Beyond these the oldest is left out.
const MOST: usize = 64;
/// The time between two looks at the thread.
const LOOK: Duration = Duration::from_millis(2);

/// A place for texts, which are written in order.
///
/// The session never waits for the thread's lock: under the policy that it loaded, the thread may stand still while it
/// holds it.
pub struct Writer {
    shared: Arc<Shared>,
    /// Until the first text: the thread must begin when the signals are blocked.
    sink: Option<Box<dyn Write + Send>>,
    /// Texts that the thread was not given yet.
    held: VecDeque<String>,
    left_out: u64,
}

#[derive(Default)]
struct Shared {
    tray: Mutex<Tray>,
    filled: Condvar,
}

#[derive(Default)]
struct Tray {
    waiting: VecDeque<String>,
    is_writing: bool,
    /// Lines written.
    lines: u64,
    failed: Option<io::Error>,
    is_closed: bool,
}

impl Writer {
    /// Writes to this sink, and flushes it after each text.
    #[must_use]
    pub fn new(sink: impl Write + Send + 'static) -> Self {
        Self { shared: Arc::default(), sink: Some(Box::new(sink)), held: VecDeque::new(), left_out: 0 }
    }

    /// Hands over a text, and returns at once.
    pub fn push(&mut self, text: String) {
        if let Some(sink) = self.sink.take() {
            self.start(sink);
        }
        self.held.push_back(text);
        self.hand_over();
    }

    fn start(&self, sink: Box<dyn Write + Send>) {
        let shared = Arc::clone(&self.shared);
        let started = thread::Builder::new().name("divvy-writer".to_owned()).spawn(move || {
            privileges::drop_all();
            shared.write(sink);
        });
        if let Err(error) = started {
            self.shared.lock().failed = Some(error);
        }
    }

    fn hand_over(&mut self) {
        if let Ok(mut tray) = self.shared.tray.try_lock() {
            tray.waiting.append(&mut self.held);
            self.left_out += leave_out(&mut tray.waiting);
            self.shared.filled.notify_one();
        } else {
            self.left_out += leave_out(&mut self.held);
        }
    }

    /// Why writing failed, once; no text is written after that.
    pub fn failure(&self) -> Option<io::Error> {
        self.shared.tray.try_lock().ok()?.failed.take()
    }

    /// The number of texts that were left out since it was asked last.
    pub fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// Waits until all is written. Returns false if no line was written for the timeout.
    pub fn flush(&mut self, timeout: Duration) -> bool {
        let (mut lines, mut since) = (0, Instant::now());
        loop {
            self.hand_over();
            if let Ok(tray) = self.shared.tray.try_lock() {
                if self.held.is_empty() && tray.waiting.is_empty() && !tray.is_writing {
                    return true;
                }
                if tray.lines != lines {
                    (lines, since) = (tray.lines, Instant::now());
                }
            }
            if since.elapsed() >= timeout {
                return false;
            }
            thread::sleep(LOOK);
        }
    }
}

fn leave_out(texts: &mut VecDeque<String>) -> u64 {
    let surplus = texts.len().saturating_sub(MOST);
    texts.drain(..surplus);
    surplus as u64
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Ok(mut tray) = self.shared.tray.try_lock() {
            tray.is_closed = true;
            self.shared.filled.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Tray> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread.
    fn write(&self, mut sink: Box<dyn Write + Send>) {
        let mut has_failed = false;
        while let Some(text) = self.next() {
            if !has_failed && let Err(error) = self.write_text(&mut sink, &text) {
                has_failed = true;
                self.lock().failed = Some(error);
            }
        }
    }

    fn write_text(&self, sink: &mut dyn Write, text: &str) -> io::Result<()> {
        for line in text.split_inclusive('\n') {
            sink.write_all(line.as_bytes())?;
            self.lock().lines += 1;
        }
        sink.flush()
    }

    fn next(&self) -> Option<String> {
        let mut tray = self.lock();
        loop {
            tray.is_writing = false;
            if let Some(text) = tray.waiting.pop_front() {
                tray.is_writing = true;
                return Some(text);
            }
            if tray.is_closed {
                return None;
            }
            tray = self.filled.wait(tray).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use crate::load::sys::{self, Signals};

    const SOON: Duration = Duration::from_secs(20);
    const SHORT: Duration = Duration::from_millis(100);

    #[test]
    fn texts_arrive_in_order() {
        let (mut reader, sink) = io::pipe().expect("a pipe");
        let mut writer = Writer::new(sink);
        for n in 0..40 {
            writer.push(format!("{n}\n"));
        }
        assert!(writer.flush(SOON) && writer.failure().is_none() && writer.take_left_out() == 0);
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("the thread ends, and closes the pipe");
        assert_eq!(read, (0..40).map(|n| format!("{n}\n")).collect::<String>());
    }

    /// The session's loop in short: it looks for signals, and shows an interval. The pipe holds 64 KiB.
    #[test]
    fn a_pipe_that_nobody_reads_delays_no_signal() {
        let looped = thread::spawn(|| {
            let (reader, sink) = io::pipe().expect("a pipe");
            let mut signals = Signals::block().expect("blocked in this thread");
            let mut writer = Writer::new(sink);
            let (begun, mut intervals) = (Instant::now(), 0u64);
            while signals.take().is_none() {
                writer.push("x".repeat(10_000) + "\n");
                intervals += 1;
                if intervals == 200 {
                    sys::signal_this_thread(libc::SIGTERM);
                }
                assert!(begun.elapsed() < SOON);
            }
            assert!(!writer.flush(SHORT), "nobody reads");
            (reader, writer, intervals)
        });
        let begun = Instant::now();
        while !looped.is_finished() {
            assert!(begun.elapsed() < SOON, "the loop waits for the reader");
            thread::sleep(LOOK);
        }
        let (mut reader, mut writer, intervals) = looped.join().expect("the loop");
        let left_out = writer.take_left_out();
        assert!(intervals >= 200 && left_out > 0, "{left_out} of {intervals}");
        // The texts that were kept arrive whole when somebody reads at last.
        let all = thread::spawn(move || {
            let mut read = String::new();
            reader.read_to_string(&mut read).map(|_| read)
        });
        assert!(writer.flush(SOON));
        drop(writer);
        let read = all.join().expect("the reader").expect("text");
        assert_eq!(read.lines().count() as u64, intervals - left_out);
        assert!(read.lines().all(|line| line.len() == 10_000));
    }

    #[test]
    fn a_reader_that_went_away_is_an_error_once() {
        let (reader, sink) = io::pipe().expect("a pipe");
        drop(reader);
        let mut writer = Writer::new(sink);
        writer.push("x\n".to_owned());
        assert!(writer.flush(SOON));
        assert_eq!(writer.failure().map(|error| error.kind()), Some(io::ErrorKind::BrokenPipe));
        writer.push("y\n".to_owned());
        assert!(writer.flush(SOON) && writer.failure().is_none());
    }
}
