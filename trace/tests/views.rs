//! Rows of latencies and lists of turns, against perf and against a computation on the text by itself.

use divvy_results::schedule::State;
use divvy_trace::{Per, ReadOptions, Recording, history, latencies, read};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

fn path(kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join(format!("../examples/compile-beside-interactive.perf.{kind}"))
}

fn example(kind: &str) -> Recording {
    read(&path(kind), &ReadOptions::default()).expect("the committed recording")
}

/// One thread, as the text has it: its turns as (CPU, end, length, delay after a wake-up).
#[derive(Default)]
struct Seen {
    on: Option<(u32, u64)>,
    asleep: bool,
    woken: Option<u64>,
    delay: Option<u64>,
    turns: Vec<(u32, u64, u64, Option<u64>)>,
    /// A switch was missing.
    is_broken: bool,
    /// It was woken while its switch was not recorded yet: such delays are not compared.
    is_early: bool,
}

/// Switches and wake-ups of the text, split at blanks: its names have none. Times are in ns.
fn seen() -> BTreeMap<i32, Seen> {
    let text = std::fs::read_to_string(path("txt")).expect("the text");
    let mut threads: BTreeMap<i32, Seen> = BTreeMap::new();
    let mut on_cpu: BTreeMap<u32, i32> = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let value = |key: &str| words.iter().find_map(|word| word.strip_prefix(key));
        let number = |key: &str| -> i32 { value(key).expect(key).parse().expect("a number") };
        let cpu: u32 = words[2].trim_matches(['[', ']']).parse().expect("a CPU");
        let t: u64 = words[3].trim_end_matches(':').replace('.', "").parse().expect("a time");
        match words[4] {
            "sched:sched_switch:" => {
                let (prev, next) = (number("prev_pid="), number("next_pid="));
                let known = on_cpu.insert(cpu, next);
                let leaver = threads.entry(prev).or_default();
                match leaver.on.take() {
                    Some((at, since)) if at == cpu && known == Some(prev) => {
                        let delay = leaver.delay.take();
                        leaver.turns.push((cpu, t, t - since, delay));
                    }
                    _ => leaver.is_broken = true,
                }
                leaver.asleep = !value("prev_state=").expect("a state").starts_with('R');
                if let Some(known) = known.filter(|known| *known != prev) {
                    threads.entry(known).or_default().is_broken = true;
                }
                let comer = threads.entry(next).or_default();
                comer.delay = comer.woken.take().map(|woken| t - woken);
                (comer.on, comer.asleep) = (Some((cpu, t)), false);
            }
            "sched:sched_waking:" => {
                let sleeper = threads.entry(number("pid=")).or_default();
                sleeper.is_early |= sleeper.on.is_some();
                if sleeper.asleep {
                    (sleeper.asleep, sleeper.woken) = (false, Some(t));
                }
            }
            "sched:sched_wakeup_new:" => threads.entry(number("pid=")).or_default().woken = Some(t),
            _ => {}
        }
    }
    threads
}

