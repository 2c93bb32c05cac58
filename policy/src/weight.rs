//! Weights: a task's share is in proportion to its weight.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Div, Mul};

/// The kernel's weights for nice -20 to 19 (`sched_prio_to_weight`): each step is about 10 % of one CPU between two tasks.
pub const NICE_WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, // -20 .. -11
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, // -10 .. -1
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, // 0 .. 9
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15, // 10 .. 19
];

/// A weight, in fixed point with 10 fractional bits, so that dividing it by numbers of threads loses little.
///
/// ```
/// use divvy_policy::Weight;
///
/// assert_eq!(Weight::from_nice(0), 1024 * Weight::ONE);
/// assert_eq!(Weight::parse("0.5").map(Weight::fixed), Ok(512));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u64);

impl Weight {
    /// The least weight, 1/1024.
    pub const MIN: Weight = Weight(1);
    /// Weight 1 in the kernel's table, in which nice 0 is 1024.
    pub const ONE: Weight = Weight(1 << 10);
    /// The weight of nice 0.
    pub const NICE_0: Weight = Weight(1 << 20);
    /// The greatest weight that people can give: 100 million.
    pub const MAX_GIVEN: Weight = Weight(100_000_000 << 10);
    /// The greatest weight that a machine takes.
    pub const MAX: Weight = Weight(1 << 40);

    /// From multiples of 1/1024.
    #[must_use]
    pub const fn from_fixed(fixed: u64) -> Weight {
        Weight(fixed)
    }

    /// The weight of a nice value; one out of -20 to 19 counts as the nearest.
    #[must_use]
    pub fn from_nice(nice: i8) -> Weight {
        let row = usize::from(nice.clamp(-20, 19).abs_diff(-20));
        u64::from(NICE_WEIGHTS[row]) * Weight::ONE
    }

    /// The nice value with exactly this weight, if there is one.
    #[must_use]
    pub fn nice(self) -> Option<i8> {
        let row = NICE_WEIGHTS.iter().position(|&row| u64::from(row) * Weight::ONE == self);
        row.map(|row| row as i8 - 20)
    }

    /// In multiples of 1/1024.
    #[must_use]
    pub const fn fixed(self) -> u64 {
        self.0
    }

    /// As a number for people, in which nice 0 is 1024: exact for what people can give, as 37 bits fit an `f64`.
    #[must_use]
    pub fn units(self) -> f64 {
        self.0 as f64 / Weight::ONE.0 as f64
    }

    /// Reads decimal digits, as in `3` or `0.5`, to the nearest multiple of 1/1024 (halves up).
    ///
    /// # Errors
    /// A sentence on what is wrong: not a plain decimal, too small, too great.
    pub fn parse(text: &str) -> Result<Weight, String> {
        let range = "a weight is more than 0 (at least 1/1024) and at most 100000000";
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let plain = |digits: &str| digits.len() <= 18 && digits.bytes().all(|b| b.is_ascii_digit());
        if text.starts_with('-') {
            return Err(format!("weight {text} is negative: {range}"));
        }
        if whole.is_empty() || !plain(whole) || !plain(fraction) {
            return Err(format!("`{text}` is not a weight: write a plain decimal such as 3 or 0.5; {range}"));
        }
        // At most 18 digits each: 10^18 * 2^10 * 2 is far below 2^128.
        let scale = 10_u128.pow(fraction.len() as u32);
        let digits = |text: &str| text.bytes().fold(0_u128, |n, b| n * 10 + u128::from(b - b'0'));
        let scaled = (digits(whole) * scale + digits(fraction)) * u128::from(Weight::ONE.0);
        let fixed = (scaled * 2 + scale) / (scale * 2);
        if scaled == 0 || fixed == 0 {
            return Err(format!("weight {text} is too small: {range}"));
        }
        match u64::try_from(fixed) {
            Ok(fixed) if fixed <= Weight::MAX_GIVEN.0 => Ok(Weight(fixed)),
            _ => Err(format!("weight {text} is too great: {range}")),
        }
    }
}

/// In units in which nice 0 is 1024, and the rest in 1024ths: `3`, `3+1/1024`.
impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = Weight::ONE.0;
        match self.0 % unit {
            0 => write!(f, "{}", self.0 / unit),
            rest => write!(f, "{}+{rest}/{unit}", self.0 / unit),
        }
    }
}

impl Mul<u64> for Weight {
    type Output = Weight;

    fn mul(self, times: u64) -> Weight {
        Weight(self.0 * times)
    }
}

impl Mul<Weight> for u64 {
    type Output = Weight;

    fn mul(self, weight: Weight) -> Weight {
        weight * self
    }
}

impl Mul<Weight> for &u64 {
    type Output = Weight;

    fn mul(self, weight: Weight) -> Weight {
        *self * weight
    }
}

/// How many times the other weight this one is, rounded down.
impl Div for Weight {
    type Output = u64;

    fn div(self, other: Weight) -> u64 {
        self.0 / other.0
    }
}

impl Add for Weight {
    type Output = Weight;

    fn add(self, other: Weight) -> Weight {
        Weight(self.0 + other.0)
    }
}

impl Sum for Weight {
    fn sum<I: Iterator<Item = Weight>>(weights: I) -> Weight {
        weights.fold(Weight(0), Weight::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_zero_is_two_to_the_twenty() {
        assert_eq!(Weight::from_nice(0), Weight::NICE_0);
        assert_eq!(Weight::from_nice(0).fixed(), 1 << 20);
        assert_eq!(Weight::from_nice(-20).fixed(), 88761 << 10);
        assert_eq!(Weight::from_nice(19).fixed(), 15 << 10);
        assert_eq!(Weight::from_nice(1).units(), 820.0);
    }

    #[test]
    fn each_nice_step_is_a_quarter() {
        for pair in NICE_WEIGHTS.windows(2) {
            let ratio = f64::from(pair[0]) / f64::from(pair[1]);
            assert!((1.18..1.31).contains(&ratio), "{pair:?}");
        }
    }

    #[test]
    fn decimals_are_exact_to_the_last_bit() {
        for (text, fixed) in [
            ("1", 1024),
            ("0.5", 512),
            ("0.1", 102),
            ("0.0009765625", 1),
            ("100000000", 102_400_000_000),
            ("2.75", 2816),
        ] {
            assert_eq!(Weight::parse(text), Ok(Weight::from_fixed(fixed)), "{text}");
        }
    }

    #[test]
    fn refusals() {
        for (text, part) in [
            ("0", "too small"),
            ("0.0001", "too small"),
            ("100000000.1", "too great"),
            ("-3", "negative"),
            ("1e9", "plain decimal"),
            ("inf", "plain decimal"),
            ("nan", "plain decimal"),
            ("99999999999999999999", "plain decimal"),
        ] {
            let message = Weight::parse(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
