//! A socket that answers as the loader of a scheduler does.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// A thread with three times the weight of another. No thread has such a number.
pub const HEAVY: u32 = 900_000_003;
pub const LIGHT: u32 = 900_000_001;

/// On one CPU; each look is a second after the one before.
pub struct Fake {
    path: PathBuf,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    pub weights: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Fake {
    /// After so many looks it is unloaded.
    pub fn start(name: &str, looks: Option<u64>) -> Self {
        let path = std::env::temp_dir().join(format!("divvy-top-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let weights = Arc::new(Mutex::new(Vec::new()));
        let is_stopped = Arc::new(AtomicBool::new(false));
        let mut fake =
            Self { path: path.clone(), is_stopped: Arc::clone(&is_stopped), thread: None, weights };
        if looks != Some(0) {
            let listener = UnixListener::bind(&path).expect("a socket");
            let weights = Arc::clone(&fake.weights);
            fake.thread = Some(std::thread::spawn(move || {
                serve(&listener, looks.unwrap_or(u64::MAX), &is_stopped, &weights);
                let _ = std::fs::remove_file(&path);
            }));
        }
        fake
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The process of all its threads.
    pub fn tgid(&self) -> u32 {
        std::process::id()
    }

    /// The scheduler is unloaded.
    pub fn stop(&mut self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        drop(UnixStream::connect(&self.path));
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the fake");
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop();
    }
}

fn serve(listener: &UnixListener, looks: u64, is_stopped: &AtomicBool, weights: &Mutex<Vec<(u64, u64)>>) {
    let seen = AtomicU64::new(0);
    while seen.load(Ordering::SeqCst) < looks {
        let Ok((stream, _)) = listener.accept() else { return };
        if is_stopped.load(Ordering::SeqCst) {
            return;
        }
        let mut line = String::new();
        let _ = BufReader::new(&stream).read_line(&mut line);
        let request: Value = serde_json::from_str(&line).unwrap_or_default();
        let answer = if request["command"] == "look" {
            look(seen.fetch_add(1, Ordering::SeqCst) + 1)
        } else {
            let number = |name: &str| request[name].as_u64().unwrap_or_default();
            weights.lock().expect("the weights").push((number("pid"), number("weight")));
            format!("{}\n", json!({ "answer": "weight", "weight": number("weight") }))
        };
        let _ = (&stream).write_all(answer.as_bytes());
    }
}

fn look(at: u64) -> String {
    let second = 1_000_000_000;
    let tgid = std::process::id();
    let account = |pid: u32, weight: u64, received_ns: u64| {
        json!({
            "received_ns": received_ns, "entitled_ns": received_ns, "weight": weight, "nominal": weight,
            "waited_ns": at * 3_000_000, "pid": pid, "tgid": tgid, "turns": at * 10, "process": 1, "runnable": u32::from(received_ns > 0),
            "waits": at * 10,
        })
    };
    let rows = [
        (1, account(HEAVY, 3072 << 10, at * second * 3 / 4)),
        (2, account(LIGHT, 1024 << 10, at * second / 4)),
        (5, account(tgid, 1024 << 10, 0)),
    ];
    let head = json!({
        "answer": "look", "policy": "gr3", "loaded_ns": 7, "at_ns": at * second, "cpus": 1, "tasks": rows.len(),
        "stats": { "decisions": at * 300, "fallbacks": 2 * at, "tasks": 3, "runnable": 2 },
    });
    let rows: String = rows.iter().map(|row| format!("{}\n", json!(row))).collect();
    format!("{head}\n{rows}")
}
