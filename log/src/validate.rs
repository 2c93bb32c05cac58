//! Validates events before a native machine is told: a log comes from outside, and the C that replays it trusts its caller.
//!
//! The checks cover everything that the machine's memory depends on (`machine.h`): ids, CPUs, weights and parameters are
//! within their range, time does not go back, and tasks exist, join and leave in turn.

use divvy_policy::{CpuId, Event, MAX_GROUPS, ParamInfo, TaskId, Weight};

/// The latest possible time, in ns: 146 years.
const TIME_MAX_NS: u64 = 1 << 62;

#[derive(Clone, Copy, Default)]
struct Task {
    known: bool,
    runnable: bool,
    /// Was runnable once.
    seen: bool,
    process: Option<TaskId>,
    group: u32,
    /// Holders of its id: the task itself, and the tasks whose process it stands for. The host gives away an id that has
    /// no holder.
    holders: u32,
}

pub(super) struct Validator {
    cpus: u32,
    params: &'static [ParamInfo],
    now_ns: u64,
    tasks: Vec<Task>,
    /// The parent of each group, by id; 0 is the root.
    parents: Vec<u32>,
}

impl Validator {
    pub fn new(cpus: u32, pool: u32, params: &'static [ParamInfo]) -> Validator {
        Validator {
            cpus,
            params,
            now_ns: 0,
            tasks: vec![Task::default(); pool as usize + 1],
            parents: vec![0; MAX_GROUPS as usize],
        }
    }

    /// The task that a record means by a number.
    pub fn task(&self, number: u32) -> Result<TaskId, String> {
        TaskId::from_raw(number)
            .filter(|task| task.index() < self.tasks.len())
            .ok_or_else(|| format!("task id {number} is out of range: ids are 1 to {}", self.tasks.len() - 1))
    }

    /// The process of a task: it is named by one of its threads, or by the id of its cgroup, which has no events of its own.
    pub fn process(&self, task: u32, number: u32) -> Result<TaskId, String> {
        self.task(number)
            .map_err(|_| format!("task {task} belongs to process {number}, which is not a task id"))
    }

    /// Checks that the event is valid now, and takes note of it.
    pub fn check(&mut self, event: &Event, now_ns: u64) -> Result<(), String> {
        if now_ns < self.now_ns {
            return Err(format!("time goes back, from {} ns to {now_ns} ns", self.now_ns));
        }
        if now_ns > TIME_MAX_NS {
            return Err(format!("the time {now_ns} ns is out of range"));
        }
        self.now_ns = now_ns;
        match *event {
            Event::New { task, process, weight } => self.new_task(task, process, weight),
            Event::Exit { task, .. } => self.exit(task),
            Event::Runnable { task, is_new } => self.runnable(task, is_new),
            Event::Quiescent { task, .. } => self.known(task).map(|task| task.runnable = false),
            Event::Enqueue { task } => self.must_be_runnable(task, "enqueued"),
            Event::Running { task } => self.must_be_runnable(task, "running"),
            Event::Expire { task } => self.must_be_runnable(task, "told that its slice is over"),
            // The machine leaves one alone that is enqueued already.
            Event::Carry { task, .. } => self.must_be_runnable(task, "carried"),
            Event::Dequeue { task } | Event::SetAllowed { task, .. } | Event::Session { task } => {
                self.known(task).map(|_| ())
            }
            Event::Fork { task, parent } => self.fork(task, parent),
            Event::Dispatch { cpu } | Event::Yield { cpu } | Event::TakeCpu { cpu } => self.cpu(cpu),
            Event::Stopping { task, ran_ns } => self.stopping(task, ran_ns),
            Event::SetWeight { task, weight } => {
                check_weight(weight)?;
                self.known(task).map(|_| ())
            }
            Event::SetProcess { task, process } => self.set_process(task, process),
            Event::SetProgram { task, .. } => self.known(task).map(|_| ()),
            // The machine takes what fits, and nothing else.
            Event::Learn { .. } => Ok(()),
            Event::SetParam { owner, index, value } => self.set_param(owner, index, value),
            Event::SetGroup { group, parent, weight } => self.set_group(group, parent, weight),
            Event::EnterGroup { task, group } => self.enter_group(task, group),
        }
    }

    /// A policy makes a forked task anew, so it is in none of the policy's queues.
    fn fork(&mut self, task: TaskId, parent: Option<TaskId>) -> Result<(), String> {
        if let Some(parent) = parent {
            self.known(parent)?;
        }
        if self.known(task)?.runnable || Some(task) == parent {
            let parent = parent.map_or("one that is not known".to_owned(), |parent| format!("task {parent}"));
            return Err(format!("task {task} was made by {parent}, but it is that task or is runnable"));
        }
        Ok(())
    }

