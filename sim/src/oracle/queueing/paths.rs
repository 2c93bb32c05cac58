//! Laws that hold on every single path of a system, whatever the policy: exact, and in integers.

/// A job: when it arrives and how much CPU time it needs, both in nanoseconds.
pub type Job = (u64, u64);

/// The intervals in which one CPU is busy, for jobs in order of arrival: the same under every work-conserving
/// policy.
pub fn busy_periods(jobs: &[Job]) -> Vec<(u64, u64)> {
    let mut periods: Vec<(u64, u64)> = Vec::new();
    for &(arrival, size) in jobs {
        match periods.last_mut() {
            Some((_, end)) if arrival <= *end => *end += size,
            _ => periods.push((arrival, arrival + size)),
        }
    }
    periods
}

/// Work that has arrived by `time` (that moment included) and is not done yet, on one CPU under any
/// work-conserving policy, for jobs in order of arrival.
pub fn unfinished_work(jobs: &[Job], time: u64) -> u64 {
    let so_far = &jobs[..jobs.partition_point(|&(arrival, _)| arrival <= time)];
    busy_periods(so_far).last().map_or(0, |&(_, end)| end.saturating_sub(time))
}

/// The integral over time of the number of jobs present, in job-nanoseconds. By Little's argument it is the
/// sum of all responses, on any path that begins and ends empty.
pub fn jobs_present(arrivals: &[u64], ends: &[u64]) -> u128 {
    let mut events: Vec<(u64, i64)> =
        arrivals.iter().map(|&t| (t, 1)).chain(ends.iter().map(|&t| (t, -1))).collect();
    events.sort_unstable();
    let (mut area, mut present, mut last) = (0_u128, 0_i64, 0);
    for (time, change) in events {
        area += u128::from(time - last) * u128::from(present.unsigned_abs());
        present += change;
        last = time;
    }
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: [Job; 5] = [(0, 3), (2, 2), (5, 1), (10, 4), (11, 1)];

    #[test]
    fn busy_periods_merge() {
        assert_eq!(busy_periods(&JOBS), [(0, 6), (10, 15)]);
        assert_eq!(busy_periods(&[]), []);
    }

    #[test]
    fn unfinished_work_by_hand() {
        let at: Vec<u64> =
            [0, 1, 2, 5, 6, 9, 10, 11, 15].into_iter().map(|t| unfinished_work(&JOBS, t)).collect();
        assert_eq!(at, [3, 2, 3, 1, 0, 0, 4, 4, 0]);
    }

    /// First come, first served and last come, first served: other ends, each with its own sum of responses.
    #[test]
    fn little_on_two_paths() {
        let arrivals = JOBS.map(|(arrival, _)| arrival);
        for ends in [[3, 5, 6, 14, 15], [5, 4, 6, 15, 12]] {
            let responses: u64 = ends.iter().zip(arrivals).map(|(end, arrival)| end - arrival).sum();
            assert_eq!(jobs_present(&arrivals, &ends), u128::from(responses));
        }
    }
}
