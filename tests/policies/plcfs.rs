//! plcfs: papers/plcfs.md.

use divvy_policy::CpuId;
use divvy_tests::bench::ends_of_four_jobs;
use divvy_tests::lockstep::Lockstep;

#[test]
fn plcfs_r1_r2_four_jobs() {
    assert_eq!(ends_of_four_jobs(("plcfs", &[])), [12.0, 8.5, 8.0, 7.0]);
}

#[test]
fn plcfs_r3_to_the_bottom() {
    let mut one = Lockstep::with("plcfs", 1, &[1, 1, 1]);
    assert_eq!(one.first_cpu(2), [3, 3]);
    one.machine.yielding(CpuId::new(0));
    assert_eq!(one.first_cpu(2), [2, 2]);
    one.leave(2, false);
    assert_eq!(one.first_cpu(1), [1]);
    one.leave(1, false);
    assert_eq!(one.first_cpu(1), [3]);
    one.wake(2);
    assert_eq!(one.first_cpu(1), [2]);
}
