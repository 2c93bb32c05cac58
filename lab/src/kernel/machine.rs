//! Plays cases in a kernel: of this machine, or of the virtual one. Both run the same shell script.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use divvy_policy::units::show_duration;
use divvy_results::report::{Report, Run};

use crate::error::LabError;
use crate::kernel::case::{Case, LINUX};

const SCRIPT: &str = include_str!("guest.sh");
/// A shell that is told to end does so when its command has.
const REMOVES: &str = r#"trap 'rm -rf "$0"' EXIT; trap 'exit 130' INT; trap 'exit 143' TERM HUP; "$@""#;
/// Seconds of this machine for each second of the virtual one, at most: 3 were measured, beside other work 10.
const SLOWEST: u64 = 40;
/// A case that says no duration lasts so long at most, in s.
const LONGEST_S: u64 = 10;

/// Where cases are played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Machine {
    /// This one: it has sched_ext, and we are root.
    Here,
    /// The virtual one that this program starts: `kernel/vm/run` of a source tree.
    Virtual(PathBuf),
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Machine::Here => f.write_str("in this machine's kernel"),
            Machine::Virtual(run) => write!(f, "with {}", run.display()),
        }
    }
}

/// The clock of the virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// That of the machine around it.
    Real,
    /// It counts instructions, 1 ns each, so a run repeats however busy the machine around it is. For one CPU: several take turns of up to 100 ms, many times
    /// the quanta that are measured. So of several CPUs only CPU times of seconds mean something, and only if all of them always have work (`procfair_programs.rs`).
    Instructions,
}

/// How cases are played.
pub struct Play<'a> {
    /// Where.
    pub machine: &'a Machine,
    /// The command `divvy`, with the policies as BPF programs.
    pub divvy: &'a Path,
    /// Seed of the workloads' random numbers.
    pub seed: u64,
    /// Told what is being played, a line each time.
    pub tell: &'a dyn Fn(&str),
}

impl Play<'_> {
    /// Plays the cases, each so many times, on a machine with this number of CPUs. The runs of each case.
    ///
    /// # Errors
    /// When the machine does not start, or a case fails there. No policy stays loaded.
    pub(crate) fn all(
        &self,
        cases: &[Case],
        (cpus, clock): (u32, Clock),
        reps: u32,
    ) -> Result<Vec<Vec<Run>>, LabError> {
        let files = Files::write(cases, self.seed, reps)?;
        let mut command = removes(&files.dir);
        match self.machine {
            Machine::Here => here(&mut command, self.divvy, &files.dir),
            Machine::Virtual(run) => {
                let seconds = u64::from(reps) * cases.iter().map(seconds).sum::<u64>();
                command.arg(run).args(["--timeout", &timeout_s(seconds).to_string()]);
                match clock {
                    Clock::Real => virtual_machine(&mut command, self.divvy, &files.dir, cpus),
                    Clock::Instructions => counting_machine(&mut command, self.divvy, &files.dir),
                }
            }
        }
        reports(&self.said(&mut command, "== play ", cases.len())?, cases)
    }

    /// Counts instructions, as `kernel/bench/decisions` does with these arguments and this `OPERATIONS`: what it printed. It announces so many
    /// measurements.
    ///
    /// # Errors
    /// When a program does not compile, the machine does not start, or a measurement fails there.
    pub(crate) fn count(
        &self,
        arguments: &[String],
        operations: Option<u32>,
        measurements: usize,
    ) -> Result<String, LabError> {
        let Machine::Virtual(run) = self.machine else {
            return Err(LabError::Kernel(
                "only the virtual machine counts instructions: --kernel=vm".to_owned(),
            ));
        };
        let files = Files::none()?;
        let mut command = removes(&files.dir);
        command.arg(bench(run, "decisions")).args(arguments);
        command.env("DIVVY", self.divvy).env("DIVVY_BUILD", &files.dir);
        if let Some(operations) = operations {
            command.env("OPERATIONS", operations.to_string());
        }
        self.said(&mut command, "== count ", measurements)
    }

    /// Runs a script of `kernel/bench` with these words, numbers and the first of these files, by name and content. What it printed of so many cases.
    ///
    /// # Errors
    /// When a program is missing or does not compile, the machine does not start, or a case fails there.
    pub(crate) fn serve(
        &self,
        (script, words): (&str, &[&str]),
        numbers: &[u64],
        contents: &[(String, String)],
        number: usize,
    ) -> Result<String, LabError> {
        let Machine::Virtual(run) = self.machine else {
            return Err(LabError::Kernel(
                "only the virtual machine has the real programs: --kernel=vm".to_owned(),
            ));
        };
        let files = Files::none()?;
        for (name, text) in contents {
            files.add(name, text)?;
        }
        let mut command = removes(&files.dir);
        command.arg(bench(run, script)).args(words).args(numbers.iter().map(u64::to_string));
        command.args(contents.first().map(|(name, _)| files.dir.join(name)));
        command.env("DIVVY", self.divvy).env("DIVVY_BUILD", &files.dir);
        self.said(&mut command, "== serve ", number)
    }

    /// All that a command says. Tells each line that begins so, with its number of so many.
    fn said(&self, command: &mut Command, begin: &str, number: usize) -> Result<String, LabError> {
        let failed = |what: String| LabError::Run(format!("the cases were not run: {what}"));
        let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| failed(format!("{:?}: {error}", command.get_program())))?;
        let said = self.listen(&mut child, begin, number);
        let status = child.wait().map_err(|error| failed(error.to_string()))?;
        match status.code() {
            Some(0) => Ok(said),
            Some(5) => Err(LabError::Kernel("the kernel that was to play the cases lacks what stands above: mend that, or choose another one, --kernel=vm or --kernel=here".to_owned())),
            _ => Err(failed(format!("{status}; the reason stands above"))),
        }
    }

    fn listen(&self, child: &mut Child, begin: &str, cases: usize) -> String {
        let mut said = String::new();
        let mut number = 0;
        let Some(out) = child.stdout.take() else { return said };
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if let Some(label) = line.strip_prefix(begin) {
                number += 1;
                (self.tell)(&format!("{number} of {cases}: {label}"));
            }
            said += &line;
            said.push('\n');
        }
        said
    }
}

