//! `divvy record` beside perf, which records the same and reads both files.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::machine::{Said, repeatable, several, which, workload};

/// Both have the same clock, and are called at the same tracepoint, one after the other.
const APART_NS: u64 = 50_000;
/// The number of such a thread in a sample of perf.
const REAPED: i32 = -1;
/// At the begin and the end, perf switches its events on and off one after the other.
const RAGGED: usize = 40;
const COMPARED: [&str; 4] =
    ["sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_migrate_task"];

/// One machine for all tests: it takes longer to boot than they take.
static SAID: LazyLock<Said> = LazyLock::new(|| {
    let [perf, setpriv] = ["perf", "setpriv"].map(which);
    let files = [
        (perf, "/bin/perf"),
        (setpriv, "/test/setpriv"),
        (workload("recorded.toml"), "/recorded.toml"),
        (workload("record.sh"), "/record.sh"),
    ];
    repeatable("sh /record.sh", &files, 600)
});

/// A line of perf script.
#[derive(Debug)]
struct Line<'a> {
    tid: i32,
    t_ns: u64,
    event: &'a str,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (tid, rest) = line.trim_start().split_once(' ')?;
        let (time, rest) = rest.trim_start().split_once(": ")?;
        let (seconds, nanos) = time.split_once('.')?;
        let (event, text) = rest.trim_start().split_once(": ")?;
        let t_ns = seconds.parse::<u64>().ok()? * 1_000_000_000 + nanos.parse::<u64>().ok()?;
        Some(Self { tid: tid.parse().ok()?, t_ns, event, text: text.trim() })
    }

    fn all(text: &'a str) -> Vec<Self> {
        text.lines().filter_map(Self::parse).collect()
    }

    /// perf has no number for a thread that its parent has reaped before its last switch.
    fn says(&self, theirs: &Line<'_>) -> bool {
        let is_of_it = self.tid == theirs.tid || theirs.tid == REAPED;
        is_of_it && (self.event, self.text) == (theirs.event, theirs.text)
    }
}

/// Every switch, wake-up with its waker, birth and migration, in the same order, with the same states and priorities.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn it_records_what_perf_records() {
    assert_eq!(SAID.part("code of a recording"), "0", "{}", *SAID);
    let compared = |name: &str| {
        let mut lines = Line::all(SAID.part(name));
        lines.retain(|line| COMPARED.contains(&line.event));
        lines
    };
    let (ours, theirs) = (compared("ours"), compared("theirs"));
    assert!(theirs.len() > 1000 && ours.len() >= theirs.len(), "{} and {}", ours.len(), theirs.len());
    let theirs = &theirs[RAGGED..theirs.len() - RAGGED];
    let is_begin =
        |at: &usize| (0..RAGGED).all(|n| ours.get(at + n).is_some_and(|line| line.says(&theirs[n])));
    let begin = (0..ours.len()).find(is_begin).expect("the begin of perf's recording");
    for (ours, theirs) in ours[begin..].iter().zip(theirs) {
        assert!(ours.says(theirs), "{ours:?}\n{theirs:?}");
        assert!(ours.t_ns.abs_diff(theirs.t_ns) < APART_NS, "{ours:?}\n{theirs:?}");
    }
    assert!(ours.len() - begin >= theirs.len(), "the end is missing");
}

/// The kernel's account by switches is its account by `sched_stat_runtime`, thread by thread.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn cpu_time_is_the_kernels() {
    let theirs = Line::all(SAID.part("theirs"));
    let (from, to) = (theirs[RAGGED].t_ns, theirs[theirs.len() - RAGGED].t_ns);
    let sums = |lines: Vec<Line<'_>>| {
        let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.event == "sched:sched_stat_runtime") {
            let field = |name: &str| {
                let (_, rest) = line.text.split_once(name).expect("the field");
                rest.split(' ').next().expect("a number").parse::<u64>().expect("a number")
            };
            if (from..=to).contains(&line.t_ns) {
                *sums.entry(u32::try_from(field(" pid=")).expect("a number")).or_default() +=
                    field("runtime=");
            }
        }
        sums
    };
    let (ours, theirs) = (sums(Line::all(SAID.part("ours"))), sums(theirs));
    let busy: Vec<_> = theirs.iter().filter(|(_, ns)| **ns > 100_000_000).collect();
    assert!(busy.len() >= 4, "{theirs:?}");
    for (tid, ns) in busy {
        let ours = ours.get(tid).copied().unwrap_or(0);
        // At both ends of the time a run may count for one and not for the other.
        assert!(ours.abs_diff(*ns) < 20_000_000, "thread {tid}: {ours} and {ns}");
    }
}

