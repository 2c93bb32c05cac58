//! Sweeps: against a queueing formula, in shards, interrupted, and with what they refuse.

use divvy_lab::sweep::{Plan, Request, Row, SweepError, TableError, Vary, WarmUp, run, table};
use divvy_sim::oracle::queueing::single::mm1_response;
use divvy_sim::policy;
use divvy_sim::run::Options;
use divvy_sim::spec::parse_list;

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
    let specs = parse_list(&[policies.to_owned()], policy::all()).expect("known policies");
    let varied = vary.iter().map(|text| Vary::parse(text, 100)).collect::<Result<Vec<Vary>, _>>()?;
    let options = Options { seed: 1, reps, duration_ns, ..Options::default() };
    let request = Request {
        text,
        file: "q.toml",
        specs: &specs,
        varied: &varied,
        options: &options,
        warm_up: None,
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

fn lines(plan: &Plan, which: &[usize]) -> String {
    rows(plan, which).iter().map(|row| table::line(plan, row)).collect()
}

fn csv(plan: &Plan) -> String {
    table::header(plan) + &lines(plan, &table::shard(plan, 1, 1))
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
        let response = row.estimates[0];
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
    let utilization = |row: &Row| row.estimates[7];
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
    // What alpha=7 would have given is not what alpha=0 gives.
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
        ("rr", "cpus=1,300", "at cpus=300"),
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
    let specs = parse_list(&["rr".to_owned()], policy::all()).unwrap();
    let varied = [Vary::parse("duration=1s,2s", 100).unwrap()];
    let options = Options { seed: 1, reps: 1, ..Options::default() };
    let with = |text: &str, warm_up| {
        let request = Request {
            text,
            file: "q.toml",
            specs: &specs,
            varied: &varied,
            options: &options,
            warm_up,
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
