//! The workload format, from the outside: what it accepts, and how it refuses.

use divvy_policy::{CpuId, Weight};
use divvy_workload::{
    Arrivals, Barrier, Dist, Distance, Purpose, Step, Topology, WeightSetting, Workload, WorkloadError,
    stream,
};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn parse(text: &str) -> Workload {
    Workload::parse(text, "w.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// The error of a text that must be refused.
fn refuse(text: &str) -> String {
    match Workload::parse(text, "w.toml") {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string(),
    }
}

/// A workload of one task with this program.
fn with_program(program: &str) -> String {
    format!("[[task]]\nname = \"T\"\nprogram = {program}\n")
}

/// Every key and every step.
const FULL: &str = r#"
cpus = 2
quantum = "200ms"
duration = "30s"
warmup = "1s"
tick = "4ms"
switch_cost = "2us"
migration_cost = "10us"

[[task]]
name = "T1"
weight = 1
process = "A"
count = 3
start = "0.5s"
stop = "30s"
affinity = [1, 0]
program = [ { run = "forever" } ]

[[task]]
name = "T2"
nice = 5
program = [
    { loop = 20, do = [ { run = "75ms" }, { sleep = { exp = "1s" } }, { barrier = "b" } ] },
    { lock = "m" }, { run = { pareto = { shape = 1.2, scale = "1ms" } } }, { unlock = "m" },
    { yield = true }, { fork = "child" }, { period = "10ms" }, { until = "20s" },
]

[[task]]
name = "child"
start = "fork"
weight = 0.5
program = [ { run = "1ms" }, { wake = "loner" }, { barrier = "b" } ]

[[task]]
name = "loner"
program = [ { wait = true }, { loop = "forever", do = [ { sleep = "1s" } ] } ]

[[task]]
name = "open"
arrivals = { open = { exp = "10ms" }, limit = 1000 }
program = [ { run = { hyper = { mean = "5ms", scv = 5 } } } ]

[[task]]
name = "users"
count = 10
arrivals = { closed = { exp = "25s" } }
program = [ { run = { uniform = { lo = "1ms", hi = "2ms" } } } ]
"#;

#[test]
fn a_full_example() {
    let w = parse(FULL);
    assert_eq!((w.name.as_str(), w.cpus, w.quantum_ns), ("w.toml", 2, 200 * MS));
    assert_eq!((w.duration_ns, w.warmup_ns, w.tick_ns), (Some(30 * S), S, Some(4 * MS)));
    assert_eq!((w.switch_cost_ns, w.migration_cost_ns), (2_000, 10_000));
    assert_eq!(w.locks, ["m"]);
    assert_eq!(w.barriers, [Barrier { name: "b".to_owned(), parties: 2 }]);

    let t1 = &w.tasks[0];
    assert_eq!(
        (t1.weight, t1.process.as_deref(), t1.count),
        (WeightSetting::Units(Weight::from_fixed(1024)), Some("A"), 3)
    );
    assert_eq!((t1.start_ns, t1.stop_ns), (S / 2, Some(30 * S)));
    assert_eq!(t1.affinity.as_deref(), Some(&[0, 1].map(CpuId::new)[..]));
    assert_eq!((t1.instance_name(0), w.tasks[1].instance_name(0)), ("T1/1".to_owned(), "T2".to_owned()));
    assert_eq!(t1.program, [Step::RunForever]);

    let t2 = &w.tasks[1];
    assert_eq!((t2.weight.weight().fixed(), t2.process.as_ref()), (335 << 10, None));
    let round = vec![Step::Run(Dist::Constant(75 * MS)), Step::Sleep(Dist::Exp(S)), Step::Barrier(0)];
    assert_eq!(t2.program[0], Step::Loop { times: Some(20), body: round });
    assert_eq!(
        t2.program[1..4],
        [Step::Lock(0), Step::Run(Dist::Pareto { shape: 1.2, scale: MS }), Step::Unlock(0)]
    );
    assert_eq!(t2.program[4..], [Step::Yield, Step::Fork(2), Step::Period(10 * MS), Step::Until(20 * S)]);

    assert_eq!(
        (&w.tasks[2].arrivals, w.tasks[2].weight),
        (&Arrivals::Forked { limit: None }, WeightSetting::Units(Weight::from_fixed(512)))
    );
    assert_eq!(w.tasks[2].program[1], Step::Wake(3));
    assert_eq!(w.tasks[3].program[0], Step::Wait);
    assert_eq!(w.tasks[4].arrivals, Arrivals::Open { interarrival: Dist::Exp(10 * MS), limit: Some(1000) });
    assert_eq!(w.tasks[5].arrivals, Arrivals::Closed { think: Dist::Exp(25 * S) });
    assert_eq!(w.endless_task().map(|task| task.name.as_str()), Some("loner"));
}

#[test]
fn defaults() {
    let w = parse(&with_program("[ { run = \"1s\" } ]"));
    assert_eq!((w.cpus, w.quantum_ns, w.duration_ns, w.warmup_ns, w.tick_ns), (1, 4 * MS, None, 0, None));
    let task = &w.tasks[0];
    assert_eq!((task.weight.weight().fixed(), task.count, &task.arrivals), (1 << 20, 1, &Arrivals::Once));
    assert!(w.endless_task().is_none());
}

/// Two nodes of two caches of two cores of two threads: CPU 0 is near 1, less so to 2 and 3, and far from 8.
#[test]
fn a_topology_says_how_far_cpus_are_from_each_other() {
    let machine = "cpus = 16\n[topology]\nllc = 4\nsmt = 2\nnode = 2\nsame_llc_cost = \"1us\"\nother_node_cost = \"9us\"\n";
    let w = parse(&format!("{machine}{}", with_program("[ { run = \"1s\" } ]")));
    let topology = w.topology.expect("it has one");
    let wanted = Topology { smt: 2, llc: 4, node: Some(2), costs_ns: [0, 1_000, 0, 9_000] };
    assert_eq!((topology, topology.node_cpus()), (wanted, Some(8)));
    assert_eq!(parse(&w.to_toml()).topology, w.topology, "{}", w.to_toml());
    let from_0 = (1..16).map(|cpu| topology.distance(CpuId::new(0), CpuId::new(cpu)));
    let far = |n| std::iter::repeat_n(Distance::OtherNode, n);
    let near = [Distance::SameCore, Distance::SameLlc, Distance::SameLlc];
    let node = std::iter::repeat_n(Distance::SameNode, 4);
    assert!(from_0.eq(near.into_iter().chain(node).chain(far(8))));
    for (one, other) in (0..16).flat_map(|one| (0..16).map(move |other| (one, other))) {
        let [one, other] = [one, other].map(CpuId::new);
        assert_eq!(topology.distance(one, other), topology.distance(other, one));
    }
    assert_eq!((topology.cost_ns(Distance::SameLlc), topology.cost_ns(Distance::OtherNode)), (1_000, 9_000));
    // Without `node` all caches are of one.
    let one_node = Topology { node: None, ..topology };
    assert_eq!(one_node.distance(CpuId::new(0), CpuId::new(15)), Distance::SameNode);
}

#[test]
fn every_distribution_is_read() {
    for (text, dist) in [
        ("\"75ms\"", Dist::Constant(75 * MS)),
        ("{ exp = \"3s\" }", Dist::Exp(3 * S)),
        ("{ uniform = { lo = \"0s\", hi = \"1s\" } }", Dist::Uniform { lo: 0, hi: S }),
        ("{ pareto = { shape = 2, scale = \"1ms\" } }", Dist::Pareto { shape: 2.0, scale: MS }),
        (
            "{ bounded_pareto = { shape = 1.1, lo = \"1ms\", hi = \"10s\" } }",
            Dist::BoundedPareto { shape: 1.1, lo: MS, hi: 10 * S },
        ),
        (
            "{ hyper = { p = [0.75, 0.25], means = [\"1ms\", \"9ms\"] } }",
            Dist::Hyper { upto: vec![0.75, 1.0], means: vec![MS, 9 * MS] },
        ),
        (
            "{ hyper = { mean = \"5ms\", scv = 1 } }",
            Dist::Hyper { upto: vec![0.5, 1.0], means: vec![5 * MS; 2] },
        ),
        ("{ erlang = { k = 4, mean = \"8ms\" } }", Dist::Erlang { k: 4, mean: 8 * MS }),
        ("{ lognormal = { median = \"8ms\", sigma = 0.5 } }", Dist::LogNormal { median: 8 * MS, sigma: 0.5 }),
        (
            "{ choice = { values = [\"1ms\", \"2ms\"], weights = [3, 1] } }",
            Dist::Choice { values: vec![MS, 2 * MS], upto: vec![0.75, 1.0] },
        ),
        (
            "{ choice = { values = [\"1ms\", \"2ms\"] } }",
            Dist::Choice { values: vec![MS, 2 * MS], upto: vec![0.5, 1.0] },
        ),
    ] {
        let w = parse(&with_program(&format!("[ {{ run = {text} }} ]")));
        assert_eq!(w.tasks[0].program, [Step::Run(dist)]);
    }
}

#[test]
fn an_error_shows_file_line_column_and_the_way_out() {
    let text = "cpus = 1\n[[task]]\nname = \"T\"\nwieght = 3\nprogram = [ { run = \"1s\" } ]\n";
    let expected = "w.toml:4:1: unknown key `wieght` in a task\n  \
                    4 | wieght = 3\n    | ^^^^^^\n  \
                    help: did you mean `weight`?";
    assert_eq!(refuse(text), expected);
}

#[test]
fn columns_count_characters() {
    let text = "[[task]]\nname = \"T\"\nprogram = [ { lock = \"ü\" }, { run = 5 }, { unlock = \"ü\" } ]\n";
    assert!(refuse(text).starts_with("w.toml:3:37: `run` is an integer"), "{}", refuse(text));
}

/// Each line: a text that goes into a template, where the error is, and a part of what it says.
#[test]
fn values_that_are_refused() {
    let machine = |line: &str| format!("{line}\n{}", with_program("[ { run = \"1s\" } ]"));
    let task = |line: &str| format!("{}{line}\n", with_program("[ { run = \"1s\" } ]"));
    let step = |step: &str| with_program(&format!("[ {step} ]"));
    let mut wrong = Vec::new();
    for (text, place, part) in [
        ("".to_owned(), "1:1", "no tasks"),
        ("cpus = ".to_owned(), "1:8", "not valid TOML"),
        ("[[task]]\nname = \"a\"\nname = \"b\"".to_owned(), "3:1", "not valid TOML"),
        (machine("cpus = 0"), "1:8", "from 1 to 4096"),
        (machine("cpus = 4097"), "1:8", "from 1 to 4096"),
        (machine("cpus = 99999999999999999999999999999999999999999999"), "1:8", "from 1 to 4096"),
        (machine("quantum = 4"), "1:11", "with a unit"),
        (machine("quantum = \"4\""), "1:11", "has no unit"),
        (machine("quantum = \"0ms\""), "1:11", "`quantum` is 0"),
        (machine("quantum = \"-1ms\""), "1:11", "is not a duration"),
        (machine("duration = \"4 parsecs\""), "1:12", "unknown unit `parsecs`"),
        (machine("duration = \"1s\"\nwarmup = \"1s\""), "2:10", "not shorter than the run"),
        (machine("quantun = \"4ms\""), "1:1", "did you mean `quantum`?"),
        (machine("zzz = 1"), "1:1", "its keys are name, cpus"),
        (machine("\"q\\u001b[31m\" = 1"), "1:1", "`q\\u{1b}[31m`"),
        (machine("[topology]\nsmt = 2"), "1:1", "[topology] needs `llc`"),
        (machine("cpus = 8\n[topology]\nllc = 0"), "3:7", "from 1 to 4096"),
        (machine("cpus = 8\n[topology]\nllc = 4\nsocket = 2"), "4:1", "unknown key `socket` in [topology]"),
        (
            machine("cpus = 8\n[topology]\nllc = 4\nsmt = 3"),
            "4:7",
            "a cache (4) are not a multiple of `smt` (3)",
        ),
        (machine("cpus = 8\n[topology]\nllc = 4\nsmt = 8"), "4:7", "not a multiple of `smt` (8)"),
        (machine("cpus = 12\n[topology]\nllc = 8"), "3:7", "CPUs (12) is not a multiple of `llc` (8)"),
        (machine("[topology]\nllc = 8"), "2:7", "CPUs (1) is not a multiple of `llc` (8)"),
        (
            machine("cpus = 24\n[topology]\nllc = 8\nnode = 2"),
            "4:8",
            "caches (3) is not a multiple of `node` (2)",
        ),
        (machine("cpus = 8\n[topology]\nllc = 8\nsame_llc_cost = 3"), "4:17", "with a unit"),
        (machine("topology = 8"), "1:12", "a table with the keys llc, smt, node"),
        ("[task]\nname = \"T\"".to_owned(), "1:1", "write [[task]]"),
        ("task = [ 3 ]".to_owned(), "1:10", "`task` is an integer"),
        ("[[task]]\nprogram = []".to_owned(), "1:1", "a task needs `name`"),
        ("[[task]]\nname = \"x\"".to_owned(), "1:1", "a task needs `program`"),
        (task("weight = 1\nnice = 2"), "5:8", "together"),
        (task("weight = 0"), "4:10", "too small"),
        (task("weight = -2"), "4:10", "negative"),
        (task("weight = 100000001"), "4:10", "too great"),
        (task("weight = nan"), "4:10", "plain decimal"),
        (task("weight = \"3\""), "4:10", "a number"),
        (task("nice = 20"), "4:8", "from -20 to 19"),
        (task("count = 0"), "4:9", "from 1 to"),
        (task("process = \"\""), "4:11", "is no name"),
        (task("start = \"2s\"\nstop = \"1s\""), "5:8", "is not after start"),
        (task("start = \"fork\""), "4:9", "no task forks this one"),
        (task("affinity = [1]"), "4:12", "CPUs 0 to 0"),
        (task("affinity = []"), "4:12", "no CPU is allowed"),
        (task("affinity = [0, 0]"), "4:12", "named twice"),
        (task("affinity = [-1]"), "4:13", "from 0 to 4095"),
        (task("arrivals = { open = \"0s\" }"), "4:12", "all arrive at once"),
        (task("arrivals = { open = { exp = \"0s\" } }"), "4:29", "mean is 0"),
        (task("arrivals = { open = \"1s\", closed = \"1s\" }"), "4:12", "neither open nor closed"),
        (task("arrivals = { closed = \"1s\", limit = 3 }"), "4:37", "for open arrivals"),
        (task("arrivals = { open = \"1s\" }\ncount = 2"), "4:12", "leave out `count`"),
        (task("[[task]]\nname = \"T\"\nprogram = []"), "5:8", "another task has this name"),
        (step(""), "3:11", "the program is empty"),
        (step("3"), "3:13", "a list of steps"),
        (step("{}"), "3:13", "a step is empty"),
        (step("{ run = \"1s\", sleep = \"1s\" }"), "3:35", "both `run` and `sleep`"),
        (step("{ rum = \"1s\" }"), "3:15", "did you mean `run`?"),
        (step("{ run = \"0s\" }"), "3:13", "takes no time"),
        (step("{ run = { gauss = \"1s\" } }"), "3:23", "unknown key `gauss`"),
        (step("{ run = { pareto = { shape = 1 } } }"), "3:32", "a Pareto distribution needs `scale`"),
        (step("{ run = { pareto = { shape = -1, scale = \"1s\" } } }"), "3:32", "shape is -1"),
        (step("{ run = { hyper = { p = [0.5], means = [\"1s\"] } } }"), "3:31", "sum to 0.5"),
        (
            step("{ run = { uniform = { lo = \"2s\", hi = \"1s\" } } }"),
            "3:33",
            "lo (2s) is not less than hi (1s)",
        ),
        (step("{ run = \"forever\" }, { sleep = \"1s\" }"), "3:34", "never reached"),
        (step("{ yield = false }"), "3:23", "it must be true"),
        (step("{ loop = 3 }"), "3:13", "a loop needs `do`"),
        (step("{ loop = 0, do = [ { run = \"1s\" } ] }"), "3:22", "from 1"),
        (step("{ loop = \"often\", do = [ { run = \"1s\" } ] }"), "3:22", "\"forever\""),
        (step("{ loop = 2, do = [] }"), "3:13", "does nothing"),
        (step("{ loop = \"forever\", do = [ { yield = true } ] }"), "3:13", "makes no progress"),
        (step("{ loop = 2000000, do = [ { yield = true } ] }"), "3:13", "2000000 steps"),
        (step("{ unlock = \"m\" }"), "3:13", "not held here"),
        (step("{ lock = \"m\" }, { run = \"1s\" }"), "3:13", "still held when the program ends"),
        (step("{ lock = \"m\" }, { lock = \"m\" }"), "3:29", "already held"),
        (step("{ loop = 2, do = [ { lock = \"m\" }, { run = \"1s\" } ] }"), "3:32", "when the loop repeats"),
        (
            step("{ lock = \"m\" }, { loop = 2, do = [ { unlock = \"m\" }, { run = \"1s\" } ] }"),
            "3:48",
            "outside this loop",
        ),
        (step("{ fork = \"t\" }"), "3:22", "did you mean `T`?"),
        (step("{ fork = \"T\" }"), "3:13", "starts by itself"),
        (step("{ wait = true }"), "3:13", "nobody wakes it"),
        (step("{ barrier = \"b\" } ]\n[barrier.b]\nparties = 2 #"), "4:1", "never open"),
        (step("{ barrier = \"b\" } ]\n[barrier.c]\nparties = 2 #"), "4:10", "unknown key `c`"),
    ] {
        let error = refuse(&text);
        if !error.starts_with(&format!("w.toml:{place}: ")) || !error.contains(part) {
            wrong.push(format!("expected {place} and `{part}`:\n{error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn forks_are_checked_across_tasks() {
    let task = |name: &str, more: &str, program: &str| {
        format!("[[task]]\nname = \"{name}\"\n{more}\nprogram = [ {program} ]\n")
    };
    let run = "{ run = \"1ms\" }";
    let cycle = [
        task("main", "", "{ fork = \"a\" }"),
        task("leaf", "start = \"fork\"", run),
        task("a", "start = \"fork\"", "{ fork = \"b\" }, { fork = \"leaf\" }"),
        task("b", "start = \"fork\"", "{ fork = \"a\" }"),
    ];
    let error = refuse(&cycle.concat());
    assert!(
        error.contains("forks itself") && !error.contains("`leaf`") && !error.contains("`main`"),
        "{error}"
    );

    // With a limit a task may fork itself, and it has so many instances.
    let recursive = [
        task("main", "", "{ fork = \"a\" }"),
        task("a", "start = \"fork\"\nlimit = 7\ncount = 2", "{ fork = \"b\" }, { barrier = \"end\" }"),
        task("b", "start = \"fork\"", "{ fork = \"a\" }"),
    ];
    let w = parse(&recursive.concat());
    assert_eq!(w.tasks[1].arrivals, Arrivals::Forked { limit: Some(7) });
    assert_eq!(w.barriers[0].parties, 7);
    assert_eq!(parse(&w.to_toml()), w);
    let error = refuse(&task("a", "limit = 3", run));
    assert!(error.contains("`limit` is for a task that forks start"), "{error}");

    // 3 runs of main, each forks 2 x 4: a barrier's default counts the instances.
    let counted = [
        task("main", "count = 3", "{ loop = 2, do = [ { fork = \"a\" } ] }"),
        task("a", "start = \"fork\"\ncount = 4", "{ barrier = \"b\" }, { barrier = \"b\" }"),
    ];
    assert_eq!(parse(&counted.concat()).barriers[0].parties, 24);

    let unbounded = task("o", "arrivals = { open = \"1s\" }", "{ run = \"1ms\" }, { barrier = \"b\" }");
    assert!(refuse(&unbounded).contains("[barrier.b]"));
    assert_eq!(parse(&format!("{unbounded}[barrier.b]\nparties = 7\n")).barriers[0].parties, 7);

    let crowd = [
        task("main", "", "{ loop = 1000, do = [ { fork = \"a\" } ] }"),
        task("a", "start = \"fork\"\ncount = 4000", run),
    ];
    assert!(refuse(&crowd.concat()).contains("4000001 instances"));

    let several = [task("w", "", "{ wake = \"x\" }"), task("x", "count = 2", "{ wait = true }")];
    assert!(refuse(&several.concat()).contains("which one is woken"));
}

#[test]
fn hostile_texts_are_refused_quickly() {
    // Deeper than the parser goes.
    let deep = format!("{}{}", "[ { loop = 2, do = ".repeat(5000), "3 ".repeat(3));
    assert!(refuse(&with_program(&deep)).contains("not valid TOML"));
    // Many names: every look-up is logarithmic.
    let many: String = (0..20_000)
        .map(|i| {
            format!(
                "[[task]]\nname = \"t{i}\"\nprogram = [ {{ barrier = \"b{i}\" }}, {{ wake = \"t0\" }} ]\n"
            )
        })
        .collect();
    assert_eq!(parse(&many).barriers.len(), 20_000);
    // A chain of forks, and a very long line.
    let chain: String = (0..20_000)
        .map(|i| {
            let start = if i == 0 { "" } else { "start = \"fork\"" };
            let step = if i == 19_999 {
                "{ run = \"1s\" }".to_owned()
            } else {
                format!("{{ fork = \"t{}\" }}", i + 1)
            };
            format!("[[task]]\nname = \"t{i}\"\n{start}\nprogram = [ {step} ]\n")
        })
        .collect();
    assert_eq!(parse(&chain).tasks.len(), 20_000);
    let long = format!("cpus = \"{}\"", "x".repeat(1_000_000));
    assert!(refuse(&long).len() < 1_000);
    assert!(refuse("\u{0}").contains("not valid TOML"));
}

/// Damaged texts are read or refused, and what is read has passed its checks; nothing panics.
#[test]
fn damaged_texts_do_no_harm() {
    const SYMBOLS: &[u8] = b"0123456789-.\"[]{}=,\n #TXxsn\xff";
    let mut random = stream(1, 0, 0, Purpose::Run);
    let mut accepted = 0;
    for _ in 0..4000 {
        let mut bytes = FULL.as_bytes().to_vec();
        for _ in 0..=random.below(8) / 7 {
            let (from, to) =
                (random.below(bytes.len() as u64) as usize, random.below(bytes.len() as u64) as usize);
            match random.below(4) {
                0 => bytes[from] = SYMBOLS[random.below(SYMBOLS.len() as u64) as usize],
                1 => drop(bytes.drain(from.min(to)..from.max(to).min(from.min(to) + 20))),
                2 => bytes.truncate(from.max(1)),
                _ => bytes.splice(from..from, FULL.bytes().skip(to).take(30)).for_each(drop),
            }
            if bytes.is_empty() {
                break;
            }
        }
        if let Ok(workload) = Workload::parse(&String::from_utf8_lossy(&bytes), "w.toml") {
            assert_eq!(workload.check(), Ok(()));
            accepted += 1;
        }
    }
    assert!((100..3000).contains(&accepted), "{accepted} of 4000 read: the damage is too small or too great");
}

#[test]
fn files_that_cannot_be_read() {
    let missing = Workload::load(std::path::Path::new("no/such/file.toml")).map(drop);
    assert!(matches!(missing, Err(WorkloadError::File { .. })), "{missing:?}");
}

#[test]
fn groups_are_made_of_their_paths() {
    let text = "task = [
        { name = \"a\", group = \"web/logs\", program = [ { run = \"1s\" } ] },
        { name = \"b\", user = \"ann\", program = [ { run = \"1s\" } ] },
        { name = \"c\", user = \"ann\", group = \"build\", program = [ { run = \"1s\" } ] },
        { name = \"d\", group = \"web\", program = [ { run = \"1s\" } ] },
        { name = \"e\", program = [ { run = \"1s\" } ] } ]
    group = [ { name = \"web\", weight = 3 }, { name = \"ann/build\", nice = 5 } ]";
    let workload = parse(text);
    let groups: Vec<_> = workload.groups.iter().map(|g| (g.name.as_str(), g.weight, g.parent)).collect();
    let expected = [
        ("web", WeightSetting::Units(3 * Weight::ONE), None),
        ("web/logs", WeightSetting::DEFAULT, Some(0)),
        ("ann", WeightSetting::DEFAULT, None),
        ("ann/build", WeightSetting::Nice(5), Some(2)),
    ];
    assert_eq!(groups, expected);
    let of: Vec<Option<usize>> = workload.tasks.iter().map(|task| task.group).collect();
    assert_eq!(of, [Some(1), Some(2), Some(3), Some(0), None]);
}

#[test]
fn groups_that_are_refused() {
    let task = |keys: &str| format!("[[task]]\nname = \"T\"\n{keys}\nprogram = [ {{ run = \"1s\" }} ]\n");
    let group = |keys: &str| task("group = \"web\"") + "[[group]]\n" + keys;
    for (text, place, part) in [
        (task("group = \"\""), "3:9", "help: write names with `/` between them"),
        (task("group = \"a//b\""), "3:9", "`a//b` is not the path of a group"),
        (task("group = \"/a\""), "3:9", "`/a` is not the path of a group"),
        (task("group = 3"), "3:9", "a string"),
        (task("user = \"a/b\""), "3:8", "the name of a user has no `/`"),
        (group("name = \"wbe\""), "6:8", "help: did you mean `web`?"),
        (group("name = \"zzzzz\""), "6:8", "put one there with `group` or `user`"),
        (group("weight = 1"), "5:1", "a group needs `name`"),
        (group("name = \"web\"\nweight = 0"), "7:10", "too small"),
        (group("name = \"web\"\nweight = 1\nnice = 1"), "8:8", "together"),
        (group("name = \"web\"\nwieght = 1"), "7:1", "did you mean `weight`?"),
        (group("name = \"web\"\n[[group]]\nname = \"web\""), "8:8", "another group has this name"),
        ("group = 3\n".to_owned() + &task(""), "1:9", "`group` is an integer"),
    ] {
        let said = refuse(&text);
        assert!(said.starts_with(&format!("w.toml:{place}: ")) && said.contains(part), "{text}\n{said}");
    }
}
