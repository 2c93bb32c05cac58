//! Reports made by hand, for tests.

use crate::report::{
    Buckets, Quantiles, RecordedReport, RecordedTask, Report, Run, SCHEMA_VERSION, TaskResult, TraceReport,
    WakeCounts,
};

const MS: f64 = 1e6;

/// gr3 and rr for 10 s on one CPU: `big` of process A; `small/1`, and `small/2` which finished no job, of B.
/// The run's p99 lies between those of its tasks, as the quantile of a mixture does.
pub fn two_policies() -> Report {
    let gr3 = vec![
        task("big", "A", 3.0, 0.6, (-4, 3), jobs(100, 15.0, 25.0)),
        task("small/1", "B", 1.0, 0.2, (-1, 2), jobs(300, 5.0, 20.000_001)),
        task("small/2", "B", 1.0, 0.195, (0, 1), Quantiles::default()),
    ];
    let rr = vec![
        task("big", "A", 3.0, 0.5, (-30, 5), jobs(100, 60.0, 95.0)),
        task("small/1", "B", 1.0, 0.25, (-2, 20), jobs(300, 20.0, 90.0)),
        task("small/2", "B", 1.0, 0.245, (0, 20), Quantiles::default()),
    ];
    report(vec![run("gr3", 0, jobs(400, 7.5, 22.0), gr3), run("rr", 0, jobs(400, 30.0, 92.0), rr)])
}

/// Policies with one task each, its mean response in milliseconds given for every repetition.
pub fn repetitions(policies: &[(&str, &[f64])]) -> Report {
    let mut runs = Vec::new();
    for (policy, means) in policies {
        for (rep, mean) in means.iter().enumerate() {
            let mut jobs = jobs(50, *mean, 2.0 * mean);
            jobs.ci95 = None;
            let tasks = vec![task("T", "T", 1.0, 0.5, (-1, 1), jobs.clone())];
            runs.push(run(policy, u32::try_from(rep).expect("few"), jobs, tasks));
        }
    }
    report(runs)
}

/// Tasks that never finish a job, so that only shares can be compared.
pub fn endless(errors_ms: &[(&str, i64)]) -> Report {
    let runs = errors_ms
        .iter()
        .map(|(policy, error_ms)| {
            let tasks = vec![
                task("C1", "C1", 5.0, 0.625, (-error_ms, *error_ms), Quantiles::default()),
                task("C2", "C2", 3.0, 0.375, (-error_ms, *error_ms), Quantiles::default()),
            ];
            run(policy, 0, Quantiles::default(), tasks)
        })
        .collect();
    report(runs)
}

/// Names that attack a terminal, a table, a CSV file or Markdown; policies with long specs.
pub fn hostile() -> Report {
    let names = [
        "日本語のとても長いタスクの名前です",
        "new\nline\tand\x1b[31mred",
        "comma, \"quote\"",
        "pipe | `code` <b>bold</b>",
        "\u{202e}reversed",
        "",
    ];
    let tasks: Vec<TaskResult> = names
        .iter()
        .map(|name| {
            task(name, "日本", 1024.0, 0.123_456, (-123_456, 123_456), jobs(1_234_567, 1234.5, 98765.4))
        })
        .collect();
    let policies = ["pbs:quantum=1.234567ms:alpha=0.12345:beta=-inf+procfair+feasible+flow", "rr"];
    let runs =
        policies.iter().map(|policy| run(policy, 0, jobs(6 * 1_234_567, 1234.5, 98765.4), tasks.clone()));
    let mut report = report(runs.collect());
    report.workload = "dir/\x1b[2Jevil\n.toml".to_owned();
    report
}

