//! Sweeps: against a queueing formula, in shards, interrupted, and with what they refuse.

use divvy_policy::spec::parse_list;
use divvy_results::report::{Run, TaskResult};
use divvy_sim::oracle::queueing::single::mm1_response;
use divvy_sim::run::{Options, simulate};
use divvy_sweep::{
    Estimate, MEASURES, Plan, Row, SweepError, SweepOptions, TableError, Vary, WarmUp, read, run, table,
};
use divvy_workload::Workload;

const MEAN_MS: f64 = 10.0;

/// Poisson arrivals, exponential sizes of mean 10 ms; quanta of 0.5 ms make rr processor sharing, nearly.
const MM1: &str = r#"
quantum = "500us"
duration = "200s"

[[task]]
name = "request"
arrivals = { open = { exp = "40ms" } }
program = [ { run = { exp = "10ms" } } ]
"#;

fn plan_of(
    text: &str,
    policies: &str,
    vary: &[&str],
    reps: u32,
    duration_ns: Option<u64>,
) -> Result<Plan, SweepError> {
    plan_with(text, policies, vary, (reps, duration_ns), None)
}

/// With a baseline each task has rows as well.
fn plan_with(
    text: &str,
    policies: &str,
    vary: &[&str],
    (reps, duration_ns): (u32, Option<u64>),
    baseline: Option<&str>,
) -> Result<Plan, SweepError> {
    let specs = parse_list(&[policies.to_owned()], divvy_policy::all()).expect("known policies");
    let varied = vary.iter().map(|text| Vary::parse(text, 100)).collect::<Result<Vec<Vary>, _>>()?;
    let options = Options { seed: 1, reps, duration_ns, ..Options::default() };
    let request = SweepOptions {
        text,
        file: "q.toml",
        specs: &specs,
        varied: &varied,
        options: &options,
        warm_up: None,
        per_task: baseline.is_some(),
        baseline: specs.iter().find(|spec| Some(spec.to_string().as_str()) == baseline),
        most: 100,
    };
    Plan::new(&request)
}

