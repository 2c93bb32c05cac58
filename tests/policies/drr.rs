//! drr: papers/drr.md. The tests that it shares with wrr are in `wrr.rs`.

use divvy_policy::CpuId;
use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

/// Every other turn of 1 lasts half a quantum longer than it should, the next is cut by as much; those of 2 are cut to
/// quarters. Over rounds no task gains.
#[test]
fn drr_r2_overruns_are_owed() {
    let mut one = Lockstep::with("drr", 1, &[1, 1]);
    let (mut service, mut turns) = ([0; 3], 0);
    for _ in 0..60 {
        one.decide(0);
        let task = one.running()[0];
        turns += u64::from(task == 1);
        let ran = if task == 1 { QUANTUM_NS / 2 * (1 + turns % 2 * 2) } else { QUANTUM_NS / 4 };
        service[task as usize] += ran;
        one.pass(ran);
        assert!(service[1].abs_diff(service[2]) <= QUANTUM_NS * 3 / 2, "{service:?}");
    }
}

/// The slice is the deficit: three quanta are one slice, and its unused part is left.
#[test]
fn drr_r2_the_slice_is_the_deficit() {
    let mut one = Lockstep::with("drr", 1, &[1, 3]);
    assert_eq!(one.first_cpu(1), [1]);
    assert_eq!(one.machine.dispatch(CpuId::new(0), QUANTUM_NS).unwrap().slice_ns, 3 * QUANTUM_NS);
}
