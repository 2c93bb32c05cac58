//! One number (or sequence) of a paper beside the measured one, and the verdict.

use std::fmt;

use crate::measured::{Measured, Value, number_text};
use crate::source::Source;

/// A value that a paper states.
#[derive(Clone, Debug, PartialEq)]
pub enum Stated {
    /// A number.
    Number(f64),
    /// A sequence.
    Text(String),
    /// No more than this.
    AtMost(f64),
    /// No less than this.
    AtLeast(f64),
    /// From the first to the second.
    Between(f64, f64),
    /// Words from which no bound follows, as in `comparable`. They are never met; beyond limits that no reading of them
    /// allows they are not met.
    Words {
        /// The words.
        text: String,
        /// No reading of the words allows less.
        least: f64,
        /// No reading of the words allows more.
        most: f64,
    },
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stated::Number(number) => f.write_str(&number_text(*number)),
            Stated::Text(text) | Stated::Words { text, .. } => f.write_str(text),
            Stated::AtMost(most) => write!(f, "<= {}", number_text(*most)),
            Stated::AtLeast(least) => write!(f, ">= {}", number_text(*least)),
            Stated::Between(least, most) => write!(f, "{} to {}", number_text(*least), number_text(*most)),
        }
    }
}

/// The tolerance of a claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// Equal.
    Exact,
    /// In the unit of the number.
    Absolute(f64),
    /// As a part of the paper's number.
    Relative(f64),
    /// The paper's number is a mean of as many random samples as ours, so it is as uncertain: the difference has the errors
    /// of both. The number is half the last unit printed.
    Sampling(f64),
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tolerance::Exact => f.write_str("exact"),
            Tolerance::Absolute(by) => write!(f, "±{by}"),
            Tolerance::Relative(part) => write!(f, "±{}%", number_text(part * 100.0)),
            Tolerance::Sampling(_) => f.write_str("sampling"),
        }
    }
}

impl Tolerance {
    /// As a difference, in the unit of the number.
    pub(crate) fn of(self, number: f64) -> f64 {
        match self {
            Tolerance::Exact => 0.0,
            Tolerance::Absolute(by) | Tolerance::Sampling(by) => by,
            Tolerance::Relative(part) => part * number.abs(),
        }
    }
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Whatever the true value is within the measured interval, it is within the tolerance.
    Reproduced,
    /// No value of the measured interval is within the tolerance.
    NotReproduced,
    /// The measured interval is in part within the tolerance, or the paper states no bound.
    Undecided,
    /// A policy that it needs is not in this build.
    Missing,
    /// Only the full version can tell: the small one has too few samples.
    NotJudged,
}

impl Verdict {
    /// Whether it counts as a claim that is not met.
    #[must_use]
    pub fn is_failure(self) -> bool {
        matches!(self, Verdict::NotReproduced | Verdict::Missing)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Reproduced => "ok",
            Verdict::NotReproduced => "NOT MET",
            Verdict::Undecided => "undecided",
            Verdict::Missing => "MISSING",
            Verdict::NotJudged => "full only",
        })
    }
}

/// Judges a measured value by what the paper states. It is only ok if its whole interval is within the tolerance.
#[must_use]
pub fn judge(measured: &Measured, stated: &Stated, tolerance: Tolerance) -> Verdict {
    let same = |same: bool| if same { Verdict::Reproduced } else { Verdict::NotReproduced };
    let (low, high) = match (&measured.value, stated) {
        (Value::Missing(_), _) => return Verdict::Missing,
        (Value::Text(is), Stated::Text(text)) => return same(is == text),
        (Value::Number(_), Stated::Text(_)) | (Value::Text(_), _) => return Verdict::NotReproduced,
        (Value::Number(_), _) => measured.range().unwrap_or((f64::NAN, f64::NAN)),
    };
    if let (Stated::Number(p), Tolerance::Sampling(half)) = (stated, tolerance) {
        return same_mean(((low + high) / 2.0 - p).abs(), half, (high - low) / 2.0);
    }
    let (least, most) = bounds(stated, tolerance);
    let is_words = matches!(stated, Stated::Words { .. });
    match (low, high) {
        (low, high) if low.is_nan() || high.is_nan() || high < least || low > most => Verdict::NotReproduced,
        (low, high) if low >= least && high <= most && !is_words => Verdict::Reproduced,
        _ => Verdict::Undecided,
    }
}

/// Two means of as many samples: their difference has the root of two times the interval of one.
fn same_mean(apart: f64, half_unit: f64, half_width: f64) -> Verdict {
    match apart <= half_unit + std::f64::consts::SQRT_2 * half_width {
        _ if half_width.is_infinite() => Verdict::Undecided,
        true => Verdict::Reproduced,
        false => Verdict::NotReproduced,
    }
}

