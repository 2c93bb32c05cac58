//! Texts of `/proc` about a thread.

use std::fs;
use std::path::Path;

/// A file's text. Names in it may be no UTF-8. `None` if the thread no longer exists.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Ticks since the machine was booted, as `/proc` counts when threads began; 0 if it does not say.
pub(crate) fn ticks(proc: &Path) -> u64 {
    let uptime = read(proc.join("uptime")).unwrap_or_default();
    let seconds: f64 = uptime.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or_default();
    (seconds * rustix::param::clock_ticks_per_second() as f64) as u64
}

/// Finds the real, effective and saved user in /proc/PID/status, where the kernel escapes line ends in the name.
pub(crate) fn uids(status: &str) -> Option<[u32; 3]> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut ids = ids.split_whitespace().map_while(|id| id.parse().ok());
    Some([ids.next()?, ids.next()?, ids.next()?])
}

/// Finds the cgroup of version 2 in /proc/PID/cgroup.
pub(crate) fn cgroup(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default()
}
