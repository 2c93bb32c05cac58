//! Workloads of rt-app: read as its tutorial has them, refused where a workload cannot say it, written as rt-app takes
//! them, and the same when read again.

use divvy_policy::CpuId;
use divvy_workload::program::{Op, Position, Program};
use divvy_workload::{Arrivals, Barrier, Dist, Step, Task, WeightSetting, Workload, rtapp};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn read(text: &str) -> (Workload, Vec<String>) {
    Workload::parse_any(text, "x.json").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn task(text: &str) -> Task {
    read(&format!("{{ \"tasks\": {{ \"t\": {{ {text} }} }}, \"global\": {{ \"duration\": 2 }} }}"))
        .0
        .tasks
        .remove(0)
}

fn run(micros: u64) -> Step {
    Step::Run(Dist::Constant(micros * 1000))
}

fn sleep(micros: u64) -> Step {
    Step::Sleep(Dist::Constant(micros * 1000))
}

fn forever(body: Vec<Step>) -> Vec<Step> {
    vec![Step::Loop { times: None, body }]
}

/// The first program of rt-app's tutorial, with all that its dialect allows: comments, a comma before a bracket, keys
/// that come again in the order of the program, texts in single quotes, a member without a value.
#[test]
fn the_dialect() {
    let (workload, notes) = read(
        "/* 2 ms */ { 'tasks' : { // one\n \"thread0\" : { \"loop\" : -1, \"run\" : 20000, \"sleep\" : 80000, \"run\" : 5, \
         \"yield\", }, },\n \"global\" : { \"duration\" : 2, \"calibration\" : \"CPU0\", \"gnuplot\" : true, } }",
    );
    assert_eq!(workload.duration_ns, Some(2_000_000_000));
    assert_eq!(workload.tasks[0].name, "thread0");
    assert_eq!(workload.tasks[0].program, forever(vec![run(20_000), sleep(80_000), run(5), Step::Yield]));
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("how many CPUs"));
}

#[test]
fn loops_of_threads_and_phases() {
    assert_eq!(task("\"run\": 1").program, [Step::RunForever], "without a loop it is for ever");
    assert_eq!(task("\"run\": 1, \"sleep\": 2").program, forever(vec![run(1), sleep(2)]));
    let looped = |times, body| Step::Loop { times: Some(times), body };
    assert_eq!(task("\"loop\": 3, \"run0\": 1, \"run1\": 2").program, [looped(3, vec![run(1), run(2)])]);
    let phases = "\"phases\": { \"a\": { \"loop\": 2, \"run\": 1, \"sleep\": 9 }, \"b\": { \"run\": 3 } }";
    let body = vec![looped(2, vec![run(1), sleep(9)]), run(3)];
    assert_eq!(task(&format!("\"loop\": 1, {phases}")).program, body);
    assert_eq!(task(&format!("\"loop\": 4, {phases}")).program, [looped(4, body.clone())]);
    assert_eq!(task(phases).program, forever(body));
}

#[test]
fn what_holds_for_a_task() {
    let t = task(
        "\"instance\": 3, \"delay\": 1500, \"priority\": -6, \"cpus\": [2, 0, 2], \"taskgroup\": \"/a/b\", \"run\": 1, \"sleep\": 1",
    );
    assert_eq!((t.count, t.start_ns, t.weight), (3, 1_500_000, WeightSetting::Nice(-6)));
    assert_eq!((t.affinity, t.group), (Some([0, 2].map(CpuId::new).to_vec()), Some(1)));
    assert_eq!(
        task("\"policy\": \"SCHED_FIFO\", \"priority\": 40, \"run\": 1").weight,
        WeightSetting::Nice(-20)
    );
    assert_eq!(task("\"policy\": \"SCHED_IDLE\", \"run\": 1").weight.units(), 3.0);
}

/// A timer that recurs is a period, one that is used once a moment: rt-app counts both from the thread's start.
#[test]
fn timers() {
    let timer = "\"timer\": { \"ref\": \"unique\", \"period\": 20000 }";
    assert_eq!(
        task(&format!("\"run\": 1, {timer}")).program,
        forever(vec![run(1), Step::Period(20_000_000)])
    );
    let once = task(&format!("\"loop\": 1, \"delay\": 1000, \"run\": 1, {timer}, \"run\": 1"));
    assert_eq!(once.program, [run(1), Step::Until(21_000_000), run(1)]);
}

