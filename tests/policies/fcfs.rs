//! fcfs: papers/fcfs.md.

use divvy_policy::CpuId;
use divvy_tests::lockstep::Lockstep;

#[test]
fn fcfs_r1_r2_first_until_it_gives_way() {
    let mut one = Lockstep::with("fcfs", 1, &[1, 1, 1]);
    assert_eq!(one.first_cpu(3), [1, 1, 1]);
    one.machine.yielding(CpuId::new(0));
    assert_eq!(one.first_cpu(2), [2, 2]);
    one.leave(2, false);
    assert_eq!(one.first_cpu(2), [3, 3]);
    one.wake(2);
    one.leave(3, true);
    assert_eq!(one.first_cpu(1), [1], "1 gave way before 2 came back");
}
