//! A recording from its begin to its end: one thread looks into the rings, and waits for signals and the command in between.

use std::os::fd::AsFd as _;
use std::path::Path;
use std::time::{Duration, Instant};

use divvy_trace::{Machine, PerfWriter, Stamp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use super::cpus::Cpus;
use super::error::{RecordError, ready};
use super::event::{self, Counts};
use super::names::Names;
use super::object::Programs;
use super::output::{self, Sink};
use super::present;
use super::sys::Rings;
use super::{Options, Summary, Watch};
use crate::load::privileges;
use crate::load::running::Running;
use crate::load::sys::{self, Signals};

/// The longest time between two looks into the rings, and the shortest.
const SELDOM: Duration = Duration::from_millis(100);
const OFTEN: Duration = Duration::from_millis(2);
/// The time between two lines of progress.
const PROGRESS: Duration = Duration::from_millis(250);

/// Where programs cannot see the count of interrupts.
const BLIND: &str = "this kernel does not show which wake-ups come from interrupts (CONFIG_KALLSYMS_ALL is not set): \
     the recording's grade is B at best";

/// Records, and returns what it wrote; beside it the exit code of the command if that ended, which is worth having also without a
/// recording. It fails when something is missing, the kernel does not take the programs, or the file cannot be written.
pub fn record(options: &Options, watch: &mut dyn Watch) -> (Result<Summary, RecordError>, Option<u8>) {
    let (mut recorder, mut session) = match start(options, watch) {
        Ok(started) => started,
        Err(error) => return (Err(error), None),
    };
    let end = options.duration.map(|duration| Instant::now() + duration);
    let recorded = session.run(&mut recorder, end, watch);
    let finished = recorder.finish();
    let code = match recorded {
        Ok(Some(code)) => Some(code),
        // The command's work is worth more than the recording, also if that failed.
        _ => session.wait_for_command(watch),
    };
    (recorded.and(finished), code)
}

/// Everything up to the command, which runs then.
fn start(options: &Options, watch: &mut dyn Watch) -> Result<(Recorder, Session), RecordError> {
    ready()?;
    let signals =
        Signals::block().map_err(|error| RecordError::Io("cannot wait for signals".to_owned(), error))?;
    let slots = options.slots.next_power_of_two();
    let cpus = Cpus::here()?;
    let (programs, rings) = Programs::load(&cpus, slots)?;
    let machine = machine(options, &cpus, programs.knows_interrupts);
    if !programs.knows_interrupts {
        watch.note(BLIND);
    }
    let out = output::open(&options.output, &machine, &signals)?;
    let mut recorder = Recorder {
        lost: vec![0; rings.possible()],
        lost_paths: 0,
        rings,
        programs,
        out,
        counts: Counts::default(),
        names: options.scrub.then(Names::default),
        begun: Instant::now(),
        own_cpu: own_cpu(),
        slots: slots as usize,
    };
    if sys::become_real_time().is_err() {
        watch.note("not real-time: where all CPUs are busy, events may be lost");
    }
    let to_stdout = options.output == Path::new("-");
    let running = recorder.begin().and_then(|()| Ok(Running::start(&options.command, to_stdout)?));
    let running = running.inspect_err(|_| recorder.out.output().discard())?;
    privileges::drop(running.is_some());
    Ok((recorder, Session { signals, running, asked: 0 }))
}

fn machine(options: &Options, cpus: &Cpus, knows_interrupts: bool) -> Machine {
    let names = rustix::system::uname();
    let release = names.release().to_string_lossy().into_owned();
    let number = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
    Machine {
        release: if options.scrub { release[..number].to_owned() } else { release },
        architecture: names.machine().to_string_lossy().into_owned(),
        cpus: cpus.possible,
        online: cpus.online,
        knows_interrupts,
    }
}

struct Recorder {
    rings: Rings,
    programs: Programs,
    out: PerfWriter<Sink>,
    counts: Counts,
    /// Lost events by CPU.
    lost: Vec<u64>,
    /// Lost paths of cgroups.
    lost_paths: u64,
    /// If names are replaced.
    names: Option<Names>,
    begun: Instant,
    /// CPU time of this process before.
    own_cpu: Duration,
    slots: usize,
}

impl Recorder {
    /// Attaches the programs, and then writes which threads and cgroups are there, so that none is missing between.
    fn begin(&mut self) -> Result<(), RecordError> {
        self.programs.attach()?;
        (self.begun, self.own_cpu) = (Instant::now(), own_cpu());
        for thread in present::threads() {
            let mut comm = thread.comm;
            if let Some(names) = &mut self.names {
                names.thread(&mut comm);
            }
            self.out.comm(&Stamp::default(), thread.process, thread.tid, &comm, false);
        }
        self.cgroups(present::cgroups());
        self.round().map(drop)
    }

    fn cgroups(&mut self, cgroups: Vec<(u64, String)>) {
        for (id, path) in cgroups {
            let path = self.names.as_mut().map_or(path.clone(), |names| names.path(&path));
            self.out.cgroup(id, path.as_bytes());
        }
    }

    /// Writes what is in the rings. Returns the greatest number of events of a CPU.
    fn round(&mut self) -> Result<usize, RecordError> {
        let mut most = 0;
        for cpu in 0..self.rings.count() {
            let (out, counts, lost) = (&mut self.out, &mut self.counts, &mut self.lost[cpu]);
            let taken = match &mut self.names {
                Some(names) => {
                    let mut rename = |comm: &mut [u8; 16]| names.thread(comm);
                    self.rings
                        .take(cpu, |slot| *lost += event::write(slot, cpu as u32, out, counts, &mut rename))
                }
                None => self.rings.take(cpu, |slot| {
                    *lost += event::write(slot, cpu as u32, out, counts, &mut |_: &mut _| ());
                }),
            };
            most = most.max(taken);
            out.relieve().map_err(cannot_write)?;
        }
        let new = self.programs.new_cgroups();
        self.cgroups(new);
        let lost_paths = self.rings.lost_paths();
        if lost_paths > self.lost_paths {
            self.lost_paths = lost_paths;
            self.cgroups(present::cgroups()); // those that are still there
        }
        self.out.round().map_err(cannot_write)?;
        Ok(most)
    }

    fn summary(&self) -> Summary {
        Summary {
            elapsed: self.begun.elapsed(),
            events: self.counts.events,
            switches: self.counts.switches,
            wakes: self.counts.wakes,
            lost: self.lost.clone(),
            bytes: self.out.size(),
            own_cpu: own_cpu().saturating_sub(self.own_cpu),
            lost_paths: self.lost_paths,
        }
    }

    /// Ends the recording, and completes its file.
    fn finish(mut self) -> Result<Summary, RecordError> {
        self.programs.detach();
        self.round()?;
        let now = clock_gettime(ClockId::Monotonic);
        let t_ns = now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned();
        for cpu in 0..self.rings.possible() {
            let lost = self.rings.lost(cpu);
            if lost > 0 {
                self.lost[cpu] += lost;
                self.out.lost(&Stamp { t_ns, cpu: cpu as u32, ..Stamp::default() }, lost);
            }
        }
        let mut summary = self.summary();
        self.out.finish().map_err(cannot_write)?;
        summary.elapsed = self.begun.elapsed();
        Ok(summary)
    }
}

/// CPU time that this process has used.
fn own_cpu() -> Duration {
    let own = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(own.tv_sec.cast_unsigned(), own.tv_nsec as u32)
}

fn cannot_write(error: std::io::Error) -> RecordError {
    RecordError::Io("cannot write the recording".to_owned(), error)
}

struct Session {
    signals: Signals,
    running: Option<Running>,
    /// How often it was asked to end.
    asked: u32,
}

impl Session {
    /// Records until the time is over, the command ends, or a signal asks for it; returns the command's exit code if it ended.
    fn run(
        &mut self,
        recorder: &mut Recorder,
        end: Option<Instant>,
        watch: &mut dyn Watch,
    ) -> Result<Option<u8>, RecordError> {
        recorder.out.output().begin().map_err(cannot_write)?;
        let (mut pause, mut said) = (OFTEN, Instant::now());
        loop {
            let now = Instant::now();
            let left = end.map_or(pause, |end| end.saturating_duration_since(now).min(pause));
            self.wait(left)?;
            let most = recorder.round()?;
            pause = next_pause(pause, most, recorder.slots);
            if said.elapsed() >= PROGRESS {
                said = Instant::now();
                watch.progress(&recorder.summary());
            }
            if let Some(code) = self.running.as_mut().and_then(Running::exit_code) {
                return Ok(Some(code));
            }
            if self.is_asked() || end.is_some_and(|end| Instant::now() >= end) {
                return Ok(None);
            }
        }
    }

    /// A signal has arrived that ends the recording. A command gets it first, and may end by itself; the second one ends the recording
    /// anyway.
    fn is_asked(&mut self) -> bool {
        let Some(signal) = self.signals.take() else { return false };
        self.asked += 1;
        match &self.running {
            None => true,
            Some(running) => {
                if !signal.from_terminal {
                    running.signal(signal.number);
                }
                self.asked > 1
            }
        }
    }

    /// The recording is over, and the command may go on for as long as it takes.
    fn wait_for_command(&mut self, watch: &mut dyn Watch) -> Option<u8> {
        let running = self.running.as_mut()?;
        if self.asked > 1 {
            return running.exit_code();
        }
        watch.note("the recording has ended; waiting for the command");
        loop {
            if let Some(code) = self.running.as_mut().and_then(Running::exit_code) {
                return Some(code);
            }
            if self.is_asked() || self.wait(PROGRESS).is_err() {
                return None;
            }
        }
    }

    fn wait(&self, at_most: Duration) -> Result<(), RecordError> {
        let timeout =
            Timespec { tv_sec: at_most.as_secs().cast_signed(), tv_nsec: at_most.subsec_nanos().into() };
        let fds = [Some(self.signals.as_fd()), self.running.as_ref().map(|running| running.as_fd())];
        let mut fds: Vec<PollFd<'_>> =
            fds.into_iter().flatten().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(RecordError::Io("cannot wait".to_owned(), error.into())),
        }
    }
}

/// The next time to the next look: longer as long as the fullest ring is less than an eighth full, and at once shorter by as much as
/// it is more than a quarter full.
fn next_pause(pause: Duration, most: usize, slots: usize) -> Duration {
    let quarter = slots / 4;
    if most > quarter {
        let shorter = pause.as_nanos() as usize / most.div_ceil(quarter);
        return Duration::from_nanos(shorter as u64).max(OFTEN);
    }
    if most < slots / 8 { (pause * 2).min(SELDOM) } else { pause }
}