/// Suspend and resume, conditions with their mutex, and semaphores are tokens of the task that waits.
#[test]
fn who_wakes_whom() {
    let (w, notes) = read(
        r#"{ "tasks": { "a": { "run": 10, "resume": "b", "suspend": "a" }, "b": { "run": 20, "resume": "a", "suspend": "b" },
             "c": { "lock": "m", "wait": { "ref": "q", "mutex": "m" }, "unlock": "m", "run": 1 },
             "d": { "run": 5, "lock": "m", "signal": "q", "unlock": "m", "sem_post": "s" }, "e": { "sem_wait": "s", "run": 1 } },
             "global": { "duration": 1 }, "divvy": { "cpus": 2 } }"#,
    );
    assert_eq!(w.tasks[0].program, forever(vec![run(10), Step::Wake(1), Step::Wait]));
    assert_eq!(w.tasks[1].program, forever(vec![run(20), Step::Wake(0), Step::Wait]));
    let waits = vec![Step::Lock(0), Step::Unlock(0), Step::Wait, Step::Lock(0), Step::Unlock(0), run(1)];
    assert_eq!(w.tasks[2].program, forever(waits));
    assert_eq!(
        w.tasks[3].program,
        forever(vec![run(5), Step::Lock(0), Step::Wake(2), Step::Unlock(0), Step::Wake(4)])
    );
    assert_eq!(w.tasks[4].program, forever(vec![Step::Wait, run(1)]));
    assert!(notes.iter().any(|note| note.contains("is kept here; rt-app loses it")), "{notes:?}");
    assert_eq!(w.cpus, 2);
}

/// A task that waits for several things has a semaphore for each: what comes for one does not end the wait for another.
#[test]
fn who_waits_for_several_things() {
    let (w, _) = read(
        r#"{ "tasks": { "a": { "run": 10, "suspend": "a", "run1": 20, "wait": { "ref": "q", "mutex": "m" } },
             "b": { "run": 20, "signal": "q", "sleep": 5, "resume": "a" }, "c": { "run": 1, "sem_wait": "s" },
             "d": { "run": 5, "sem_post": "s", "broad": "q" } } }"#,
    );
    assert_eq!(w.semaphores, ["a waits for a", "a waits for q"]);
    assert_eq!(w.tasks[0].program, forever(vec![run(10), Step::Take(0), run(20), Step::Take(1)]));
    assert_eq!(w.tasks[1].program, forever(vec![run(20), Step::Post(1), sleep(5), Step::Post(0)]));
    assert_eq!(w.tasks[2].program, forever(vec![run(1), Step::Wait]));
    assert_eq!(w.tasks[3].program, forever(vec![run(5), Step::Wake(2), Step::Post(1)]));
}

/// The tutorial's example 9: thread1 starts and is forked as well, thread2 is forked only.
/// A signal wakes one task. If several may wait, it is the one that waits longest: a semaphore that they share.
#[test]
fn one_of_several_is_woken() {
    let waits = r#""loop": -1, "wait": { "ref": "q", "mutex": "m" }, "run": 5"#;
    for (wakes, waits) in
        [(r#""signal": "q""#, waits), (r#""sem_post": "q""#, r#""loop": -1, "sem_wait": "q", "run": 5"#)]
    {
        let text = format!(
            r#"{{ "tasks": {{ "a": {{ "loop": -1, "sleep": 9, {wakes} }}, "b": {{ {waits} }}, "c": {{ {waits} }} }} }}"#
        );
        let (workload, notes) = read(&text);
        assert_eq!(workload.semaphores, ["q"]);
        assert_eq!(workload.tasks[0].program, forever(vec![sleep(9), Step::Post(0)]));
        for task in &workload.tasks[1..] {
            assert_eq!(task.program, forever(vec![Step::Take(0), run(5)]));
        }
        let is_said = notes.iter().any(|note| note.contains("waits longest"));
        assert_eq!(is_said, wakes.contains("signal"));
    }
    // A task that signals what it waits for itself does not wake itself: only one other is left.
    let (workload, _) = read(
        r#"{ "tasks": { "a": { "loop": -1, "run": 1, "sync": { "ref": "q", "mutex": "m" } },
                        "b": { "loop": -1, "run": 2, "sync": { "ref": "q", "mutex": "m" } } } }"#,
    );
    assert!(workload.semaphores.is_empty());
    assert_eq!(workload.tasks[0].program, forever(vec![run(1), Step::Wake(1), Step::Wait]));
}

