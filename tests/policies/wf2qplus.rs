//! wf2qplus: papers/wf2qplus.md. The tests that it shares are in `wf2q.rs` and `virtual_time.rs`.

use divvy_tests::lockstep::Lockstep;

/// A and B have their quanta, C and D leave without theirs: V jumps to 1/20 of a quantum. E of weight 17 that comes
/// then is due at 1/20 + 1/17, after B at 2/20; without the jump it would be before.
#[test]
fn wf2qplus_r3_jumps() {
    let mut one = Lockstep::with("wf2qplus", 1, &[20; 4]);
    assert_eq!(one.first_cpu(2), [1, 2]);
    one.leave(3, false);
    one.leave(4, false);
    assert_eq!(one.first_cpu(1), [1]);
    let e = one.add(17);
    assert_eq!(one.first_cpu(2), [2, e]);
}