#[test]
fn turns_and_latencies_are_those_of_the_text() {
    let recording = example("txt");
    let turns = history(&recording);
    assert!(turns.windows(2).all(|pair| pair[0].end_ns <= pair[1].end_ns));
    let inferred: BTreeSet<i32> = recording
        .threads
        .iter()
        .filter(|thread| thread.intervals.iter().any(|interval| interval.inferred))
        .map(|thread| thread.tid)
        .collect();
    let rows = latencies(&recording, Per::Thread);
    let (mut compared, mut delays) = (0, 0);
    for (tid, seen) in seen() {
        if tid == 0 || seen.is_broken || inferred.contains(&tid) || seen.turns.is_empty() {
            continue;
        }
        compared += 1;
        let of_thread = turns.iter().filter(|turn| recording.threads[turn.thread].tid == tid);
        let got: Vec<_> = of_thread
            .clone()
            .filter(|turn| turn.left.is_some())
            .map(|turn| (turn.cpu.get(), turn.end_ns + recording.origin_ns, turn.run_ns))
            .collect();
        let expected: Vec<_> = seen.turns.iter().map(|&(cpu, end, run, _)| (cpu, end, run)).collect();
        assert_eq!(got, expected, "{tid}");
        for (turn, (.., delay)) in of_thread.zip(&seen.turns) {
            if let (Some(got), Some(expected)) = (turn.delay_ns, delay) {
                assert_eq!(got, *expected, "{tid} at {}", turn.end_ns);
                delays += 1;
            }
        }
        let row = rows.iter().find(|row| row.tid == Some(tid)).expect("a row");
        let run_ns: u64 = seen.turns.iter().map(|(_, _, run, _)| run).sum();
        assert_eq!((row.run_ns, row.runs), (run_ns, seen.turns.len() as u64), "{tid}");
        if seen.is_early {
            continue;
        }
        let known: Vec<u64> = seen.turns.iter().filter_map(|(.., delay)| *delay).collect();
        let (count, max) = (known.len() as u64, known.iter().copied().max().unwrap_or(0));
        assert!(row.delay.count.abs_diff(count) <= 1, "{tid}: {} against {count}", row.delay.count); // the first may be cut
        assert!(row.delay.max_ns <= max, "{tid}");
        if row.delay.count == count {
            let mean = known.iter().sum::<u64>() / count.max(1);
            assert_eq!((row.delay.max_ns, row.delay.mean_ns), (max, mean), "{tid}");
        }
    }
    assert!(compared > 100 && delays > 500, "{compared} threads, {delays} delays");
}

/// `perf sched timehist` (perf 6.1): time, CPU, thread, wait, delay and run in ms, of lines where no switch is missing.
#[test]
fn turns_are_those_of_perf() {
    let recording = example("data");
    let turns = history(&recording);
    let perf = [
        (3_192_254_267, 0, 28_260, 0, 40, 632),
        (3_192_724_037, 1, 28_295, 0, 106, 2738),
        (3_192_724_062, 0, 28_292, 1225, 0, 4344),
        (3_192_728_046, 0, 28_289, 8024, 0, 3966),
        (3_192_728_080, 1, 28_286, 4003, 0, 4043),
        (3_192_728_109, 0, 28_292, 3983, 0, 63),
    ];
    for (end_us, cpu, tid, wait_us, delay_us, run_us) in perf {
        let found = turns.iter().find(|turn| {
            (turn.end_ns + recording.origin_ns) / 1000 == end_us && recording.threads[turn.thread].tid == tid
        });
        let turn = found.expect("the turn");
        assert_eq!((turn.cpu.get(), turn.run_ns / 1000), (cpu, run_us), "{tid}");
        assert_eq!(turn.delay_ns.unwrap_or(0) / 1000, delay_us, "{tid}");
        assert_eq!(turn.wait_ns / 1000, wait_us, "{tid}");
    }
    // Its summary: times on a CPU, and CPU time.
    let row =
        latencies(&recording, Per::Thread).into_iter().find(|row| row.tid == Some(28_262)).expect("a row");
    assert_eq!((row.runs, row.run_ns / 1000), (308, 314_000));
    assert_eq!((row.name.as_str(), row.threads), ("interactive", 1));
}

#[test]
fn threads_of_a_name_share_a_row() {
    let recording = example("data");
    let (all, each) = (latencies(&recording, Per::Name), latencies(&recording, Per::Thread));
    let cc1 = all.iter().find(|row| row.name == "cc1").expect("cc1");
    assert_eq!((cc1.threads, cc1.tid), (40, None));
    let of_each = each.iter().filter(|row| row.name == "cc1");
    assert_eq!(cc1.run_ns, of_each.clone().map(|row| row.run_ns).sum::<u64>());
    assert_eq!(cc1.delay.max_ns, of_each.map(|row| row.delay.max_ns).max().expect("some"));
    assert!(all.windows(2).all(|pair| pair[0].run_ns >= pair[1].run_ns));
    let dead = history(&recording).iter().filter(|turn| turn.left == Some(State::Dead)).count();
    assert!(dead > 100, "{dead}");
}