#[test]
fn forks_and_barriers() {
    let (w, _) = read(
        r#"{ "tasks": { "thread1": { "loop": 1, "run": 1 }, "thread2": { "instance": 0, "loop": 1, "run": 2 },
             "thread3": { "loop": 1, "fork": "thread1", "run": 1, "fork": "thread2", "barrier": "b" },
             "thread4": { "instance": 2, "loop": 1, "barrier": "b", "run": 1 } } }"#,
    );
    let names: Vec<&str> = w.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["thread1", "thread1 forked", "thread2", "thread3", "thread4"]);
    assert_eq!(w.tasks[1].arrivals, Arrivals::Forked { limit: None });
    assert_eq!(w.tasks[3].program, [Step::Fork(1), run(1), Step::Fork(2), Step::Barrier(0)]);
    assert_eq!(w.barriers, [Barrier { name: "b".to_owned(), parties: 3 }]);
}

/// Line and column of the first place of `part`, as errors begin.
fn place(text: &str, part: &str) -> String {
    let before = &text[..text.find(part).unwrap_or_else(|| panic!("{part} in {text}"))];
    let line = before.rsplit('\n').next().unwrap_or("");
    format!("x.json:{}:{}: ", before.matches('\n').count() + 1, line.chars().count() + 1)
}

#[test]
fn what_is_left_out_is_said_with_its_place() {
    let text = "{ \"tasks\": { \"t\": { \"run\": 1, \"sleep\": 2, \"mem\": 1000,\n \"util_min\": 3, \"hue\": 1, \"runtime\": 4, \
                \"sleep1\": 0,\n \"resume\": \"nobody\", \"mem2\": 5 } }, \"frag\": 1 }";
    let (_, notes) = read(text);
    for (part, what) in [
        ("\"mem\"", "`mem` is left out: how long it takes depends on the machine (and 1 more)"),
        ("\"util_min", "`util_min` has no meaning"),
        ("\"hue", "`hue` is ignored"),
        ("\"runtime", "`runtime` is real time"),
        ("\"sleep1", "no time"),
        ("\"resume", "nobody waits"),
        ("\"frag", "`frag` is ignored"),
    ] {
        let found =
            notes.iter().find(|note| note.contains(what)).unwrap_or_else(|| panic!("{what}: {notes:#?}"));
        assert!(found.starts_with(&place(text, part)), "{found}");
    }
}

#[test]
fn refusals_say_where_and_why() {
    let deep = format!("{{ \"tasks\": {}1", "[".repeat(65));
    let one = |task: &str| format!("{{ \"tasks\": {{ \"t\": {{ {task} }} }} }}");
    for (text, part, what) in [
        ("{".to_owned(), "{", "not closed"),
        ("{ /* ".to_owned(), "/*", "comment has no end"),
        ("{ \"tasks\" : { \"t : 1 } }".to_owned(), "\"t :", "no end"),
        ("{ \"tasks\": { \"t\": { \"run\": 1 } \"u\": 1 } }".to_owned(), "\"u", "a comma or a closing }"),
        ("{ \"tasks\": { } } x".to_owned(), "x", "more behind the end"),
        ("{ \"tasks\": { } }".to_owned(), "{", "no tasks"),
        ("{ \"traceEvents\": [] }".to_owned(), "{", "written here and not read"),
        ("{ \"tasks\": { \"t\": { \"run\": 1 }, \"t\" : { } } }".to_owned(), "\"t\" :", "another task"),
        (deep, "[1", "deep"),
        (one(""), "\"t\"", "program is empty"),
        (one("\"run\": __RUN__"), "__RUN__", "template"),
        (one("\"run\": -5"), "-5", "at least 0"),
        (one("\"run\": \"5\""), "\"5", "must be a number"),
        (one("\"run\": 1, \"fork\": \"u\""), "\"fork", "no task named `u`"),
        (one("\"policy\": \"X\", \"run\": 1"), "\"X", "policy"),
        (one("\"priority\": 99, \"run\": 1"), "99", "from -20 to 19"),
        (one("\"cpus\": [4096], \"run\": 1"), "4096", "from 0 to 4095"),
        (one("\"run\": 1, \"suspend\": \"t\""), "\"suspend", "nobody wakes it"),
        (one("\"run\": 1, \"unlock\": \"m\""), "\"unlock", "not held"),
        (one("\"loop\": 0, \"run\": 1"), "0", "`loop` is 0"),
        (one("\"run\": 1, \"lock_order\": [\"m\"]"), "\"lock_order", "rt-app's first format"),
        (
            one(
                "\"timer\": { \"ref\": \"a\", \"period\": 5 }, \"timer1\": { \"ref\": \"a\", \"period\": 6 }",
            ),
            "\"timer1",
            "another period",
        ),
    ] {
        let error = Workload::parse_any(&text, "x.json").expect_err(&text).to_string();
        assert!(error.starts_with(&place(&text, part)) && error.contains(what), "{text}: {error}");
    }
}

