//! `divvy latency` on this machine. It may be busy: nothing here depends on how fast anything is.

use std::process::{Child, Command, Stdio};

/// CPU time, waits and turns of a thread: as the kernel counts them, or as a row of the output has them.
#[derive(Clone, Copy, Debug)]
struct Counted {
    ran_ns: u64,
    waited_ns: u64,
    turns: u64,
}

/// A busy thread on the first CPU. It ends by itself after 20 s of CPU time.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        let hog = Command::new("taskset")
            .args(["--cpu-list", "0", "sh", "-c", "ulimit -t 20; while :; do :; done"])
            .stdin(Stdio::null())
            .spawn();
        Self(hog.expect("taskset runs"))
    }

    fn counted(&self) -> Counted {
        let path = format!("/proc/{}/schedstat", self.0.id());
        let text = std::fs::read_to_string(path).expect("it is there");
        let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().expect("a number")).collect();
        let [ran_ns, waited_ns, turns] = numbers[..] else { panic!("three numbers: {text}") };
        Counted { ran_ns, waited_ns, turns }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn latency(args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_divvy"))
        .arg("latency")
        .args(args)
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
    let (code, out, err) = latency(&["--for", "800ms", "--per-thread", "--csv"]);
    let after = hogs.each_ref().map(Hog::counted);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.starts_with("task,tid,threads,run_ns,turns,wait_ns,wait_mean_ns,wait_longest_ns\n"), "{out}");
    let seen = hogs.each_ref().map(|hog| {
        let start = format!("sh,{},1,", hog.0.id());
        let row = out.lines().find_map(|line| line.strip_prefix(start.as_str()));
        let row = row.unwrap_or_else(|| panic!("no row {start}: {out}"));
        let numbers: Vec<u64> = row.split(',').map(|n| n.parse().expect("a number")).collect();
        let [ran_ns, turns, waited_ns, mean_ns, longest_ns] = numbers[..] else {
            panic!("five numbers: {row}")
        };
        assert_eq!(mean_ns, waited_ns / turns, "{row}");
        assert!((mean_ns..=waited_ns).contains(&longest_ns), "{row}");
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
    for (args, option) in [(&["--sort", "p99"][..], "--sort p99"), (&["--keep", "make"], "--keep NAME")] {
        let (code, out, err) = latency(args);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{err}");
        assert!(
            err.contains(&format!("{option} needs a recording: `divvy record --for 5s -o FILE`")),
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
        .args(["latency", "--for", "1h", "--csv"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let pid = child.id().to_string();
    // Once it blocks the signal, this one is pending for it. A signal before that would end it without a word.
    let blocks = || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t"));
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 1 << 1 != 0)
    };
    for _ in 0..1000 {
        if blocks() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("task,tid,"), "{output:?}");
}