/// The least and the greatest number that a claim allows.
fn bounds(stated: &Stated, tolerance: Tolerance) -> (f64, f64) {
    let (below, above) = (|p: f64| p - tolerance.of(p), |p: f64| p + tolerance.of(p));
    match stated {
        Stated::Number(p) => (below(*p), above(*p)),
        Stated::AtMost(p) => (f64::NEG_INFINITY, above(*p)),
        Stated::AtLeast(p) => (below(*p), f64::INFINITY),
        Stated::Between(a, b) => (below(*a), above(*b)),
        Stated::Words { least, most, .. } => (*least, *most),
        Stated::Text(_) => (f64::NAN, f64::NAN),
    }
}

/// A claim and its verdict.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The measured quantity, with its unit.
    pub name: String,
    /// Where the paper's value comes from.
    pub source: Source,
    /// The paper's value.
    pub stated: Stated,
    /// The tolerance of a claim.
    pub tolerance: Tolerance,
    /// The reason of the tolerance, if it is not exact.
    pub basis: Option<String>,
    /// The measured value.
    pub measured: Measured,
    /// Whether it is a time, or a ratio of times, of this machine: no two runs give the same.
    pub timed: bool,
    /// The comparison.
    pub verdict: Verdict,
    /// The reason of the verdict, if it needs one.
    pub analysis: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Missing, NotReproduced, Reproduced, Undecided};

    #[test]
    fn near_enough_is_no_nearer_and_no_farther() {
        let is = |x: f64, p: &Stated, t| judge(&Measured::from(x), p, t);
        assert_eq!(is(2.05, &Stated::Number(2.0), Tolerance::Absolute(0.0501)), Reproduced);
        assert_eq!(is(2.06, &Stated::Number(2.0), Tolerance::Absolute(0.05)), NotReproduced);
        assert_eq!(is(-11_961.0, &Stated::Number(-12_067.0), Tolerance::Relative(0.01)), Reproduced);
        assert_eq!(is(-11_900.0, &Stated::Number(-12_067.0), Tolerance::Relative(0.01)), NotReproduced);
        assert_eq!(is(7.0, &Stated::AtMost(7.0), Tolerance::Exact), Reproduced);
        assert_eq!(is(8.0, &Stated::AtMost(7.0), Tolerance::Exact), NotReproduced);
        assert_eq!(is(6.0, &Stated::AtLeast(7.0), Tolerance::Exact), NotReproduced);
        assert_eq!(is(1.3, &Stated::Between(1.0, 1.3), Tolerance::Exact), Reproduced);
        assert_eq!(is(0.9, &Stated::Between(1.0, 1.3), Tolerance::Exact), NotReproduced);
        assert_eq!(is(f64::NAN, &Stated::Number(7.0), Tolerance::Relative(0.5)), NotReproduced);
        let missing = Measured::from(Value::Missing("x".to_owned()));
        assert_eq!(judge(&missing, &Stated::AtMost(7.0), Tolerance::Exact), Missing);
    }

    /// Figure 8 of PBS with two repetitions: 53.24 ±90.56 was "ok" for "at least 0".
    #[test]
    fn an_interval_that_does_not_support_a_claim_leaves_it_undecided() {
        let is = |low, high, p: &Stated| judge(&Measured::between(53.24, low, high), p, Tolerance::Exact);
        assert_eq!(is(53.24 - 90.56, 53.24 + 90.56, &Stated::AtLeast(0.0)), Undecided);
        assert_eq!(is(0.1, 90.0, &Stated::AtLeast(0.0)), Reproduced);
        assert_eq!(is(-9.0, -0.1, &Stated::AtLeast(0.0)), NotReproduced);
        assert_eq!(is(-1.0, 1.0, &Stated::Number(0.0)), Undecided);
        assert_eq!(is(f64::NEG_INFINITY, f64::INFINITY, &Stated::AtLeast(0.0)), Undecided, "measured once");
    }

    /// Figure 7 of GR3 passed anything within 6 %.
    #[test]
    fn two_means_of_as_many_samples() {
        let is = |mean: f64, half: f64| {
            let measured = Measured::between(mean, mean - half, mean + half);
            judge(&measured, &Stated::Number(10_079.0), Tolerance::Sampling(0.5))
        };
        assert_eq!(is(10_079.0 + 14.6, 10.0), Reproduced);
        assert_eq!(is(10_079.0 - 14.7, 10.0), NotReproduced);
        assert_eq!(is(10_079.0 * 0.95, 10.0), NotReproduced);
        assert_eq!(is(10_079.0, f64::INFINITY), Undecided);
    }

    #[test]
    fn words_without_a_bound_are_never_met() {
        let words = Stated::Words { text: "comparable".to_owned(), least: 0.1, most: 10.0 };
        let is = |x: f64| judge(&Measured::from(x), &words, Tolerance::Exact);
        assert_eq!((is(1.0), is(76.0), is(0.01)), (Undecided, NotReproduced, NotReproduced));
    }
}