/// A replayed recording with findings.
pub fn replayed(self_replay_error: Option<f64>) -> Report {
    let mut report = two_policies();
    report.workload = "build.perf.data".to_owned();
    report.trace = Some(TraceReport {
        grade: 'B',
        findings: vec!["37 switches of 12000 do not follow from the one before".to_owned()],
        wakes: WakeCounts { dependency: 600, timer: 250, external: 100, unknown: 50 },
        self_replay_error,
        least_difference: crate::prediction::floor(self_replay_error),
        fixed_wakes_error: None,
        endless: Vec::new(),
        tick_ns: None,
        recorded: Some(RecordedReport {
            service_ns: 9_950_000_000,
            wait_ns: 2_000_000_000,
            wakes: 1000,
            response_mean_ns: Some(8e6),
            wake_delay_mean_ns: None,
            tasks: vec![RecordedTask { name: "big".to_owned(), response_mean_ns: Some(12e6) }],
        }),
    });
    report
}

/// A report of these runs.
pub fn report(runs: Vec<Run>) -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        workload: "mix.toml".to_owned(),
        cpus: 1,
        seed: 42,
        host: None,
        version: None,
        command: None,
        trace: None,
        theory: Vec::new(),
        runs,
    }
}

fn run(policy: &str, rep: u32, response_ns: Quantiles, tasks: Vec<TaskResult>) -> Run {
    Run {
        policy: policy.to_owned(),
        rep,
        deterministic: None,
        duration_ns: 10_000_000_000,
        switches: 1_234,
        migrations: Some(0),
        migrations_by_distance: None,
        shard_migrations: None,
        decisions: Some(56_789),
        host_calls: None,
        utilization: 0.995,
        seniority: None,
        jain: if policy == "rr" { 0.9 } else { 0.99999 },
        wait_ns: scaled(&response_ns, 0.5),
        wait_buckets: waits(&scaled(&response_ns, 0.5)),
        wake_delay_ns: scaled(&response_ns, 0.1),
        slowdown: scaled(&response_ns, 1e-6),
        response_ns,
        tasks,
        programs: Vec::new(),
        first_decisions: None,
        figures: None,
        schedule: None,
    }
}

fn task(
    name: &str,
    process: &str,
    weight: f64,
    share: f64,
    error_ms: (i64, i64),
    response_ns: Quantiles,
) -> TaskResult {
    TaskResult {
        name: name.to_owned(),
        process: process.to_owned(),
        weight,
        service_ns: (share * 1e10) as u64,
        entitled_ns: (share * 1e10) as u64,
        share,
        error_min_ns: error_ms.0 * 1_000_000,
        error_max_ns: error_ms.1 * 1_000_000,
        jobs: response_ns.count,
        finished_ns: (response_ns.count > 0).then_some(9_999_000_000),
        wait_ns: scaled(&response_ns, 0.5),
        wait_buckets: waits(&scaled(&response_ns, 0.5)),
        wake_delay_ns: scaled(&response_ns, 0.1),
        slowdown: scaled(&response_ns, 1e-6),
        response_ns,
    }
}

fn scaled(q: &Quantiles, factor: f64) -> Quantiles {
    let times = |value: Option<f64>| value.map(|value| value * factor);
    Quantiles {
        mean: times(q.mean),
        ci95: times(q.ci95),
        p99: times(q.p99),
        p999: times(q.p999),
        ..q.clone()
    }
}

/// Nine tenths of them where the mean is, the others where the 99th percentile is.
fn waits(wait: &Quantiles) -> Option<Buckets> {
    let (mean, p99) = (wait.mean? as u64, wait.p99? as u64);
    let bounds: Vec<u64> = Buckets::bounds().collect();
    let bucket = |ns: u64| bounds.partition_point(|bound| *bound <= ns) - 1;
    let (first, last) = (bucket(mean), bucket(p99));
    let mut count = vec![0; last + 1 - first];
    count[0] += wait.count - wait.count / 10;
    count[last - first] += wait.count / 10;
    Some(Buckets { from_ns: bounds[first..=last].to_vec(), count })
}

fn jobs(count: u64, mean_ms: f64, p99_ms: f64) -> Quantiles {
    Quantiles {
        count,
        mean: Some(mean_ms * MS),
        ci95: Some(0.02 * mean_ms * MS),
        p50: Some(mean_ms * MS),
        p90: Some(p99_ms * MS),
        p99: Some((p99_ms * MS).round()),
        p999: Some((p99_ms * MS).round()),
        max: Some(p99_ms * MS),
    }
}
