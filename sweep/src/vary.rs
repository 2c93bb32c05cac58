//! `KEY=VALUES`: what is varied. Values are lists and ranges, read exactly: 0.1 is a tenth, and 0..1:0.1 has 11 values.

use std::collections::BTreeSet;

use divvy_policy::quantity::{format_time_ns, parse_time_ns};

use super::SweepError;

/// Decimals of a range, as a power of ten.
const DECIMALS: usize = 9;
const ONE: i128 = 1_000_000_000;

/// One key and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// As given.
    pub text: String,
    /// The key to vary.
    pub key: String,
    /// Its values, as they are written in a workload or spec.
    pub values: Vec<String>,
}

/// An end of a range or its step: a number in units of 1 / [`ONE`], or nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Amount {
    Number(i128),
    Time(i128),
}

impl Vary {
    /// Reads `KEY=A..B:STEP`, `KEY=A,B,C`, or a list in which some are ranges.
    ///
    /// # Errors
    /// When there is no key or no value, a range is empty or has no step, or there are more than `most` values.
    pub fn parse(text: &str, most: u64) -> Result<Vary, SweepError> {
        let wrong = |what: String| SweepError::Vary { vary: text.to_owned(), what };
        let Some((key, list)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            return Err(wrong("write KEY=VALUES, as in alpha=0..4:0.5 or quantum=1ms,2ms".to_owned()));
        };
        let mut values = Vec::new();
        for item in list.split(',').map(str::trim) {
            match item.split_once("..") {
                Some((from, rest)) => range(from, rest, most, &mut values),
                None => single(item).map(|value| values.push(value)),
            }
            .map_err(wrong)?;
            if values.len() as u64 > most {
                return Err(SweepError::TooMany { points: values.len() as u64, most });
            }
        }
        let mut seen = BTreeSet::new();
        if let Some(value) = values.iter().find(|value| !seen.insert(value.as_str())) {
            return Err(wrong(format!("{value} is there twice")));
        }
        Ok(Vary { text: text.to_owned(), key: key.trim().to_owned(), values })
    }

    /// Its values in nanoseconds, if all are times.
    #[must_use]
    pub fn times_ns(&self) -> Option<Vec<i64>> {
        let is_bare = |value: &String| value.parse::<f64>().is_ok();
        if self.values.iter().all(is_bare) {
            return None;
        }
        self.values.iter().map(|value| parse_time_ns(value).ok()).collect()
    }
}

fn single(item: &str) -> Result<String, String> {
    if item.is_empty() {
        return Err("there is an empty value; write values with commas between them".to_owned());
    }
    // They are written into TOML and CSV.
    match item.chars().find(|c| c.is_control() || matches!(c, '"' | '\\')) {
        Some(c) => Err(format!("a value has no `{}`", c.escape_default())),
        None => Ok(item.to_owned()),
    }
}

/// Appends the values from `from` on in steps, up to and including the end if a step meets it.
fn range(from: &str, rest: &str, most: u64, values: &mut Vec<String>) -> Result<(), String> {
    let Some((to, step)) = rest.split_once(':') else {
        return Err(format!("the range {from}..{rest} has no step; write {from}..{rest}:STEP"));
    };
    let (from, to, step) = alike(amount(from)?, amount(to)?, amount(step)?)?;
    let (first, last, by, show): (i128, i128, i128, fn(i128) -> String) = match (from, to, step) {
        (Amount::Number(from), Amount::Number(to), Amount::Number(step)) => (from, to, step, show_number),
        (Amount::Time(from), Amount::Time(to), Amount::Time(step)) => (from, to, step, show_time),
        _ => {
            return Err(
                "the range mixes times and plain numbers; give all of them a unit, or none".to_owned()
            );
        }
    };
    if by <= 0 {
        return Err(format!("the step is {}; it must be more than 0", show(by)));
    }
    if last < first {
        return Err(format!("the range is empty: {} is more than {}", show(first), show(last)));
    }
    // One more than there may be is enough to be too many.
    let count = ((last - first) / by + 1).min(i128::from(most) + 1);
    values.extend((0..count).map(|i| show(first + i * by)));
    Ok(())
}

