//! A session lasts from loading to unloading. One thread polls signals, the command, requests, records and timers. When
//! CPUs come or go, the policy is loaded again within the same session.

use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use divvy_policy::Weight;
use divvy_policy::spec::Spec;
use divvy_policy::units::show_duration;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{ClockId, clock_gettime};

use super::commands::{self, Backend};
use super::cpus::{self, Cpus};
use super::end::{End, Verdict};
use super::error::LoadError;
use super::host::{Command, Shard};
use super::loadable::bound;
use super::look::Looks;
use super::object::Scheduler;
use super::options::{Options, ReadOptions, Watch};
use super::peer::GroupMay;
use super::programs::Programs;
use super::protocol::Reply;
use super::quotas::{self, Lookout};
use super::records::{self, Records};
use super::replacement::{Prepared, Progress, Replacement, Verifiers};
use super::ruling::Ruling;
use super::running::Running;
use super::server::{self, Server};
use super::statistics::{History, Period, Sample};
use super::sys::{self, Signal, Signals};
use super::{check, configuration, privileges, ready};

/// How often the kernel is asked whether the scheduler is still there.
const LOOK: Duration = Duration::from_millis(200);
/// How often the log's records are fetched. To poll for them would wake this thread for each record, and that is again an
/// event with a record. The ring buffer has room for 400,000.
const FETCH: Duration = Duration::from_millis(20);
/// How long the kernel may take to return to its own scheduler.
const BACK: Duration = Duration::from_secs(10);
/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// Loads the policy and runs the session.
pub fn run(options: &Options, read: ReadOptions<'_>, watch: &mut dyn Watch) -> Result<End, LoadError> {
    check::all()?;
    if let Err(limits) = quotas::none(options.keeps_limits()) {
        if !options.ignore_cpu_max {
            return Err(limits.into());
        }
        watch.note(&limits.what);
    }
    let group = options.group.as_deref().map(server::group_id).transpose()?;
    let group = group.map(|group| (group, options.group_may));
    let signals =
        Signals::block().map_err(|error| LoadError::Io("cannot wait for signals".to_owned(), error))?;
    let mut session = Session {
        options: options.clone(),
        read,
        spec: configuration::spec(options)?,
        ruling: Ruling::open(options)?,
        server: None,
        replacement: None,
        verifiers: Verifiers::default(),
        replaced: None,
        signals,
        asked_to_end: 0,
        unload_at: None,
        running: None,
        lookout: None,
        follow_at: None,
    };
    let mut loading = 1;
    let mut prepared = None;
    loop {
        match session.run_once(prepared, loading, group, watch) {
            Ok(Next::End(end)) => return Ok(end),
            Ok(Next::Load(next)) => {
                privileges::raise();
                prepared = next;
            }
            Err(error) => {
                session.wait_for_command(watch);
                return Err(error);
            }
        }
        loading += 1;
    }
}

/// Opens the socket. Without it the scheduler works as well, but takes no commands.
fn listen(group: Option<(u32, GroupMay)>, watch: &mut dyn Watch) -> Option<Server> {
    let listening = Server::listen(group);
    if let Err(error) = &listening {
        watch.note(&format!("divvy set and divvy top will not work, there is no socket for them: {error}"));
    }
    listening.ok()
}

struct Session<'a> {
    options: Options,
    read: ReadOptions<'a>,
    /// With the parameters that were changed since loading.
    spec: Spec,
    ruling: Option<Ruling>,
    server: Option<Server>,
    /// Another policy, which was asked for.
    replacement: Option<Replacement>,
    /// The threads that verify, also for requests that were taken back.
    verifiers: Verifiers,
    /// The client that waits until it schedules, and when the former one stopped.
    replaced: Option<(UnixStream, Instant)>,
    signals: Signals,
    /// How often it was asked to end, by signals and by the duration.
    asked_to_end: u32,
    /// When to unload. With a command: when the command is asked to end, and then when it is no longer waited for.
    unload_at: Option<Instant>,
    running: Option<Running>,
    lookout: Option<Lookout>,
    /// When the host is to read limits of CPU time next, if it keeps them.
    follow_at: Option<Instant>,
}

enum Outcome {
    End(End),
    Kernel(Verdict),
    Replace(Box<Prepared>, UnixStream),
}

/// The step after the end of a scheduler.
enum Next {
    End(End),
    /// To load again: what is prepared, or else the same.
    Load(Option<Box<Prepared>>),
}

