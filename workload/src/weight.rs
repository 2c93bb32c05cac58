//! A weight as a workload gives it.

use divvy_policy::Weight;

/// A weight as a workload gives it: files are written with the key that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightSetting {
    /// `weight = ...`, from [`Weight::MIN`] to [`Weight::MAX_GIVEN`].
    Units(Weight),
    /// `nice = ...`, from -20 (heaviest) to 19.
    Nice(i8),
}

impl WeightSetting {
    /// Nice 0.
    pub const DEFAULT: Self = Self::Nice(0);

    /// The weight that it stands for. A nice value out of range counts as the nearest.
    #[must_use]
    pub fn weight(self) -> Weight {
        match self {
            Self::Units(weight) => weight,
            Self::Nice(nice) => Weight::from_nice(nice),
        }
    }

    /// In the workload's own units, for reports.
    #[must_use]
    pub fn units(self) -> f64 {
        self.weight().units()
    }
}