/// Small files that would be large in memory, or numbers beyond what they are kept in.
#[test]
fn what_grows_beyond_bounds_is_refused_with_its_place() {
    let path = "/a".repeat(100_000);
    let waits =
        |n: usize| -> String { (0..n).map(|i| format!(", \"w{i}\": {{ \"suspend\": \"c\" }}")).collect() };
    let broadcasts = (0..2000).map(|i| format!("\"broad{i}\": \"c\", ")).collect::<String>();
    let meets: String =
        (0..4300).map(|i| format!("\"m{i}\": {{ \"instance\": 1000000, \"barrier\": \"b\" }}, ")).collect();
    for (text, what) in [
        (
            format!("{{ \"tasks\": {{ \"t\": {{ \"run\": 1, \"taskgroup\": \"{path}\" }} }} }}"),
            "path of a group",
        ),
        (format!("{{ \"tasks\": {{ \"t\": {{ {broadcasts} \"run\": 1 }} {} }} }}", waits(2000)), "wake-ups"),
        (format!("{{ \"tasks\": {{ {meets} \"t\": {{ \"run\": 1 }} }} }}"), "too many threads meet"),
    ] {
        let error = Workload::parse_any(&text, "x.json").expect_err(what).to_string();
        assert!(error.starts_with("x.json:1:") && error.contains(what), "{error:.300}");
    }
}

#[test]
fn who_forks_arrivals_has_a_name_of_its_own() {
    let open = "arrivals = { open = \"5ms\" }, program = [ { run = \"1ms\" } ]";
    let other = "{ name = \"a arrives\", program = [ { run = \"1ms\" } ] }";
    let text = format!("duration = \"1s\"\ntask = [ {{ name = \"a\", {open} }}, {other} ]");
    let (json, _) = rtapp::write(&Workload::parse(&text, "x").expect("a workload")).expect("written");
    let names: Vec<String> = read(&json).0.tasks.into_iter().map(|task| task.name).collect();
    assert_eq!(names, ["a", "a arrives", "a arrives'"]);
}

#[test]
fn what_rt_app_cannot_say_is_refused_or_told() {
    let parse = |program: &str| {
        Workload::parse(&format!("task = [ {{ name = \"t\", {program} }} ]"), "x").expect(program)
    };
    let refused = |program: &str| rtapp::write(&parse(program)).expect_err(program).to_string();
    assert!(
        refused("program = [ { loop = 9, do = [ { run = \"1ms\" }, { until = \"5s\" } ] } ]")
            .contains("in a loop")
    );
    assert!(
        refused("program = [ { loop = 3000000000, do = [ { run = \"1ms\" } ] } ]")
            .contains("greatest number")
    );
    let endless = "{ pareto = { shape = 0.9, scale = \"1ms\" } }";
    assert!(refused(&format!("program = [ {{ run = {endless} }} ]")).contains("without a mean"));
    let told = |program: &str| rtapp::write(&parse(program)).expect(program).1.join("; ");
    assert!(told("program = [ { run = { exp = \"3ms\" } } ]").contains("means"));
    assert!(told("program = [ { run = \"1ns\" } ]").contains("whole microseconds"));
    assert!(told("stop = \"2s\", program = [ { run = \"1ms\" } ]").contains("`stop`"));
    assert!(told("weight = 3, program = [ { run = \"1ms\" } ]").contains("nice 0"));
}

