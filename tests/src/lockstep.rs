//! Drives a machine in lockstep: at the end of each quantum all CPUs decide, CPU 0 first, so that one CPU
//! decides while the next still has the task that it ran. Tasks are numbers here, as in the papers' examples; 0 is none.

use divvy_policy::{CpuId, CpuMask, Event, Machine, MachineConfig, TaskId, Weight};

/// Close to 1 ms, and divisible by 1 to 12: tags of such weights are exact.
pub const QUANTUM_NS: u64 = 36 * 27_720;

#[derive(Clone, Copy)]
struct Turn {
    task: TaskId,
    since_ns: u64,
}

/// A machine and what its tasks received.
pub struct Lockstep {
    /// The machine under test.
    pub machine: Machine,
    on: Vec<Option<Turn>>,
    /// Full quanta that each task received, by id.
    pub quanta: Vec<u64>,
    /// Whether each task is runnable, by id; `None` once it is gone.
    state: Vec<Option<bool>>,
    now_ns: u64,
    /// The CPU that is to decide because of the task that became runnable last.
    pub asked: Option<CpuId>,
}

impl Lockstep {
    /// `spec` is a policy and its modifiers, as in `sfq+feasible`.
    pub fn new(spec: &str, cpus: u32) -> Lockstep {
        let mut names = spec.split('+');
        let (policy, literal) = match names.next().unwrap() {
            "gr3:literal" => ("gr3", &[("gr3", 0, 1)][..]),
            "qfq:M=8" => ("qfq", &[("qfq", 0, 8)][..]),
            policy => (policy, &[][..]),
        };
        let modifiers: Vec<&str> = names.collect();
        Lockstep::of(
            Machine::new(
                &MachineConfig::new(policy, cpus, QUANTUM_NS).with_modifiers(&modifiers).with_params(literal),
            )
            .unwrap(),
            cpus,
        )
    }

    /// A policy with these values of its parameters, in their order
    pub fn with_params(policy: &str, values: &[i64], cpus: u32) -> Lockstep {
        let params: Vec<_> = values.iter().enumerate().map(|(i, &value)| (policy, i, value)).collect();
        Lockstep::of(
            Machine::new(&MachineConfig::new(policy, cpus, QUANTUM_NS).with_params(&params)).unwrap(),
            cpus,
        )
    }

    /// A machine to which no task has been added.
    pub fn of(machine: Machine, cpus: u32) -> Lockstep {
        Lockstep {
            machine,
            on: vec![None; cpus as usize],
            quanta: vec![0],
            state: vec![None],
            now_ns: 0,
            asked: None,
        }
    }

    /// Tasks 1, 2, .. of these weights, runnable from the start in this order.
    pub fn with(spec: &str, cpus: u32, weights: &[u64]) -> Lockstep {
        let mut lockstep = Lockstep::new(spec, cpus);
        for &weight in weights {
            lockstep.add(weight);
        }
        lockstep
    }

    /// A new runnable task, in a process of its own.
    pub fn add(&mut self, weight: u64) -> u32 {
        self.add_to(self.quanta.len() as u32, weight)
    }

    /// A new runnable task of the process that stands for itself with task `process`.
    pub fn add_to(&mut self, process: u32, weight: u64) -> u32 {
        let id = TaskId::at(self.quanta.len());
        self.quanta.push(0);
        self.state.push(Some(true));
        self.machine.add(id, TaskId::new(process), weight * Weight::ONE, self.now_ns);
        self.asked = self.machine.wake(id, true, self.now_ns);
        id.get()
    }

    /// Another one, which this task forks
    pub fn fork(&mut self, parent: u32, weight: u64) -> u32 {
        let id = TaskId::at(self.quanta.len());
        self.quanta.push(0);
        self.state.push(Some(true));
        self.machine.add(id, id, weight * Weight::ONE, self.now_ns);
        self.machine.tell(&Event::Fork { task: id, parent: Some(TaskId::new(parent)) }, self.now_ns);
        self.asked = self.machine.wake(id, true, self.now_ns);
        id.get()
    }

    /// A task that slept is runnable again.
    pub fn wake(&mut self, task: u32) {
        self.state[task as usize] = Some(true);
        self.asked = self.machine.wake(TaskId::new(task), false, self.now_ns);
    }

