//! The virtual machine, as a command.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The output of a guest.
pub struct Said {
    pub out: String,
    pub err: String,
    /// The kernel's messages.
    pub console: String,
    pub code: i32,
}

impl Said {
    /// The document or line after the line `== name`, up to the next such line.
    pub fn part(&self, name: &str) -> &str {
        let start = format!("== {name}\n");
        let Some((_, rest)) = self.out.split_once(&start) else {
            panic!("no {name:?} in what the guest said:\n{self}")
        };
        if rest.starts_with("== ") {
            return "";
        }
        rest.split("\n== ").next().unwrap_or(rest).trim()
    }

    pub fn json(&self, name: &str) -> Value {
        let text = self.part(name);
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}: {text}\n{self}"))
    }

    /// Asserts that the kernel reported no warning, no oops and no stall.
    pub fn assert_calm(&self) {
        assert_calm(&self.console);
    }
}

/// Asserts that there is no warning, no oops and no stall in the kernel's messages.
pub fn assert_calm(console: &str) {
    for word in
        ["WARNING:", "BUG:", "Oops", "rcu_preempt detected stalls", "runnable task stall", "soft lockup"]
    {
        assert!(!console.contains(word), "the guest's kernel says {word}\n{console}");
    }
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n-- stdout\n{}\n-- stderr\n{}\n", self.code, self.out, self.err)?;
        let lines: Vec<_> = self.console.lines().collect();
        write!(f, "-- console\n{}", lines[lines.len().saturating_sub(40)..].join("\n"))
    }
}

pub fn tree() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in the tree")
}

/// The program under test: it was built together with this test, or `DIVVY_BIN` names it.
pub fn divvy() -> PathBuf {
    let built = || {
        let test = std::env::current_exe().expect("this test is a program");
        test.ancestors().nth(2).expect("it is in deps/ of its profile's directory").join("divvy")
    };
    let path = std::env::var_os("DIVVY_BIN").map_or_else(built, PathBuf::from);
    assert!(path.exists(), "{}: not there; `make test-vm` builds it, with all features", path.display());
    path
}

/// Number of CPUs of this machine.
pub fn host_cpus() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1))
}

/// Number of CPUs of this machine that no VM uses now.
static FREE: LazyLock<Mutex<u32>> = LazyLock::new(|| Mutex::new(host_cpus()));
static RETURNED: Condvar = Condvar::new();

/// The CPUs of this machine that a running VM uses. Each CPU of the VM is a busy thread here. A test waits until enough CPUs
/// are free. So VMs with one CPU run side by side, and a VM with as many CPUs as this machine runs alone.
pub struct Cpus(u32);

impl Cpus {
    pub fn take(wanted: u32) -> Self {
        let wanted = wanted.min(host_cpus());
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < wanted {
            free = RETURNED.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= wanted;
        Self(wanted)
    }
}

impl Drop for Cpus {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        RETURNED.notify_all();
    }
}