/// The steps of each task, one after the other; loops are followed. Forks and wakes name their task, not its number. rt-app has
/// semaphores only, and a task that waits for several things gets one for each.
fn course(workload: &Workload, steps: usize) -> Vec<(String, Vec<String>)> {
    let semaphore_of = |number: usize| {
        let name = &workload.semaphores[number];
        name.rsplit_once(" waits for ").map_or(name.as_str(), |(_, name)| name).to_owned()
    };
    let mut courses: Vec<_> = workload
        .tasks
        .iter()
        .map(|task| {
            let (program, mut at) = (Program::new(&task.program), Position::default());
            let mut course = vec![format!("{:?} {:?} {}", task.weight, task.affinity, task.count)];
            course.push(format!(
                "{} {:?}",
                task.start_ns,
                task.group.map(|group| &workload.groups[group].name)
            ));
            for _ in 0..steps {
                match program.next(&mut at) {
                    Op::End => break,
                    Op::Fork(other) => course.push(format!("fork {}", workload.tasks[*other].name)),
                    Op::Wake(other) => course.push(format!("post {}", workload.tasks[*other].name)),
                    Op::Wait => course.push(format!("take {}", task.name)),
                    Op::Post(semaphore) => course.push(format!("post {}", semaphore_of(*semaphore))),
                    Op::Take(semaphore) => course.push(format!("take {}", semaphore_of(*semaphore))),
                    Op::Lock(lock) => course.push(format!("lock {}", workload.locks[*lock])),
                    Op::Unlock(lock) => course.push(format!("unlock {}", workload.locks[*lock])),
                    Op::Barrier(barrier) => course.push(format!("{:?}", workload.barriers[*barrier])),
                    op => course.push(format!("{op:?}")),
                }
            }
            (task.name.clone(), course)
        })
        .collect();
    courses.sort();
    courses
}

fn time() -> impl Strategy<Value = Dist> {
    (1u64..5_000_000).prop_map(|micros| Dist::Constant(micros * 1000))
}

/// Steps without loops, for a workload whose task 1 is woken by others and whose task 2 is forked.
fn plain(me: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => time().prop_map(|time| vec![Step::Run(time)]),
        3 => time().prop_map(|time| vec![Step::Sleep(time)]),
        1 => Just(vec![Step::Yield]),
        1 => (0usize..2, time()).prop_map(|(lock, time)| vec![Step::Lock(lock), Step::Run(time), Step::Unlock(lock)]),
        1 => Just(if me == 0 { vec![Step::Wake(1)] } else { vec![Step::Yield] }),
        1 => Just(if me == 1 { vec![Step::Wait] } else { vec![Step::Yield] }),
        1 => Just(if me == 1 { vec![Step::Take(0)] } else { vec![Step::Post(0)] }),
    ];
    prop::collection::vec(step, 1..5).prop_map(|steps| {
        // Runs without end would come back as one that is for ever.
        [vec![Step::Run(Dist::Constant(7_000)), Step::Yield], steps.concat()].concat()
    })
}

fn program(me: usize) -> impl Strategy<Value = Vec<Step>> {
    let times = || prop_oneof![Just(None), (2u64..5).prop_map(Some)];
    (plain(me), plain(me), plain(me), times(), 1u64..4, 0usize..5, 90u64..2000).prop_map(
        |(first, second, third, outer, inner, shape, moment)| {
            // A timer that is used only once is a moment.
            let looped = |times, body: Vec<Step>| Step::Loop {
                times,
                body: [vec![Step::Period(moment * 1000)], body].concat(),
            };
            match shape {
                0 => first,
                1 => vec![looped(outer, first)],
                2 => vec![looped(outer, [first, vec![looped(Some(inner), second)], third].concat())],
                3 => [first, vec![Step::Until(moment * 1_000_000), looped(None, second)]].concat(),
                _ => vec![looped(outer, vec![looped(Some(inner), vec![looped(Some(2), first)])])],
            }
        },
    )
}