    /// Groups are a tree, and one that has runnable tasks stays where it is.
    fn set_group(&mut self, group: u32, parent: u32, weight: Weight) -> Result<(), String> {
        check_weight(weight)?;
        check_group(group)?;
        check_group(parent)?;
        if group == 0 {
            return Err("the root, group 0, has no parent and no weight".to_owned());
        }
        if self.is_in(parent, group) {
            return Err(format!("group {group} is put into group {parent}, which is in it"));
        }
        let moves = self.parents[group as usize] != parent;
        if moves && self.tasks.iter().any(|task| task.runnable && self.is_in(task.group, group)) {
            return Err(format!("group {group} gets another parent, but has runnable tasks"));
        }
        Ok(())
    }

    /// Where the machine has put the group. It may have left it where it was, and this tree must have no circle that the
    /// machine's has.
    pub(super) fn set_parent(&mut self, group: u32, parent: u32) {
        self.parents[group as usize] = parent;
    }

    /// Whether a group is this one, or at any depth in it. Parents lead to the root.
    fn is_in(&self, mut inner: u32, group: u32) -> bool {
        while inner != group && inner != 0 {
            inner = self.parents[inner as usize];
        }
        inner == group
    }

    fn enter_group(&mut self, task: TaskId, group: u32) -> Result<(), String> {
        check_group(group)?;
        self.known(task)?.group = group;
        Ok(())
    }

    fn known(&mut self, id: TaskId) -> Result<&mut Task, String> {
        let task = &mut self.tasks[id.index()];
        if task.known { Ok(task) } else { Err(format!("there is no task {id}")) }
    }

    fn new_task(&mut self, id: TaskId, process: TaskId, weight: Weight) -> Result<(), String> {
        check_weight(weight)?;
        if self.tasks[id.index()].holders > 0 {
            return Err(format!("task {id} is new, but its id is in use"));
        }
        self.tasks[id.index()] = Task { known: true, process: Some(process), holders: 1, ..Task::default() };
        self.tasks[process.index()].holders += 1;
        Ok(())
    }

    fn set_process(&mut self, id: TaskId, process: TaskId) -> Result<(), String> {
        if let Some(was) = self.known(id)?.process.replace(process) {
            self.tasks[was.index()].holders -= 1;
        }
        self.tasks[process.index()].holders += 1;
        Ok(())
    }

    fn exit(&mut self, id: TaskId) -> Result<(), String> {
        let task = self.known(id)?;
        if task.runnable {
            return Err(format!("task {id} exits, but is runnable"));
        }
        task.known = false;
        task.holders -= 1;
        if let Some(process) = task.process {
            self.tasks[process.index()].holders -= 1;
        }
        Ok(())
    }

    fn runnable(&mut self, id: TaskId, is_new: bool) -> Result<(), String> {
        let task = self.known(id)?;
        if task.runnable {
            return Err(format!("task {id} becomes runnable, but is runnable already"));
        }
        if is_new == task.seen {
            return Err(format!(
                "task {id} becomes runnable {} the first time",
                if is_new { "again as if for" } else { "as if not for" }
            ));
        }
        (task.runnable, task.seen) = (true, true);
        Ok(())
    }

    fn must_be_runnable(&mut self, id: TaskId, what: &str) -> Result<(), String> {
        match self.known(id)?.runnable {
            true => Ok(()),
            false => Err(format!("task {id} is {what}, but is not runnable")),
        }
    }

    fn stopping(&mut self, id: TaskId, ran_ns: u64) -> Result<(), String> {
        if ran_ns > TIME_MAX_NS {
            return Err(format!("task {id} ran for {ran_ns} ns, which is not possible"));
        }
        self.known(id).map(|_| ())
    }

    fn cpu(&self, cpu: CpuId) -> Result<(), String> {
        if cpu.get() < self.cpus {
            return Ok(());
        }
        Err(format!("there is no CPU {cpu}: they are 0 to {}", self.cpus - 1))
    }

    /// The machine leaves parameters of modifiers as they are.
    fn set_param(&self, owner: u32, index: u32, value: i64) -> Result<(), String> {
        if owner != 0 {
            return Ok(());
        }
        let param = self.params.get(index as usize);
        let param = param.ok_or_else(|| format!("the policy has no parameter {index}"))?;
        if value < param.min || value > param.max {
            return Err(format!("parameter {} is set to {value}, which is out of its range", param.name));
        }
        Ok(())
    }
}

fn check_group(group: u32) -> Result<(), String> {
    if group < MAX_GROUPS {
        return Ok(());
    }
    Err(format!("there is no group {group}: they are 1 to {}", MAX_GROUPS - 1))
}

fn check_weight(weight: Weight) -> Result<(), String> {
    if (Weight::MIN..=Weight::MAX).contains(&weight) {
        return Ok(());
    }
    Err(format!("a weight of {}: they are 1 to 2^40", weight.fixed()))
}
