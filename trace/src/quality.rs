//! How far a recording can be trusted.

use serde::Serialize;

/// Counters of everything that was missing, contradictory or inferred.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Quality {
    /// The format that was read.
    pub format: String,
    /// The trace's clock; empty when the format does not say.
    pub clock: String,
    /// The kernel's release; empty when the format does not say.
    pub kernel: String,
    /// Events understood.
    pub events: u64,
    /// Switches among them.
    pub switches: u64,
    /// From the first event to the last.
    pub span_ns: u64,
    /// CPUs seen.
    pub cpus: u32,
    /// Threads seen.
    pub threads: u64,
    /// From then on every CPU has been heard of.
    pub first_valid_ns: u64,
    /// Places where the recorder lost events.
    pub lost_records: u64,
    /// Events lost there, as far as the recorder counted them.
    pub lost_events: u64,
    /// Times of ten minutes or more without a single event.
    pub silences: u64,
    /// Lines or records that could not be understood.
    pub malformed: u64,
    /// The first of them, when the format has lines.
    pub first_malformed_line: u64,
    /// The byte at which the file ends too early, if it does.
    pub cut_at: Option<u64>,
    /// The cut took the descriptions of the events: only switches and wake-ups could be read.
    pub guessed: bool,
    /// The clock counts ticks of unknown length, which are taken for nanoseconds.
    pub ticks: bool,
    /// Switches away from a thread that was not thought to run there: a switch before them is missing.
    pub mismatches: u64,
    /// Those of the mismatches where the CPU was thought idle.
    pub idle_exits_missing: u64,
    /// Threads seen on two CPUs at once.
    pub overlaps: u64,
    /// Wakes that ended a sleep.
    pub wakes: u64,
    /// Wakes of a thread that was not asleep.
    pub spurious_wakes: u64,
    /// Sleeps that ended without a wake in the trace.
    pub missing_wakes: u64,
    /// Those of the missing wakes that turned up after the thread ran: the CPUs' clocks differ.
    pub wakes_after_run: u64,
    /// Runs whose start was inferred.
    pub inferred_runs: u64,
    /// Run time with an inferred start or end.
    pub inferred_ns: u64,
    /// Time of intervals that are cut by the recording's ends or by losses, over all threads.
    pub censored_ns: u64,
    /// Run time by switches, of all threads.
    pub all_run_ns: u64,
    /// Run time by switches, of the threads for which the kernel's own account is in the trace.
    pub run_ns: u64,
    /// The kernel's own account (`sched_stat_runtime`) for the same threads; 0 without these events.
    pub kernel_run_ns: u64,
    /// The part of it that fell where no switch shows the thread running.
    pub unseen_run_ns: u64,
    /// Times that the clock went backwards.
    pub clock_backwards: u64,
    /// How far at most.
    pub clock_backwards_max_ns: u64,
    /// Whether the format says if a wake came from an interrupt.
    pub interrupts_known: bool,
}

/// A to D: A can be measured by, D cannot be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Nothing that matters is missing.
    A,
    /// Small gaps, inferred.
    B,
    /// Tendencies only.
    C,
    /// Not to be believed.
    D,
}

/// One thing that lowers the trust, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The best grade that the recording can have with it.
    pub grade: Grade,
    /// The finding, as a sentence.
    pub text: String,
}

/// Upper bounds for A, B and C, in parts per thousand.
type Bounds = [u64; 3];

const LOST: Bounds = [0, 1, 10];
const SILENCES: Bounds = [0, 1, 10];
const MALFORMED: Bounds = [0, 5, 50];
const MISMATCHES: Bounds = [5, 50, 200];
const MISSING_WAKES: Bounds = [20, 100, 300];
const INFERRED: Bounds = [10, 50, 200];
const WITNESS: Bounds = [20, 50, 150];
const BACKWARDS: Bounds = [0, 1, 10];

impl Quality {
    /// The worst of the findings.
    pub fn grade(&self) -> Grade {
        self.findings().iter().map(|f| f.grade).max().unwrap_or(Grade::A)
    }

    /// Difference between run time by switches and by the kernel's own account, in parts of the latter; `None` without the account.
    pub fn run_time_error(&self) -> Option<f64> {
        (self.kernel_run_ns > 0)
            .then(|| (self.run_ns as f64 - self.kernel_run_ns as f64) / self.kernel_run_ns as f64)
    }

