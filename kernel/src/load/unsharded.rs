//! Selections that a kernel loads with one run queue only, and why. The build program leaves out their objects for several shards.

const STACK: &str = "it needs more stack than the kernel's verifier permits";
const LENGTH: &str = "its programs are too long for the kernel's verifier";

/// Those that are loaded with several shards, but not with modifiers of weights: then they need more stack as well, and eevdf's programs are too long.
#[allow(dead_code, reason = "the build program has no use for it")]
pub const UNWEIGHED: [&str; 6] = ["bvt", "eevdf", "o1", "qfq", "wf2q", "wfq"];

/// By name.
pub const UNSHARDED: [(&str, &str); 2] = [("pbs_o1", LENGTH), ("vtrr", STACK)];
