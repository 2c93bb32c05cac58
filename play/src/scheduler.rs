//! The name of the scheduler in charge: the kernel's own, or a policy loaded through sched_ext.

use std::fs::read_to_string;

/// The policy name in the report of a run: `kernel:`, followed by the name of the loaded sched_ext scheduler, or by `eevdf`
/// or `cfs` if none is loaded.
pub fn name() -> String {
    let read = |path: &str| read_to_string(path).unwrap_or_default().trim().to_owned();
    let loaded = match read("/sys/kernel/sched_ext/state").as_str() {
        "enabled" => Some(read("/sys/kernel/sched_ext/root/ops")).filter(|ops| !ops.is_empty()),
        _ => None,
    };
    let own = own(&read("/proc/sys/kernel/osrelease"));
    format!("kernel:{}", loaded.as_deref().unwrap_or(own))
}

/// The scheduler for ordinary tasks in the kernel of this release.
fn own(release: &str) -> &'static str {
    let mut numbers =
        release.split(|c: char| !c.is_ascii_digit()).map(|word| word.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version >= (6, 6) { "eevdf" } else { "cfs" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eevdf_since_6_6() {
        for (release, expected) in [
            ("6.6.0", "eevdf"),
            ("6.12.3-generic", "eevdf"),
            ("7.0", "eevdf"),
            ("6.5.13", "cfs"),
            ("5.15.0-1", "cfs"),
        ] {
            assert_eq!(own(release), expected, "{release}");
        }
    }
}
