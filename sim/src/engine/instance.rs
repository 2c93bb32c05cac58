//! One task in the run: an instance of a task of the workload.

use divvy_policy::CpuId;
use divvy_results::metrics::Job;
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

/// The event that ends a wait, apart from the end of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Its own, or one of a semaphore.
    Token,
    /// By number.
    Mutex(u32),
    /// By number.
    Barrier(u32),
}

/// The next act of a task after the instructions that take no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Works,
    Yields,
    Blocks,
    Exits,
}

#[derive(Debug)]
pub(super) struct Instance {
    pub state: State,
    pub class: u32,
    pub row: u32,
    /// Counts the tasks that used this slot: a timer for a former task is void.
    pub generation: u32,
    /// `None` if it has never been on a CPU.
    pub last_cpu: Option<CpuId>,
    /// CPU time until the burst in progress ends; `u64::MAX` has no end.
    pub demand_ns: u64,
    /// When it began to wait for a CPU.
    pub waits_since_ns: u64,
    /// Why it is blocked.
    pub waits_for: Option<Wait>,
    /// Woken, and not run since.
    pub woken: bool,
    /// When the present job began; `None` between jobs.
    pub job_began_ns: Option<u64>,
    /// Whether the present job is counted: it began after the warm-up.
    pub job_counts: bool,
    /// Waiting time of the present job.
    pub job_wait_ns: u64,
    pub job_service_ns: u64,
    /// Service since statistics began.
    pub received_ns: u64,
    /// Entitled service when statistics began.
    pub entitled_before_ns: f64,
    /// Service error since then, least and greatest.
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
            last_cpu: None,
            demand_ns: 0,
            waits_since_ns: 0,
            waits_for: None,
            woken: false,
            job_began_ns: None,
            job_counts: false,
            job_wait_ns: 0,
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

    pub(super) fn class(&self) -> usize {
        self.class as usize
    }

    pub(super) fn row(&self) -> usize {
        self.row as usize
    }

    pub(super) fn is_present(&self) -> bool {
        self.state != State::Vacant
    }

    /// It has never been on a CPU.
    pub(super) fn is_new(&self) -> bool {
        self.last_cpu.is_none()
    }

    pub(super) fn serve(&mut self, ran_ns: u64) {
        if self.demand_ns != u64::MAX {
            self.demand_ns -= ran_ns;
        }
        self.received_ns += ran_ns;
        self.job_service_ns += ran_ns;
    }

    pub(super) fn block(&mut self, wait: Wait) -> Outcome {
        self.state = State::Blocked;
        self.waits_for = Some(wait);
        Outcome::Blocks
    }

    pub(super) fn begin_job(&mut self, at_ns: u64, counts: bool) {
        self.job_began_ns = Some(at_ns);
        self.job_counts = counts;
        self.job_wait_ns = 0;
        self.job_service_ns = 0;
    }

    /// When the job that ends now began, and what it was; `None` without one, or if it took no time: the task woke
    /// only to sleep again or to exit.
    pub(super) fn end_job(&mut self, now_ns: u64) -> Option<(u64, Job)> {
        let began_ns = self.job_began_ns.take()?;
        let response_ns = now_ns - began_ns;
        let job = Job { response_ns, wait_ns: self.job_wait_ns, service_ns: self.job_service_ns };
        (self.job_service_ns > 0 || response_ns > 0).then_some((began_ns, job))
    }

    /// Takes the service error at a moment at which it can be least or greatest. `entitled_ns` counts from its start.
    #[inline(always)]
    pub(super) fn sample_error(&mut self, entitled_ns: Option<f64>) {
        let Some(entitled_ns) = entitled_ns else { return };
        let error_ns = self.received_ns as f64 - (entitled_ns - self.entitled_before_ns);
        if error_ns < self.error_min_ns {
            self.error_min_ns = error_ns;
        }
        if error_ns > self.error_max_ns {
            self.error_max_ns = error_ns;
        }
    }
}
