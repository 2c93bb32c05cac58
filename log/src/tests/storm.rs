//! Logs of a machine that is told random events in an order that a kernel keeps, written as the BPF host does.
use divvy_policy::{Answer, CpuId, CpuMask, Event, Kind, Machine, TaskId, Weight};

use super::super::format::{Header, Record};

const NO_CPU: u32 = 0xffff;
pub const QUANTUM_NS: u64 = 3_000_000;

/// By splitmix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Absent,
    Asleep,
    Queued,
    Aside,
    On,
}

#[derive(Clone, Copy)]
struct Task {
    place: Place,
    seen: bool,
    since: u64,
}

struct Storm {
    machine: Machine,
    random: Random,
    now: u64,
    cpus: u32,
    params: &'static [divvy_policy::ParamInfo],
    /// It is one of several shards, between which tasks move.
    carries: bool,
    /// Number of groups with the root; 0 if the policy ignores groups.
    groups: u32,
    tasks: Vec<Task>,
    on: Vec<Option<TaskId>>,
    told: Vec<(Event, Answer, u64)>,
}

impl Storm {
    fn tell(&mut self, event: Event) -> Answer {
        let magnitude = self.random.below(22);
        self.now += self.random.below(1 << magnitude);
        let answer = self.machine.tell(&event, self.now);
        self.told.push((event, answer, self.now));
        answer
    }

    fn any_task(&mut self) -> TaskId {
        TaskId::new(1 + self.random.below(self.tasks.len() as u64 - 1) as u32)
    }

    fn wake(&mut self, task: TaskId) {
        let is_new = !std::mem::replace(&mut self.tasks[task.index()].seen, true);
        self.tell(Event::Runnable { task, is_new });
        if self.carries {
            let by_ns = self.random.below(1 << 24) as i64 - (1 << 23);
            self.tell(Event::Carry { task, by_ns });
        }
        self.tell(Event::Enqueue { task });
        self.tasks[task.index()].place = Place::Queued;
    }

    /// A CPU chooses; the task that ran goes back.
    fn dispatch(&mut self, cpu: CpuId) {
        let ran = self.on[cpu.index()];
        let chosen = self.tell(Event::Dispatch { cpu }).task;
        if chosen == ran {
            return;
        }
        if let Some(ran) = ran {
            self.stop(cpu);
            self.tell(Event::Enqueue { task: ran });
            self.tasks[ran.index()].place = Place::Queued;
        }
        if let Some(chosen) = chosen {
            self.tell(Event::Running { task: chosen });
            self.on[cpu.index()] = Some(chosen);
            self.tasks[chosen.index()].place = Place::On;
            self.tasks[chosen.index()].since = self.now;
        }
    }

    fn stop(&mut self, cpu: CpuId) {
        let Some(task) = self.on[cpu.index()].take() else { return };
        let ran_ns = self.now - self.tasks[task.index()].since;
        self.tell(Event::Stopping { task, ran_ns });
    }

    /// The slice of what runs is over, and a kernel thread comes first.
    fn expire(&mut self, cpu: CpuId) {
        let Some(task) = self.on[cpu.index()] else { return };
        self.stop(cpu);
        let slice_ns = self.tell(Event::Expire { task }).slice_ns;
        if slice_ns > 0 {
            self.tell(Event::Running { task });
            self.on[cpu.index()] = Some(task);
            self.tasks[task.index()].since = self.now;
        } else {
            self.tell(Event::Enqueue { task });
            self.tasks[task.index()].place = Place::Queued;
        }
    }

    fn block(&mut self, cpu: CpuId) {
        let Some(task) = self.on[cpu.index()] else { return };
        let exits = self.random.below(4) == 0;
        self.stop(cpu);
        self.tell(Event::Quiescent { task, exits });
        self.tasks[task.index()].place = Place::Asleep;
        // One that stands for a process stays.
        if exits && task.get() > 4 {
            self.tell(Event::Exit { task, moves: task.get() % 4 == 0 });
            self.tasks[task.index()].place = Place::Absent;
        }
    }

