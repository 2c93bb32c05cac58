//! `divvy apply` beside the kernel's own scheduler and a loaded policy, on two CPUs.

use crate::machine::{Said, several, workload};

/// The part of the first user in the CPU time that both received.
fn share(said: &Said, phase: &str) -> f64 {
    let used = |user: u32| {
        number(said, &format!("{phase} to {user} ")) - number(said, &format!("{phase} from {user} "))
    };
    let (first, second) = (used(1001), used(1002));
    first / (first + second)
}

fn number(said: &Said, key: &str) -> f64 {
    let value = said.out.lines().find_map(|line| line.strip_prefix(key));
    value.unwrap_or_else(|| panic!("no {key:?}: {said}")).trim().parse().expect("a number")
}

/// One user has a thread, the other has twenty. Both are entitled to one of two CPUs. By the weights of threads alone the first is entitled to
/// a 21st of two CPUs.
///
/// However the kernel divides the threads between the CPUs, the first user's part is not less than if all were on one: with nice 13 the twenty
/// have 1.09 times the weight of the one, so 0.478 of a CPU, a part of 0.239; in cgroups of equal weight half of a CPU, a part of 0.25. A
/// thread has no more than one CPU, a part of 0.5; the second user's CPU runs the system's threads, too. Under a policy, turns of some
/// 4 ms are little beside 2 s.
#[test]
#[ignore = "needs the test VM: make test-vm"]
fn users_are_equal_on_a_stock_kernel_by_nice_values_and_by_cgroups() {
    let script = format!("mkdir -p /tmp /etc /run; sh {} 1 20 2", workload("apply.sh").display());
    let said = several(2, &script, 300);
    assert_eq!(said.code, 0, "{said}");
    said.assert_calm();
    let [plain, nice, cgroup, loaded] =
        ["plain", "nice", "cgroup", "loaded"].map(|phase| share(&said, phase));
    println!(
        "part of the user with 1 of 21 threads: plain {plain:.3}, nice {nice:.3}, cgroup {cgroup:.3}, loaded {loaded:.3}"
    );
    for phase in ["nice", "cgroup"] {
        println!(
            "CPU time of divvy apply in 4 s, {phase}: {} ticks of 10 ms",
            number(&said, &format!("{phase} ticks "))
        );
    }
    assert!(plain < 0.1, "the kernel alone divides by threads: {said}");
    assert!((0.23..0.53).contains(&nice) && (0.24..0.53).contains(&cgroup), "{nice} {cgroup}: {said}");
    assert!((0.47..0.53).contains(&loaded), "{loaded}: {said}");
    // All values are as they were.
    assert_eq!(number(&said, "nices after 0 "), 21.0, "{said}");
    assert!(said.out.contains("weights after 100 500\n"), "{said}");
}