impl Session<'_> {
    /// Loads the scheduler once, if it is not prepared, and runs it until it ends.
    fn run_once(
        &mut self,
        prepared: Option<Box<Prepared>>,
        loading: u32,
        group: Option<(u32, GroupMay)>,
        watch: &mut dyn Watch,
    ) -> Result<Next, LoadError> {
        let prepared = match prepared {
            Some(prepared) => *prepared,
            None => {
                let (options, spec) = (self.options.clone(), self.spec.clone());
                let mut prepared = Prepared::new(options, spec, self.ruling.take())?;
                prepared.begin(watch)?;
                prepared
            }
        };
        let Prepared { options, spec, cpus, hotplug_seq, ruling, mut programs, mut scheduler } = prepared;
        (self.options, self.spec, self.ruling) = (options, spec.clone(), ruling);
        let config = configuration::config(&self.options, &spec, &cpus, self.ruling.is_some());
        if let Some(programs) = programs.as_mut().filter(|_| self.replaced.is_some()) {
            programs.read_again();
        }
        let log = self.options.log.as_deref();
        let log = log.map(|path| records::create(path, loading, &config)).transpose()?;
        if let Err(error) = sys::become_real_time() {
            watch.note(&format!("not real-time ({error}): a policy that lets divvy wait is slow to unload"));
        }
        let mut statistics = Statistics::begin(&cpus, &self.options);
        scheduler.attach(&spec)?;
        let records = log.map(|log| Records::of(&scheduler, log)).transpose()?;
        if let Some(programs) = &mut programs {
            programs.begin(&scheduler)?;
        }
        let status =
            format!("{spec} schedules {} CPU{}", cpus.count(), if cpus.count() == 1 { "" } else { "s" });
        watch.note(&status);
        if loading == 1 {
            self.server = listen(group, watch);
            self.unload_at = self.options.duration.map(|duration| Instant::now() + duration);
            self.running = Running::start(&self.options.command, false)?;
        }
        if let Err(error) = ready::tell(&status) {
            watch.note(&format!("the service manager does not listen: {error}"));
        }
        if let Some((client, since)) = self.replaced.take() {
            let between = show_duration(since.elapsed().as_nanos() as u64);
            watch.note(&format!("between the two the kernel's own scheduler was in place for {between}"));
            // If the kernel has thrown it out by now, there is no answer.
            if Verdict::of(scheduler.exit()?).is_none() {
                server::reply(&client, &Reply::Replaced);
            }
        }
        privileges::drop(self.running.is_some());
        // The kernel compares the count itself, but not with 0.
        if hotplug_seq == 0 && cpus::hotplug_seq() != 0 {
            watch.note("a CPU came or went: loading again");
            scheduler.detach();
            wait_until_back()?;
            return Ok(Next::Load(None));
        }

        // Its threads have no capabilities, as they were dropped.
        let kept = self.options.keeps_limits();
        self.lookout = (!self.options.ignore_cpu_max).then(|| Lookout::begin(kept));
        self.follow_at = kept.then(Instant::now);
        let outcome = self.watch(&scheduler, records.as_ref(), &mut programs, &mut statistics, watch);
        statistics.interval(&scheduler)?;
        if let Some(programs) = &mut programs {
            programs.store_or_say(&scheduler, watch);
        }
        let left = Instant::now();
        scheduler.detach();
        wait_until_back()?;
        if let Some(records) = records {
            records.finish(&scheduler.stats()?)?;
        }
        watch.total(&statistics.history.total());
        match outcome? {
            Outcome::End(end) => {
                watch.note("unloaded: the kernel's own scheduler is back");
                Ok(Next::End(end))
            }
            Outcome::Kernel(Verdict::Restart(message)) => {
                watch.note(&format!("{message}: loading again"));
                Ok(Next::Load(None))
            }
            Outcome::Replace(prepared, client) => {
                self.replaced = Some((client, left));
                Ok(Next::Load(Some(prepared)))
            }
            Outcome::Kernel(Verdict::Failed(error)) => Err(error),
        }
    }

    fn watch(
        &mut self,
        scheduler: &Scheduler,
        records: Option<&Records>,
        programs: &mut Option<Programs>,
        statistics: &mut Statistics,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, LoadError> {
        loop {
            self.wait(if records.is_some() { FETCH } else { LOOK }, statistics.next)?;
            records.map_or(Ok(()), Records::drain)?;
            if let Some(programs) = programs.as_mut().filter(|programs| programs.next <= Instant::now()) {
                programs.store_or_say(scheduler, watch);
            }
            if let Some(verdict) = Verdict::of(scheduler.exit()?) {
                return Ok(Outcome::Kernel(verdict));
            }
            if let Some(server) = &mut self.server {
                let mut loaded = Loaded { scheduler, statistics: &mut *statistics };
                server.serve(|line, rights| commands::answer(line, rights, &mut self.spec, &mut loaded));
                let asked = server.asked();
                if let Some((client, words)) = asked {
                    self.prepare(client, &words, watch);
                }
            }
            match self.replacement.take().map(|replacement| replacement.poll(&self.verifiers)) {
                Some(Progress::Ready(mut prepared, client)) => {
                    prepared.begin(watch)?;
                    return Ok(Outcome::Replace(prepared, client));
                }
                Some(Progress::Begun(replacement, pid)) => {
                    // It has no privilege for a nice value, and would wait long among many.
                    let command =
                        Command { pid, value: Weight::from_nice(-20).fixed(), ..Command::default() };
                    let _ = scheduler.run("command_set_weight", command);
                    self.replacement = Some(replacement);
                }
                Some(Progress::Waits(replacement)) => self.replacement = Some(replacement),
                Some(Progress::Refused) | None => {}
            }
            if self.follow_at.is_some_and(|time| time <= Instant::now()) {
                self.follow_at = Some(Instant::now() + quotas::FOLLOWS);
                scheduler.command("command_limits", &mut Command::default().bytes())?;
            }
            if let Some(ruling) = &mut self.ruling {
                ruling.follow(scheduler, watch)?;
            }
            if let Some(limits) = self.lookout.as_mut().and_then(Lookout::found) {
                watch.warn(&limits);
            }
            if let Some(end) = self.ended() {
                return Ok(Outcome::End(end));
            }
            if Instant::now() >= statistics.next
                && watch.interval(&statistics.interval(scheduler)?).is_break()
                && self.running.is_none()
            {
                return Ok(Outcome::End(End::Asked));
            }
        }
    }

    /// Begins to prepare another policy. What only a start of the loader can do is refused as a bad request.
    fn prepare(&mut self, client: UnixStream, words: &[String], watch: &mut dyn Watch) {
        // A client may have gone since the last look, and the next one came.
        self.replacement.take_if(|replacement| replacement.withdraw_if_gone());
        if self.replacement.is_some() {
            return server::reply(&client, &server::busy());
        }
        let options = match (self.read)(words) {
            Ok(options) => options,
            Err(problem) => return server::reply(&client, &Reply::Bad { problem }),
        };
        if let Ok(Some(bound)) = bound(&options) {
            watch.note(&bound);
        }
        let current = &self.options;
        if (&options.group, options.group_may) != (&current.group, current.group_may) {
            let problem = "the socket's group cannot be changed while it is open".to_owned();
            return server::reply(&client, &Reply::Bad { problem });
        }
        let options = Options {
            interval: current.interval,
            duration: current.duration,
            command: current.command.clone(),
            log: current.log.clone(),
            top: current.top,
            ..options
        };
        self.replacement = Some(Replacement::new(options, client));
    }

    /// Sleeps until something happens, or until it is time for statistics or for unloading.
    fn wait(&self, at_most: Duration, next: Instant) -> Result<(), LoadError> {
        let now = Instant::now();
        let times = [Some(next), self.unload_at].into_iter().flatten();
        let timeout = times.map(|time| time.saturating_duration_since(now)).fold(at_most, Duration::min);
        let timeout = Timespec { tv_sec: 0, tv_nsec: timeout.subsec_nanos().into() };
        let fds = [Some(self.signals.as_fd()), self.running.as_ref().map(|running| running.as_fd())];
        let mut fds: Vec<PollFd<'_>> = fds
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .chain(self.server.iter().flat_map(Server::waits))
            .collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(LoadError::Io("cannot wait".to_owned(), error.into())),
        }
    }

    /// Returns why to unload now, unless the kernel has a reason of its own. A command is first asked to end and waited
    /// for; a second signal, or a command that takes too long, unloads the scheduler anyway.
    fn ended(&mut self) -> Option<End> {
        let signal = self.asked();
        self.asked_to_end += u32::from(signal.is_some());
        let Some(running) = &mut self.running else {
            return signal.map(|_| End::Asked);
        };
        if let Some(code) = running.exit_code() {
            return Some(End::Command(code));
        }
        let signal = signal?;
        if !signal.from_terminal {
            running.signal(signal.number);
        }
        (self.asked_to_end > 1).then_some(End::Asked)
    }

    /// A signal that arrived; the end of the duration counts as SIGTERM.
    fn asked(&mut self) -> Option<Signal> {
        if let Some(signal) = self.signals.take() {
            return Some(signal);
        }
        let now = Instant::now();
        if self.unload_at.is_none_or(|time| now < time) {
            return None;
        }
        self.unload_at = Some(now + GRACE);
        Some(Signal { number: libc::SIGTERM, from_terminal: false })
    }

    /// After an error the command goes on under the kernel's own scheduler for as long as it takes: its work is worth more
    /// than the measurement. Signals end it as before.
    fn wait_for_command(&mut self, watch: &mut dyn Watch) {
        // No scheduler is left to take commands.
        (self.server, self.replacement) = (None, None);
        privileges::drop(self.running.is_some());
        self.unload_at = None;
        if self.running.is_none() {
            return;
        }
        watch.note("the command goes on under the kernel's own scheduler");
        while self.ended().is_none() && self.wait(LOOK, Instant::now() + LOOK).is_ok() {}
    }
}