fn small(policies: &str, vary: &[&str]) -> Plan {
    plan_of(MM1, policies, vary, 3, Some(2_000_000_000)).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(policies: &str, vary: &[&str]) -> String {
    plan_of(MM1, policies, vary, 1, None).err().expect("an error").to_string()
}

fn rows(plan: &Plan, which: &[usize]) -> Vec<Row> {
    let mut rows = Vec::new();
    run(plan, which, &(), |row| -> Result<(), SweepError> {
        rows.push(row);
        Ok(())
    })
    .unwrap_or_else(|error| panic!("{error}"));
    rows
}

fn estimate(row: &Row, name: &str) -> Estimate {
    row.estimates[MEASURES.iter().position(|measure| measure.name == name).expect("a measure")]
}

fn lines(plan: &Plan, which: &[usize]) -> String {
    rows(plan, which).iter().map(|row| table::line(plan, row)).collect()
}

fn csv(plan: &Plan) -> String {
    table::header(plan) + &lines(plan, &table::shard(plan, 1, 1))
}

/// A point runs the whole spec, with its placement: its migrations are those of the same runs outside of a sweep.
#[test]
fn a_placement_is_part_of_each_point() {
    let text = "cpus = 2\nduration = \"2s\"\n[topology]\nllc = 1\n[[task]]\nname = \"hog\"\ncount = 3\n\
        program = [ { run = \"forever\" } ]\n";
    let specs = "sfq,sfq@cpu,sfq@llc,sfq@cpu:skew=9";
    let plan = plan_of(text, specs, &["quantum=2ms,8ms"], 1, None).unwrap();
    let rows = rows(&plan, &table::shard(&plan, 1, 1));
    let of = |policy: &str, point: usize| {
        let row =
            rows.iter().find(|row| row.policy == policy && row.values[0] == Some(point)).expect("a row");
        estimate(row, "migrations_per_s").mean.expect("counted")
    };
    for (point, quantum_ns) in [(0, 2_000_000), (1, 8_000_000)] {
        let mut workload = Workload::parse(text, "q.toml").unwrap();
        workload.warmup_ns = 200_000_000; // a tenth of the run
        let all = parse_list(&[specs.to_owned()], divvy_policy::all()).unwrap();
        let options = Options { seed: 1, quantum_ns: Some(quantum_ns), ..Options::default() };
        for run in simulate(&workload, &all, &options, &()).unwrap().runs {
            let alone = run.migrations.expect("counted") as f64 * 1e9 / run.duration_ns as f64;
            assert!((of(&run.policy, point) - alone).abs() < 1e-6, "{}: {alone} a second", run.policy);
        }
        assert_eq!(of("sfq@cpu", point), of("sfq@llc", point));
        assert!(
            of("sfq", point) > 2.0 * of("sfq@cpu", point)
                && of("sfq@cpu", point) > 2.0 * of("sfq@cpu:skew=9", point)
        );
    }
}

/// Exponential sizes: any policy that does not know them has the mean of M/M/1. The interval of each point must have the
/// formula's value within 1.6 half-widths, 3 standard deviations, and must not have that of a load 10 % higher.
#[test]
fn a_sweep_over_load_follows_mm1() {
    let plan = plan_of(MM1, "fcfs,rr", &["load=0.3,0.5,0.7"], 20, None).unwrap();
    let rows = rows(&plan, &table::shard(&plan, 1, 1));
    assert_eq!(rows.len(), 6);
    for row in &rows {
        let load = [0.3, 0.5, 0.7][row.values[0].expect("all have a load")];
        let exact = |load: f64| mm1_response(load / MEAN_MS, 1.0 / MEAN_MS) * 1e6;
        let response = estimate(row, "response_mean");
        let (mean, half) = (response.mean.unwrap(), response.ci95.unwrap());
        let far = |exact: f64| (mean - exact).abs() / half;
        let what = format!("{} at {load}: {mean} +- {half}, exact {}", row.policy, exact(load));
        assert!(far(exact(load)) < 1.6, "{what}");
        assert!(far(exact(1.1 * load)) > 1.6, "{what}: it could not fail");
        assert_eq!((row.warm_up_ns, row.counted_ns), (20_000_000_000, 180_000_000_000));
    }
}

/// The same random numbers everywhere: the busy time of a work-conserving machine does not depend on the policy.
#[test]
fn policies_see_the_same_jobs() {
    let plan = small("fcfs,rr,las", &["load=0.5,0.6"]);
    let rows = rows(&plan, &table::shard(&plan, 1, 1));
    let utilization = |row: &Row| estimate(row, "utilization");
    for at_load in rows.chunks(3) {
        assert!(at_load.iter().all(|row| utilization(row) == utilization(&at_load[0])), "{at_load:?}");
    }
    assert_ne!(utilization(&rows[0]), utilization(&rows[3]));
}

#[test]
fn shards_merge_to_the_bytes_of_one_run() {
    let plan = small("rr,pbs", &["load=0.5,0.7", "alpha=0..2:1"]);
    let whole = csv(&plan);
    let shards: Vec<(String, String)> = [3, 1, 2]
        .map(|i| (format!("{i}.csv"), table::header(&plan) + &lines(&plan, &table::shard(&plan, i, 3))))
        .to_vec();
    assert_eq!(table::merge(&shards).unwrap(), whole);
    assert_eq!(table::merge(&[("all".into(), whole.clone())]).unwrap(), whole);

    let missing = table::merge(&shards[1..]).unwrap_err();
    assert!(missing.to_string().starts_with("2 of 8 points are missing: 3, 6"), "{missing}");
    let cut = whole[..whole.len() - 5].to_owned();
    assert_eq!(table::merge(&[("cut".into(), cut)]), Err(TableError::Cut("cut".into())));
    let other =
        csv(&plan_of(MM1, "rr,pbs", &["load=0.5,0.7", "alpha=0..2:1"], 2, Some(2_000_000_000)).unwrap());
    let mixed = table::merge(&[shards[0].clone(), ("other".into(), other)]);
    assert_eq!(mixed, Err(TableError::Other("other".into())));
    let mut changed = whole.clone();
    changed.insert(whole.len() - 2, '1');
    let differs = table::merge(&[("a".into(), whole), ("b".into(), changed)]);
    assert!(matches!(differs, Err(TableError::Differs { point: 8, .. })), "{differs:?}");
    assert!(matches!(table::merge(&[("x".into(), "a,b\r\n".into())]), Err(TableError::NotASweep(_))));
    let head = shards[0].1.split_inclusive('\n').next().unwrap().to_owned();
    assert_eq!(table::merge(&[("head".into(), head)]), Err(TableError::Empty(vec!["head".into()])));
    // As many rows as there are points, and yet one is lost.
    for point in ["0", "18446744073709551615"] {
        let mut files = shards.clone();
        files[1].1 = shards[1].1.replacen("\n1,", &format!("\n{point},"), 1);
        assert_ne!(files, shards);
        assert!(matches!(table::merge(&files), Err(TableError::Row { row: 1, .. })), "{point}");
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let plan = small("rr,pbs", &["load=0.5,0.7", "alpha=0,inf"]);
    let with = |threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads").install(|| csv(&plan))
    };
    assert_eq!(with(1), with(5));
}

/// A policy without the parameter has one row, with nothing in its column.
#[test]
fn a_parameter_concerns_who_has_it() {
    let plan = small("rr,pbs:alpha=7", &["alpha=0,1,2", "load=0.5,0.6"]);
    let seen: Vec<(String, Vec<Option<usize>>)> =
        rows(&plan, &table::shard(&plan, 1, 1)).into_iter().map(|row| (row.policy, row.values)).collect();
    assert_eq!(seen.iter().filter(|(policy, _)| policy == "rr").count(), 2);
    assert_eq!(seen.iter().filter(|(policy, _)| policy == "pbs:alpha=7").count(), 6);
    assert!(seen.iter().all(|(policy, values)| values[0].is_none() == (policy == "rr")));
    // alpha=7 would have given other numbers than alpha=0.
    let alone = small("pbs:alpha=0", &["load=0.5,0.6"]);
    let estimates = |plan: &Plan, i| rows(plan, &[i]).remove(0).estimates;
    let first_pbs = seen.iter().position(|(policy, _)| policy != "rr").expect("pbs");
    assert_eq!(estimates(&plan, first_pbs), estimates(&alone, 0));
}

#[test]
fn an_interrupted_file_is_gone_on_with() {
    let plan = small("rr", &["load=0.4,0.5,0.6,0.7"]);
    let whole = csv(&plan);
    let all = table::shard(&plan, 1, 1);
    let head = table::header(&plan).len();
    for cut in [0, 5, head - 1, head, head + 20, whole.len() - 1, whole.len()] {
        let done = table::done(&plan, &all, "x.csv", &whole[..cut]).unwrap();
        let start = if done.bytes == 0 { table::header(&plan) } else { whole[..done.bytes].to_owned() };
        assert_eq!(start + &lines(&plan, &all[done.rows..]), whole, "cut at {cut}");
        assert!(done.bytes <= cut);
    }
    let of_shard = table::done(&plan, &table::shard(&plan, 2, 2), "x.csv", &whole);
    assert!(matches!(of_shard, Err(TableError::Row { row: 1, .. })), "{of_shard:?}");
    let other = small("rr", &["load=0.4,0.5,0.6,0.8"]);
    assert_eq!(table::done(&other, &all, "x.csv", &whole), Err(TableError::Other("x.csv".into())));
    assert_eq!(table::done(&plan, &all, "x.csv", "hello\n"), Err(TableError::NotASweep("x.csv".into())));
}

/// Two classes of jobs, and a warm-up.
const CLASSES: &str = r#"
warmup = "100ms"
duration = "2s"
quantum = "1ms"

[[task]]
name = "short"
arrivals = { open = { exp = "10ms" } }
program = [ { run = { exp = "3ms" } } ]

[[task]]
name = "long"
arrivals = { open = { exp = "100ms" } }
program = [ { run = { exp = "30ms" } } ]
"#;

const COMPARED: u32 = 5;

fn compared() -> Plan {
    plan_with(CLASSES, "fcfs,rr,pbs", &["quantum=1ms,4ms", "alpha=1,2"], (COMPARED, None), Some("rr"))
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Runs of a policy, without the sweep.
fn runs(policy: &str, quantum: &str) -> Vec<Run> {
    let text = CLASSES.replace("quantum = \"1ms\"", &format!("quantum = \"{quantum}\""));
    let workload = Workload::parse(&text, "q.toml").unwrap();
    let specs = parse_list(&[policy.to_owned()], divvy_policy::all()).unwrap();
    let options = Options { seed: 1, reps: COMPARED, ..Options::default() };
    simulate(&workload, &specs, &options, &()).unwrap().runs
}

/// Mean and half-width, with the 97.5 % quantile of four degrees of freedom from a printed table.
fn by_hand(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 2.7764 * (variance / n).sqrt())
}

fn is_near(estimate: Estimate, (mean, half): (f64, f64)) -> bool {
    let near = |a: Option<f64>, b: f64| a.is_some_and(|a| (a - b).abs() <= 1e-4 * b.abs() + 1e-9);
    near(estimate.mean, mean) && near(estimate.ci95, half)
}

#[test]
fn differences_are_of_repetitions_with_the_same_numbers() {
    let plan = compared();
    let rows = rows(&plan, &table::shard(&plan, 1, 1));
    let differences: Vec<&Row> = rows.iter().filter(|row| row.baseline.is_some()).collect();
    // At two quanta fcfs, and pbs with two alphas, of all tasks and of either.
    assert_eq!(differences.len(), 2 * (1 + 2) * 3);
    let mut narrower = 0;
    for row in differences {
        assert_eq!((row.baseline.as_deref(), row.jobs), (Some("rr"), None));
        let quantum = ["1ms", "4ms"][row.values[0].expect("all have a quantum")];
        let policy = match row.values[1] {
            Some(alpha) => format!("pbs:alpha={}", alpha + 1),
            None => row.policy.clone(),
        };
        let (own, base) = (runs(&policy, quantum), runs("rr", quantum));
        let mean = |run: &Run| match &row.task {
            Some(name) => run.tasks.iter().find(|task| task.name == *name).expect("a row").response_ns.mean,
            None => run.response_ns.mean,
        };
        let values = |runs: &[Run]| runs.iter().map(|run| mean(run).expect("jobs")).collect::<Vec<f64>>();
        let (own, base) = (values(&own), values(&base));
        let pairs: Vec<f64> = own.iter().zip(&base).map(|(own, base)| own - base).collect();
        assert!(is_near(estimate(row, "response_mean"), by_hand(&pairs)), "{row:?}: {:?}", by_hand(&pairs));
        narrower += u32::from(by_hand(&pairs).1 < by_hand(&own).1.hypot(by_hand(&base).1));
    }
    assert!(narrower >= 16, "pairs are to have less noise than rows: {narrower} of 18 do");
}

#[test]
fn each_task_has_its_own_numbers() {
    let plan = compared();
    let rows = rows(&plan, &table::shard(&plan, 1, 1));
    let of = |task: Option<&str>| {
        let is = |row: &&Row| row.policy == "fcfs" && row.baseline.is_none() && row.task.as_deref() == task;
        rows.iter().find(is).expect("a row")
    };
    let (all, short, long) = (of(None), of(Some("short")), of(Some("long")));
    assert_eq!(all.jobs, Some(short.jobs.unwrap() + long.jobs.unwrap()));
    let runs = runs("fcfs", "1ms");
    for (row, index) in [(short, 0), (long, 1)] {
        let numbers = |of: fn(&TaskResult) -> f64| {
            by_hand(&runs.iter().map(|run| of(&run.tasks[index])).collect::<Vec<_>>())
        };
        assert!(is_near(estimate(row, "response_mean"), numbers(|task| task.response_ns.mean.unwrap())));
        assert!(is_near(estimate(row, "response_p999"), numbers(|task| task.response_ns.p999.unwrap())));
        assert!(is_near(estimate(row, "slowdown_p90"), numbers(|task| task.slowdown.p90.unwrap())));
        assert!(is_near(estimate(row, "wait_mean"), numbers(|task| task.wait_ns.mean.unwrap())));
        assert!(is_near(estimate(row, "utilization"), numbers(|task| task.share)));
        assert_eq!(estimate(row, "jain").mean, None, "a task has no index of fairness");
    }
}

/// A run that several rows need is run in each shard that has one of them, with the same numbers.
#[test]
fn shards_and_resumption_keep_rows_that_belong_together() {
    let plan = compared();
    let all = table::shard(&plan, 1, 1);
    let whole = csv(&plan);
    let shards: Vec<(String, String)> = [2, 3, 1]
        .map(|i| (format!("{i}.csv"), table::header(&plan) + &lines(&plan, &table::shard(&plan, i, 3))))
        .to_vec();
    assert!(shards.iter().all(|(_, text)| text.lines().count() > 1));
    assert_eq!(table::merge(&shards).unwrap(), whole);
    for rows_done in [1, 5, 17, all.len() - 1] {
        let end = whole.match_indices("\r\n").nth(rows_done).expect("so many lines").0 + 2;
        let done = table::done(&plan, &all, "x.csv", &whole[..end]).unwrap();
        assert_eq!((done.rows, done.bytes), (rows_done, end));
        assert_eq!(whole[..end].to_owned() + &lines(&plan, &all[done.rows..]), whole);
    }
    let read = read(&whole).expect("whole");
    assert_eq!(
        (read.rows.len(), read.reps, read.varied.join(" ")),
        (all.len(), 5, "quantum_ns alpha".to_owned())
    );
    let one = plan_with(CLASSES, "rr", &["quantum=1ms,4ms"], (1, None), Some("rr")).err().expect("an error");
    assert!(one.to_string().contains("--baseline needs another policy"), "{one}");
}

#[test]
fn refusals_say_what_and_what_next() {
    for (policies, vary, part) in [
        ("pbs", "alpah=0..1:1", "there is no `alpah` to vary; did you mean `alpha`?"),
        ("rr", "alpha=0,1", "`alpha` is a parameter of pbs, pbs_"),
        ("pbs", "rr.alpha=0,1", "to vary"),
        ("rr", "task.requst.weight=1,2", "did you mean `request`?"),
        ("rr", "task.request.wieght=1,2", "did you mean `weight`?"),
        ("rr", "quantums=1ms", "did you mean `quantum`?"),
        ("rr", "cpus=0,1", "at cpus=0: q.toml:1:8: `cpus` is 0"),
        ("rr", "cpus=1,5000", "at cpus=5000"),
        ("rr", "quantum=4", "has no unit"),
        ("rr", "load=0,1", "a load of 0: it must be more than 0"),
        ("rr", "load=x", "x is no number"),
        (
            "mlfq",
            "levels=8..32:8",
            "at levels=24: policy `mlfq:levels=24`: `levels=24` is out of range: 1 to 16",
        ),
        ("rr", "load=0..1:0.001", "more than 100"),
    ] {
        let message = refusal(policies, &[vary]);
        assert!(message.contains(part), "{vary}: {message}");
    }
    assert!(refusal("rr", &["cpus=1,2", "cpus=3"]).contains("`cpus` is varied twice"));
    let many = refusal("rr,fcfs", &["load=0.1..0.9:0.1", "cpus=1..8:1"]);
    assert!(many.contains("has 144 points, more than 100") && many.contains("--max-points"), "{many}");
}

#[test]
fn the_warm_up_is_what_was_asked_for() {
    let specs = parse_list(&["rr".to_owned()], divvy_policy::all()).unwrap();
    let varied = [Vary::parse("duration=1s,2s", 100).unwrap()];
    let options = Options { seed: 1, reps: 1, ..Options::default() };
    let with = |text: &str, warm_up| {
        let request = SweepOptions {
            text,
            file: "q.toml",
            specs: &specs,
            varied: &varied,
            options: &options,
            warm_up,
            per_task: false,
            baseline: None,
            most: 100,
        };
        Plan::new(&request)
            .map(|plan| rows(&plan, &[0, 1]).iter().map(|row| row.warm_up_ns).collect::<Vec<_>>())
    };
    let own = format!("warmup = \"300ms\"\n{MM1}");
    let ends = MM1.replace("open = { exp = \"40ms\" }", "open = { exp = \"40ms\" }, limit = 9");
    const MS: u64 = 1_000_000;
    assert_eq!(with(MM1, None).unwrap(), [100 * MS, 200 * MS]);
    assert_eq!(with(&own, None).unwrap(), [300 * MS; 2]);
    assert_eq!(with(&ends, None).unwrap(), [0, 0], "a run that ends by itself");
    assert_eq!(with(&own, Some(WarmUp::Share(0.25))).unwrap(), [250 * MS, 500 * MS]);
    assert_eq!(with(&own, Some(WarmUp::Time(7))).unwrap(), [7, 7]);
    assert!(with(MM1, Some(WarmUp::Time(1000 * MS))).unwrap_err().to_string().contains("leaves nothing"));
}
