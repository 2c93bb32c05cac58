//! The tracepoints that tell about scheduling, by their names.

/// The tracepoints that are read, of LTTng and of perf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracepoint {
    Switch,
    Waking,
    Woken,
    WokenNew,
    Fork,
    Exec,
    Rename,
    Exit,
    Runtime,
    /// LTTng's list of the threads that were there before.
    ProcessState,
}

impl Tracepoint {
    /// By its name, perf's with its system in front.
    pub fn of(name: &str) -> Option<Tracepoint> {
        Some(match name.rsplit(':').next()? {
            "sched_switch" => Tracepoint::Switch,
            "sched_waking" => Tracepoint::Waking,
            "sched_wakeup" => Tracepoint::Woken,
            "sched_wakeup_new" => Tracepoint::WokenNew,
            "sched_process_fork" => Tracepoint::Fork,
            "sched_process_exec" => Tracepoint::Exec,
            "task_rename" => Tracepoint::Rename,
            "sched_process_exit" => Tracepoint::Exit,
            "sched_stat_runtime" => Tracepoint::Runtime,
            "lttng_statedump_process_state" => Tracepoint::ProcessState,
            _ => return None,
        })
    }
}
