//! The data of pictures agree with the report's other numbers, and collecting them changes none.

use std::io::Read as _;

use divvy_policy::spec;
use divvy_results::figures::{Column, Figures, Limits};
use divvy_results::report::{Report, Run};
use divvy_sim::run::{Options, simulate};
use divvy_workload::Workload;

/// Hogs, sleepers, short tasks that come and go, a warm-up, and costs of switches.
const BUSY: &str = r#"
    cpus = 2
    duration = "3s"
    warmup = "500ms"
    switch_cost = "20us"
    migration_cost = "30us"
    task = [
      { name = "hog", count = 3, program = [ { run = "forever" } ] },
      { name = "light", weight = 100, program = [ { run = "forever" } ] },
      { name = "sleeper", program = [ { loop = "forever", do = [ { sleep = { exp = "30ms" } }, { run = { exp = "7ms" } } ] } ] },
      { name = "short", arrivals = { open = { exp = "20ms" } }, program = [ { run = { exp = "3ms" } } ] },
      { name = "late", start = "1s", stop = "2s", program = [ { run = "forever" } ] },
    ]
"#;

const POLICIES: [&str; 4] = ["rr", "eevdf", "sfs", "gr3+procfair"];

fn report(figures: Option<Limits>) -> Report {
    let workload = Workload::parse(BUSY, "busy.toml").unwrap_or_else(|e| panic!("{e}"));
    let specs = POLICIES.map(|text| spec::parse(text, divvy_policy::all()).unwrap_or_else(|e| panic!("{e}")));
    let options = Options { seed: 7, reps: 2, figures, ..Options::default() };
    simulate(&workload, &specs, &options, &()).unwrap_or_else(|e| panic!("{e}"))
}

fn drawn(report: &Report) -> impl Iterator<Item = (&Run, &Figures)> {
    report.runs.iter().filter_map(|run| Some((run, run.figures.as_ref()?)))
}

fn numbers(column: &Column) -> Vec<u64> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut packed = Vec::new();
    for group in column.as_str().as_bytes().chunks(4) {
        let values: Vec<u32> =
            group.iter().filter_map(|b| digits.iter().position(|d| d == b)).map(|v| v as u32).collect();
        let bits = values.iter().enumerate().fold(0, |bits, (i, value)| bits | value << (18 - 6 * i));
        packed.extend((0..values.len() - 1).map(|i| (bits >> (16 - 8 * i)) as u8));
    }
    let mut bytes = Vec::new();
    flate2::read::ZlibDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("zlib");
    let ends = bytes.split_inclusive(|byte| byte & 0x80 == 0);
    ends.map(|number| number.iter().rev().fold(0, |n, byte| n << 7 | u64::from(byte & 0x7f))).collect()
}

#[test]
fn slices_sum_to_the_service_of_each_task_to_the_nanosecond() {
    let report = report(Some(Limits::default()));
    assert_eq!(drawn(&report).count(), POLICIES.len(), "of the first repetition");
    for (run, figures) in drawn(&report) {
        let timeline = figures.timeline.as_ref().expect("a timeline");
        assert_eq!((timeline.unit_ns, timeline.is_cut), (1, false));
        let mut service_ns = vec![0; run.tasks.len()];
        for cpu in &timeline.cpus {
            let (tasks, lengths) = (numbers(&cpu.tasks), numbers(&cpu.lengths));
            tasks.iter().zip(&lengths).for_each(|(task, ns)| service_ns[*task as usize] += ns);
            let end_ns: u64 = timeline.from_ns + numbers(&cpu.gaps).iter().chain(&lengths).sum::<u64>();
            assert!(end_ns <= timeline.to_ns && timeline.to_ns == timeline.from_ns + run.duration_ns);
        }
        let reported: Vec<u64> = run.tasks.iter().map(|task| task.service_ns).collect();
        assert_eq!(service_ns, reported, "{}", run.policy);
    }
}

