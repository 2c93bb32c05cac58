//! Judges: what the papers and the textbooks say should happen, in exact arithmetic where there is any.
//!
//! Nothing here shares code with the policies or with the engine, and nothing here is fast: these are the
//! definitions, written down as directly as they can be computed.
//!
//! | module | judges |
//! |---|---|
//! | [`gms`] | shares and entitled service: the GPS and GMS fluid models |
//! | [`affinity`] | shares where tasks may not run everywhere |
//! | [`hierarchy`] | the same where groups have shares |
//! | [`readjust`] | feasible weights on several CPUs |
//! | [`pbs_fluid`] | PBS completion times |
//! | [`procfair`] | two programs with few and with many threads |
//! | [`queueing`] | mean response times of random workloads |
//! | [`mod@reference`] | decision by decision: GR3, WFQ, stride, SFQ, WF2Q, SFS on static sets |

pub mod affinity;
pub mod gms;
pub mod hierarchy;
pub mod pbs_fluid;
pub mod procfair;
pub mod queueing;
pub mod readjust;
pub mod reference;

use num_bigint::BigInt;

/// An exact fraction.
pub type Rational = num_rational::BigRational;

/// `numerator / denominator`, exactly.
///
/// # Panics
/// If the denominator is 0.
pub fn fraction(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Rational {
    Rational::new(numerator.into(), denominator.into())
}

/// A whole number as a fraction.
pub fn whole(n: impl Into<BigInt>) -> Rational {
    Rational::from_integer(n.into())
}