/// A script of `kernel/bench`, beside that which starts the virtual machine.
fn bench(run: &Path, script: &str) -> PathBuf {
    run.parent().unwrap_or(run).with_file_name("bench").join(script)
}

/// A directory that goes with this.
struct Files {
    dir: PathBuf,
}

impl Files {
    fn none() -> Result<Files, LabError> {
        // Figures may run beside each other.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("divvy-paper-{}-{number}", std::process::id()));
        // Root runs what is in it, so it must be new, and nobody else's.
        DirBuilder::new().mode(0o700).create(&dir).map_err(|error| {
            LabError::Run(format!("{}: {error}; remove it, or set TMPDIR", dir.display()))
        })?;
        Ok(Files { dir })
    }

    fn add(&self, name: &str, text: &str) -> Result<(), LabError> {
        let path = self.dir.join(name);
        fs::write(&path, text).map_err(|error| LabError::Run(format!("{}: {error}", path.display())))
    }

    /// The script and the workloads.
    fn write(cases: &[Case], seed: u64, reps: u32) -> Result<Files, LabError> {
        let files = Files::none()?;
        let mut script = SCRIPT.to_owned();
        for (number, case) in cases.iter().enumerate() {
            files.add(&format!("{number}.toml"), &case.workload.to_toml())?;
            script += &call(number, case, seed, reps);
        }
        files.add("run", &script)?;
        Ok(files)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// The line of the script that plays a case.
fn call(number: usize, case: &Case, seed: u64, reps: u32) -> String {
    let Case { spec, point, workload, is_set_while_loaded, .. } = case;
    let (loaded, set) = match spec.split_once(':') {
        Some((loaded, set)) if *is_set_while_loaded => (loaded, set),
        _ => (*spec, ""),
    };
    let load = match loaded {
        LINUX => String::new(),
        loaded => {
            format!(" '{loaded}' --quantum {} --exec{}", show_duration(workload.quantum_ns), after(set))
        }
    };
    format!("play {number} '{spec}, {point}' {seed} {reps}{load}\n")
}

/// A command that sets parameters of the loaded policy, and executes the rest of the line.
fn after(set: &str) -> String {
    if set.is_empty() { String::new() } else { format!(" sh set_and '{}'", set.replace(':', " ")) }
}

/// Runs what its further arguments say, and removes the directory whatever ends that: a signal that ends this process, as Ctrl-C does,
/// leaves no time to.
fn removes(dir: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", REMOVES]).arg(dir);
    command
}

fn here(command: &mut Command, divvy: &Path, dir: &Path) {
    command.arg("sh").arg(dir.join("run")).args([divvy, dir]);
}

/// It sees the command and the cases where they are here.
fn virtual_machine(command: &mut Command, divvy: &Path, dir: &Path, cpus: u32) {
    command.args(["--cpus", &cpus.to_string()]);
    for visible in [divvy.parent().unwrap_or(divvy), dir] {
        command.arg("--read").arg(visible);
    }
    here(command.arg("--"), divvy, dir);
}

/// It has one CPU, and only these files.
fn counting_machine(command: &mut Command, divvy: &Path, dir: &Path) {
    let (in_guest, cases_in_guest) = ("/bin/divvy", "/cases");
    command.arg("--icount");
    for (file, guest) in [(divvy, in_guest), (dir, cases_in_guest)] {
        command.arg("--file").arg(format!("{}={guest}", file.display()));
    }
    here(command.arg("--"), Path::new(in_guest), Path::new(cases_in_guest));
}

/// How long the virtual machine may take, beginning and ending included, to play so many of its seconds. It takes no longer timeout than the greatest.
pub(crate) fn timeout_s(played_s: u64) -> u64 {
    (120 + SLOWEST * played_s).min(99_999)
}

/// How long a case lasts, at most.
fn seconds(case: &Case) -> u64 {
    case.workload.duration_ns.map_or(LONGEST_S, |ns| ns.div_ceil(1_000_000_000))
}

/// The reports in what the script said.
fn reports(said: &str, cases: &[Case]) -> Result<Vec<Vec<Run>>, LabError> {
    let texts = said.split("== report\n").skip(1).map(|rest| rest.split("== play ").next().unwrap_or(rest));
    let all = texts
        .map(|text| serde_json::from_str::<Report>(text).map(|report| report.runs))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| LabError::Run(format!("a report of `divvy play` does not read: {error}")))?;
    if all.len() == cases.len() {
        Ok(all)
    } else {
        Err(LabError::Run(format!("{} of {} cases were played", all.len(), cases.len())))
    }
}

#[cfg(test)]
mod tests {
    use divvy_workload::Workload;