    /// Everything worth telling, the worst first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut judge = |part: u64, whole: u64, bounds: Bounds, text: String| {
            if part > 0 {
                findings.push(Finding { grade: grade_of(part, whole, bounds), text });
            }
        };
        let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;

        let lost = self.lost_events.max(self.lost_records);
        let text = format!(
            "The recorder lost {lost} events in {} places; record with larger buffers (-m).",
            self.lost_records
        );
        judge(lost, self.events.saturating_add(lost), LOST, text);

        let times = match self.silences {
            1 => "Once".to_owned(),
            n => format!("{n} times"),
        };
        let text = format!("{times} there is no event for ten minutes or more; what ran then is unknown.");
        judge(self.silences, self.events, SILENCES, text);

        let place = if self.first_malformed_line > 0 {
            format!(", the first in line {}", self.first_malformed_line)
        } else {
            String::new()
        };
        let text = format!("{} lines or records could not be understood{place}.", self.malformed);
        judge(self.malformed, self.events + self.malformed, MALFORMED, text);

        let text = format!(
            "{} of {} switches contradict the one before them ({} where the CPU was thought idle): switches are missing.",
            self.mismatches, self.switches, self.idle_exits_missing
        );
        judge(self.mismatches, self.switches, MISMATCHES, text);

        let text = format!("{} threads were seen on two CPUs at once.", self.overlaps);
        judge(self.overlaps, self.switches, MISMATCHES, text);

        let sleeps = self.wakes + self.missing_wakes;
        let text = format!(
            "{} of {sleeps} sleeps end without a wake in the trace; their wake-up delay is unknown.",
            self.missing_wakes
        );
        judge(self.missing_wakes, sleeps, MISSING_WAKES, text);

        let text =
            format!("{:.1} % of the run time was inferred.", percent(self.inferred_ns, self.run_total()));
        judge(self.inferred_ns, self.run_total(), INFERRED, text);

        let error = self.run_ns.abs_diff(self.kernel_run_ns);
        let text = format!(
            "Run time by switches differs from the kernel's account by {:.1} %.",
            percent(error, self.kernel_run_ns)
        );
        judge(if self.kernel_run_ns > 0 { error } else { 0 }, self.kernel_run_ns, WITNESS, text);

        let text = format!(
            "The clock went backwards {} times, by {} ns at most.",
            self.clock_backwards, self.clock_backwards_max_ns
        );
        judge(self.clock_backwards, self.events, BACKWARDS, text);

        let text = format!(
            "{} threads ran before the wake that started them: the CPUs' clocks differ.",
            self.wakes_after_run
        );
        judge(self.wakes_after_run, sleeps, MISSING_WAKES, text);

        if let Some(at) = self.cut_at {
            let (grade, what) = match self.guessed {
                false => (Grade::B, "what came before was used"),
                true => (
                    Grade::C,
                    "and has lost the descriptions of its events, so only switches and wake-ups were used",
                ),
            };
            findings.push(Finding { grade, text: format!("The file is cut at byte {at}: {what}.") });
        }
        if self.ticks {
            let text = "The clock counts ticks of unknown length, taken for nanoseconds; record with the clock mono.".to_owned();
            findings.push(Finding { grade: Grade::C, text });
        }
        if !self.interrupts_known && self.wakes > 0 {
            let text = "The format does not say which wakes came from interrupts; perf.data does.".to_owned();
            findings.push(Finding { grade: Grade::B, text });
        }
        findings.sort_by_key(|f| std::cmp::Reverse(f.grade)); // stable
        findings
    }

    /// Not every thread has the kernel's account, and a recording without these events has none: their sum is no whole.
    fn run_total(&self) -> u64 {
        self.all_run_ns.max(self.run_ns).max(self.inferred_ns)
    }
}

fn grade_of(part: u64, whole: u64, bounds: Bounds) -> Grade {
    let within = |bound: u64| u128::from(part) * 1000 <= u128::from(whole) * u128::from(bound);
    match bounds.map(within) {
        [true, ..] => Grade::A,
        [_, true, _] => Grade::B,
        [_, _, true] => Grade::C,
        _ => Grade::D,
    }
}