/// Takes a sample of the scheduler at each interval.
struct Statistics {
    cpus: Cpus,
    history: History,
    looks: Looks,
    begun: Instant,
    /// The same moment by the system's monotonic clock.
    begun_ns: u64,
    every: Duration,
    next: Instant,
}

impl Statistics {
    fn begin(cpus: &Cpus, options: &Options) -> Self {
        let begun = Instant::now();
        let every = options.interval;
        let clock = clock_gettime(ClockId::Monotonic);
        Self {
            cpus: cpus.clone(),
            history: History::of_most(options.top),
            looks: Looks::default(),
            begun,
            begun_ns: clock.tv_sec.cast_unsigned() * 1_000_000_000 + clock.tv_nsec.cast_unsigned(),
            every,
            next: begun + every,
        }
    }

    fn interval(&mut self, scheduler: &Scheduler) -> Result<Period, LoadError> {
        let now = Instant::now();
        // Intervals that were missed are skipped.
        while self.next <= now {
            self.next += self.every;
        }
        Ok(self.history.interval(sample(scheduler, self.begun, &self.cpus)?))
    }
}

fn sample(scheduler: &Scheduler, begun: Instant, cpus: &Cpus) -> Result<Sample, LoadError> {
    scheduler.command("command_settle", &mut Command::default().bytes())?;
    let shards = shards(scheduler, cpus.shards())?;
    Ok(Sample {
        at_ns: begun.elapsed().as_nanos() as u64,
        cpus: cpus.count(),
        stats: scheduler.stats()?.with(&shards),
        shards,
        accounts: scheduler.accounts()?,
    })
}

