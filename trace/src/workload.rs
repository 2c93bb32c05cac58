//! A replay as a workload, which the simulator, `divvy play` and the workload files take.

use std::collections::BTreeMap;

use divvy_workload::{Arrivals, DEFAULT_QUANTUM_NS, Dist, Step, Task, WeightSetting, Workload};

use crate::program::{Cause, ReplayTask, Start, Step as Recorded, Timing};
use crate::replay::Replay;

impl Replay {
    /// The workload: one task for each thread, with its own program.
    ///
    /// ```
    /// use divvy_trace::{ReadOptions, WakePolicy, read_bytes, replayable};
    ///
    /// let text = "swapper 0 [000] 1.000000000: sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R \
    ///     ==> next_comm=make next_pid=7 next_prio=120\n\
    ///     make 7 [000] 1.004000000: sched:sched_switch: prev_comm=make prev_pid=7 prev_prio=120 prev_state=S \
    ///     ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";
    /// let recording = read_bytes(text.as_bytes(), "trace.txt", &ReadOptions::default())?;
    /// let workload = replayable(&recording, WakePolicy::Dependency).workload("trace");
    /// assert_eq!(workload.tasks[0].name, "make:7");
    /// # Ok::<(), divvy_trace::TraceError>(())
    /// ```
    pub fn workload(&self, name: &str) -> Workload {
        let mut used = BTreeMap::new();
        Workload {
            name: name.to_owned(),
            cpus: self.cpus.max(1),
            quantum_ns: DEFAULT_QUANTUM_NS,
            // Without an end of its own it lasts as long as the recording, which says nothing about later times.
            duration_ns: self.endless().next().map(|_| self.span_ns),
            warmup_ns: 0,
            tick_ns: self.tick_ns,
            switch_cost_ns: 0,
            migration_cost_ns: 0,
            topology: None,
            groups: Vec::new(),
            tasks: self.tasks.iter().map(|t| task(t, &mut used)).collect(),
            locks: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
        }
    }
}

fn task(recorded: &ReplayTask, used: &mut BTreeMap<String, u32>) -> Task {
    let (start_ns, arrivals) = match recorded.start {
        Start::At(ns) => (ns, Arrivals::Once),
        Start::ForkedBy(_) => (0, Arrivals::Forked { limit: None }),
    };
    Task {
        name: unique(format!("{}:{}", recorded.name, recorded.tid), used),
        weight: WeightSetting::Nice(i8::try_from(recorded.nice).unwrap_or(0)),
        process: Some(recorded.process.clone()),
        group: None,
        count: 1,
        start_ns,
        stop_ns: None,
        executable: Some(recorded.name.clone()), // a recording identifies a program by this name only
        affinity: None,
        arrivals,
        program: program(&recorded.steps),
    }
}

fn program(steps: &[Recorded]) -> Vec<Step> {
    let body = steps.iter().filter_map(step).collect();
    match steps.last() {
        Some(Recorded::Repeat) => vec![Step::Loop { times: None, body }],
        _ => body,
    }
}

/// Thread ids are used again, so the second task with the same name gets a number.
fn unique(name: String, used: &mut BTreeMap<String, u32>) -> String {
    let times = used.entry(name.clone()).or_insert(0);
    *times += 1;
    match *times {
        1 => name,
        n => format!("{name}#{n}"),
    }
}

fn step(recorded: &Recorded) -> Option<Step> {
    Some(match *recorded {
        Recorded::Run { ns } => Step::Run(Dist::Constant(ns)),
        Recorded::Wake { task } => Step::Wake(task),
        Recorded::Fork { task } => Step::Fork(task),
        Recorded::Wait(cause) => wait(cause),
        Recorded::Endless => Step::RunForever,
        Recorded::Exit | Recorded::Repeat => return None, // the end of a program is an exit too, and a loop has an end
    })
}

fn wait(cause: Cause) -> Step {
    match cause.timing() {
        Timing::OnWake => Step::Wait,
        Timing::After(ns) => Step::Sleep(Dist::Constant(ns)),
        Timing::At(ns) => Step::Until(ns),
    }
}
