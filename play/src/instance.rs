//! An instance of a task: how its thread is set up, and the program that it executes first, if it is one.

use std::ffi::CString;
use std::num::NonZeroU64;

use rustix::thread::{gettid, set_current_timer_slack, set_name};

use super::clock;
use super::context::Context;
use super::cpus;
use super::handover::executes;
use super::run_setup::Launch;
use super::shared_state::Failure;
use super::task_thread::{End, TaskThread};

impl Context<'_> {
    /// Runs an expected instance in the calling thread: sets the thread up, executes the program, writes the log. If
    /// `waits` is set, the gate opens only after this thread is counted as ready.
    pub fn run_instance(&self, launch: Launch, waits: bool) {
        let slot = self.shared.take_slot(launch.class, launch.number);
        if let Err(failure) = self.try_run_instance(launch, slot, waits) {
            self.fail(&failure);
        }
    }

    /// Makes the run fail, with a message for the user.
    pub fn fail(&self, failure: &str) {
        // If the log cannot be written, the message is lost, but the run still fails.
        let _ = self.log.failure(failure);
        self.shared.fail();
    }

    fn try_run_instance(&self, launch: Launch, slot: u32, waits: bool) -> Result<(), Failure> {
        self.set_up(launch)?;
        if let Some(handover) = self.handover.filter(|_| executes(&self.setup.workload.tasks[launch.class])) {
            // Its program starts when the task does: not before, as it may be one that has to end first.
            if waits {
                self.shared.ready();
            }
            clock::sleep_until(self.shared.wait_open().saturating_add(launch.due_ns));
            // With more tasks than CPU time, the run may be over before some of them could start.
            if self.shared.is_over() {
                return self.run_thread(launch, slot, false);
            }
            let name = self.setup.workload.executable(launch.class);
            let cpu_ns = clock::thread_cpu_ns();
            return Err(handover.execute(&name, (self.shared, self.log), launch, slot, cpu_ns));
        }
        self.run_thread(launch, slot, waits)
    }

    /// Runs an instance in a process that was set up, and then executed the task's program, when it had used `cpu_ns`.
    pub fn run_executed(&self, launch: Launch, slot: u32, cpu_ns: u64) {
        self.set_name(launch);
        if !self.shared.is_over() {
            // The number is for a note only, so a failure to write it is no failure of the run.
            let _ = self.log.overhead(clock::thread_cpu_ns().saturating_sub(cpu_ns));
        }
        if let Err(failure) = self.run_thread(launch, slot, false) {
            self.fail(&failure);
        }
    }

    fn run_thread(&self, launch: Launch, slot: u32, waits: bool) -> Result<(), Failure> {
        let mut thread = TaskThread::new(*self, launch, slot);
        if waits {
            self.shared.ready();
        }
        thread.begin(self.shared.wait_open());
        let end = thread.run();
        let measured = thread.finish(end.as_ref().copied().unwrap_or(End::Stopped));
        self.shared.leave(slot, measured.ended_ns);
        end?;
        self.log
            .thread(&measured)
            .map_err(|error| format!("cannot write the measurements of a task to memory: {error}"))
    }

    /// Names the calling thread, for tools such as top. The kernel cuts a name to 15 bytes. One with a NUL cannot be set.
    fn set_name(&self, launch: Launch) {
        let name = self.setup.workload.tasks[launch.class].instance_name(launch.number);
        if let Ok(name) = CString::new(name) {
            let _ = set_name(&name);
        }
    }

    /// Gives the calling thread the task's name, CPUs and weight.
    fn set_up(&self, launch: Launch) -> Result<(), Failure> {
        let task = &self.setup.workload.tasks[launch.class];
        let name = task.instance_name(launch.number);
        let message =
            |what: &str, error: &dyn std::fmt::Display| format!("task {name}: cannot {what}: {error}");
        self.set_name(launch);
        // Without this the kernel may delay timers by 50 us. With it only the scheduler delays them.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        cpus::bind(&self.setup.cpus, task.affinity.as_deref())
            .map_err(|e| message("be bound to its CPUs", &e))?;
        let set = self.setup.set_weight.set(gettid(), launch.class, task.weight.weight());
        set.map_err(|e| message(&format!("have weight {}", task.weight.units()), &e))
    }
}
