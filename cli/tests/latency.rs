//! `divvy latency` on this machine. It may be busy, but a thread has a turn within a second.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// CPU time, waits and turns of a thread: as the kernel counts them, or as a row of the output has them.
#[derive(Clone, Copy, Debug)]
struct Counted {
    ran_ns: u64,
    waited_ns: u64,
    turns: u64,
}

/// A process that is killed when the test ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A busy thread on the first CPU that this test may use. It ends by itself after 20 s of CPU time.
struct Hog(Killed);

impl Hog {
    fn start() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("it is there");
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
        let first: String =
            allowed.unwrap_or("0").chars().take_while(|digit| digit.is_ascii_digit()).collect();
        let hog = Command::new("taskset")
            .args(["--cpu-list", &first, "sh", "-c", "ulimit -t 20; while :; do :; done"])
            .stdin(Stdio::null())
            .spawn();
        let hog = Self(Killed(hog.expect("taskset runs")));
        eventually("taskset becomes sh", || {
            std::fs::read_to_string(format!("/proc/{}/comm", hog.id())).is_ok_and(|comm| comm == "sh\n")
        });
        hog
    }

    fn id(&self) -> u32 {
        self.0.0.id()
    }

    fn counted(&self) -> Counted {
        let path = format!("/proc/{}/schedstat", self.id());
        let text = std::fs::read_to_string(path).expect("it is there");
        let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        let [ran_ns, waited_ns, turns] = numbers[..] else { panic!("three numbers: {text}") };
        Counted { ran_ns, waited_ns, turns }
    }
}

/// Waits for up to a minute.
fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not within a minute: {what}");
}

fn latency(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_divvy"))
        .arg("latency")
        .args(args)
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn threads_of_this_machine_are_watched() {
    let hogs = [Hog::start(), Hog::start()];
    let before = hogs.each_ref().map(Hog::counted);
    let (code, out, err) = latency(&["--for", "2s", "--per-thread", "--csv"]);
    let after = hogs.each_ref().map(Hog::counted);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.starts_with("task,tid,threads,run_ns,runs,wait_ns,wait_mean_ns,wait_max_ns\n"), "{out}");
    let seen = hogs.each_ref().map(|hog| {
        let start = format!("sh,{},1,", hog.id());
        let row = out.lines().find_map(|line| line.strip_prefix(start.as_str()));
        let row = row.unwrap_or_else(|| panic!("no row {start}: {out}"));
        let numbers: Vec<u64> = row.split(',').map(|n| n.parse().expect("a number")).collect();
        let [ran_ns, turns, waited_ns, mean_ns, max_ns] = numbers[..] else { panic!("five numbers: {row}") };
        // A wait that goes on at the end counts, too.
        assert!((waited_ns / (turns + 1)..=waited_ns / turns).contains(&mean_ns), "{row}");
        assert!((mean_ns..=waited_ns).contains(&max_ns), "{row}");
        Counted { ran_ns, waited_ns, turns }
    });
    for ((before, after), seen) in before.iter().zip(&after).zip(&seen) {
        assert!(
            seen.ran_ns > 0 && seen.ran_ns <= after.ran_ns - before.ran_ns,
            "{before:?} {after:?} {seen:?}"
        );
        assert!(seen.waited_ns <= after.waited_ns - before.waited_ns, "{before:?} {after:?} {seen:?}");
        assert!(seen.turns > 0 && seen.turns <= after.turns - before.turns, "{before:?} {after:?} {seen:?}");
    }
    // While one has the CPU, the other waits. The kernel counts a wait when it ends.
    let one_wait_ns = 200_000_000;
    assert!(seen[0].waited_ns + one_wait_ns >= seen[1].ran_ns, "{seen:?}");
    assert!(seen[1].waited_ns + one_wait_ns >= seen[0].ran_ns, "{seen:?}");
}

#[test]
fn a_table_fits_a_terminal_and_says_how_much_was_seen() {
    let _hog = Hog::start();
    let (code, out, err) = latency(&["--for", "300ms", "--sort", "mean"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.starts_with("this machine, "), "{out}");
    assert!(out.contains("of the CPU time that programs used"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

#[test]
fn some_options_need_a_recording() {
    for (args, option) in [(&["--sort", "p99"][..], "--sort p99"), (&["--keep", "make"], "--keep COMM")] {
        let (code, out, err) = latency(args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(
            err.contains(&format!("{option} needs a recording: `sudo divvy record --for TIME -o FILE`")),
            "{err}"
        );
    }
    let (code, _, err) = latency(&["examples/x.perf.data", "--for", "1s"]);
    assert_eq!(code, Some(2), "{err}");
}

/// Ctrl-C prints what was seen so far.
#[test]
fn a_signal_ends_it_early() {
    let child = Command::new(env!("CARGO_BIN_EXE_divvy"))
        .args(["latency", "--for", "60s", "--csv"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = Killed(child.expect("it runs"));
    let (pid, began) = (child.0.id().to_string(), Instant::now());
    // A signal before it looks for signals would end it without a word.
    eventually("it blocks the signal", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t"));
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 1 << 1 != 0)
    });
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let mut out = String::new();
    child.0.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
    assert!(child.0.wait().expect("it ends").success());
    assert!(began.elapsed() < Duration::from_secs(60), "the signal ended it");
    assert!(out.starts_with("task,tid,"), "{out}");
}

#[test]
fn names_do_not_reach_a_terminal_as_they_are() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("latency");
    std::fs::create_dir_all(&directory).expect("a directory");
    let program = directory.join("a,\"\u{1b}[2J");
    let _ = std::fs::remove_file(&program);
    std::os::unix::fs::symlink("/bin/sh", &program).expect("a link");
    let hog = Command::new(&program).args(["-c", "ulimit -t 20; while :; do :; done"]).spawn();
    let _hog = Killed(hog.expect("it runs"));
    for args in [&["--for", "400ms", "--csv"][..], &["--for", "400ms"]] {
        let (code, out, err) = latency(args);
        assert_eq!(code, Some(0), "{err}");
        assert!(!out.contains('\u{1b}'), "{out}");
        assert!(out.lines().any(|line| line.starts_with("a,\"") || line.starts_with("\"a,\"\"")), "{out}");
    }
}
