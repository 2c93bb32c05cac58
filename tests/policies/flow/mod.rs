//! flow: rule by rule on a desk with one CPU, a hog and a process whose program is known; and against the paper's own
//! words, transcribed in `paper.rs`.

mod figures;
mod length;
mod paper;

use divvy_policy::{CpuId, Event, Machine, MachineConfig, ProgramState, TaskId, Weight};
use divvy_sim::oracle::whole;
use divvy_workload::Workload;
use num_traits::Signed as _;
use proptest::prelude::*;

use self::paper::Controller;
use divvy_tests::cases::for_all;
use divvy_tests::record::run;

const MS: u64 = 1_000_000;
const SLICE: u64 = 100 * MS;
const PROGRAM: u64 = 0x0123_4567_89ab_cdef;
const HOG: TaskId = TaskId::new(1);
const PROCESS: TaskId = TaskId::new(2);

/// One CPU; the hog waits whenever it does not run.
struct Desk {
    machine: Machine,
    now: u64,
    on: Option<TaskId>,
    since: u64,
}

/// A record of one run of the process.
#[derive(Debug, Default, PartialEq, Eq)]
struct Turns {
    /// How long each stretch of service could last at most.
    slices: Vec<u64>,
    /// For each timeslice that ended: whether the process went on.
    continued: Vec<bool>,
}

impl Desk {
    /// `params` are indices of flow's parameters, in the order Tm, slot, x, y, early, length, loop, and their values.
    fn new(params: &[(usize, i64)]) -> Desk {
        let params: Vec<(&str, usize, i64)> = params.iter().map(|&(i, raw)| ("flow", i, raw)).collect();
        let machine =
            Machine::new(&MachineConfig::new("rr", 1, SLICE).with_modifiers(&["flow"]).with_params(&params))
                .unwrap();
        let mut desk = Desk { machine, now: 1, on: None, since: 0 };
        desk.machine.add(HOG, HOG, Weight::NICE_0, 1);
        desk.machine.wake(HOG, true, 1);
        desk.dispatch();
        desk
    }

    fn with_tm(tm: u64) -> Desk {
        Desk::new(&[(0, tm as i64)])
    }

    /// The process of `program` starts: it is the second task of the machine, or another.
    fn start(&mut self, task: TaskId, program: u64) {
        self.machine.add(task, task, Weight::NICE_0, self.now);
        self.machine.tell(&Event::SetProgram { task, program }, self.now);
    }

    /// The task that runs from now on, and for how long at most.
    fn dispatch(&mut self) -> (TaskId, u64) {
        let decision = self.machine.dispatch(CpuId::new(0), self.now).expect("the hog always waits");
        if self.on != Some(decision.task) {
            if let Some(on) = self.on {
                self.machine.requeue(on, self.now - self.since, self.now);
            }
            self.machine.running(decision.task, self.now);
            (self.on, self.since) = (Some(decision.task), self.now);
        }
        (decision.task, decision.slice_ns)
    }

    /// The process wakes, uses `need` of CPU time, and blocks or exits.
    fn burst(&mut self, task: TaskId, need: u64, exits: bool) -> Turns {
        let mut turns = Turns::default();
        let mut left = need;
        self.machine.wake(task, false, self.now);
        loop {
            let (chosen, slice) = self.dispatch();
            if chosen == HOG {
                self.now += SLICE;
                continue;
            }
            turns.slices.push(slice);
            if left <= slice {
                self.now += left;
                break;
            }
            self.now += slice;
            left -= slice;
            let (next, more) = self.dispatch();
            turns.continued.push(next == task);
            if next == HOG {
                self.now += SLICE;
                continue;
            }
            turns.slices.push(more);
            if left <= more {
                self.now += left;
                break;
            }
            self.now += more;
            left -= more;
        }
        self.machine.block(task, self.now - self.since, exits, self.now);
        self.on = None;
        if exits {
            self.machine.remove(task, self.now);
        }
        self.dispatch();
        turns
    }

    /// A whole execution: its bursts, 1 s of sleep between them.
    fn execute(&mut self, program: u64, bursts: &[u64]) -> Vec<Turns> {
        self.start(PROCESS, program);
        let last = bursts.len() - 1;
        let turns = bursts.iter().enumerate().map(|(i, &need)| {
            self.now += 10 * SLICE;
            self.burst(PROCESS, need, i == last)
        });
        turns.collect()
    }

    fn state(&self) -> ProgramState {
        self.machine.program(PROGRAM).expect("it was executed")
    }