    /// A task blocks or exits now, wherever it is.
    pub fn leave(&mut self, task: u32, exits: bool) {
        self.state[task as usize] = (!exits).then_some(false);
        let task = TaskId::new(task);
        match self.on.iter_mut().find(|turn| turn.is_some_and(|t| t.task == task)) {
            Some(turn) => {
                let ran = self.now_ns - turn.take().unwrap().since_ns;
                self.machine.block(task, ran, exits, self.now_ns);
            }
            None => self.machine.withdraw(task, exits, self.now_ns),
        }
        if exits {
            self.machine.remove(task, self.now_ns);
        }
    }

    /// A task that is not runnable ends, and a new one gets its id.
    pub fn replace(&mut self, task: u32, weight: u64) {
        self.state[task as usize] = Some(true);
        let task = TaskId::new(task);
        self.machine.remove(task, self.now_ns);
        self.machine.add(task, task, weight * Weight::ONE, self.now_ns);
        self.machine.wake(task, true, self.now_ns);
    }

    /// A task gets another weight.
    pub fn set_weight(&mut self, task: u32, weight: u64) {
        self.machine.set_weight(TaskId::new(task), weight * Weight::ONE, self.now_ns);
    }

    /// Where a task may run from now on. A CPU that must decide because of it does.
    pub fn set_allowed(&mut self, task: u32, cpus: &[usize]) {
        let mut mask = CpuMask::default();
        cpus.iter().for_each(|&cpu| mask.insert(CpuId::at(cpu)));
        if let Some(cpu) = self.machine.set_allowed(TaskId::new(task), &mask, self.now_ns) {
            self.decide(cpu.index());
        }
    }

    /// All tasks that have not exited
    pub fn tasks(&self) -> Vec<u32> {
        (1..).zip(&self.state[1..]).filter_map(|(id, state)| state.map(|_| id)).collect()
    }

    /// Whether a task waits or runs.
    pub fn is_runnable(&self, task: u32) -> bool {
        self.state[task as usize] == Some(true)
    }

    /// The task on each CPU, 0 for none.
    pub fn running(&self) -> Vec<u32> {
        self.on.iter().map(|turn| turn.map_or(0, |t| t.task.get())).collect()
    }

    /// One CPU's turn is over, and it decides.
    pub fn decide(&mut self, cpu: usize) {
        let before = self.on[cpu];
        let chosen = self.machine.dispatch(CpuId::at(cpu), self.now_ns).map(|d| d.task);
        if before.map(|t| t.task) == chosen {
            return;
        }
        if let Some(turn) = before {
            self.machine.requeue(turn.task, self.now_ns - turn.since_ns, self.now_ns);
        }
        self.on[cpu] = chosen.map(|task| Turn { task, since_ns: self.now_ns });
        if let Some(task) = chosen {
            assert!(self.is_runnable(task.get()), "task {task} runs and is not runnable");
            self.machine.running(task, self.now_ns);
        }
    }

    /// Time goes by.
    pub fn pass(&mut self, ns: u64) {
        self.now_ns += ns;
    }

    /// All CPUs decide and run for a quantum. Returns what they ran.
    pub fn step(&mut self) -> Vec<u32> {
        for cpu in 0..self.on.len() {
            self.decide(cpu);
        }
        let ran = self.running();
        self.check(&ran);
        for &task in &ran {
            self.quanta[task as usize] += u64::from(task != 0);
        }
        self.pass(QUANTUM_NS);
        ran
    }

    /// `n` quanta on each CPU
    pub fn run(&mut self, n: usize) {
        for _ in 0..n {
            self.step();
        }
    }

    /// `n` quanta on each CPU; what the first CPU ran.
    pub fn first_cpu(&mut self, n: usize) -> Vec<u32> {
        (0..n).map(|_| self.step()[0]).collect()
    }

    fn check(&self, ran: &[u32]) {
        let mut tasks: Vec<u32> = ran.iter().copied().filter(|&t| t != 0).collect();
        let busy = tasks.len();
        let runnable = self.state.iter().filter(|&&state| state == Some(true)).count();
        assert_eq!(busy, runnable.min(ran.len()), "a CPU is idle and a task waits: {ran:?}");
        tasks.sort_unstable();
        tasks.dedup();
        assert_eq!(tasks.len(), busy, "a task is on two CPUs: {ran:?}");
        assert_eq!(self.machine.faults(), 0, "the policy broke its contract");
    }
}