/// The known program: what each thread counted for itself.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_known_workload_is_in_the_recording() {
    let report: Value = SAID.json("report");
    let recorded: BTreeMap<&str, u64> = SAID
        .part("latency")
        .lines()
        .filter_map(|line| {
            let mut cells = line.split(',');
            let name = cells.next()?;
            Some((name, cells.find_map(|cell| cell.parse::<u64>().ok().filter(|ns| *ns > 1_000_000))?))
        })
        .collect();
    for task in report["runs"][0]["tasks"].as_array().expect("tasks") {
        let (name, service) =
            (task["name"].as_str().expect("a name"), task["service_ns"].as_u64().expect("ns"));
        let found = recorded.iter().find(|(known, _)| known.starts_with(name));
        let (_, ns) = found.unwrap_or_else(|| panic!("no {name} in {recorded:?}"));
        // Its start and its end are recorded, and not in its own account.
        let more = i64::try_from(*ns).expect("small") - i64::try_from(service).expect("small");
        assert!((-5_000_000..20_000_000).contains(&more), "{name}: {ns} and {service}");
    }
    assert!(SAID.part("grade").contains("grade A"), "{}", SAID.part("grade"));
    SAID.assert_calm();
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn exit_codes_and_permission() {
    assert_eq!(SAID.part("code of the command"), "7");
    assert_eq!(SAID.part("code of no command"), "1");
    let refused = SAID.part("permission");
    assert!(refused.contains("CAP_BPF and CAP_PERFMON missing") && refused.ends_with("\n5"), "{refused}");
}

/// A file that was ended is whole; one that was killed is used up to there.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn however_it_ends_the_file_can_be_read() {
    for (signal, code, is_cut) in [("TERM", "0", false), ("INT", "0", false), ("KILL", "137", true)] {
        assert_eq!(SAID.part(&format!("code after {signal}")), code, "{signal}");
        let said = SAID.part(&format!("ended by {signal}"));
        assert!(said.contains("recording: grade") && said.contains("\ndivvy"), "{signal}: {said}");
        assert_eq!(said.contains("is cut"), is_cut, "{signal}: {said}");
    }
}

/// The losses of the summary are in the file, as perf counts them, and lower the grade.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn losses_are_counted_in_the_file() {
    let said = SAID.part("lost");
    let by_cpu = said.split_once("(CPU 0: ").and_then(|(_, rest)| rest.split_once(')')).expect("losses");
    let by_perf = SAID.part("lost by perf").lines().last().expect("a sum");
    assert_eq!(by_cpu.0, by_perf, "{said}");
    assert!(by_perf.parse::<u64>().expect("a number") > 100);
    let grade = SAID.part("lost by divvy");
    assert!(
        ["grade C", "grade D"].iter().any(|bad| grade.contains(bad)) && grade.contains("lost"),
        "{grade}"
    );
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn scrubbed_names_are_gone_and_the_structure_stays() {
    assert_ne!(SAID.part("secrets in plain"), "0");
    assert_eq!(SAID.part("secrets in scrubbed"), "0");
    assert!(SAID.part("groups in plain").contains("/hidden-group"), "{}", SAID.part("groups in plain"));
    assert!(SAID.part("groups in scrubbed").contains("/group"), "{}", SAID.part("groups in scrubbed"));
    let names = |file: &str| SAID.part(&format!("size of {file}")).parse::<usize>().expect("lines");
    assert!(names("plain").abs_diff(names("scrubbed")) <= 3, "{} {}", names("plain"), names("scrubbed"));
    assert_eq!(SAID.part("stream").lines().count(), 3);
}

/// A machine of two CPUs.
static ENDS: LazyLock<Said> =
    LazyLock::new(|| several(2, &format!("sh {}", workload("record_ends.sh").display()), 600));

/// Ctrl-C ends it also while the output waits for a reader.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_signal_is_seen_while_nobody_reads() {
    for name in ["nobody opened", "full"] {
        let said = ENDS.part(name);
        assert!(
            said.starts_with("1 ") && said.contains("nobody reads it, and a signal came"),
            "{name}: {said}"
        );
    }
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_file_stays_if_the_command_cannot_be_run() {
    assert_eq!(ENDS.part("no command"), "precious", "{}", *ENDS);
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn the_commands_code_survives_a_reader_that_closes() {
    assert_eq!(ENDS.part("code with a closed pipe"), "7", "{}", *ENDS);
}

/// It gets the number of the process's first thread, and no switch says so.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn exec_by_another_thread_is_no_missing_switch() {
    let turns = ENDS.part("exec").lines().filter(|line| line.contains(",successor,"));
    let inferred: Vec<bool> = turns.map(|turn| !turn.ends_with(",0")).collect();
    assert!(inferred.len() >= 3 && !inferred.contains(&true), "{}", ENDS.part("exec"));
}

/// The events of a CPU that has no ring are losses.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn a_cpu_that_comes_later_loses_its_events() {
    let said = ENDS.part("late CPU");
    let lost = said.split_once("(CPU 1: ").and_then(|(_, rest)| rest.split_once(')')).expect("losses").0;
    assert!(lost.parse::<u64>().is_ok_and(|lost| lost > 10), "{said}");
    ENDS.assert_calm();
}

#[test]
#[ignore = "needs the test VM: make test-vm"]
fn paths_of_cgroups_that_found_no_room_are_counted_and_looked_up() {
    let said = ENDS.part("many cgroups");
    assert!(said.contains(" cgroups were made too fast"), "{said}");
    assert_eq!(ENDS.part("paths of many cgroups"), "1500", "{said}");
}
