//! eevdf against its rules in exact arithmetic and by a scan, its fluid ideal, and hand-worked schedules.

mod exact;
mod published;

use divvy_policy::{CpuId, TaskId, Weight};
use divvy_tests::bench::{Bench, MS, Nobody, Program, SEC, State, Watch, machine};
use divvy_tests::example;
use divvy_tests::random::Rng;

use self::exact::{Exact, Params, Place};

const US: u64 = 1000;

const LINUX: Params = [0, 1, 1, 1];

/// All rules at once: every pick and preemption of random programs, with yields and new weights thrown in.
#[test]
fn eevdf_r1_to_r14_agrees_with_exact_arithmetic_and_a_scan() {
    let mut rng = Rng(11);
    let (mut picks, mut whole) = (0, 0);
    for round in 0..3000 {
        let slice = [0, 50 * US as i64, 5 * MS as i64][round % 3];
        let params = [slice, (round / 3 % 2) as i64, i64::from(round % 7 > 0), i64::from(round % 5 > 0)];
        let tasks = rng.within(1, 9);
        let longest = [300 * US, MS, 6 * MS][(round / 6) % 3];
        let programs = rng.programs(tasks, 6, longest);
        let mut bench = Bench::new(("eevdf", &params), 1, MS, &programs, Exact::new(params, &programs));
        bench.tick = [0, 0, MS / 4, 4 * MS][(round / 2) % 4];
        if bench.tick > 0 {
            bench.watch.preempted = true;
        }
        while !bench.watch.ambiguous && bench.tasks[1..].iter().any(|t| t.state != State::Done) {
            bench.run(bench.now + rng.within(1, 4 * longest));
            match rng.within(0, 9) {
                0..3 => bench.yield_on(0),
                3..6 => {
                    let id = TaskId::new(rng.within(1, tasks) as u32);
                    if bench.tasks[id.index()].state != State::Done {
                        bench.set_weight(id, rng.within(15, 4096));
                    }
                }
                _ => {}
            }
        }
        picks += bench.watch.picks;
        whole += u64::from(!bench.watch.ambiguous);
    }
    assert!(picks > 100_000 && whole > 2900, "{picks} picks, {whole} whole runs");
}

/// Equal deadlines, at which the task queued first runs and not the one with the least v. Yields bring them about: they put a
/// deadline off, and v stays.
#[test]
fn eevdf_r3_of_equal_deadlines_the_one_queued_first() {
    let mut rng = Rng(14);
    let slice = 1 << 20; // which the weights divide
    let params = [slice as i64, 0, 1, 0];
    let mut in_turn = 0;
    for _ in 0..1000 {
        let weights: Vec<u64> = (0..rng.within(3, 7)).map(|_| 1024 << rng.within(0, 3)).collect();
        let programs = hogs(&weights);
        let mut bench = Bench::new(("eevdf", &params), 1, slice, &programs, Exact::new(params, &programs));
        for _ in 0..60 {
            bench.run(bench.now + rng.within(0, 8) * slice / 16);
            if rng.within(0, 2) == 0 {
                bench.yield_on(0);
            }
        }
        in_turn += bench.watch.in_turn;
    }
    assert!(in_turn > 100, "{in_turn} such choices");
}

fn hogs(weights: &[u64]) -> Vec<Program> {
    weights.iter().map(|w| Program::new(0, *w, &[1000 * SEC])).collect()
}

/// Service of each task less its part of the time, in ns.
fn errors<W: Watch>(bench: &Bench<W>, weights: &[u64]) -> Vec<f64> {
    let total: u64 = weights.iter().sum();
    let entitled = |w: u64| bench.now as f64 * w as f64 / total as f64;
    bench.tasks[1..].iter().zip(weights).map(|(t, w)| t.service as f64 - entitled(*w)).collect()
}

