//! Weights: what a task's share is in proportion to.

/// Weight 1 in fixed point: 10 fractional bits, so that dividing by thread counts loses little.
/// Nice 0 (the kernel's 1024) is 2^20.
pub const WEIGHT_ONE: u64 = 1 << 10;

/// The kernel's weights for nice -20 to 19 (`sched_prio_to_weight`): each step is about 10 % of one CPU between two tasks.
pub const NICE_WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, // -20 .. -11
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, // -10 .. -1
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, // 0 .. 9
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15, // 10 .. 19
];

/// A task's weight as the workload gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// Multiples of 1 / [`WEIGHT_ONE`], 1 to [`Weight::MAX_UNITS`].
    Units(u64),
    /// A nice value, -20 (heaviest) to 19.
    Nice(i8),
}

impl Weight {
    /// Nice 0.
    pub const DEFAULT: Self = Self::Nice(0);
    /// Greatest value of [`Weight::Units`]: weight 100 million.
    pub const MAX_UNITS: u64 = 100_000_000 * WEIGHT_ONE;

    /// In multiples of 1 / [`WEIGHT_ONE`]. A nice value out of range counts as the nearest.
    pub fn fixed(self) -> u64 {
        match self {
            Self::Units(units) => units,
            Self::Nice(nice) => {
                let row = usize::from(nice.clamp(-20, 19).abs_diff(-20));
                u64::from(NICE_WEIGHTS[row]) * WEIGHT_ONE
            }
        }
    }

    /// In the workload's own units, for reports: exact, as 38 bits fit an `f64`.
    pub fn units(self) -> f64 {
        self.fixed() as f64 / WEIGHT_ONE as f64
    }

    /// Reads decimal digits, as in `3` or `0.5`, to the nearest multiple of 1 / [`WEIGHT_ONE`] (halves up).
    ///
    /// # Errors
    /// A sentence on what is wrong: not a plain decimal, too small, too great.
    pub fn parse(text: &str) -> Result<Self, String> {
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
        let scaled = (digits(whole) * scale + digits(fraction)) * u128::from(WEIGHT_ONE);
        let units = (scaled * 2 + scale) / (scale * 2);
        if scaled == 0 || units == 0 {
            return Err(format!("weight {text} is too small: {range}"));
        }
        match u64::try_from(units) {
            Ok(units) if units <= Self::MAX_UNITS => Ok(Self::Units(units)),
            _ => Err(format!("weight {text} is too great: {range}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_zero_is_two_to_the_twenty() {
        assert_eq!(Weight::Nice(0).fixed(), 1 << 20);
        assert_eq!(Weight::Nice(-20).fixed(), 88761 << 10);
        assert_eq!(Weight::Nice(19).fixed(), 15 << 10);
        assert_eq!(Weight::Nice(1).units(), 820.0);
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
        for (text, units) in [
            ("1", 1024),
            ("0.5", 512),
            ("0.1", 102),
            ("0.0009765625", 1),
            ("100000000", 102_400_000_000),
            ("2.75", 2816),
        ] {
            assert_eq!(Weight::parse(text), Ok(Weight::Units(units)), "{text}");
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