fn run(cpus: u32, options: &[String], script: &str, seconds: u32) -> Said {
    let _cpus = Cpus::take(cpus);
    let work = std::env::temp_dir().join(format!(
        "divvy-kernel-test-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&work).expect("a directory for the console");
    let began = Instant::now();
    let console = work.join("console");
    let output = Command::new(tree().join("kernel/vm/run"))
        .args(["--timeout", &seconds.to_string(), "--console"])
        .arg(&console)
        .args(options)
        .args(["--", "sh", "-c", script])
        .stdin(Stdio::null())
        .output()
        .expect("kernel/vm/run runs");
    let said = Said {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        console: std::fs::read_to_string(&console).unwrap_or_default(),
        code: output.status.code().unwrap_or(-1),
    };
    let _ = std::fs::remove_dir_all(&work);
    report_time(cpus, began.elapsed());
    assert!(said.code != 124 && said.code != 70, "the VM did not come to an end: {said}");
    said
}

/// Runs a command that starts a VM with so many CPUs by itself.
pub fn on_its_own(cpus: u32, command: &mut Command) -> Output {
    let _cpus = Cpus::take(cpus);
    let began = Instant::now();
    let output = command.stdin(Stdio::null()).output().expect("the command runs");
    report_time(cpus, began.elapsed());
    output
}

/// Says how long a VM ran. It writes past the capture of tests, because most of the time of all levels goes to VMs.
pub fn report_time(cpus: u32, elapsed: Duration) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let unit = if cpus == 1 { "CPU" } else { "CPUs" };
    let _ = writeln!(std::io::stderr(), "vm: {:5.0} s on {cpus} {unit}: {test}", elapsed.as_secs_f64());
}

/// Runs a script on one CPU, with the same result each time. Files are pairs: the path here, the path in the guest.
pub fn repeatable(script: &str, files: &[(PathBuf, &str)], seconds: u32) -> Said {
    repeatable_on(1, script, files, seconds)
}

/// The same on several CPUs, which take turns on one of this machine's.
pub fn repeatable_on(cpus: u32, script: &str, files: &[(PathBuf, &str)], seconds: u32) -> Said {
    let mut options = ["--icount", "--cpus", &cpus.to_string(), "--file"].map(str::to_owned).to_vec();
    options.push(format!("{}=/bin/divvy", divvy().display()));
    for (path, guest) in files {
        options.extend(["--file".to_owned(), format!("{}={guest}", path.display())]);
    }
    run(1, &options, script, seconds)
}

/// Runs a script on several CPUs, with this machine's files.
pub fn several(cpus: u32, script: &str, seconds: u32) -> Said {
    with_files(cpus, cpus, &[], script, seconds)
}

/// The same on CPUs that take turns on one of this machine's. It is for scripts that mostly verify programs, wait and print, so that one
/// CPU has something to do at a time: then no time is lost, and another VM uses the other CPU. Nothing may be asserted about times.
pub fn in_turns(cpus: u32, script: &str, seconds: u32) -> Said {
    with_files(cpus, 1, &["--in-turns"], script, seconds)
}

/// Runs a script on so many virtual CPUs that use so many of this machine's.
fn with_files(cpus: u32, used: u32, options: &[&str], script: &str, seconds: u32) -> Said {
    let program = divvy();
    let directory = program.parent().expect("a program is in a directory").display().to_string();
    let cpus = cpus.to_string();
    let options: Vec<String> =
        options.iter().chain(&["--cpus", &cpus, "--read", &directory]).map(|&word| word.to_owned()).collect();
    let script = format!("PATH={directory}:$PATH\ncd {}\n{script}", tree().display());
    run(used, &options, &script, seconds)
}

/// Scripts that ran one after the other in one machine with several CPUs, because booting takes longer than most of them.
/// Each has its own standard output and exit code. All share the errors and the kernel's messages.
pub struct Shared {
    said: Said,
}

impl Shared {
    pub fn run(cpus: u32, scripts: &[(&str, String)], seconds: u32) -> Self {
        Self { said: several(cpus, &Self::joined(scripts), seconds) }
    }

    /// With CPUs that take turns, as [`in_turns`].
    pub fn run_in_turns(cpus: u32, scripts: &[(&str, String)], seconds: u32) -> Self {
        Self { said: in_turns(cpus, &Self::joined(scripts), seconds) }
    }

    fn joined(scripts: &[(&str, String)]) -> String {
        let each = |(name, script): &(&str, String)| {
            format!("echo '=== {name}'; (\n{script}\n); code=$?; echo '=== {name} ended'; echo $code\n")
        };
        scripts.iter().map(each).collect()
    }

    pub fn said(&self, name: &str) -> Said {
        let between = |from: &str, to: &str| {
            let (_, rest) =
                self.said.out.split_once(from).unwrap_or_else(|| panic!("no {from:?}: {}", self.said));
            rest.split(to).next().unwrap_or(rest).to_owned()
        };
        Said {
            out: between(&format!("=== {name}\n"), &format!("=== {name} ended\n")),
            err: self.said.err.clone(),
            console: self.said.console.clone(),
            code: between(&format!("=== {name} ended\n"), "\n").trim().parse().unwrap_or(-1),
        }
    }
}

/// The path of a workload of these tests.
pub fn workload(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vm").join(name)
}

/// Where a program of this machine is.
pub fn which(program: &str) -> PathBuf {
    let said = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().expect("sh runs");
    let path = String::from_utf8(said.stdout).expect("a path");
    assert!(said.status.success(), "{program} is missing: make test-vm installs it");
    PathBuf::from(path.trim())
}
