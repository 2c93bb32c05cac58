//! rr: papers/rr.md.

use divvy_tests::lockstep::{Lockstep, QUANTUM_NS};

#[test]
fn rr_r1_r2_to_the_end_of_the_line() {
    let mut one = Lockstep::with("rr", 1, &[1, 5, 1]);
    assert_eq!(one.first_cpu(4), [1, 2, 3, 1]);
    // 1 was stopped and is last; 4 is behind it, and 2, when it comes back, behind that.
    one.leave(2, false);
    assert_eq!(one.first_cpu(1), [3]);
    one.add(1);
    one.wake(2);
    assert_eq!(one.first_cpu(5), [1, 4, 2, 3, 1]);
}

/// Two CPUs, four tasks: the line moves on by two each quantum.
#[test]
fn rr_r2_on_two_cpus() {
    let mut two = Lockstep::with("rr", 2, &[1; 4]);
    let ran: Vec<_> = (0..3).map(|_| two.step()).collect();
    assert_eq!(ran, [[1, 2], [3, 4], [1, 2]]);
    two.pass(QUANTUM_NS);
    assert_eq!(two.step(), [3, 4]);
}