fn workload() -> impl Strategy<Value = Workload> {
    let nice = || (-20i8..20).prop_map(WeightSetting::Nice);
    (program(0), program(1), program(2), nice(), 1u32..4, 0u64..90, prop::option::of(1u64..9), any::<bool>())
        .prop_map(|(first, second, third, weight, count, start_ms, seconds, meet)| {
            let task = |name: &str, program| Task {
                name: name.to_owned(),
                weight: WeightSetting::DEFAULT,
                process: None,
                group: None,
                executable: None,
                count: 1,
                start_ns: 0,
                stop_ns: None,
                affinity: None,
                arrivals: Arrivals::Once,
                program,
            };
            let meeting = if meet { vec![Step::Barrier(0)] } else { Vec::new() };
            let mut waker = vec![Step::Post(0), Step::Wake(1), Step::Fork(2)];
            waker.extend(meeting.clone());
            Workload {
                name: "w".to_owned(),
                cpus: 4,
                quantum_ns: 4_000_000,
                duration_ns: seconds.map(|s| s * 1_000_000_000),
                warmup_ns: 0,
                tick_ns: None,
                switch_cost_ns: 0,
                migration_cost_ns: 0,
                topology: None,
                groups: Vec::new(),
                tasks: vec![
                    Task {
                        affinity: Some([1, 3].map(CpuId::new).to_vec()),
                        ..task("waker \"a\"", [waker, first].concat())
                    },
                    Task {
                        weight,
                        start_ns: start_ms * 1_000_000,
                        ..task("woken", [vec![Step::Wait, Step::Take(0)], second].concat())
                    },
                    Task { arrivals: Arrivals::Forked { limit: None }, ..task("forked", third) },
                    Task { count, ..task("meets", [meeting, vec![Step::RunForever]].concat()) },
                ],
                locks: vec!["m".to_owned(), "n".to_owned()],
                semaphores: vec!["s".to_owned()],
                barriers: if meet {
                    vec![Barrier { name: "b".to_owned(), parties: 1 + count }]
                } else {
                    Vec::new()
                },
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Tasks of a workload do the same in rt-app's JSON, and in TOML. The JSON is strict: a JSON library takes it, and no
    /// object has a key twice.
    #[test]
    fn written_and_read_again(workload in workload()) {
        prop_assume!(workload.check().is_ok());
        let (text, _) = rtapp::write(&workload).expect("expressible");
        prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        let (again, _) = Workload::parse_any(&text, "w").unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(course(&again, 200), course(&workload, 200), "{}", text);
        prop_assert_eq!((again.cpus, again.duration_ns), (workload.cpus, workload.duration_ns));
        let toml = workload.to_toml();
        let again = Workload::parse(&toml, "w").unwrap_or_else(|error| panic!("{error}\n{toml}"));
        prop_assert_eq!(course(&again, 200), course(&workload, 200), "{}", toml);
        prop_assert_eq!(again.to_toml(), toml);
    }

    /// Bytes of any kind, and bits of the dialect in any order.
    #[test]
    fn noise(bytes in prop::collection::vec(any::<u8>(), 0..300), bits in prop::collection::vec(0usize..24, 0..60)) {
        let _ = Workload::parse_any(&format!("{{{}", String::from_utf8_lossy(&bytes)), "x");
        const BITS: [&str; 24] = [
            "{", "}", "[", "]", ":", ",", "\"tasks\"", "\"t\"", "\"run\"", "\"sleep0\"", "\"loop\"", "\"phases\"", "1", "-1", "/*",
            "*/", "//\n", "\"wait\"", "\"ref\"", "\"timer\"", "\\", "'", "true", "é",
        ];
        let text: String = bits.iter().map(|bit| BITS[*bit]).collect();
        let _ = Workload::parse_any(&format!("{{\"tasks\":{{{text}"), "x");
        let _ = Workload::parse_any(&format!("{{\"tasks\":{{\"t\":{{\"run\":1,{text}}}}}}}"), "x");
    }
}

/// Each distribution, and all that a task can have.
#[test]
fn toml_has_all_that_a_workload_has() {
    let text = r#"
        name = "a \"b\" \\ é"
        cpus = 3
        quantum = "2ms"
        duration = "90s"
        warmup = "1s"
        tick = "1ms"
        switch_cost = "2us"
        migration_cost = "1.5us"
        barrier = { "x y" = { parties = 2 } }
        [[group]]
        name = "web"
        weight = 0.1
        [[task]]
        name = "one"
        weight = 2.75
        process = "p"
        executable = "e"
        group = "web/logs"
        count = 2
        affinity = [0, 2]
        start = "1s"
        stop = "2s"
        program = [ { barrier = "x y" }, { run = { exp = "1ms" } }, { sleep = { uniform = { lo = "1ms", hi = "2ms" } } } ]
        [[task]]
        name = "two"
        nice = -5
        arrivals = { open = { pareto = { shape = 1.5, scale = "1ms" } }, limit = 9 }
        program = [ { run = { bounded_pareto = { shape = 1.1, lo = "1ms", hi = "1s" } } }, { run = { erlang = { k = 3, mean = "1ms" } } } ]
        [[task]]
        name = "three"
        arrivals = { closed = { lognormal = { median = "1ms", sigma = 0.5 } } }
        program = [ { run = { hyper = { p = [0.75, 0.25], means = ["1ms", "9ms"] } } }, { run = { choice = { values = ["1ms", "7ms"], weights = [3, 1] } } } ]
    "#;
    let workload = Workload::parse(text, "x").expect("valid");
    let written = workload.to_toml();
    assert_eq!(
        Workload::parse(&written, "y").unwrap_or_else(|error| panic!("{error}")),
        workload,
        "{written}"
    );
}
