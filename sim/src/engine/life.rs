//! Tasks' lives: born, through their programs, asleep and awake, to their ends.

use super::instance::Wait;
use super::*;
use divvy_policy::MAX_TASKS;

impl Engine<'_> {
    /// In the machine a group's id is its index and 1: 0 is none.
    pub(super) fn make_groups(&mut self) {
        for (group, id) in self.workload.groups.iter().zip(1..) {
            let parent = group.parent.map_or(0, |parent| parent as u32 + 1);
            self.machine.set_group(id, parent, group.weight.fixed(), 0);
        }
    }

    pub(super) fn make_classes(&mut self) {
        let workload = self.workload;
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        let mut grouped = BTreeMap::new();
        // Before all others: what begins as the statistics do is counted.
        if !self.warm {
            self.timers.set(workload.warmup_ns, Timer::WarmedUp);
        }
        for (index, task) in workload.tasks.iter().enumerate() {
            let process = task.process.as_deref().map(|name| {
                let next = names.len();
                *names.entry(name).or_insert(next)
            });
            let (first_row, rows) = self.make_rows(index, &mut grouped);
            let executable = self.programs.number(workload.executable(index));
            let left = match task.arrivals {
                Arrivals::Open { limit, .. } => limit.unwrap_or(NEVER),
                _ => 0,
            };
            self.classes.push(Class {
                program: Program::new(&task.program),
                first_row,
                rows,
                weight: task.weight.fixed(),
                allowed: task.affinity.as_deref().map(mask),
                process,
                group: task.group,
                executable,
                born: 0,
                arrivals: stream(
                    self.setup.seed,
                    self.setup.rep,
                    divvy_workload::instance(index, 0),
                    Purpose::Arrival,
                ),
                left,
                stopped: false,
                instance: 0,
                tokens: Tokens::default(),
            });
            if task.arrivals != Arrivals::Forked {
                self.timers.set(task.start_ns, Timer::Start { class: index as u32 });
            }
            if let Some(stop) = task.stop_ns {
                self.timers.set(stop, Timer::Stop { class: index as u32 });
            }
        }
        self.processes = names.len();
    }

    /// The first result row of a class, and their number.
    fn make_rows(&mut self, index: usize, grouped: &mut BTreeMap<String, usize>) -> (usize, usize) {
        let task = &self.workload.tasks[index];
        let first = self.rows.len();
        if let Rows::Named(names) = &self.setup.rows {
            let name = &names[index];
            if let Some(&row) = grouped.get(name) {
                return (row, 1);
            }
            grouped.insert(name.clone(), first);
            self.rows.push(Row::of(task, name.clone()));
        } else {
            self.rows.extend(divvy_results::metrics::rows_of(task));
        }
        (first, self.rows.len() - first)
    }

    /// As many new instances of a class as come at a time.
    pub(super) fn spawn_all(&mut self, class: usize) -> Result<(), Violation> {
        (0..self.workload.tasks[class].count).try_for_each(|_| self.spawn(class))
    }

    /// A new instance of a class.
    fn spawn(&mut self, class: usize) -> Result<(), Violation> {
        if self.classes[class].stopped {
            return Ok(());
        }
        let task = self.vacant_slot()?;
        let c = &mut self.classes[class];
        let number = c.born;
        c.born += 1;
        c.instance = task;
        let row = c.first_row + (number as usize).min(c.rows - 1);
        let weight = c.weight;
        let (process, group) = (c.process, c.group);
        let key = divvy_workload::instance(class, number);
        let (seed, rep) = (self.setup.seed, self.setup.rep);
        let generation = self.tasks[task as usize].generation + 1;
        self.tasks[task as usize] = Instance {
            state: State::Blocked,
            class: class as u32,
            row: row as u32,
            generation,
            started_ns: self.now,
            run: stream(seed, rep, key, Purpose::Run),
            sleep: stream(seed, rep, key, Purpose::Sleep),
            ..Instance::vacant()
        };
        self.alive += 1;
        self.entitled.add(task, weight, process.map(|p| p as u32), group);
        let process = process.map_or(task, |p| MAX_TASKS - 1 - p as TaskId);
        self.machine.add(task, process, weight, self.now);
        if let Some(group) = group {
            self.machine.enter_group(task, group as u32 + 1, self.now);
        }
        if let Some(mask) = &self.classes[class].allowed {
            self.machine.set_allowed(task, mask);
        }
        self.execute(task);
        if let Arrivals::Closed { think } = &self.workload.tasks[class].arrivals {
            let wake = self.now.saturating_add(think.sample(&mut self.tasks[task as usize].sleep));
            self.sleep_until(task, wake);
        } else {
            self.woken.push_back((task, generation));
        }
        Ok(())
    }

    /// Wakes the tasks that what just happened woke, in that order. They may wake others in turn.
    pub(super) fn wake_woken(&mut self) -> Result<(), Violation> {
        while let Some((task, generation)) = self.woken.pop_front() {
            let t = &self.tasks[task as usize];
            if t.generation == generation && t.state == State::Blocked {
                self.wake(task)?;
            }
        }
        Ok(())
    }

    fn wake_soon(&mut self, task: TaskId) {
        self.woken.push_back((task, self.tasks[task as usize].generation));
    }

    fn vacant_slot(&mut self) -> Result<TaskId, Violation> {
        if let Some(task) = self.free.pop() {
            return Ok(task);
        }
        let task = self.tasks.len() as TaskId;
        let most = MAX_TASKS.saturating_sub(1 + self.processes as TaskId);
        if task > most {
            return Err(
                self.violation(format!("more than {most} tasks at one time: the CPUs cannot keep up"))
            );
        }
        self.tasks.push(Instance::vacant());
        Ok(task)
    }

    /// A task that is not runnable wakes. If its program has no work for it, it never gets a CPU.
    pub(super) fn wake(&mut self, task: TaskId) -> Result<(), Violation> {
        if self.tasks[task as usize].job_ns.is_none() {
            self.begin_job(task, self.now);
            self.execute_again(task);
        }
        if self.tasks[task as usize].demand_ns == 0 {
            match self.advance(task)? {
                Outcome::Blocks => return Ok(()),
                Outcome::Exits => {
                    self.bury(task);
                    return Ok(());
                }
                Outcome::Works | Outcome::Yields => {}
            }
        }
        let t = &mut self.tasks[task as usize];
        let is_new = t.last_cpu == u32::MAX;
        t.state = State::Waiting;
        t.since_ns = self.now;
        t.woken = true;
        let row = t.row as usize;
        self.runnable += 1;
        self.tell(Observation::Woken { task, row, at_ns: self.now, by: self.acting });
        self.touch(task);
        let asked = self.machine.wake(task, is_new, self.now);
        self.ask(asked);
        Ok(())
    }

    fn begin_job(&mut self, task: TaskId, at_ns: u64) {
        let warm = self.warm;
        let t = &mut self.tasks[task as usize];
        t.job_ns = Some(at_ns);
        t.counts = warm && at_ns >= self.counted_from;
        t.wait_ns = 0;
        t.job_service_ns = 0;
    }

    fn end_job(&mut self, task: TaskId) {
        let t = &mut self.tasks[task as usize];
        let Some(began) = t.job_ns.take() else { return };
        let response_ns = self.now - began;
        if t.job_service_ns == 0 && response_ns == 0 {
            return; // it woke only to sleep again or to exit
        }
        let row = &mut self.rows[t.row as usize];
        row.finished_ns = Some(self.now);
        if let Some(observer) = &mut self.observer {
            let service_ns = t.job_service_ns;
            observer(Observation::JobDone(JobDone {
                row: t.row as usize,
                from_ns: began,
                to_ns: self.now,
                service_ns,
            }));
        }
        if t.counts {
            let job = Job { response_ns, wait_ns: t.wait_ns, service_ns: t.job_service_ns };
            row.delays.job(job);
            self.delays.job(job);
        }
    }

    /// Executes instructions until one takes time.
    pub(super) fn advance(&mut self, task: TaskId) -> Result<Outcome, Violation> {
        let workload = self.workload;
        let mut works = Outcome::Works;
        while self.steps < STEPS_AT_AN_INSTANT + 100 * self.alive {
            self.steps += 1;
            let class = self.tasks[task as usize].class as usize;
            let t = &mut self.tasks[task as usize];
            let op = self.classes[class].program.next(&mut t.at);
            // A class of jobs sleeps within them; any other task's job ends when it sleeps.
            let sleep_ends_job =
                !matches!(workload.tasks[class].arrivals, Arrivals::Open { .. } | Arrivals::Closed { .. });
            match *op {
                Op::Run(ref d) => {
                    t.demand_ns = d.sample(&mut t.run);
                    if t.demand_ns > 0 {
                        self.bring(task);
                        return Ok(works);
                    }
                }
                Op::RunForever => {
                    t.demand_ns = NEVER;
                    self.bring(task);
                    return Ok(works);
                }
                Op::Sleep(ref d) => {
                    let wake = self.now.saturating_add(d.sample(&mut t.sleep));
                    return Ok(self.sleep(task, wake, sleep_ends_job));
                }
                Op::Period(period_ns) => {
                    let released = (self.now - t.started_ns) / period_ns.max(1) + 1;
                    let wake = t.started_ns.saturating_add(released.saturating_mul(period_ns));
                    return Ok(self.sleep(task, wake, sleep_ends_job));
                }
                Op::Until(wake) if wake > self.now => return Ok(self.sleep(task, wake, sleep_ends_job)),
                Op::Until(wake) => self.next_job_at_once(task, wake, sleep_ends_job),
                Op::Lock(i) => {
                    if !self.mutexes[i].lock(task) {
                        let blocks = self.block(task, Wait::Mutex(i as u32));
                        self.check_circle(task)?;
                        return Ok(blocks);
                    }
                }
                Op::Unlock(i) => {
                    if let Some(next) = self.mutexes[i].unlock(task) {
                        self.wake_soon(next);
                    }
                }
                Op::Barrier(i) => match self.meetings[i].arrive(task) {
                    None => return Ok(self.block(task, Wait::Meeting(i as u32))),
                    Some(others) => {
                        for other in others {
                            self.wake_soon(other);
                        }
                    }
                },
                Op::Fork(class) => self.spawn_all(class)?,
                Op::Yield => works = Outcome::Yields,
                Op::Wake(class) => self.give_token(class),
                Op::Wait => match self.classes[class].tokens.take() {
                    Some(came) => self.next_job_at_once(task, came, sleep_ends_job),
                    None => {
                        if sleep_ends_job {
                            self.end_job(task);
                        }
                        return Ok(self.block(task, Wait::Token));
                    }
                },
                Op::End => return self.end_program(task, class),
                Op::Enter { .. } | Op::Again { .. } | Op::Forever { .. } => {}
            }
        }
        let name = &self.workload.tasks[self.tasks[task as usize].class as usize].name;
        let text = format!(
            "task {name} and those that it wakes execute steps without end and without using time: give a loop of a program a run or a sleep"
        );
        Err(self.violation(text))
    }

    /// It has this demand from now on.
    fn bring(&mut self, task: TaskId) {
        let work_ns = self.tasks[task as usize].demand_ns;
        self.machine.bring(task, work_ns);
        self.entitled.bring(task, work_ns, self.now);
    }

    /// It goes on without a pause, but the work that it now begins was due before.
    fn next_job_at_once(&mut self, task: TaskId, due_ns: u64, ends_job: bool) {
        if ends_job {
            self.end_job(task);
            self.begin_job(task, due_ns);
        }
    }

    fn give_token(&mut self, class: usize) {
        let task = self.classes[class].instance;
        let t = &mut self.tasks[task as usize];
        if t.class as usize == class && t.state == State::Blocked && t.waits_for == Some(Wait::Token) {
            t.waits_for = None;
            self.wake_soon(task);
        } else {
            self.classes[class].tokens.keep(self.now);
        }
    }

    fn block(&mut self, task: TaskId, wait: Wait) -> Outcome {
        let t = &mut self.tasks[task as usize];
        t.state = State::Blocked;
        t.waits_for = Some(wait);
        Outcome::Blocks
    }

    fn sleep(&mut self, task: TaskId, wake_ns: u64, ends_job: bool) -> Outcome {
        if ends_job {
            self.end_job(task);
        }
        self.sleep_until(task, wake_ns);
        Outcome::Blocks
    }

    fn sleep_until(&mut self, task: TaskId, wake_ns: u64) {
        let t = &mut self.tasks[task as usize];
        t.state = State::Asleep;
        self.timers.set(wake_ns, Timer::Wake { task, generation: t.generation });
    }

    /// At the end of its program a task exits, or thinks about the next job.
    fn end_program(&mut self, task: TaskId, class: usize) -> Result<Outcome, Violation> {
        self.end_job(task);
        let Arrivals::Closed { think } = &self.workload.tasks[class].arrivals else {
            return Ok(Outcome::Exits);
        };
        let t = &mut self.tasks[task as usize];
        t.at.rewind();
        let wake = self.now.saturating_add(think.sample(&mut t.sleep));
        self.sleep_until(task, wake);
        Ok(Outcome::Blocks)
    }

    /// Removes a task that is neither runnable nor on a CPU.
    pub(super) fn bury(&mut self, task: TaskId) {
        self.entitled.withdraw(task, self.now);
        self.collect(task);
        self.tasks[task as usize].state = State::Vacant;
        self.machine.remove(task, self.now);
        self.note_execution(task);
        self.alive -= 1;
        self.ended_ns = self.now;
        self.free.push(task);
        self.tell(Observation::Gone { task, at_ns: self.now });
    }

    /// Its time is up, whatever it does.
    pub(super) fn end_from_outside(&mut self, task: TaskId) -> Result<(), Violation> {
        match self.tasks[task as usize].state {
            State::Running => {
                let cpu = self.tasks[task as usize].last_cpu as usize;
                self.account(cpu);
                self.leave_cpu(cpu, true);
                self.next[cpu] = NEVER;
                self.ask(Some(cpu as u32));
            }
            State::Waiting => {
                self.runnable -= 1;
                self.machine.withdraw(task, true, self.now);
            }
            State::Asleep | State::Blocked => {}
            State::Vacant => return Ok(()),
        }
        for meeting in &mut self.meetings {
            meeting.forget(task);
        }
        for i in 0..self.mutexes.len() {
            self.mutexes[i].forget(task);
            if let Some(next) = self.mutexes[i].unlock(task) {
                self.wake_soon(next);
            }
        }
        self.bury(task);
        Ok(())
    }
}

fn mask(cpus: &[u32]) -> CpuMask {
    let mut mask = CpuMask::default();
    for &cpu in cpus {
        mask[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    mask
}