fn shards(scheduler: &Scheduler, cpus: Vec<String>) -> Result<Vec<Shard>, LoadError> {
    if cpus.is_empty() {
        return Ok(Vec::new());
    }
    let counts = scheduler.shard_stats(cpus.len())?;
    Ok(cpus.into_iter().zip(counts).map(|(cpus, counts)| Shard { cpus, counts }).collect())
}

/// The loaded scheduler, for commands and viewers.
struct Loaded<'a> {
    scheduler: &'a Scheduler,
    statistics: &'a mut Statistics,
}

impl Backend for Loaded<'_> {
    fn run(&self, program: &str, command: Command) -> Result<Option<u64>, String> {
        self.scheduler.run(program, command)
    }

    fn look(&mut self, policy: &str) -> Result<Rc<[u8]>, String> {
        let Statistics { begun, begun_ns, cpus, looks, .. } = &mut *self.statistics;
        let answer = looks.answer(policy, *begun_ns, || sample(self.scheduler, *begun, cpus));
        answer.map_err(|error| error.to_string())
    }
}

fn wait_until_back() -> Result<(), LoadError> {
    let asked = Instant::now();
    while check::state() != "disabled" {
        if asked.elapsed() > BACK {
            return Err(LoadError::NotBack(BACK.as_secs(), check::state()));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
