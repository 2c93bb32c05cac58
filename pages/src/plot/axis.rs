//! Axes: from values to places, and round numbers to mark.

/// The values of an axis, and where on the canvas they are.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub from: f64,
    pub to: f64,
    /// Places of `from` and of `to`.
    pub start: f64,
    pub end: f64,
    pub log: bool,
}

impl Axis {
    pub fn place(&self, value: f64) -> f64 {
        let scale = |x: f64| if self.log { x.max(1e-300).ln() } else { x };
        let (from, to) = (scale(self.from), scale(self.to));
        let part = if to > from { (scale(value) - from) / (to - from) } else { 0.5 };
        self.start + part * (self.end - self.start)
    }

    /// Whether the value is on the axis.
    pub fn has(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// The place of the value, or of the end that is nearer.
    pub fn bounded(&self, value: f64) -> f64 {
        self.place(value.clamp(self.from, self.to))
    }

    /// The distance of the ticks of a linear axis.
    pub fn step(&self) -> Option<f64> {
        round_step(self.from, self.to)
    }

    /// Round values within the axis, about five.
    pub fn ticks(&self) -> Vec<f64> {
        if self.log { self.powers() } else { round_values(self.from, self.to) }
    }

    /// Powers of ten on a long axis. On a short one powers of two if the ends are such, else 1, 2 and 5 times powers of ten.
    fn powers(&self) -> Vec<f64> {
        let is_power_of_two = |x: f64| x.log2().fract().abs() < 1e-9;
        let is_long = self.to / self.from > 1000.0;
        let is_doubling = is_power_of_two(self.from) && is_power_of_two(self.to);
        if !is_long && !is_doubling {
            let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
            let round = (first..=last).flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(k)));
            return round
                .filter(|x| (self.from * (1.0 - 1e-9)..=self.to * (1.0 + 1e-9)).contains(x))
                .collect();
        }
        let base = if is_long { 10.0_f64 } else { 2.0 };
        let first = (self.from.ln() / base.ln() - 1e-9).ceil() as i32;
        let last = (self.to.ln() / base.ln() + 1e-9).floor() as i32;
        (first..=last).map(|k| base.powi(k)).collect()
    }
}

/// A round distance of about a fifth of the axis.
fn round_step(from: f64, to: f64) -> Option<f64> {
    let rough = (to - from) / 5.0;
    if rough <= 0.0 || !rough.is_finite() {
        return None;
    }
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999)
}

fn round_values(from: f64, to: f64) -> Vec<f64> {
    let Some(step) = round_step(from, to) else { return vec![from] };
    let (first, last) = ((from / step - 1e-9).ceil() as i64, (to / step + 1e-9).floor() as i64);
    (first..=last).map(|k| k as f64 * step).collect()
}

/// As short as it is exact to four digits.
pub fn label(value: f64) -> String {
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let axis = Axis { from: -12.0, to: 23.5, start: 0.0, end: 1.0, log: false };
        assert_eq!(axis.ticks(), [-10.0, 0.0, 10.0, 20.0]);
        assert_eq!(axis.place(-12.0), 0.0);
        assert_eq!(axis.place(23.5), 1.0);
        let log = Axis { from: 2.0, to: 200.0, start: 0.0, end: 1.0, log: true };
        assert_eq!(log.ticks(), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        assert!((log.place(20.0) - 0.5).abs() < 1e-12);
        assert_eq!(Axis { to: 16.0, ..log }.ticks(), [2.0, 4.0, 8.0, 16.0]);
        assert_eq!(Axis { from: 0.3, to: 4000.0, ..log }.ticks(), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, -0.00001, 2.5, 20.0].map(label), ["0", "0", "2.5", "20"]);
    }
}