/// Nice 0, 0, 1, 2 for 8 s, with turns that end at ticks of 1 ms and exactly.
#[test]
fn eevdf_c1_shares_are_as_weights() {
    let weights = [1024, 1024, 820, 655];
    for (tick, bound) in [(MS, 2.4e6), (0, 0.7e6)] {
        let mut bench = Bench::new(("eevdf", &LINUX), 1, MS, &hogs(&weights), Nobody);
        bench.tick = tick;
        for step in 1..=8000 {
            bench.run(step * MS);
            let worst = errors(&bench, &weights).into_iter().map(f64::abs).fold(0.0, f64::max);
            assert!(worst <= bound, "{worst} ns from the ideal at {step} ms, tick {tick}");
        }
        for (error, w) in errors(&bench, &weights).iter().zip(weights) {
            assert!((error / 8e9).abs() <= 0.0002, "weight {w}: {error} ns in 8 s");
        }
    }
}

/// Random sets of tasks that stay, with slices that end exactly: no task is a slice or more from its part (Theorem 1 of
/// the paper, with requests that are all of one size).
#[test]
fn eevdf_c2_lag_is_within_a_slice() {
    let mut rng = Rng(12);
    for _ in 0..60 {
        let weights: Vec<u64> = (0..rng.within(1, 30)).map(|_| rng.within(15, 4096)).collect();
        let mut bench = Bench::new(("eevdf", &[MS as i64, 1, 1, 1]), 1, MS, &hogs(&weights), Nobody);
        for _ in 0..400 {
            bench.run(bench.now + rng.within(1, 5 * MS));
            for error in errors(&bench, &weights) {
                assert!(error.abs() < (MS + US) as f64, "{error} ns at {}: {weights:?}", bench.now);
            }
        }
    }
}

/// A task's lag is what it is entitled to less what it received, and the lags of all add up to nothing.
#[test]
fn eevdf_r1_lag_is_entitled_less_received() {
    let mut rng = Rng(13);
    for _ in 0..40 {
        let weights: Vec<u64> = (0..rng.within(2, 12)).map(|_| rng.within(15, 4096)).collect();
        let programs = hogs(&weights);
        let mut bench = Bench::new(("eevdf", &LINUX), 1, MS, &programs, Exact::new(LINUX, &programs));
        for _ in 0..50 {
            bench.run(bench.now + rng.within(1, 3 * MS));
            let (watch, now) = (&bench.watch, bench.now);
            let total = watch.total() as f64;
            for (error, e) in errors(&bench, &weights).iter().zip(&watch.all[1..]) {
                let charged = if e.place == Place::Running { (now - watch.charged) as f64 } else { 0.0 };
                let lag = e.w as f64 / total * watch.above(e.v, now) as f64 / Weight::NICE_0.fixed() as f64
                    - charged;
                assert!((lag + error).abs() < 100.0, "lag {lag}, but {error} ns too much");
            }
        }
    }
}

/// The schedule with slices of 1 ms: (task, from, to) in us.
fn schedule(params: Params, tasks: &[(u64, u64, &[u64])], until: u64) -> Vec<(u32, u64, u64)> {
    let programs: Vec<Program> = tasks
        .iter()
        .map(|(arrival, weight, steps)| {
            let steps: Vec<u64> = steps.iter().map(|s| s * US).collect();
            Program::new(arrival * US, *weight, &steps)
        })
        .collect();
    let mut bench = Bench::new(("eevdf", &params), 1, MS, &programs, Nobody);
    bench.run(until * US);
    let us = |t: u64| (t + US / 2) / US;
    bench.segments.iter().map(|s| (s.task.get(), us(s.from), us(s.to))).collect()
}

