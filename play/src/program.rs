//! A process that executed the program of a task: it is an instance from then on, and finds the run by what `handover` left to it.

use std::fs::File;
use std::io::{self, Read as _};
use std::process::ExitCode;

use divvy_workload::Workload;
use divvy_workload::program::Program;

use super::burn::Speed;
use super::context::Context;
use super::handover::{Instance, VARIABLE, next};
use super::record::Log;
use super::run_setup::RunSetup;
use super::shared_state::SharedState;
use super::sys::SharedMemory;
use super::weight::{ByNice, Scale};

/// Makes this process an instance of a task, if it was executed as one, and returns its exit code. The command calls it first of all: before
/// it reads its arguments, and while it has one thread.
pub fn run_instance() -> Option<ExitCode> {
    let instance = std::env::var(VARIABLE).ok()?;
    Some(match again(&instance) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "error: {VARIABLE} is for `divvy play`, and this process is no instance of a task: {error}"
            );
            ExitCode::FAILURE
        }
    })
}

fn again(instance: &str) -> io::Result<()> {
    let unread = || io::Error::from(io::ErrorKind::InvalidData);
    let Instance { launch, slot, cpu_ns, state, log, setup } =
        Instance::from_text(instance).ok_or_else(unread)?;
    let mut text = String::new();
    open(setup)?.read_to_string(&mut text)?;
    let (head, workload) = text.split_once('\n').ok_or_else(unread)?;
    let workload = Workload::parse(workload, "").map_err(io::Error::other)?;
    let set_weight = ByNice::new(Scale::Exact);
    let (setup, most) = read_setup(head, &workload, &set_weight).ok_or_else(unread)?;
    if launch.class >= workload.tasks.len() || slot > most {
        return Err(unread());
    }
    let spawners = setup.processes.len() + 1;
    let shared = SharedState::in_memory(SharedMemory::again(open(state)?), &workload, most, spawners)?;
    let log = Log::again(open(log)?)?;
    let context = Context { setup: &setup, shared: &shared, log: &log, handover: None };
    context.run_executed(launch, slot, cpu_ns);
    Ok(())
}

fn open(number: i32) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/self/fd/{number}"))
}

/// The setup, and the limit of threads. Nothing is set up again, so the weights are not needed.
fn read_setup<'a>(head: &str, workload: &'a Workload, set_weight: &'a ByNice) -> Option<(RunSetup<'a>, u32)> {
    let mut words = head.split(' ');
    let (seed, rep, most) = (next(&mut words)?, next(&mut words)?, next(&mut words)?);
    let speed = Speed { laps_per_ns: next(&mut words)? };
    let cpus = words.next()?.split(',').map(|cpu| cpu.parse().ok()).collect::<Option<_>>()?;
    let programs = workload.tasks.iter().map(|task| Program::new(&task.program)).collect();
    let processes = RunSetup::processes_of(workload);
    Some((
        RunSetup { workload, programs, seed, rep, cpus, speed, set_weight, processes, command: None },
        most,
    ))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use super::*;
    use crate::handover::{Handover, executes};
    use crate::run_setup::Launch;

    const WORKLOAD: &str = r#"
        cpus = 2
        duration = "1s"
        task = [
          { name = "A", executable = "cc", program = [ { lock = "m" }, { run = "1ms" }, { unlock = "m" } ] },
          { name = "B", executable = "cc", process = "P", program = [ { wait = true } ] },
          { name = "C", program = [ { wake = "B" } ] },
        ]"#;

    fn setup<'a>(workload: &'a Workload, set_weight: &'a ByNice) -> RunSetup<'a> {
        RunSetup {
            workload,
            programs: Vec::new(),
            seed: 7,
            rep: 3,
            cpus: vec![1, 3],
            speed: Speed { laps_per_ns: 0.123_456_789 },
            set_weight,
            processes: RunSetup::processes_of(workload),
            command: Some(Path::new("/bin/true")),
        }
    }

    /// Another process has only the files: it finds the run, what others wrote into the shared state, and the log.
    #[test]
    fn a_process_that_executed_finds_the_run_again() {
        let workload = Workload::parse(WORKLOAD, "w").expect("a workload");
        let by_nice = ByNice::new(Scale::Exact);
        let setup = setup(&workload, &by_nice);
        let handover = Handover::new(&setup, 9).expect("memory").expect("A executes");
        let shared = SharedState::new(&workload, 9, 2).expect("memory");
        shared.expect(2).expect("room");
        let slots = [shared.take_slot(0, 0), shared.take_slot(0, 1)];
        assert!(shared.lock(0, slots[0]));

        let mut text = String::new();
        let mut file = open(handover.file.as_raw_fd()).expect("it opens");
        file.read_to_string(&mut text).expect("text");
        let (head, toml) = text.split_once('\n').expect("two parts");
        let read = Workload::parse(toml, "").expect("a workload");
        assert_eq!(read, workload);
        let (again, most) = read_setup(head, &read, &by_nice).expect("a setup");
        assert_eq!((again.seed, again.rep, &again.cpus, most), (7, 3, &vec![1, 3], 9));
        assert_eq!(again.speed.laps_per_ns, setup.speed.laps_per_ns);
        let memory = SharedMemory::again(open(shared.file().as_raw_fd()).expect("it opens"));
        let other = SharedState::in_memory(memory, &read, most, 2).expect("memory");
        assert!(!other.lock(0, slots[1]), "the first has it");
        shared.unlock(0, slots[0], 5);
        assert_eq!(other.sleep(slots[1], u64::MAX), Some(5));

        let log = Log::new().expect("memory");
        log.overhead(1).expect("written");
        let same = Log::again(open(log.file().as_raw_fd()).expect("it opens")).expect("a log");
        same.overhead(2).expect("written");
        log.overhead(4).expect("written");
        assert_eq!(log.read().expect("it reads").overhead_ns, 7);
    }

    #[test]
    fn only_a_process_of_its_own_executes() {
        let workload = Workload::parse(WORKLOAD, "w").expect("a workload");
        assert_eq!(workload.tasks.iter().map(executes).collect::<Vec<_>>(), [true, false, false]);
        let by_nice = ByNice::new(Scale::Exact);
        let without = RunSetup { command: None, ..setup(&workload, &by_nice) };
        assert!(Handover::new(&without, 9).expect("nothing to do").is_none());
    }

    #[test]
    fn an_instance_reads_back() {
        let launch = Launch { class: 3, number: 7, due_ns: u64::MAX };
        let text = Instance { launch, slot: 9, cpu_ns: 8, state: 4, log: 5, setup: 6 }.to_text();
        let read = Instance::from_text(&text).expect("an instance");
        let Launch { class, number, due_ns } = read.launch;
        assert_eq!((class, number, due_ns, read.slot), (3, 7, u64::MAX, 9));
        assert_eq!((read.cpu_ns, read.state, read.log, read.setup), (8, 4, 5, 6));
        assert!(Instance::from_text("1 2 x").is_none());
    }
}