    fn sequence(&self) -> Vec<u64> {
        self.state().sequence.iter().map(|&(run, _)| run).collect()
    }
}

fn ms(values: &[u64]) -> Vec<u64> {
    values.iter().map(|v| v * MS).collect()
}

/// Section 3.1: stretches with waits for the CPU between them are one entry, the sum of their run states.
#[test]
fn flow_r1_the_first_execution_is_logged() {
    let mut desk = Desk::with_tm(70 * MS);
    let turns = desk.execute(PROGRAM, &ms(&[30, 250, 125]));
    assert_eq!(desk.sequence(), ms(&[30, 250, 125]));
    assert!(turns.iter().flat_map(|t| &t.continued).all(|continued| !continued), "nothing is predicted yet");
    let waits: Vec<u64> = desk.state().sequence.iter().map(|&(_, wait)| wait).collect();
    assert_eq!(waits, [1000 * MS, 1000 * MS, 0], "until it was runnable, not until it ran");
    assert_eq!((desk.state().executions, desk.state().predictions.runs), (1, 0));
}

/// Another that begins while the first is being logged is neither logged nor predicted.
#[test]
fn flow_r1_one_execution_is_logged_at_a_time() {
    for before_the_first_run in [false, true] {
        let mut desk = Desk::with_tm(70 * MS);
        desk.start(PROCESS, PROGRAM);
        if before_the_first_run {
            desk.start(TaskId::new(3), PROGRAM);
        }
        desk.burst(PROCESS, 125 * MS, false);
        if !before_the_first_run {
            desk.start(TaskId::new(3), PROGRAM);
        }
        assert_eq!(desk.burst(TaskId::new(3), 150 * MS, false).continued, [false]);
        desk.burst(PROCESS, 125 * MS, false);
        desk.burst(PROCESS, 125 * MS, true);
        // The first of these was expected before there was a sequence, the second when there was one.
        for last in [false, true] {
            assert_eq!(
                desk.burst(TaskId::new(3), 125 * MS, last).continued,
                [false],
                "it began when there was no sequence"
            );
        }
        assert_eq!(desk.sequence(), ms(&[125, 125, 125]));
        assert_eq!(desk.execute(PROGRAM, &ms(&[125]))[0].continued, [true]);
    }
}

#[test]
fn flow_r2_the_delay_is_in_whole_timeslots_rounded_down() {
    for (tm, slot, expected) in [(45, 20, 40), (40, 20, 40), (39, 20, 20), (19, 20, 0), (7, 1, 7)] {
        let mut desk = Desk::new(&[(0, tm * MS as i64), (1, slot * MS as i64)]);
        desk.execute(PROGRAM, &ms(&[101]));
        let turns = desk.execute(PROGRAM, &ms(&[101]));
        assert_eq!(turns[0].continued, [expected > 0], "Tm = {tm}, slot = {slot}");
        if expected > 0 {
            assert_eq!(turns[0].slices[1], expected as u64 * MS);
        }
    }
}

/// Section 2.2, and section 7 of our notes: the threshold is "at most", and what is overdue is not near.
#[test]
fn flow_r3_who_is_near_continues() {
    for (work, tm, continues) in [
        (125, 25, true),
        (125, 24, false),
        (150, 50, true),
        (150, 49, false),
        (200, 99, false),
        (300, 70, false),
    ] {
        let mut desk = Desk::with_tm(tm * MS);
        desk.execute(PROGRAM, &ms(&[work]));
        assert_eq!(desk.execute(PROGRAM, &ms(&[work]))[0].continued[0], continues, "{work} ms, Tm = {tm} ms");
    }
    let mut desk = Desk::with_tm(70 * MS);
    desk.execute(PROGRAM, &ms(&[90]));
    assert_eq!(desk.execute(PROGRAM, &ms(&[120]))[0].continued, [false], "T_e is below 0");
    let mut desk = Desk::with_tm(70 * MS);
    desk.execute(PROGRAM, &ms(&[100]));
    assert_eq!(desk.execute(PROGRAM, &ms(&[120]))[0].continued, [true], "T_e is 0: it is about to release");
}

/// A run of several timeslices: the last end of one is put off, whichever it is.
#[test]
fn flow_r3_t_e_goes_on_from_slice_to_slice() {
    let mut desk = Desk::with_tm(30 * MS);
    desk.execute(PROGRAM, &ms(&[320]));
    let turns = &desk.execute(PROGRAM, &ms(&[320]))[0];
    assert_eq!(turns.continued, [false, false, true]);
    assert_eq!((desk.state().delays, desk.state().met), (1, 1));
}