    fn change(&mut self, task: TaskId) {
        let weight = Weight::ONE * (1 + self.random.below(3000));
        let program = (1 + self.random.below(3)) << 33 | 1;
        match self.random.below(if self.groups > 0 { 10 } else { 8 }) {
            8 => {
                let group = 1 + self.random.below(u64::from(self.groups) - 1) as u32;
                let parent = group / 2;
                self.tell(Event::SetGroup { group, parent, weight });
            }
            9 => {
                let group = self.random.below(self.groups.into()) as u32;
                self.tell(Event::EnterGroup { task, group });
            }
            7 => {
                self.tell(Event::Session { task });
            }
            0 => {
                self.tell(Event::SetWeight { task, weight });
            }
            4 => {
                let other = TaskId::new(1 + self.random.below(4) as u32);
                let is_there = !matches!(self.tasks[other.index()].place, Place::Absent);
                let process = if is_there { other } else { task };
                self.tell(Event::SetProcess { task, process });
            }
            5 => {
                self.tell(Event::SetProgram { task, program });
            }
            6 => {
                let run_ns = self.random.below(4 * QUANTUM_NS);
                for at in 0..2 {
                    self.tell(Event::Learn { program, at, run_ns, wait_ns: 0 });
                }
            }
            1 => {
                let cpu = |_| CpuId::at(self.random.below(self.cpus.into()) as usize);
                let mask: CpuMask = (0..3).map(cpu).collect();
                self.tell(Event::SetAllowed { task, mask });
            }
            2 if !self.params.is_empty() => {
                let index = self.random.below(self.params.len() as u64) as u32;
                let param = self.params[index as usize];
                let value = [param.min, param.default, param.max][self.random.below(3) as usize];
                self.tell(Event::SetParam { owner: 0, index, value });
            }
            _ => {
                let cpu = CpuId::new(self.random.below(self.cpus.into()) as u32);
                self.tell(if program.is_multiple_of(2) {
                    Event::Yield { cpu }
                } else {
                    Event::TakeCpu { cpu }
                });
            }
        }
    }

    fn step(&mut self) {
        let task = self.any_task();
        let cpu = self.random.below(self.cpus.min(8).into()) as u32 * self.cpus.div_ceil(8) % self.cpus;
        let cpu = CpuId::new(cpu);
        match (self.tasks[task.index()].place, self.random.below(8)) {
            (Place::Absent, 0..4) => {
                let process = if task.get() > 4 { TaskId::new(1 + task.get() % 4) } else { task };
                let weight = Weight::ONE * (1 + self.random.below(2048));
                if self.tasks[process.index()].place != Place::Absent || process == task {
                    self.tell(Event::New { task, process, weight });
                    let parent = self.any_task();
                    if self.tasks[parent.index()].place != Place::Absent {
                        self.tell(Event::Fork { task, parent: Some(parent) });
                    }
                    self.tasks[task.index()] = Task { place: Place::Asleep, seen: false, since: 0 };
                }
            }
            (Place::Asleep, 0..4) => self.wake(task),
            (Place::Queued, 0) => {
                self.tell(Event::Dequeue { task });
                self.tasks[task.index()].place = Place::Aside;
            }
            (Place::Aside, _) => {
                self.tell(Event::Enqueue { task });
                self.tasks[task.index()].place = Place::Queued;
            }
            (place, 1) if place != Place::Absent => self.change(task),
            (_, 7) => self.block(cpu),
            (_, 6) => self.expire(cpu),
            _ => self.dispatch(cpu),
        }
    }
}

/// This many random events, with the machine's answers.
pub fn storm(spec: &str, cpus: u32, seed: u64, events: usize) -> (Header, Vec<(Event, Answer, u64)>) {
    let parsed = divvy_policy::spec::parse(spec, divvy_policy::all()).unwrap();
    let mut storm = Storm {
        machine: Machine::from_spec(&parsed.without_placement(), cpus, QUANTUM_NS).unwrap(),
        carries: parsed.placement.is_some(),
        random: Random(seed),
        now: 1 << 40,
        cpus,
        params: &divvy_policy::find(parsed.selection.name).unwrap().params,
        groups: if spec.contains("+groups") { 10 } else { 0 },
        tasks: vec![Task { place: Place::Absent, seen: false, since: 0 }; 25],
        on: vec![None; cpus as usize],
        told: Vec::new(),
    };
    // Nested, before tasks are in them.
    for group in 1..storm.groups {
        storm.tell(Event::SetGroup { group, parent: group / 2, weight: Weight::ONE * u64::from(group) });
    }
    while storm.told.len() < events {
        storm.step();
    }
    storm.told.truncate(events);
    (
        Header { spec: spec.to_owned(), cpus, pool: 16_383, quantum_ns: QUANTUM_NS, shards: Vec::new() },
        storm.told,
    )
}

/// Every selection under every set of modifiers that compose.
pub fn specs() -> Vec<String> {
    let names =
        |kind| divvy_policy::all().iter().filter(move |policy| policy.kind == kind).map(|policy| policy.name);
    let modifiers: Vec<&str> = names(Kind::Modifier).collect();
    let sets = 0..1 << modifiers.len();
    let set = |bits: usize| -> String {
        let chosen = modifiers.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1);
        chosen.map(|(_, name)| format!("+{name}")).collect()
    };
    names(Kind::Selection)
        .flat_map(|name| sets.clone().map(move |bits| (name, bits)))
        .map(|(name, bits)| format!("{name}{}", set(bits)))
        .filter(|spec| divvy_policy::spec::parse(spec, divvy_policy::all()).is_ok())
        .collect()
}

