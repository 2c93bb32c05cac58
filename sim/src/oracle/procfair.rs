//! Two programs of the same work, one with as many threads as CPUs and one with more, and when each ends.
//!
//! From the process-fair scheduler's paper (Wong et al., "Towards Achieving Fairness in the Linux Scheduler",
//! 2008): equations 3 to 5 for a scheduler that is fair to threads, and both programs together for one that
//! is fair to programs.

use num_traits::Zero;

use super::{Rational, gms, whole};

/// Equation 3: when the program with `n` threads ends, beside one with `cpus` threads, if each alone takes
/// `t`: alpha = t (cpus / n + 1), for n >= cpus.
pub fn alpha(t: &Rational, cpus: u32, n: u32) -> Rational {
    t * (whole(cpus) / whole(n) + whole(1))
}

/// Equation 5: how much longer the other one takes: beta = (1 - cpus / n) t, for n >= cpus. By equation 4 it
/// ends at alpha + beta = 2 t.
pub fn beta(t: &Rational, cpus: u32, n: u32) -> Rational {
    t * (whole(1) - whole(cpus) / whole(n))
}

/// A program whose threads share its work evenly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Number of threads, at least 1.
    pub threads: u32,
    /// CPU time that they need in all.
    pub work: Rational,
}

/// The entities among which a scheduler is fair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FairTo {
    /// All threads weigh the same.
    Threads,
    /// All programs weigh the same: a thread's weight is its program's over the number of its threads
    /// (equation 6).
    Programs,
}

/// When each program ends, if all start at 0, in the GMS fluid: a thread has at most one CPU.
pub fn completions(programs: &[Program], cpus: u32, fair_to: FairTo) -> Vec<Rational> {
    let mut jobs = Vec::new();
    for program in programs {
        let threads = whole(program.threads);
        let weight = match fair_to {
            FairTo::Threads => whole(1),
            FairTo::Programs => threads.recip(),
        };
        let job = gms::Job { arrival: Rational::zero(), demand: &program.work / &threads, weight };
        jobs.extend(std::iter::repeat_n(job, program.threads as usize));
    }
    let mut ends = gms::completions(&jobs, cpus).into_iter();
    let last = |program: &Program| ends.by_ref().take(program.threads as usize).max();
    programs.iter().map(last).map(|end| end.unwrap_or_else(Rational::zero)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::fraction;

    fn two(threads: u32, work: u64, n: u32, work_n: u64) -> [Program; 2] {
        [Program { threads, work: whole(work) }, Program { threads: n, work: whole(work_n) }]
    }

    /// The equations, and the fluid that knows nothing of them.
    #[test]
    fn equations_three_to_five() {
        let t = whole(10);
        for n in 4..=32 {
            let programs = two(4, 40, n, 40);
            let (alpha, beta) = (alpha(&t, 4, n), beta(&t, 4, n));
            assert_eq!(completions(&programs, 4, FairTo::Threads), [&alpha + &beta, alpha.clone()]);
            assert_eq!(&alpha + &beta, whole(20));
            assert_eq!(completions(&programs, 4, FairTo::Programs), [whole(20), whole(20)]);
        }
        assert_eq!((alpha(&t, 4, 8), alpha(&t, 4, 32)), (whole(15), fraction(45, 4)));
    }

    /// The program with n threads produces n/4 outputs: thread-fair, both end together and late.
    #[test]
    fn productivity() {
        for (n, thread_fair) in [(8_u32, 30), (16, 50), (32, 90)] {
            let programs = two(4, 40, n, u64::from(n) * 10);
            assert_eq!(completions(&programs, 4, FairTo::Threads), [whole(thread_fair), whole(thread_fair)]);
            assert_eq!(completions(&programs, 4, FairTo::Programs), [whole(20), whole(thread_fair)]);
        }
    }

    /// One thread cannot use its program's half of four CPUs.
    #[test]
    fn a_single_thread_is_capped() {
        assert_eq!(completions(&two(1, 10, 4, 40), 4, FairTo::Programs), [whole(10), fraction(25, 2)]);
    }
}