#[test]
fn flow_r4_predictions_converge_geometrically() {
    let mut desk = Desk::with_tm(0);
    desk.execute(PROGRAM, &ms(&[100]));
    let mut seen = Vec::new();
    for _ in 0..3 {
        desk.execute(PROGRAM, &ms(&[120]));
        seen.push(desk.sequence()[0]);
    }
    assert_eq!(seen, [110 * MS, 115 * MS, 117_500_000]);
    // A fifth of what it is too great goes at each execution: y = 20.
    let mut desk = Desk::new(&[(0, 0), (3, 20)]);
    desk.execute(PROGRAM, &ms(&[100]));
    desk.execute(PROGRAM, &ms(&[50]));
    desk.execute(PROGRAM, &ms(&[50]));
    assert_eq!(desk.sequence(), ms(&[82]));
    // x = 0 and y = 0 keep it, x = 100 and y = 100 take the latest.
    for (percent, expected) in [(0, 100), (100, 50)] {
        let mut desk = Desk::new(&[(2, percent), (3, percent)]);
        desk.execute(PROGRAM, &ms(&[100]));
        desk.execute(PROGRAM, &ms(&[200]));
        desk.execute(PROGRAM, &ms(&[50]));
        assert_eq!(desk.sequence(), ms(&[expected]));
    }
}

/// The error is what was predicted less what was used, of each run, and shrinks by half at each execution.
#[test]
fn flow_r4_accuracy_is_counted() {
    let mut desk = Desk::with_tm(0);
    desk.execute(PROGRAM, &ms(&[100, 60]));
    let mut errors = Vec::new();
    for _ in 0..4 {
        desk.execute(PROGRAM, &ms(&[180, 20]));
        let last = desk.state().last;
        assert_eq!((last.runs, last.actual_ns), (2, 200 * MS));
        errors.push(last.error_ns);
    }
    assert_eq!(errors, ms(&[120, 60, 30, 15]));
    let all = desk.state().predictions;
    assert_eq!((all.runs, all.actual_ns, all.error_ns), (8, 800 * MS, 225 * MS));
}

#[test]
fn flow_r5_the_sequence_is_followed_from_its_beginning() {
    let mut desk = Desk::with_tm(30 * MS);
    desk.execute(PROGRAM, &ms(&[120, 20, 320, 150]));
    for _ in 0..2 {
        let turns = desk.execute(PROGRAM, &ms(&[120, 20, 320, 150]));
        let continued: Vec<Vec<bool>> = turns.into_iter().map(|t| t.continued).collect();
        assert_eq!(continued, [vec![true], vec![], vec![false, false, true], vec![false]]);
    }
    // exec: the process goes on with another program, whose first execution this is.
    desk.start(PROCESS, PROGRAM);
    desk.burst(PROCESS, 120 * MS, false);
    desk.machine.tell(&Event::SetProgram { task: PROCESS, program: 77 }, desk.now);
    assert_eq!(desk.burst(PROCESS, 120 * MS, true).continued, [false]);
    assert_eq!(desk.state().executions, 4);
}

/// Its service before an exec is not the new program's.
#[test]
fn flow_r5_an_exec_in_the_middle_of_a_run_begins_a_run() {
    let mut desk = Desk::with_tm(0);
    desk.start(PROCESS, 5);
    desk.machine.wake(PROCESS, true, desk.now);
    while desk.dispatch().0 != PROCESS {
        desk.now += SLICE;
    }
    desk.now += 7 * MS;
    desk.machine.tell(&Event::SetProgram { task: PROCESS, program: PROGRAM }, desk.now);
    desk.now += 12 * MS;
    desk.machine.block(PROCESS, 19 * MS, true, desk.now);
    desk.machine.remove(PROCESS, desk.now);
    assert_eq!(desk.sequence(), ms(&[12]));
    assert_eq!(desk.machine.program(5).expect("it was executed").sequence, [(7 * MS, 0)]);
}

/// The prediction is 120 ms and the run never ends: it has Tm more, once a slice, and then slices as every task has.
#[test]
fn flow_r6_a_delay_is_bounded() {
    let mut desk = Desk::with_tm(40 * MS);
    desk.execute(PROGRAM, &ms(&[120]));
    let turns = &desk.execute(PROGRAM, &ms(&[1000]))[0];
    assert_eq!(turns.slices[..3], ms(&[100, 40, 100]));
    assert!(turns.continued[0]);
    assert!(turns.continued[1..].iter().all(|continued| !continued), "it is overdue");
    assert_eq!((desk.state().delays, desk.state().met), (1, 0));
}