/// Every job that waited is in one bucket, those of a run are those of its tasks, and quantiles are where the counts say.
#[test]
fn buckets_of_waits_have_every_job() {
    let report = report(None);
    for run in &report.runs {
        let of_run = run.wait_buckets.as_ref().expect("jobs");
        let counts = |from: u64| {
            let tasks = run.tasks.iter().filter_map(|task| task.wait_buckets.as_ref());
            let found = tasks.flat_map(|b| b.from_ns.iter().zip(&b.count).filter(|(at, _)| **at == from));
            found.map(|(_, count)| count).sum::<u64>()
        };
        assert_eq!(of_run.count.iter().sum::<u64>(), run.wait_ns.count);
        for (from, count) in of_run.from_ns.iter().zip(&of_run.count) {
            assert_eq!(counts(*from), *count, "{} from {from}", run.policy);
        }
        for (quantile, part) in [(run.wait_ns.p50, 0.5), (run.wait_ns.p90, 0.9), (run.wait_ns.max, 1.0)] {
            // A quantile is to 0.2 %, and so may be in the bucket beside.
            let below = |ns: f64| {
                let inside =
                    of_run.from_ns.iter().zip(&of_run.count).filter(|(from, _)| (**from as f64) < ns);
                inside.map(|(_, count)| *count as f64).sum::<f64>() / run.wait_ns.count as f64
            };
            let quantile = quantile.expect("jobs");
            assert!(below(quantile * 1.002 + 1.0) >= part, "{}: {part} at {quantile}", run.policy);
        }
        assert!(run.tasks.iter().any(|task| task.jobs == 0 && task.wait_buckets.is_none()));
    }
}

/// Shares of all windows are the run's share, and the last error is what was received less what was entitled.
#[test]
fn series_end_where_the_run_does() {
    let report = report(Some(Limits::default()));
    for (run, figures) in drawn(&report) {
        let series = &figures.series;
        assert_eq!(series.times_ns.last(), Some(&(series.from_ns + run.duration_ns)));
        let starts = std::iter::once(series.from_ns).chain(series.times_ns.iter().copied());
        let windows: Vec<f64> =
            series.times_ns.iter().zip(starts).map(|(end, start)| (end - start) as f64).collect();
        let over_run = |shares: &[f64]| {
            shares.iter().zip(&windows).map(|(share, ns)| share * ns).sum::<f64>() / run.duration_ns as f64
        };
        for one in &series.tasks {
            let task = &run.tasks[one.task];
            let at = format!("{} {}", run.policy, task.name);
            assert!((over_run(&one.share) - task.share).abs() < 1e-6, "{at}");
            let entitled = task.entitled_ns as f64 / run.duration_ns as f64 / f64::from(report.cpus);
            assert!((over_run(&one.entitled_share) - entitled).abs() < 1e-6, "{at}");
            let error_ns = task.service_ns as i64 - task.entitled_ns as i64;
            assert!(one.error_ns.last().expect("windows").abs_diff(error_ns) <= 1, "{at}");
        }
    }
}

#[test]
fn distributions_have_the_quantiles_of_the_run() {
    for (run, figures) in drawn(&report(Some(Limits::default()))) {
        for (ccdf, quantiles) in [(&figures.response, &run.response_ns), (&figures.wait, &run.wait_ns)] {
            assert_eq!(ccdf.value_ns.last().copied(), quantiles.max, "{}", run.policy);
            assert_eq!(ccdf.share.first(), Some(&1.0));
            let median = quantiles.p50.expect("jobs");
            let behind = ccdf.value_ns.iter().position(|value| *value >= median).expect("it is there");
            assert!((0.35..=0.65).contains(&ccdf.share[behind]), "{}: {}", run.policy, ccdf.share[behind]);
        }
    }
}

#[test]
fn looking_changes_nothing() {
    let plain = serde_json::to_string(&report(None)).expect("serializes");
    let mut looked_at = report(Some(Limits::default()));
    looked_at.runs.iter_mut().for_each(|run| run.figures = None);
    assert_eq!(serde_json::to_string(&looked_at).expect("serializes"), plain);
}