/// Task 1 is at 3 ms with a deadline of 3.5 when task 2 comes, which starts at V = 3 with half a slice. Both of its
/// half slice and what is left of task 1's are due at 3.5: task 1 is running and protected, so it goes to its deadline.
#[test]
fn eevdf_r5_r6_r9_a_new_task_has_half_a_slice_and_waits_for_the_running_one() {
    let one_ms = [MS as i64, 1, 1, 1];
    // New at 0: first deadline 0.5, then 1.5, 2.5, 3.5.
    let got = schedule(one_ms, &[(0, 1024, &[90_000]), (3000, 1024, &[90_000])], 6000);
    // 2 from 3.5 to its deadline, 3.5 on its own scale: half a ms. Then both are at 3.5 and take turns of 1 ms.
    assert_eq!(got[..3], [(1, 0, 3500), (2, 3500, 4000), (1, 4000, 5000)]);
    assert_eq!(got[3], (2, 5000, 6000));
}

/// The same without RUN_TO_PARITY, and the newcomer's deadline earlier: it comes at 2.6 when task 1 is due at 3.5.
#[test]
fn eevdf_r6_without_parity_an_earlier_deadline_preempts() {
    let tasks: [(u64, u64, &[u64]); 2] = [(0, 1024, &[90_000]), (2600, 1024, &[90_000])];
    assert_eq!(schedule([MS as i64, 1, 1, 1], &tasks, 4000)[0], (1, 0, 3500));
    // At 2.6 V is 2.6; task 2 is due at 3.1, and runs until then.
    assert_eq!(schedule([MS as i64, 0, 1, 1], &tasks, 4000)[..2], [(1, 0, 2600), (2, 2600, 3100)]);
    // At 3.0 both are due at 3.5: not before the woken one is not enough to go on.
    let tasks: [(u64, u64, &[u64]); 2] = [(0, 1024, &[90_000]), (3000, 1024, &[90_000])];
    assert_eq!(schedule([MS as i64, 0, 1, 1], &tasks, 4000)[..2], [(1, 0, 3000), (2, 3000, 3500)]);
}

/// Weights 3 to 1: of a slice of 1 ms each, the heavy one's deadlines come three times as often.
#[test]
fn eevdf_r2_r3_r4_deadlines_are_inverse_to_weight() {
    let got = schedule([MS as i64, 1, 1, 1], &[(0, 3072, &[90_000]), (0, 1024, &[90_000])], 16_500);
    let of = |id: u32| got.iter().filter(|s| s.0 == id).map(|s| s.2 - s.1).sum::<u64>();
    assert!(of(1).abs_diff(3 * of(2)) <= 2000, "{got:?}");
    // Virtual slices are 1/3 and 1; first halves 1/6 and 1/2. Task 1 is ahead of V once it has run.
    assert_eq!(got[..3], [(1, 0, 500), (2, 500, 1000), (1, 1000, 3000)]);
}

/// In ms: task 1 sleeps at 1.3, at v = 0.8 with a deadline of 1.5; task 2 is at 0.5, so V is 0.65. It is counted until
/// V reaches 0.8, which is at 1.6.
#[test]
fn eevdf_r7_r10_r11_a_sleeper_with_too_much_is_counted_until_it_has_not() {
    let second_turn = |params, sleep| {
        let got = schedule(params, &[(0, 1024, &[800, sleep, 5000]), (0, 1024, &[90_000])], 10_000);
        assert_eq!(got[..3], [(1, 0, 500), (2, 500, 1000), (1, 1000, 1300)]);
        let again = got.iter().filter(|s| s.0 == 1).nth(2).unwrap();
        (again.1, again.2)
    };
    let one_ms: Params = [MS as i64, 1, 1, 1];
    // Awake at 1.4 it goes on from 0.8, up to its deadline, when the turn of task 2 ends at 2.3.
    assert_eq!(second_turn(one_ms, 100), (2300, 3000));
    // Awake at 1.8, when task 2 is at 1.0 and V at 0.9, it is no better off than if it came then: 1.0 to 2.0.
    assert_eq!(second_turn(one_ms, 500), (2300, 3300));
    // At 2.3 it is to be picked and dropped instead. At 3.4 task 2 is at 2.6, and so is it then: 2.6 to 3.6.
    assert_eq!(second_turn(one_ms, 2100), (4300, 5300));
    // Not counted, it keeps its lag, -0.15: awake at 1.4 it starts at 0.6 + 0.15 * 2, due at 1.9.
    assert_eq!(second_turn([MS as i64, 1, 1, 0], 100), (2300, 3300));
}