/// However wrong: no turn is longer than its timeslice and Tm.
#[test]
fn flow_r6_no_turn_is_longer_than_a_timeslice_and_tm() {
    let bursts = prop::collection::vec(1..=500_u64, 1..=8);
    for_all(100, 21, (prop::collection::vec(bursts, 2..=5), 0..=120_u64), |(executions, tm)| {
        let mut desk = Desk::with_tm(tm * MS);
        for bursts in &executions {
            for turns in desk.execute(PROGRAM, &ms(bursts)) {
                let mut slices = turns.slices.iter();
                for continued in &turns.continued {
                    assert_eq!(*slices.next().expect("a slice for each end"), SLICE);
                    if *continued {
                        assert_eq!(slices.next(), Some(&(tm * MS)));
                    }
                }
            }
        }
    });
}

#[test]
fn flow_r7_a_longer_execution_makes_the_sequence_longer() {
    let mut desk = Desk::with_tm(30 * MS);
    desk.execute(PROGRAM, &ms(&[120]));
    let turns = desk.execute(PROGRAM, &ms(&[120, 130]));
    assert_eq!(turns[1].continued, [false], "it was not known");
    assert_eq!(desk.sequence(), ms(&[120, 130]));
    assert_eq!(desk.execute(PROGRAM, &ms(&[120, 130]))[1].continued, [true]);
    desk.execute(PROGRAM, &ms(&[120]));
    assert_eq!(desk.sequence(), ms(&[120, 130]), "a shorter one leaves the rest");
}

/// Three programs that share both of their places: the one executed longest ago makes room, but not one in execution.
#[test]
fn flow_r9_programs_make_room() {
    let [a, b, c, d] = [1_u64, 2, 3, 4].map(|upper| upper << 48 | 2 << 32 | 1);
    let known = |desk: &Desk, program| desk.machine.program(program).is_some();
    let mut desk = Desk::with_tm(0);
    desk.execute(a, &ms(&[10]));
    desk.execute(b, &ms(&[10]));
    assert!(known(&desk, a) && known(&desk, b));
    desk.execute(a, &ms(&[10]));
    desk.start(PROCESS, c);
    assert!(known(&desk, a) && !known(&desk, b) && known(&desk, c));
    desk.start(TaskId::new(3), a);
    desk.start(TaskId::new(4), d);
    assert!(known(&desk, a) && known(&desk, c) && !known(&desk, d));
    assert!(desk.burst(TaskId::new(4), 10 * MS, true).continued.is_empty());
}

#[test]
fn flow_r10_sequences_of_earlier_runs_are_learned() {
    let mut desk = Desk::with_tm(30 * MS);
    for (at, run) in [120, 20, 110].into_iter().enumerate() {
        let learn = Event::Learn { program: PROGRAM, at: at as u16, run_ns: run * MS, wait_ns: 5 * MS };
        desk.machine.tell(&learn, desk.now);
    }
    assert_eq!(desk.sequence(), ms(&[120, 20, 110]));
    let turns = desk.execute(PROGRAM, &ms(&[120, 20, 110]));
    assert_eq!((&turns[0].continued[..], &turns[2].continued[..]), (&[true][..], &[true][..]));
    // Out of order, or of a program that is being executed, they are not taken.
    desk.machine.tell(&Event::Learn { program: 9, at: 1, run_ns: 1, wait_ns: 0 }, desk.now);
    assert!(desk.machine.program(9).is_none());
    desk.machine.tell(&Event::Learn { program: PROGRAM, at: 4, run_ns: 1, wait_ns: 0 }, desk.now);
    assert_eq!(desk.sequence().len(), 3);
    desk.start(PROCESS, PROGRAM);
    desk.machine.tell(&Event::Learn { program: PROGRAM, at: 3, run_ns: 1, wait_ns: 0 }, desk.now);
    assert_eq!(desk.sequence().len(), 3);
}

