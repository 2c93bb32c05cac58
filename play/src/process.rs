//! The processes of a run, as seen from inside: one that is a task by itself, and one whose threads are tasks.

use std::process;
use std::sync::atomic::Ordering;
use std::thread::{Builder, Scope, scope};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::board::Failure;
use super::clock::{monotonic_ns, thread_cpu_ns, wait_while};
use super::life::{Birth, Stage};
use super::nursery::Nursery;
use super::sys;

/// Stack of a thread: it calls little, and nothing deep.
const STACK_BYTES: usize = 128 * 1024;

/// If the first process dies, however it does, so does this one.
pub fn die_with(parent: Pid) {
    let set = set_parent_process_death_signal(Some(Signal::KILL));
    // It may have died before it was to be known.
    if set.is_err() || getppid() != Some(parent) {
        process::abort();
    }
}

/// A process that is one instance.
pub fn single(stage: Stage, birth: Birth, waits: bool) {
    stage.live(birth, waits);
}

/// A process whose threads are instances: this thread starts them, and those that come later.
pub fn threaded(stage: Stage, number: usize) {
    scope(|scope| {
        // Told before the threads that were started are waited for: they may wait for those that were not.
        if let Err(failure) = serve(stage, number, scope) {
            stage.fail(&failure);
        }
    });
}

fn serve<'s>(stage: Stage<'s>, number: usize, scope: &'s Scope<'s, '_>) -> Result<(), Failure> {
    sys::be_real_time();
    let mut nursery = Nursery::new(stage, number);
    nursery.begin(&mut |birth| start(stage, scope, birth, true))?;
    stage.board.ready();
    let start_ns = stage.board.wait_open();
    let cpu_before_ns = thread_cpu_ns();
    let bell = stage.board.bell(number);
    while !stage.board.is_over() {
        let rung = bell.load(Ordering::SeqCst);
        let now_ns = monotonic_ns().saturating_sub(start_ns);
        let next_ns = nursery.serve(now_ns, &mut |birth| start(stage, scope, birth, false))?;
        if !stage.board.is_over() {
            wait_while(bell, rung, start_ns.saturating_add(next_ns));
        }
    }
    // A figure for a note: if it cannot be told, that is all.
    let _ = stage.log.overhead(thread_cpu_ns() - cpu_before_ns);
    Ok(())
}

fn start<'s>(stage: Stage<'s>, scope: &'s Scope<'s, '_>, birth: Birth, waits: bool) -> Result<(), Failure> {
    let thread = Builder::new().stack_size(STACK_BYTES);
    let started = thread.spawn_scoped(scope, move || stage.live(birth, waits));
    started.map(drop).map_err(|error| cannot_start(stage, "thread", birth, &error))
}

/// What a limit of the system means for the user.
pub fn cannot_start(stage: Stage, what: &str, birth: Birth, error: &std::io::Error) -> Failure {
    let name = stage.plan.workload.tasks[birth.class].instance_name(birth.number);
    format!(
        "cannot start a {what} for task {name}: {error}; `ulimit -u` and the cgroup's pids.max are the limits"
    )
}