/// Forty tasks fall asleep a little ahead of V, and one turn of a light task takes V past all of them. The machine asks the policy again
/// and again, as it forgets 8 at a time, and chooses as one scan does.
#[test]
fn eevdf_r10_all_sleepers_before_the_choice_are_forgotten() {
    let sleeper = |i: u64| Program::new(0, 1024 + i, &[200 * US, 50 * MS, 300 * US, 20 * MS, 1000 * SEC]);
    let programs: Vec<Program> = (0..40).map(sleeper).chain(hogs(&[15, 16])).collect();
    let mut bench = Bench::new(("eevdf", &LINUX), 1, MS, &programs, Exact::new(LINUX, &programs));
    bench.run(SEC);
    let watch = &bench.watch;
    assert!(!watch.ambiguous && watch.most_forgotten > 30, "{} at once", watch.most_forgotten);
    assert!(watch.picks > 500, "{} picks", watch.picks);
}

/// In ms: at 2.3 task 1 is at v = 1.5 and task 2 at 0.8, 0.35 behind V, and it sleeps until 2.7.
#[test]
fn eevdf_r6_r7_r8_lag_is_kept_over_a_sleep() {
    let got = |params| {
        let got = schedule(params, &[(0, 1024, &[90_000]), (0, 1024, &[800, 400, 5000])], 4300);
        assert_eq!(got[..4], [(1, 0, 500), (2, 500, 1000), (1, 1000, 2000), (2, 2000, 2300)]);
        got[4..].to_vec()
    };
    // Task 1 is at 1.9: task 2 comes to 1.9 - 2 * 0.35, which makes V 1.55, so that it is 0.35 behind again. Task 1 is
    // not eligible any more and gives way until 2.2; then V is 2.05.
    assert_eq!(got([MS as i64, 1, 1, 1]), [(1, 2300, 2700), (2, 2700, 3700), (1, 3700, 4300)]);
    // It comes to 1.9 = V, and task 1 has its turn up to its deadline at 2.5.
    assert_eq!(got([MS as i64, 1, 0, 1]), [(1, 2300, 3300), (2, 3300, 4300)]);
}

/// In ms: task 2's weight becomes three times as much at 2.0, when task 1 is at v = 1.5, due at 2.5, and it at 0.5, due at
/// 1.5. From V = 1.0 half a ms back and forth is a third of that now: it is at 0.833, due at 1.167.
#[test]
fn eevdf_r12_a_new_weight_scales_lag_and_deadline() {
    let mut bench = Bench::new(("eevdf", &[MS as i64, 1, 1, 1]), 1, MS, &hogs(&[1024, 1024]), Nobody);
    bench.run(1_999_999);
    bench.set_weight(TaskId::new(2), 3072);
    bench.run(5900 * US);
    // At 3.0 it is at 1.167 and V at 1.25; at 4.0 at 1.5, as V and task 1, and due at 1.833; at 5.0 there, with V at 1.75.
    let got: Vec<_> = bench.segments.iter().map(|s| (s.task.get(), (s.to + US / 2) / US)).collect();
    assert_eq!(got[2..], [(1, 2000), (2, 5000), (1, 5900)]);
}