/// A run of 250 ms takes three timeslices, of which the first gives up what the run does not need: it ends when it
/// would have, and the hog has the CPU 50 ms earlier.
#[test]
fn flow_r11_early_switching_gives_up_what_is_not_needed() {
    let turns_of = |early: i64, work: u64| {
        let mut desk = Desk::new(&[(0, 20 * MS as i64), (4, early)]);
        desk.execute(PROGRAM, &ms(&[work]));
        let began = desk.now + 10 * SLICE;
        let turns = desk.execute(PROGRAM, &ms(&[work])).remove(0);
        (turns.slices, desk.now - began)
    };
    assert_eq!(turns_of(0, 250).0, ms(&[100, 100, 100]));
    assert_eq!(turns_of(1, 250).0, ms(&[50, 100, 100]));
    assert_eq!(turns_of(0, 250).1, turns_of(1, 250).1, "it ends at the same time");
    for work in [80, 100, 115, 220, 300] {
        assert_eq!(turns_of(0, work), turns_of(1, work), "{work} ms: nothing to give up, or a delay does it");
    }
}

/// As the paper's section 3.2 has it, decision by decision and T_p by T_p; where it is silent (delays that fail), the
/// process is not looked at.
#[test]
fn flow_r3_r4_r5_as_the_paper_has_it() {
    let bursts = prop::collection::vec((1..=400_u64, prop::collection::vec(-30..=30_i64, 6)), 1..=6);
    let params = (0..=100_u64, 0..=100_u32, 0..=100_u32);
    for_all(300, 22, (bursts, params), |(bursts, (tm, x, y))| {
        let mut desk = Desk::new(&[(0, (tm * MS) as i64), (2, x.into()), (3, y.into())]);
        let first: Vec<u64> = bursts.iter().map(|(first, _)| first * MS).collect();
        desk.execute(PROGRAM, &first);
        let mut paper = Controller::new(&first, tm * MS, x, y);
        for execution in 0..6 {
            desk.start(PROCESS, PROGRAM);
            paper.created();
            for (i, (first, changes)) in bursts.iter().enumerate() {
                let need = first.saturating_add_signed(changes[execution]).max(1) * MS;
                let turns = desk.burst(PROCESS, need, i + 1 == bursts.len());
                if turns.continued.contains(&true) && turns.slices.len() > turns.continued.len() + 1 {
                    return; // it was wrong, and the delay came to its end
                }
                follow(&mut paper, &turns, need);
            }
            for (ours, theirs) in desk.sequence().iter().zip(&paper.pfs) {
                let rounded = (whole(*ours) - theirs).abs();
                assert!(rounded < whole(100), "T_p is {ours} ns, the paper's {theirs}");
            }
        }
    });
}

/// Tells the paper's controller what happened; it must have decided so. Time is that of the CPU alone.
fn follow(paper: &mut Controller, turns: &Turns, need: u64) {
    let mut now = 1;
    paper.runs(now);
    for continued in &turns.continued {
        now += SLICE;
        assert_eq!(paper.expires(now), *continued, "{turns:?}");
        paper.runs(now);
    }
    let served = turns.continued.len() as u64 * SLICE;
    paper.blocks(now + need - served);
}

/// The prediction is used up together with the timeslice, and the run goes on.
#[test]
fn flow_r3_without_a_delay_nobody_is_delayed_by_nothing() {
    let mut desk = Desk::with_tm(0);
    desk.execute(PROGRAM, &ms(&[100]));
    assert_eq!(desk.execute(PROGRAM, &ms(&[120]))[0].continued, [false]);
    assert_eq!(desk.machine.program(PROGRAM).expect("it was executed").delays, 0);
}

/// Tm = 0 is as without the modifier, slice by slice.
#[test]
fn flow_r3_without_a_delay_nothing_changes() {
    let toml = r#"
        cpus = 2
        quantum = "3ms"
        duration = "3s"
        task = [
            { name = "hog", count = 2, program = [ { run = "forever" } ] },
            { name = "users", count = 3, arrivals = { closed = { exp = "10ms" } }, program = [ { run = { exp = "5ms" } }, { sleep = "2ms" }, { run = "4ms" } ] },
            { name = "jobs", nice = 5, arrivals = { open = { exp = "20ms" } }, program = [ { run = { exp = "6ms" } } ] },
        ]
    "#;
    let workload = Workload::parse(toml, "quiet.toml").unwrap_or_else(|e| panic!("{e}"));
    for selection in ["rr", "sfq", "gr3", "eevdf", "cfs", "pbs:alpha=2"] {
        let without = run(&workload, selection, 3);
        let with = run(&workload, &format!("{selection}+flow:Tm=0"), 3);
        assert_eq!(without.slices, with.slices, "{selection}");
        assert_eq!(without.run.decisions, with.run.decisions, "{selection}");
        let delayed = run(&workload, &format!("{selection}+flow:Tm=3ms"), 3);
        assert_ne!(without.slices, delayed.slices, "{selection}: the workload has delays to make");
    }
}
