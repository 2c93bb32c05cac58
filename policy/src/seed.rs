//! Seeds of the random numbers that policies draw.

use crate::ParamInfo;
use crate::spec::{Part, Setting, Spec};

/// The parameter of a policy that draws random numbers. 0, its default, leaves the choice to whoever runs the policy.
const SEED: &str = "seed";

impl Spec {
    /// This spec with a seed for each policy that draws random numbers and has none. The same `seed` gives the same
    /// spec; a spec in which nothing is random stays as it is.
    ///
    /// ```
    /// use divvy_policy::spec;
    ///
    /// let [lottery, fixed, stride] = ["lottery", "lottery:seed=7", "stride"]
    ///     .map(|text| spec::parse(text, divvy_policy::all()).expect("a spec"));
    /// assert_eq!(lottery.seeded(4).to_string(), "lottery:seed=5");
    /// assert_eq!(fixed.seeded(4), fixed);
    /// assert_eq!(stride.seeded(4), stride);
    /// ```
    #[must_use]
    pub fn seeded(&self, seed: u64) -> Spec {
        let mut spec = self.clone();
        std::iter::once(&mut spec.selection).chain(&mut spec.modifiers).for_each(|part| part.seed(seed));
        spec
    }
}

impl Part {
    fn seed(&mut self, seed: u64) {
        let Some((params, index)) = seed_of(self.name) else { return };
        if self.settings.iter().any(|setting| setting.param == SEED && setting.raw != 0) {
            return;
        }
        let param = &params[index];
        // It is 1 or more, because 0 is no seed.
        let raw = 1 + (seed % param.max as u64) as i64;
        self.settings.retain(|setting| setting.param != SEED);
        self.settings.push(Setting { param: param.name, kind: param.kind, raw });
        let place = |setting: &Setting| params.iter().position(|param| param.name == setting.param);
        self.settings.sort_by_key(place);
    }
}

/// The parameters of a policy, and which of them is its seed.
fn seed_of(policy: &str) -> Option<(&'static [ParamInfo], usize)> {
    let params = &crate::find(policy)?.params;
    Some((params, params.iter().position(|param| param.name == SEED)?))
}