/// In ms: task 1 yields at 0.2, due at 0.5: after that it is due at 1.5, so task 2 goes first; alone it changes nothing.
#[test]
fn eevdf_r14_a_yield_puts_the_deadline_off() {
    let mut bench = Bench::new(("eevdf", &[MS as i64, 1, 1, 1]), 1, MS, &hogs(&[1024, 1024]), Nobody);
    bench.run(200 * US);
    bench.yield_on(0);
    bench.run(700 * US);
    assert_eq!(bench.segments[1].task, 2);
    assert_eq!(bench.segments[1].to, 700 * US);

    let mut bench = Bench::new(("eevdf", &[MS as i64, 1, 1, 1]), 1, MS, &hogs(&[1024]), Nobody);
    bench.run(200 * US);
    bench.yield_on(0);
    assert_eq!(
        bench.machine.dispatch(CpuId::new(0), 500 * US).unwrap().slice_ns,
        MS,
        "due at 0.5 as before, and then at 1.5"
    );
}

/// 0.7 ms * (1 + log2 CPUs), up to 8 CPUs; half of it for a new task.
#[test]
fn eevdf_r9_r13_slices_grow_with_cpus() {
    for (cpus, slice) in [(1, 700), (2, 1400), (3, 1400), (4, 2100), (8, 2800), (256, 2800)] {
        let mut m = machine(("eevdf", &LINUX), cpus, MS);
        m.add(TaskId::new(1), TaskId::new(1), 512 * Weight::ONE, 0);
        let cpu = m.wake(TaskId::new(1), true, 0).unwrap();
        assert_eq!(m.dispatch(cpu, 0).unwrap().slice_ns, slice * US / 2, "{cpus} CPUs");
    }
}

/// V counts the service of its own tasks. Beside a heavy task that may run on one CPU only, and that eevdf does not see, the others have the
/// schedule that they have alone on the other CPU.
#[test]
fn eevdf_r1_v_leaves_out_tasks_that_the_policy_does_not_see() {
    let mut rng = Rng(16);
    for _ in 0..50 {
        let tasks: Vec<String> = (0..rng.within(2, 5))
            .map(|i| {
                let weight = rng.within(15, 8192);
                format!(
                    "[[task]]\nname = \"T{i}\"\nweight = {weight}\nstart = \"1ms\"\nprogram = [{{ run = \"forever\" }}]\n"
                )
            })
            .collect();
        let slices = |cpus: u32, beside: &str| {
            let toml = format!(
                "cpus = {cpus}\nduration = \"200ms\"\nquantum = \"700us\"\n{beside}{}",
                tasks.concat()
            );
            let example = example::run(&toml, "eevdf:slice=1ms");
            (0..tasks.len()).map(|i| example.slices(&format!("T{i}")).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let pinned = "[[task]]\nname = \"pinned\"\nweight = 100000000\naffinity = [0]\nprogram = [{ run = \"forever\" }]\n";
        assert_eq!(slices(2, pinned), slices(1, ""), "{tasks:?}");
    }
}

/// On several CPUs: all work is done, no CPU idles beside a waiting task (the bench checks), and equal tasks get the same.
#[test]
fn eevdf_c3_on_several_cpus() {
    let mut rng = Rng(14);
    for round in 0..200 {
        let programs = rng.programs(1 + round % 20, 4, 5 * MS);
        let mut bench = Bench::new(("eevdf", &LINUX), 2 + round as usize % 3, MS, &programs, Nobody);
        bench.run(100 * SEC);
        assert!(bench.tasks[1..].iter().all(|t| t.state == State::Done));
    }
    for (cpus, tasks) in [(2, 3), (4, 7), (4, 33)] {
        let mut bench = Bench::new(("eevdf", &LINUX), cpus, MS, &hogs(&vec![1024; tasks]), Nobody);
        bench.run(2 * SEC);
        let service = || bench.tasks[1..].iter().map(|t| t.service);
        let spread = service().max().unwrap() - service().min().unwrap();
        assert!(spread <= 3 * 2800 * US, "{tasks} tasks on {cpus} CPUs: {spread} ns apart");
    }
}
