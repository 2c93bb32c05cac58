//! flow: how long sequences are, what is predicted in a first execution, and the entries that programs share.

use divvy_policy::{Event, TaskId};

use super::{Desk, MS, PROCESS, PROGRAM, SLICE};

/// With loop=1, a process that loops: 64 runs are its sequence, and the period in which it loops is found.
#[test]
fn flow_r8_a_loop_is_predicted_for_ever() {
    for period in [&[125][..], &[20, 125], &[125, 130, 20], &[20, 30, 40, 50, 60, 70, 80, 125]] {
        let mut desk = Desk::new(&[(0, 30 * MS as i64), (5, 64), (6, 1)]);
        desk.start(PROCESS, PROGRAM);
        for i in 0..300 {
            let need = period[i % period.len()] * MS;
            let turns = desk.burst(PROCESS, need, false);
            assert_eq!(turns.continued.contains(&true), need > SLICE && i >= 64, "run {i} of {period:?}");
        }
        let state = desk.state();
        assert_eq!((state.sequence.len(), state.predictions.runs, state.predictions.error_ns), (64, 236, 0));
    }
}

/// Without it, as in the paper, nothing is predicted in the first execution, nor after the end of a sequence.
#[test]
fn flow_r1_r8_the_first_execution_is_not_predicted() {
    for length in [4, 64, 4096] {
        let mut desk = Desk::new(&[(0, 30 * MS as i64), (5, length)]);
        let runs = 2 * length.min(100) as usize;
        for execution in 0..2 {
            let turns = desk.execute(PROGRAM, &vec![125 * MS; runs]);
            let continued = turns.iter().filter(|turns| turns.continued.contains(&true)).count();
            let known = if execution == 0 { 0 } else { runs.min(length as usize) };
            assert_eq!(continued, known, "execution {execution}, {runs} runs, length {length}");
        }
        assert_eq!(desk.state().sequence.len(), runs.min(length as usize));
    }
}

/// A program without a pattern, of 200 runs: the second execution is as the first, so nothing is predicted wrongly.
#[test]
fn flow_r8_long_irregular_programs_are_known() {
    let mut at = 12_345_u64;
    let mut irregular = |_| {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (1 + (at >> 33) % 199) * MS
    };
    let runs: Vec<u64> = (0..200).map(&mut irregular).collect();
    let mut desk = Desk::with_tm(0);
    desk.execute(PROGRAM, &runs);
    assert_eq!(desk.state().predictions.runs, 0, "the first execution is logged only");
    desk.execute(PROGRAM, &runs);
    let last = desk.state().last;
    assert_eq!((last.runs, last.error_ns), (200, 0));
    assert_eq!(desk.sequence(), runs);
}

/// 16,383 chunks of 16 entries are shared: a program that needs one when none is left takes those of the program executed
/// longest ago, and one in execution keeps its own.
#[test]
fn flow_r9_entries_are_shared() {
    const CHUNKS: usize = 16_383;
    let mut desk = Desk::new(&[(5, 65_535)]);
    let tell = |desk: &mut Desk, program: u64, entries: usize| {
        for at in 0..entries {
            let learn = Event::Learn { program, at: at as u16, run_ns: at as u64 + 1, wait_ns: 0 };
            desk.machine.tell(&learn, desk.now);
        }
    };
    let name = |i: u64| (100 + i) << 32 | (1 + i);
    // Three of 4,095 chunks each, one of 4,094, and one of four: that is all.
    for (i, chunks) in [4095, 4095, 4095, 4094, 4].into_iter().enumerate() {
        tell(&mut desk, name(i as u64), chunks * 16);
    }
    let entries = |desk: &Desk, i: u64| desk.machine.program(name(i)).map(|state| state.sequence.len());
    assert_eq!(
        (0..5).map(|i| entries(&desk, i)).collect::<Option<Vec<_>>>().unwrap().iter().sum::<usize>(),
        CHUNKS * 16
    );
    desk.start(TaskId::new(3), name(0));
    desk.execute(PROGRAM, &[MS; 17]);
    assert_eq!(desk.sequence(), [MS; 17]);
    let left: Vec<Option<usize>> = (0..5).map(|i| entries(&desk, i)).collect();
    assert_eq!(left, [Some(65_520), None, Some(65_520), Some(65_504), Some(64)]);
    assert_eq!(
        desk.machine.program(name(3)).unwrap().sequence[65_503],
        (65_504, 0),
        "entries of others are as they were"
    );
}
