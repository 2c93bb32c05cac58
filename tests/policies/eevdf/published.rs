//! eevdf as its paper has it, and as Linux does.

use divvy_tests::lockstep::QUANTUM_NS;
use divvy_tests::study::{Params, Random, errors, weight_set};

/// Stoica and Abdel-Wahab's bound, a request; Linux's half first request breaks it when many start at once.
#[test]
fn eevdf_r9_as_published_no_error_is_above_a_quantum() {
    const PUBLISHED: Params =
        &[("eevdf", 0, QUANTUM_NS as i64), ("eevdf", 1, 0), ("eevdf", 3, 0), ("eevdf", 4, 0)];
    const LINUX: Params = &[("eevdf", 0, QUANTUM_NS as i64)];
    let mut random = Random::new(9);
    for n in [8, 64, 256] {
        let weights = weight_set(&mut random, n, 64 * n as u64, 50);
        let (least, most) = errors("eevdf", PUBLISHED, &weights, true);
        assert!(least >= -1.0 && most <= 1.0, "{n} clients: {least} .. {most}");
        let (least, _) = errors("eevdf", LINUX, &weights, true);
        assert!(n < 64 || least < -1.0, "{n} clients, as Linux: {least}");
    }
}
