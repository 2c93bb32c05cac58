//! Selections that a kernel loads with one run queue only, and why. The build program leaves out their objects for several shards.

const DEPTH: &str = "its shards readjust weights for their own CPUs, in calls that are deeper than the kernel's verifier permits";
const STACK: &str = "it needs more stack than the kernel's verifier permits";
const LENGTH: &str = "its programs are too long for the kernel's verifier";

/// By name.
pub const UNSHARDED: [(&str, &str); 4] =
    [("gr3", DEPTH), ("pbs_o1", LENGTH), ("sfs", DEPTH), ("vtrr", STACK)];