/// As `note` and its callers in `bpf/host.bpf.c` write it: one record, or one for each 64 CPUs.
pub fn records(seq: u32, event: &Event, answer: &Answer, now: u64, cpus: u32) -> Vec<Record> {
    let mut record = Record { now, seq, kind: event.kind(), ..Record::default() };
    let kick = answer.asked.map_or(NO_CPU, CpuId::get);
    match *event {
        Event::New { task, process, weight } => {
            (record.id, record.answer, record.value) = (task.get(), process.get(), weight.fixed())
        }
        Event::Runnable { task, is_new } => (record.id, record.why) = (task.get(), u8::from(!is_new)),
        Event::Quiescent { task, exits } => (record.id, record.why) = (task.get(), 2 + u8::from(exits)),
        Event::Exit { task, moves } => (record.id, record.why) = (task.get(), moves.into()),
        Event::Dequeue { task } | Event::Running { task } | Event::Session { task } => record.id = task.get(),
        Event::Expire { task } => (record.id, record.value) = (task.get(), answer.slice_ns),
        Event::Enqueue { task } => (record.id, record.cpu) = (task.get(), kick as u16),
        Event::Dispatch { cpu } => {
            let task = answer.task.map_or(0, TaskId::get);
            (record.id, record.answer, record.value) = (task, task, answer.slice_ns);
            (record.cpu, record.why) = (kick as u16, cpu.get() as u8);
        }
        Event::Stopping { task, ran_ns } => (record.id, record.value) = (task.get(), ran_ns),
        Event::Carry { task, by_ns } => (record.id, record.value) = (task.get(), by_ns.cast_unsigned()),
        Event::Yield { cpu } => record.cpu = cpu.get() as u16,
        Event::TakeCpu { cpu } => (record.cpu, record.why) = (kick as u16, cpu.get() as u8),
        Event::SetWeight { task, weight } => (record.id, record.value) = (task.get(), weight.fixed()),
        Event::SetProcess { task, process } => (record.id, record.answer) = (task.get(), process.get()),
        Event::SetGroup { group, parent, weight } => {
            (record.answer, record.cpu, record.value) = (group, parent as u16, weight.fixed());
        }
        Event::EnterGroup { task, group } => (record.id, record.answer) = (task.get(), group),
        Event::Fork { task, parent } => {
            (record.id, record.answer) = (task.get(), parent.map_or(0, TaskId::get));
        }
        Event::SetProgram { task, program } => (record.id, record.value) = (task.get(), program),
        Event::Learn { program, at, run_ns, .. } => {
            (record.id, record.answer) = ((program >> 32) as u32, program as u32);
            (record.cpu, record.value) = (at, run_ns);
        }
        Event::SetParam { owner, index, value } => {
            (record.answer, record.cpu, record.value) = (owner, index as u16, value.cast_unsigned());
        }
        Event::SetAllowed { task, ref mask } => {
            let words: &[usize] = if cpus > 64 { &[3, 2, 1, 0] } else { &[0] };
            let word = |&word: &usize| Record {
                id: task.get(),
                answer: kick,
                cpu: word as u16,
                why: u8::from(word == 0),
                value: mask.words().get(word).copied().unwrap_or(0),
                ..record
            };
            return words.iter().map(word).collect();
        }
    }
    vec![record]
}

/// All of them, numbered from `first`.
pub fn all_records(header: &Header, told: &[(Event, Answer, u64)], first: u32) -> Vec<Record> {
    let numbered = told.iter().enumerate();
    numbered
        .flat_map(|(index, (event, answer, now))| {
            records(first.wrapping_add(index as u32), event, answer, *now, header.cpus)
        })
        .collect()
}

/// Each up to `by` places late, those of an event in their order.
pub fn shuffle(records: &mut [Record], by: u64, random: &mut Random) {
    let late: Vec<u64> = (0..records.len() as u64).map(|index| index + random.below(by)).collect();
    let first = records.first().map_or(0, |record| record.seq);
    let mut by_event = std::collections::BTreeMap::new();
    for (record, late) in records.iter().zip(late) {
        by_event.entry(record.seq.wrapping_sub(first)).or_insert(late);
    }
    records.sort_by_key(|record| by_event[&record.seq.wrapping_sub(first)]);
}