/// Among times, a bare 0 is a time.
fn alike(from: Amount, to: Amount, step: Amount) -> Result<(Amount, Amount, Amount), String> {
    let all = [from, to, step];
    if !all.iter().any(|amount| matches!(amount, Amount::Time(_))) {
        return Ok((from, to, step));
    }
    let as_time = |amount| match amount {
        Amount::Number(0) => Ok(Amount::Time(0)),
        Amount::Number(n) => Err(format!("{} has no unit; the others are times", show_number(n))),
        time => Ok(time),
    };
    Ok((as_time(from)?, as_time(to)?, as_time(step)?))
}

fn amount(text: &str) -> Result<Amount, String> {
    let text = text.trim();
    if let Some(number) = number(text) {
        return Ok(Amount::Number(number));
    }
    match parse_time_ns(text) {
        Ok(ns) => Ok(Amount::Time(ns.into())),
        Err(_) => Err(format!("`{text}` is neither a number nor a time such as 2ms")),
    }
}

fn number(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || whole.len() > 20 || fraction.len() > DECIMALS || !plain(whole) || !plain(fraction)
    {
        return None;
    }
    let scaled: i128 = format!("{whole}{fraction:0<DECIMALS$}").parse().ok()?;
    Some(if text.starts_with('-') { -scaled } else { scaled })
}

fn show_number(scaled: i128) -> String {
    let sign = if scaled < 0 { "-" } else { "" };
    let (whole, fraction) = (scaled.abs() / ONE, scaled.abs() % ONE);
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let fraction = format!("{fraction:0DECIMALS$}");
    format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
}

fn show_time(ns: i128) -> String {
    // Times come from an i64; sums of steps stay below the range's end.
    format_time_ns(i64::try_from(ns).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Vary::parse(text, 1000).unwrap_or_else(|error| panic!("{error}")).values
    }

    fn refusal(text: &str) -> String {
        Vary::parse(text, 1000).expect_err(text).to_string()
    }

    #[test]
    fn ranges_are_exact_and_have_both_ends() {
        assert_eq!(values("a=0..0.3:0.1"), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(values("a=0..1:0.3"), ["0", "0.3", "0.6", "0.9"]);
        assert_eq!(values("a=-1..1:1"), ["-1", "0", "1"]);
        assert_eq!(values("a=500us..1500us:500us"), ["500us", "1ms", "1.5ms"]);
        assert_eq!(values("a=0..2ms:1ms"), ["0s", "1ms", "2ms"]);
        assert_eq!(values("load=0.5..0.95:0.05").len(), 10);
        assert_eq!(values("alpha=0..4:0.25").len(), 17);
    }

    #[test]
    fn lists_may_hold_ranges() {
        assert_eq!(values("quantum=1ms, 2ms,4ms"), ["1ms", "2ms", "4ms"]);
        assert_eq!(values("alpha=-inf,0..1:0.5,inf"), ["-inf", "0", "0.5", "1", "inf"]);
    }

    #[test]
    fn refusals_say_why() {
        for (text, part) in [
            ("alpha", "write KEY=VALUES"),
            ("=1", "write KEY=VALUES"),
            ("alpha=", "empty value"),
            ("alpha=1,,2", "empty value"),
            ("alpha=4..0:1", "the range is empty: 4 is more than 0"),
            ("alpha=0..4", "has no step"),
            ("alpha=0..4:0", "the step is 0"),
            ("alpha=0..4:-1", "the step is -1"),
            ("alpha=0..4ms:1", "4ms"),
            ("alpha=a..4:1", "`a` is neither"),
            ("alpha=1..2:1,2", "2 is there twice"),
            ("alpha=\"", "has no"),
            ("alpha=0..1:0.0001", "more than 1000"),
        ] {
            let message = refusal(text);
            let wanted = if part == "4ms" { "1 has no unit" } else { part };
            assert!(message.contains(wanted), "{text}: {message}");
        }
    }

    #[test]
    fn times_are_told_from_numbers() {
        let times = |text| Vary::parse(text, 1000).unwrap().times_ns();
        assert_eq!(times("q=1ms,2us"), Some(vec![1_000_000, 2_000]));
        assert_eq!(times("a=0,1"), None);
        assert_eq!(times("a=on,off"), None);
    }
}
