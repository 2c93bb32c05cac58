//! One task in the run.

use divvy_workload::program::Position;
use divvy_workload::{Purpose, Stream, stream};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The slot is free.
    Vacant,
    /// Until a timer wakes it.
    Asleep,
    /// For a mutex, a barrier or a token.
    Blocked,
    /// Runnable, on no CPU.
    Waiting,
    Running,
}

/// What ends a wait, beside the end of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Token,
    /// By number.
    Mutex(u32),
    /// By number.
    Meeting(u32),
}

#[derive(Debug)]
pub(super) struct Instance {
    pub state: State,
    pub class: u32,
    pub row: u32,
    /// Of the slot: a timer for a former task is void.
    pub generation: u32,
    pub last_cpu: u32,
    /// Of the burst in progress; `u64::MAX` has no end.
    pub demand_ns: u64,
    /// When it began to wait for a CPU.
    pub since_ns: u64,
    /// For what it is blocked.
    pub waits_for: Option<Wait>,
    /// Woken, and not run since.
    pub woken: bool,
    /// When the present job began; `None` between jobs.
    pub job_ns: Option<u64>,
    /// Whether the present job is counted: it began after the warm-up.
    pub counts: bool,
    /// Of the present job.
    pub wait_ns: u64,
    pub job_service_ns: u64,
    /// Since statistics began.
    pub received_ns: u64,
    /// Entitled when statistics began.
    pub entitled_before_ns: f64,
    /// Received less entitled since then, least and greatest.
    pub error_min_ns: f64,
    pub error_max_ns: f64,
    pub started_ns: u64,
    pub at: Position,
    pub run: Stream,
    pub sleep: Stream,
}

impl Instance {
    pub(super) fn vacant() -> Instance {
        Instance {
            state: State::Vacant,
            class: 0,
            row: 0,
            generation: 0,
            last_cpu: u32::MAX,
            demand_ns: 0,
            since_ns: 0,
            waits_for: None,
            woken: false,
            job_ns: None,
            counts: false,
            wait_ns: 0,
            job_service_ns: 0,
            received_ns: 0,
            entitled_before_ns: 0.0,
            error_min_ns: 0.0,
            error_max_ns: 0.0,
            started_ns: 0,
            at: Position::default(),
            run: stream(0, 0, 0, Purpose::Run),
            sleep: stream(0, 0, 0, Purpose::Sleep),
        }
    }

    pub(super) fn serve(&mut self, ran_ns: u64) {
        if self.demand_ns != u64::MAX {
            self.demand_ns -= ran_ns;
        }
        self.received_ns += ran_ns;
        self.job_service_ns += ran_ns;
    }
}