    use super::*;

    fn case(spec: &'static str) -> Case {
        let text = "quantum = \"20ms\"\nduration = \"1500ms\"\ntask = [ { name = \"a\", program = [ { run = \"forever\" } ] } ]";
        Case::new(spec, 7, Workload::parse(text, "w").expect("a workload"))
    }

    fn report(policy: &str) -> String {
        let run = "\"duration_ns\": 1, \"switches\": 0, \"utilization\": 1.0, \"jain\": 1.0, \"tasks\": []";
        format!(
            "{{ \"schema_version\": 1, \"workload\": \"w\", \"cpus\": 1, \"seed\": 1,\n\"runs\": [ {{ \"policy\": \"{policy}\", {run} }} ] }}\n"
        )
    }

    #[test]
    fn a_policy_is_loaded_for_its_case_and_none_for_linux() {
        assert_eq!(call(3, &case("sfq"), 1, 5), "play 3 'sfq, 7' 1 5 'sfq' --quantum 20ms --exec\n");
        assert_eq!(call(3, &case(LINUX), 1, 5), "play 3 'linux, 7' 1 5\n");
        let set = Case { is_set_while_loaded: true, ..case("pbs:alpha=2:gamma=0.07") };
        assert_eq!(
            call(0, &set, 1, 2),
            "play 0 'pbs:alpha=2:gamma=0.07, 7' 1 2 'pbs' --quantum 20ms --exec sh set_and 'alpha=2 gamma=0.07'\n"
        );
        assert_eq!(seconds(&case("sfq")), 2);
        assert_eq!((timeout_s(2), timeout_s(1_000_000)), (200, 99_999));
    }

    #[test]
    fn each_case_has_a_report_or_none_counts() {
        let cases = [case("sfq"), case(LINUX)];
        let said = format!(
            "== play sfq, 7\n== report\n{}== play linux, 7\n== report\n{}",
            report("kernel:divvy_sfq"),
            report("kernel:eevdf")
        );
        let runs = reports(&said, &cases).expect("two reports");
        assert_eq!([&runs[0][0].policy, &runs[1][0].policy], ["kernel:divvy_sfq", "kernel:eevdf"]);
        assert!(reports(&said[..said.len() / 2 - 1], &cases).is_err(), "one report is missing");
    }

    #[test]
    fn the_command_may_have_another_name() {
        let dir = std::env::temp_dir().join(format!("divvy-paper-name-{}", std::process::id()));
        fs::create_dir(&dir).expect("a directory");
        let [script, command] = ["run", "divvy-1"].map(|name| dir.join(name));
        fs::write(&script, format!("{SCRIPT}\n\"$divvy\" --list >list && echo runs\n")).expect("written");
        fs::copy(std::env::current_exe().expect("this program"), &command).expect("a program");
        let output = Command::new("sh").args([&script, &command, &dir]).output().expect("a shell");
        fs::remove_dir_all(&dir).expect("removed");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "runs\n", "{output:?}");
    }

    /// It is told to end while its command runs, as Ctrl-C does.
    #[test]
    fn a_signal_leaves_no_directory() {
        for (script, code) in [("kill -TERM $PPID", 143), ("exit 5", 5)] {
            let dir = std::env::temp_dir().join(format!("divvy-paper-test-{}", std::process::id()));
            fs::create_dir(&dir).expect("a directory");
            let status = removes(&dir).args(["sh", "-c", script]).status().expect("a shell");
            assert_eq!((status.code(), dir.exists()), (Some(code), false), "{script}");
        }
    }

    /// Where the command fails, its exit code is the script's, and what it said is on stderr. Without sched_ext nothing is played.
    #[test]
    fn a_kernel_without_sched_ext_is_said_to_lack_it() {
        if Path::new("/sys/kernel/sched_ext/state").exists() {
            return;
        }
        let play = Play { machine: &Machine::Here, divvy: Path::new("/bin/false"), seed: 1, tell: &|_| {} };
        let error = play.all(&[case("sfq")], (1, Clock::Real), 1).expect_err("there is no sched_ext");
        assert!(matches!(error, LabError::Kernel(_)), "{error}");
    }
}
