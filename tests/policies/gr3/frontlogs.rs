//! Frontlogs of clients that come, block, and are removed; clients that may not run everywhere.

use divvy_policy::{CpuId, CpuMask, TaskId};
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

/// CPU 1 is in the middle of C (2) while CPU 0 decides for A and B (1 each) again and again: F_C = 8. Then D
/// (4) comes: F_D = 8 4/8 = 4, on CPU 0, which has none; then E (8): F_E = 12 8/16 = 6, there too, which has 4
/// against 8.
fn with_frontlogs() -> Lockstep {
    let mut two = Lockstep::with("gr3", 2, &[2, 1, 1]);
    two.decide(0);
    two.decide(1);
    assert_eq!(two.running(), [2, C]);
    for _ in 0..9 {
        two.pass(QUANTUM_NS / 10);
        two.decide(0);
    }
    assert_eq!((two.add(4), two.add(8)), (D, E));
    two
}

const C: u32 = 1;
const D: u32 = 4;
const E: u32 = 5;

/// CPU 0 runs D and E in turn and then what is left of E's, CPU 1 runs C, and no CPU asks the queue.
#[test]
fn gr3_r7_r12_arrivals_share_the_frontlog() {
    let mut two = with_frontlogs();
    let ran: Vec<_> = (0..8).map(|_| two.step()).collect();
    assert_eq!(ran.concat(), [[D, C], [E, C]].concat().repeat(4));
    assert_eq!(two.step()[0], E);
    assert_eq!(two.step()[0], E);
}

/// E blocks after two quanta and is back before its turn: it still has the other four of its frontlog.
#[test]
fn gr3_r12_who_blocks_keeps_the_frontlog() {
    let mut two = with_frontlogs();
    let ran: Vec<_> = (0..4).map(|_| two.step()[0]).collect();
    assert_eq!(ran, [D, E, D, E]);
    two.leave(E, false);
    two.wake(E);
    let ran: Vec<_> = (0..6).map(|_| two.step()[0]).collect();
    assert_eq!(ran, [D, E, D, E, E, E]);
}

/// E blocks and is removed when its turn comes. Back as one of weight 1 among 9, one of ten quanta is its due, and the
/// frontlog of 4 that it had is lost.
#[test]
fn gr3_r12_who_is_removed_loses_the_frontlog() {
    let mut two = with_frontlogs();
    two.run(4);
    two.leave(E, false);
    two.run(8);
    two.set_weight(E, 1);
    two.wake(E);
    let before = two.quanta[E as usize];
    two.run(9);
    assert!((1..=3).contains(&(two.quanta[E as usize] - before)), "{:?}", two.quanta);
}

/// Two heavy tasks are pinned to CPU 0, and would be selected 2^30 times each before the light one: CPU 1 gives
/// up on them.
#[test]
fn gr3_d2_pinned_tasks_do_not_hold_up_a_cpu() {
    let mut two = Lockstep::with("gr3", 2, &[1 << 30, 1 << 30, 1]);
    let only_cpu_0 = CpuMask::from_iter([CpuId::new(0)]);
    two.machine.set_allowed(TaskId::new(1), &only_cpu_0, 0);
    two.machine.set_allowed(TaskId::new(2), &only_cpu_0, 0);
    let ran: Vec<_> = (0..4).map(|_| two.step()).collect();
    assert_eq!(ran, [[1, 3], [2, 3], [1, 3], [2, 3]]);
}
