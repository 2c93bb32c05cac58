//! The schema of `--format json`, version 1.
//!
//! Every number comes from events; views (`cli/`) compute nothing. Times are integer nanoseconds,
//! and a field that was not measured is absent, never zero.

use divvy_policy::Predictions;
use divvy_workload::Distance;
use serde::{Deserialize, Serialize};

use crate::figures::Figures;
use crate::schedule::Schedule;

/// The schema of [`Report`]; it grows by optional fields, and changes its number when a field changes meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// One workload under one or more policies.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Always [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The workload's name: its file, as given.
    pub workload: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// The seed that reproduces every byte of this report.
    pub seed: u64,
    /// The modelled kernel around the policies, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Version of divvy that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The command that made it, as a shell takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The recording that the workload was made from, if it was made from one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceReport>,
    /// One entry a policy and repetition, in the order asked for.
    pub runs: Vec<Run>,
    /// Mean responses by queueing theory, one entry a policy, when asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub theory: Vec<Theory>,
}

/// The mean response under a policy by a formula, or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Theory {
    /// The policy's spec, as in the runs.
    pub policy: String,
    /// The system that the formula is about, as in `M/G/1 PS`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// Those who found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Whether it is the limit as quanta go to 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_limit: bool,
    /// Mean response of all jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_mean_ns: Option<f64>,
    /// Those of each task's jobs, if the formula says them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskTheory>,
    /// Why there is no formula.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_formula: Option<String>,
}

/// The mean response of one task's jobs by a formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskTheory {
    /// Its name in the workload.
    pub name: String,
    /// In ns.
    pub response_mean_ns: f64,
}

/// A recording that was replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TraceReport {
    /// Grade A (complete) to D (do not draw conclusions).
    pub grade: char,
    /// Why it is not better than that: one sentence a finding.
    pub findings: Vec<String>,
    /// Number of wake-ups by cause: another task, a timer, the outside world, unknown.
    pub wakes: WakeCounts,
    /// Relative error of the mean response time when the recording is replayed under a model of the recorded scheduler.
    /// Absent if threads of the recording were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub self_replay_error: Option<f64>,
    /// Relative differences in mean response below this mean nothing: [`crate::prediction::floor`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least_difference: Option<f64>,
    /// The same if every sleep lasts as long as in the recording, where that is less than half of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_wakes_error: Option<f64>,
    /// Tasks that never slept in the recording, by name: they are replayed without an end, for as long as the recording lasts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endless: Vec<String>,
    /// Slices end at multiples of this in the replay, ns: the recorded kernel's tick, or the one that was asked for. Absent where
    /// the recording does not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_ns: Option<u64>,
    /// The results of the recorded scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedReport>,
}

/// Service, waiting and response times of the recorded threads, as far as the recording shows them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordedReport {
    /// CPU time of all threads.
    pub service_ns: u64,
    /// Time spent runnable without a CPU, of all threads.
    pub wait_ns: u64,
    /// Number of sleeps that ended.
    pub wakes: u64,
    /// Mean time from a wake-up to the next sleep or the exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_mean_ns: Option<f64>,
    /// Mean time from a wake-up to the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_delay_mean_ns: Option<f64>,
    /// The same for each task of the runs, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<RecordedTask>,
}

/// Response times of the recorded threads of one row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecordedTask {
    /// As in [`TaskResult::name`].
    pub name: String,
    /// Mean time from a wake-up to the next sleep or the exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_mean_ns: Option<f64>,
}

/// Number of wake-ups by cause.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct WakeCounts {
    /// Another task of the recording woke it.
    pub dependency: u64,
    /// It slept for a time of its own choosing.
    pub timer: u64,
    /// A device or the network.
    pub external: u64,
    /// The recording does not say.
    pub unknown: u64,
}

/// One policy's run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The policy's spec as given, as in `sfq+feasible`.
    pub policy: String,
    /// Which repetition, from 0; its random streams come from the seed and this number.
    #[serde(default)]
    pub rep: u32,
    /// Whether all repetitions of this policy have the same numbers, so that none has an interval; absent if not, and with
    /// one repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deterministic: Option<bool>,
    /// Length of the run in ns: simulated time, or real time for real threads.
    pub duration_ns: u64,
    /// How often a CPU changed from one task to another. For real threads: how often a thread left its CPU.
    pub switches: u64,
    /// How often a task ran on another CPU than before; absent if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations: Option<u64>,
    /// The same by distance; absent if the workload has no topology.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migrations_by_distance: Option<MigrationsByDistance>,
    /// How often a task went to another shard, while it waited or when it woke; absent without shards (`SPEC@PLACEMENT`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard_migrations: Option<u64>,
    /// How often the policy was asked for the next task; absent for real threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<u64>,
    /// How often the modelled kernel called the host, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_calls: Option<HostCalls>,
    /// CPU time given to tasks, as a share of all CPU time.
    pub utilization: f64,
    /// Jain's index of received over entitled service (1 is fair).
    pub jain: f64,
    /// The part of the pairs of jobs in the system together that left in the order in which they came; absent without a
    /// pair, and for real threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seniority: Option<f64>,
    /// From a job's start to its end, over all jobs of all tasks.
    #[serde(default)]
    pub response_ns: Quantiles,
    /// Runnable but not running, per job, over all jobs.
    #[serde(default)]
    pub wait_ns: Quantiles,
    /// The same, counted by size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_buckets: Option<Buckets>,
    /// From a wake-up until it first runs, over all wake-ups.
    #[serde(default)]
    pub wake_delay_ns: Quantiles,
    /// Response over service, per job, over all jobs.
    #[serde(default)]
    pub slowdown: Quantiles,
    /// One entry a task, in the workload's order.
    pub tasks: Vec<TaskResult>,
    /// How well each program was predicted, in the workload's order, under the modifier `flow`; from the start, the
    /// warm-up included.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramResult>,
    /// The first decisions of each CPU, by task name, when asked for.
    #[serde(default, rename = "schedule", skip_serializing_if = "Option::is_none")]
    pub first_decisions: Option<Vec<Vec<String>>>,
    /// The data of pictures, when asked for; only the first repetition has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// The schedule, when asked for; only the first repetition has one. Pictures and traces are made of it. It is not
    /// written with the report.
    #[serde(skip)]
    pub schedule: Option<Schedule>,
}

