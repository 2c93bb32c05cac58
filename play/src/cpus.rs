//! Chooses the machine's CPUs for the workload, and reads how busy they were.

use divvy_policy::CpuId;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::error::PlayError;

/// The first `count` CPUs that this process may use. The workload's CPU `i` is the `i`-th of them.
///
/// # Errors
/// When the process may use fewer CPUs.
pub fn choose(count: u32) -> Result<Vec<usize>, PlayError> {
    let allowed = sched_getaffinity(None).map_err(|errno| {
        PlayError::Machine(format!(
            "cannot read which CPUs this process may use (sched_getaffinity): {errno}"
        ))
    })?;
    let cpus: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).take(count as usize).collect();
    let found = cpus.len();
    if found == count as usize {
        return Ok(cpus);
    }
    Err(PlayError::Machine(format!(
        "the workload has {count} CPUs and this process may use {found}: \
         take --cpus {found}, or a machine (or a cpuset) with more"
    )))
}

/// Binds the calling thread to some of the chosen CPUs; `None` means all of them.
///
/// # Errors
/// When the kernel refuses.
pub fn bind(chosen: &[usize], affinity: Option<&[CpuId]>) -> std::io::Result<()> {
    let mut set = CpuSet::new();
    match affinity {
        None => chosen.iter().for_each(|&cpu| set.set(cpu)),
        Some(own) => own.iter().filter_map(|cpu| chosen.get(cpu.index())).for_each(|&cpu| set.set(cpu)),
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// CPU time in ns that these CPUs spent on anything since the machine started. `None` if /proc/stat cannot be read.
pub fn busy_ns(chosen: &[usize]) -> Option<u64> {
    /// One tick of /proc/stat: `USER_HZ` is 100 on every architecture that Linux supports.
    const TICK_NS: u64 = 10_000_000;
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    Some(busy_ticks(&text, chosen) * TICK_NS)
}

/// User, nice, system, interrupt and steal time, without idle and I/O waiting time. User time already contains guest time.
fn busy_ticks(stat: &str, chosen: &[usize]) -> u64 {
    const BUSY: [usize; 6] = [0, 1, 2, 5, 6, 7];
    let ticks_of = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split(' ');
        let cpu: usize = words.next()?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        chosen.contains(&cpu).then(|| BUSY.iter().filter_map(|&i| ticks.get(i)).sum::<u64>())
    };
    stat.lines().filter_map(ticks_of).sum()
}

/// How often the calling thread has changed its CPU. `None` if the kernel was built without scheduler debugging.
pub fn migrations() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_all_but_idle_and_waiting_time() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 20 300 4000 50000 6 7 8 9 9\ncpu1 5 0 0 9 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(busy_ticks(stat, &[0]), 342);
        assert_eq!(busy_ticks(stat, &[0, 1]), 347);
        assert_eq!(busy_ticks("nonsense\ncpu\n", &[0]), 0);
    }

    #[test]
    fn more_cpus_than_there_are_is_an_error_that_says_how_many() {
        let PlayError::Machine(message) = choose(100_000).expect_err("too many") else {
            panic!("the machine's")
        };
        assert!(message.contains("the workload has 100000 CPUs and this process may use"), "{message}");
    }
}
