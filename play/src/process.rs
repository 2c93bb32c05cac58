//! The code that runs in forked processes: a process that is one instance of a task, or one with a thread for each
//! instance.

use std::process;
use std::sync::atomic::Ordering;
use std::thread::{Builder, Scope, scope};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use super::clock::{monotonic_ns, thread_cpu_ns, wait_while};
use super::context::Context;
use super::run_setup::Launch;
use super::shared_state::Failure;
use super::spawner::Spawner;
use super::sys;

/// Stack of a thread. Its calls are few and not deep.
const STACK_BYTES: usize = 128 * 1024;

/// Makes the kernel kill this process when its parent ends, for any reason.
pub fn die_with(parent: Pid) {
    let set = set_parent_process_death_signal(Some(Signal::KILL));
    // The parent may have ended before the signal was set.
    if set.is_err() || getppid() != Some(parent) {
        process::abort();
    }
}

/// Runs a process that is one instance.
pub fn single(context: Context, launch: Launch, waits: bool) {
    context.run_instance(launch, waits);
}

/// Runs a process whose threads are instances. The calling thread starts them, also those that arrive later.
pub fn threaded(context: Context, number: usize) {
    scope(|scope| {
        // Report the failure before the scope joins its threads: they may wait for threads that were never started.
        if let Err(failure) = serve(context, number, scope) {
            context.fail(&failure);
        }
    });
}

fn serve<'s>(context: Context<'s>, number: usize, scope: &'s Scope<'s, '_>) -> Result<(), Failure> {
    sys::be_real_time();
    let mut spawner = Spawner::new(context, number);
    spawner.begin(&mut |launch| start(context, scope, launch, true))?;
    context.shared.ready();
    let start_ns = context.shared.wait_open();
    let cpu_before_ns = thread_cpu_ns();
    let wake_word = context.shared.wake_word(number);
    while !context.shared.is_over() {
        let before = wake_word.load(Ordering::SeqCst);
        let now_ns = monotonic_ns().saturating_sub(start_ns);
        let next_ns = spawner.serve(now_ns, &mut |launch| start(context, scope, launch, false))?;
        if !context.shared.is_over() {
            wait_while(wake_word, before, start_ns.saturating_add(next_ns));
        }
    }
    // The number is for a note only, so a failure to write it is no failure of the run.
    let _ = context.log.overhead(thread_cpu_ns() - cpu_before_ns);
    Ok(())
}

fn start<'s>(
    context: Context<'s>,
    scope: &'s Scope<'s, '_>,
    launch: Launch,
    waits: bool,
) -> Result<(), Failure> {
    let thread = Builder::new().stack_size(STACK_BYTES);
    let started = thread.spawn_scoped(scope, move || context.run_instance(launch, waits));
    started.map(drop).map_err(|error| cannot_start(context, "thread", launch, &error))
}

/// The message for a process or thread that the system refused.
pub fn cannot_start(context: Context, what: &str, launch: Launch, error: &std::io::Error) -> Failure {
    let name = context.setup.workload.tasks[launch.class].instance_name(launch.number);
    format!(
        "cannot start a {what} for task {name}: {error}; start fewer tasks, or raise `ulimit -u` and the cgroup's \
         pids.max"
    )
}
