//! Random legal schedules: what a kernel might do, as events and as the intervals that they mean, kept separately from the start.
#![allow(dead_code)] // each test file uses a part

pub mod archive;
pub mod ctf_file;
pub mod perf_file;
pub mod text;
pub mod trace_dat_file;

use divvy_policy::CpuId;
use divvy_trace::{Activity, Interval, Queued, State, Wake};

/// A thread's name and number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    pub tid: i32,
    pub comm: Vec<u8>,
}

/// An event of the kernel, with its CPU and the current thread there.
#[derive(Debug, Clone)]
pub struct Event {
    pub t_ns: u64,
    pub cpu: u32,
    pub current: Name,
    pub interrupt: bool,
    pub kind: Kind,
}

#[derive(Debug, Clone)]
pub enum Kind {
    Switch { prev: Name, state: &'static str, next: Name },
    Waking { task: Name },
    Fork { child: Name },
    WokenNew { task: Name },
}

/// A schedule: its events, and for each thread in order of appearance what it did.
pub struct Schedule {
    pub events: Vec<Event>,
    pub threads: Vec<(Name, Vec<Interval>)>,
    pub span_ns: u64,
    pub cpus: u32,
}

/// SplitMix64: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    /// Damages a file at one place: cuts it there in one of `kinds` cases, writes another byte in three, else flips a bit.
    pub fn damage(&mut self, bytes: &mut Vec<u8>, at: usize, kinds: usize) {
        match self.below(kinds) {
            0 => bytes.truncate(at),
            1 => bytes[at] = 0xff,
            2 => bytes[at] = 0,
            3 => bytes[at] = self.below(256) as u8,
            _ => bytes[at] ^= 1 << self.below(8),
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Running(u32),
    Waiting(Queued),
    Asleep(State),
    Gone,
}

struct Thread {
    name: Name,
    phase: Phase,
    since: u64,
    intervals: Vec<Interval>,
    /// Was there before the recording and has done nothing yet.
    unseen: bool,
}

/// Makes a schedule of about `length` events on `cpus` CPUs; times are multiples of `unit_ns`.
pub fn schedule(seed: u64, length: usize, cpus: usize, unit_ns: u64, names: &[Vec<u8>]) -> Schedule {
    let mut kernel = Kernel {
        random: Random(seed),
        names: names.to_vec(),
        now: 0,
        threads: Vec::new(),
        current: vec![None; cpus],
        seen: Vec::new(),
        events: Vec::new(),
    };
    for _ in 0..3 + cpus {
        let thread = kernel.new_thread();
        kernel.threads[thread].unseen = true;
    }
    // The first event of all is a wake on an idle CPU.
    kernel.wake(0, 0, false);
    // Everybody may have exited before the length is reached.
    for _ in 0..length * 4 {
        kernel.now += unit_ns * (1 + kernel.random.below(200) as u64);
        kernel.act();
    }
    kernel.finish(cpus as u32)
}

struct Kernel {
    random: Random,
    names: Vec<Vec<u8>>,
    now: u64,
    threads: Vec<Thread>,
    current: Vec<Option<usize>>,
    /// Threads in the order in which events named them.
    seen: Vec<usize>,
    events: Vec<Event>,
}

impl Kernel {
    fn new_thread(&mut self) -> usize {
        let index = self.threads.len();
        let comm = self.names[self.random.below(self.names.len())].clone();
        let name = Name { tid: 100 + index as i32, comm };
        let phase = Phase::Asleep(State::Unknown);
        self.threads.push(Thread { name, phase, since: 0, intervals: Vec::new(), unseen: false });
        index
    }

    fn see(&mut self, thread: usize) {
        if !self.seen.contains(&thread) {
            self.seen.push(thread);
        }
    }

    fn name(&self, cpu: usize, thread: Option<usize>) -> Name {
        match thread {
            Some(thread) => self.threads[thread].name.clone(),
            None => Name { tid: 0, comm: format!("swapper/{cpu}").into_bytes() },
        }
    }

    fn emit(&mut self, cpu: usize, interrupt: bool, kind: Kind) {
        let current = self.name(cpu, self.current[cpu]);
        self.events.push(Event { t_ns: self.now, cpu: cpu as u32, current, interrupt, kind });
    }

    fn close(&mut self, thread: usize, wake: Wake, cut: bool) {
        let now = self.now;
        let t = &mut self.threads[thread];
        let activity = match t.phase {
            Phase::Running(cpu) => Activity::Run { cpu: CpuId::new(cpu) },
            Phase::Waiting(why) => Activity::Wait { why },
            Phase::Asleep(state) => Activity::Blocked { state, wake },
            Phase::Gone => return,
        };
        if now > t.since || matches!(t.phase, Phase::Asleep(_)) {
            let censored = cut || t.unseen;
            t.intervals.push(Interval {
                start_ns: t.since,
                end_ns: now,
                activity,
                censored,
                inferred: false,
            });
        }
        t.since = now;
        t.unseen = false;
    }

    /// Somebody does something.
    fn act(&mut self) {
        let cpu = self.random.below(self.current.len());
        let asleep: Vec<usize> = self.those(|p| matches!(p, Phase::Asleep(_)));
        match self.random.below(10) {
            0..=3 if !asleep.is_empty() => {
                let thread = asleep[self.random.below(asleep.len())];
                let interrupt = self.random.below(3) == 0;
                self.wake(cpu, thread, interrupt);
            }
            4 if self.current[cpu].is_some() && self.threads.len() < 40 => self.fork(cpu),
            _ => self.switch(cpu),
        }
    }

    fn those(&self, phase: impl Fn(Phase) -> bool) -> Vec<usize> {
        (0..self.threads.len()).filter(|&t| phase(self.threads[t].phase)).collect()
    }

    fn wake(&mut self, cpu: usize, thread: usize, interrupt: bool) {
        self.see(thread);
        let by = match self.current[cpu] {
            Some(waker) if !interrupt => {
                Wake::By(self.seen.iter().position(|&s| s == waker).expect("who runs was seen") as u32)
            }
            _ => Wake::Interrupt,
        };
        self.emit(cpu, interrupt, Kind::Waking { task: self.threads[thread].name.clone() });
        self.close(thread, by, false);
        self.threads[thread].phase = Phase::Waiting(Queued::Woken);
    }

    fn fork(&mut self, cpu: usize) {
        let child = self.new_thread();
        self.see(child);
        let name = self.threads[child].name.clone();
        self.emit(cpu, false, Kind::Fork { child: name.clone() });
        self.now += 1000;
        self.emit(cpu, false, Kind::WokenNew { task: name });
        self.threads[child].since = self.now;
        self.threads[child].phase = Phase::Waiting(Queued::New);
    }

    fn switch(&mut self, cpu: usize) {
        let waiting = self.those(|p| matches!(p, Phase::Waiting(_)));
        let next = match self.random.below(waiting.len() + 1) {
            0 => None,
            n => Some(waiting[n - 1]),
        };
        let prev = self.current[cpu];
        if prev == next {
            return;
        }
        let states = [
            ("S", Phase::Asleep(State::Sleep)),
            ("D", Phase::Asleep(State::Disk)),
            ("R", Phase::Waiting(Queued::Preempted)),
            ("R+", Phase::Waiting(Queued::Preempted)),
            ("X", Phase::Gone),
            ("S", Phase::Asleep(State::Sleep)),
        ];
        let (state, phase) =
            if prev.is_some() { states[self.random.below(states.len())] } else { ("R", Phase::Gone) };
        let kind = Kind::Switch { prev: self.name(cpu, prev), state, next: self.name(cpu, next) };
        self.emit(cpu, false, kind);
        if let Some(prev) = prev {
            self.close(prev, Wake::Never, false);
            self.threads[prev].phase = phase;
        }
        if let Some(next) = next {
            self.close(next, Wake::Never, false);
            self.threads[next].phase = Phase::Running(cpu as u32);
        }
        self.current[cpu] = next;
    }

    fn finish(mut self, cpus: u32) -> Schedule {
        self.now = self.events.last().map_or(0, |e| e.t_ns);
        for thread in 0..self.threads.len() {
            self.close(thread, Wake::Never, true);
        }
        let highest = self.events.iter().map(|e| e.cpu).max().unwrap_or(0);
        let threads =
            self.seen.iter().map(|&t| (self.threads[t].name.clone(), self.threads[t].intervals.clone()));
        Schedule {
            threads: threads.collect(),
            events: self.events,
            span_ns: self.now,
            cpus: cpus.min(highest + 1),
        }
    }
}