/// Times that a task ran on another CPU than before, by how far it went in the workload's topology. Their sum is all migrations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationsByDistance {
    /// To another hardware thread of the core.
    pub same_core: u64,
    /// To another core with the same last-level cache.
    pub same_llc: u64,
    /// To another cache of the node.
    pub same_node: u64,
    /// To another node.
    pub other_node: u64,
}

impl From<[u64; Distance::ALL.len()]> for MigrationsByDistance {
    /// From counts in the order of [`Distance::ALL`].
    fn from([same_core, same_llc, same_node, other_node]: [u64; Distance::ALL.len()]) -> Self {
        MigrationsByDistance { same_core, same_llc, same_node, other_node }
    }
}

/// Calls of the host by a modelled kernel, from the start, the warm-up included. Kernels differ in these where they do the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCalls {
    /// The host is to choose a CPU for a task.
    pub enqueue: u64,
    /// The host has a task no more.
    pub dequeue: u64,
    /// Those of `dequeue` that say that the kernel took the task back; without flags for that, as in linux-6.12, all do.
    pub taken_back: u64,
}

/// A program, and how well it was predicted: see `papers/flow.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// As the workload calls it: `executable`, or the process.
    pub name: String,
    /// Executions that ended.
    pub executions: u64,
    /// All of its predictions.
    pub predictions: PredictionResult,
    /// Those of each execution that ended, the first [`MOST_EXECUTIONS`].
    pub by_execution: Vec<PredictionResult>,
    /// Times that a timeslice's end was put off.
    pub delays: u64,
    /// Times that the CPU then was released before the delay was over.
    pub delays_met: u64,
    /// Timeslices that were shortened.
    pub early_switches: u64,
    /// The sequence: CPU time between voluntary releases of the CPU, in order.
    pub sequence_ns: Vec<u64>,
}

/// Executions of a program that a report lists one by one.
pub const MOST_EXECUTIONS: usize = 64;

/// The error of predictions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PredictionResult {
    /// Number of runs that were predicted.
    pub runs: u64,
    /// CPU time that these runs used, in ns.
    pub actual_ns: u64,
    /// Sum of the absolute differences from the predictions, in ns.
    pub error_ns: u64,
    /// The error as a share of the CPU time used; absent if nothing was predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

impl From<Predictions> for PredictionResult {
    fn from(p: Predictions) -> PredictionResult {
        let error = (p.actual_ns > 0).then(|| p.error_ns as f64 / p.actual_ns as f64);
        PredictionResult { runs: p.runs, actual_ns: p.actual_ns, error_ns: p.error_ns, error }
    }
}

/// The results of one task, or of a class of short tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskResult {
    /// Its name in the workload; instances of `count` are numbered from 1, as in `T/1`.
    pub name: String,
    /// The process that it belongs to.
    pub process: String,
    /// Its weight, in the workload's units.
    pub weight: f64,
    /// CPU time received.
    pub service_ns: u64,
    /// CPU time that the GMS fluid model gives it, of the work that it brought; affinity and what switches cost do not
    /// count there.
    pub entitled_ns: u64,
    /// Received, as a share of all CPU time of the run.
    pub share: f64,
    /// Least value of received minus entitled.
    pub error_min_ns: i64,
    /// Greatest value of received minus entitled.
    pub error_max_ns: i64,
    /// Jobs finished: from a wake-up (or arrival) until it sleeps or exits.
    pub jobs: u64,
    /// When its last job finished, if any did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_ns: Option<u64>,
    /// From a job's start to its end.
    pub response_ns: Quantiles,
    /// Runnable but not running, per job.
    pub wait_ns: Quantiles,
    /// The same, counted by size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_buckets: Option<Buckets>,
    /// From a wake-up until it first runs.
    pub wake_delay_ns: Quantiles,
    /// Response over service, per job.
    pub slowdown: Quantiles,
}

/// A distribution in a few numbers. With no samples every field but `count` is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Number of samples.
    pub count: u64,
    /// Arithmetic mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Half-width of the 95 % confidence interval of the mean, by batch means; absent with too few samples, or if
    /// they do not vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ci95: Option<f64>,
    /// Median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// 90th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90: Option<f64>,
    /// 99th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999: Option<f64>,
    /// Greatest sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// A distribution as counts of samples by size. Buckets are the same in every report ([`Buckets::bounds`]); listed are
/// those from the first that has samples to the last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buckets {
    /// The least that belongs into each; it ends where the next of [`Buckets::bounds`] begins.
    pub from_ns: Vec<u64>,
    /// Number of samples.
    pub count: Vec<u64>,
}
