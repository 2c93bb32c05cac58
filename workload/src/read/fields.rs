//! Typed access to TOML values, with the place of each for errors.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Source, WorkloadError};
use crate::weight::WeightSetting;
use divvy_policy::units::parse_duration_ns;
use divvy_policy::{Weight, nearest};

/// A table and what it is, as in "a task".
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    pub(super) source: &'a Source<'a>,
    table: &'a DeTable<'a>,
    what: &'static str,
    /// Where the table begins, for what is missing in it.
    start: usize,
}

/// A value and the key under which it was found.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) key: &'a str,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Fields<'a> {
    /// The fields of `table`, which is `what`, after checking that it has no key besides `keys`.
    pub(super) fn new(
        source: &'a Source<'a>,
        table: &'a DeTable<'a>,
        what: &'static str,
        start: usize,
        keys: &[&str],
    ) -> Result<Self, WorkloadError> {
        let unknown = table.keys().filter(|key| !keys.contains(&key.get_ref().as_ref()));
        let Some(key) = unknown.min_by_key(|key| key.span().start) else {
            return Ok(Self { source, table, what, start });
        };
        let name = key.get_ref().as_ref();
        let message = format!("unknown key `{}` in {what}", name.escape_debug());
        let help = match nearest(name, keys.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("its keys are {}", keys.join(", ")),
        };
        Err(source.error(key.span(), message, help))
    }

    /// The value of `key`, if it is there.
    pub(super) fn get<'k: 'a>(&self, key: &'k str) -> Option<Field<'a>> {
        self.table.get(key).map(|value| Field { source: self.source, key, value })
    }

    /// Its weight, by `weight` or by `nice`.
    pub(super) fn weight(&self) -> Result<WeightSetting, WorkloadError> {
        match (self.get("weight"), self.get("nice")) {
            (Some(_), Some(nice)) => Err(nice.error("`weight` and `nice` together", "give one of them")),
            (None, None) => Ok(WeightSetting::DEFAULT),
            // The range is that of an i8.
            (None, Some(nice)) => nice.integer(-20, 19).map(|n| WeightSetting::Nice(n as i8)),
            (Some(field), None) => {
                let text = match field.value.get_ref() {
                    DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
                    DeValue::Float(float) => float.as_str(),
                    _ => return Err(field.mistyped("a number, as in 3 or 0.5")),
                };
                let weight = Weight::parse(text.trim_start_matches('+'));
                weight.map(WeightSetting::Units).map_err(|problem| field.error(problem, ""))
            }
        }
    }

    /// The value of `key`, or an error with an example.
    pub(super) fn require(&self, key: &'static str, example: &str) -> Result<Field<'a>, WorkloadError> {
        self.get(key).ok_or_else(|| {
            let span = self.start..self.start + 1;
            self.source.error(
                span,
                format!("{} needs `{key}`", self.what),
                format!("for instance {key} = {example}"),
            )
        })
    }

    /// The duration under `key`, if it is there.
    pub(super) fn duration(&self, key: &'static str) -> Result<Option<u64>, WorkloadError> {
        self.get(key).map(|field| field.duration()).transpose()
    }
}

/// The type of a TOML value, in the words of an error: `a string`, `a table`.
#[must_use]
pub fn toml_kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

impl<'a> Field<'a> {
    pub(super) fn span(&self) -> Range<usize> {
        self.value.span()
    }

    /// An error at this value.
    pub(super) fn error(&self, message: impl Into<String>, help: impl Into<String>) -> WorkloadError {
        self.source.error(self.span(), message, help)
    }

    /// An error that the value is of another type than `wanted`.
    pub(super) fn mistyped(&self, wanted: &str) -> WorkloadError {
        let found = toml_kind(self.value.get_ref());
        self.error(format!("`{}` is {found}", self.key), format!("it must be {wanted}"))
    }

    pub(super) fn string(&self) -> Result<&'a str, WorkloadError> {
        self.value.get_ref().as_str().ok_or_else(|| self.mistyped("a string, in quotes"))
    }

    pub(super) fn duration(&self) -> Result<u64, WorkloadError> {
        let examples = "a duration in quotes, with a unit: \"75ms\", \"1.5s\", \"250us\", \"20min\"";
        let text = self.value.get_ref().as_str().ok_or_else(|| self.mistyped(examples))?;
        parse_duration_ns(text).map_err(|problem| self.error(format!("`{}`: {problem}", self.key), ""))
    }

    /// An integer from `least` to `most`.
    pub(super) fn integer(&self, least: i128, most: i128) -> Result<i128, WorkloadError> {
        let wanted = format!("an integer from {least} to {most}");
        let DeValue::Integer(integer) = self.value.get_ref() else {
            return Err(self.mistyped(&wanted));
        };
        match i128::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(n) if (least..=most).contains(&n) => Ok(n),
            _ => Err(self.error(format!("`{}` is {integer}", self.key), format!("it must be {wanted}"))),
        }
    }

    pub(super) fn unsigned(&self, least: u64, most: u64) -> Result<u64, WorkloadError> {
        // The range is that of u64, so the value fits.
        self.integer(least.into(), most.into()).map(|n| n as u64)
    }

    /// An integer or a decimal number.
    pub(super) fn number(&self) -> Result<f64, WorkloadError> {
        let text = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str(),
            DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
            _ => return Err(self.mistyped("a number")),
        };
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() => Ok(x),
            _ => Err(self.error(format!("`{}` is {text}", self.key), "it must be a finite number")),
        }
    }

    /// The entries of a list, each under this list's key.
    pub(super) fn list(&self) -> Result<impl ExactSizeIterator<Item = Field<'a>> + use<'a>, WorkloadError> {
        let DeValue::Array(list) = self.value.get_ref() else {
            return Err(self.mistyped("a list, in brackets"));
        };
        let Self { source, key, .. } = *self;
        Ok(list.iter().map(move |value| Field { source, key, value }))
    }

    /// The fields of a table that is `what`, with `keys` the only ones allowed.
    pub(super) fn fields(&self, what: &'static str, keys: &[&str]) -> Result<Fields<'a>, WorkloadError> {
        let DeValue::Table(table) = self.value.get_ref() else {
            return Err(self.mistyped(&format!("a table with the keys {}", keys.join(", "))));
        };
        Fields::new(self.source, table, what, self.span().start, keys)
    }

    /// The only entry of a table whose key is one of `keys`: which of several kinds `what` is.
    pub(super) fn variant(
        &self,
        what: &'static str,
        keys: &[&'static str],
    ) -> Result<Field<'a>, WorkloadError> {
        let fields = self.fields(what, keys)?;
        let mut present = keys.iter().filter_map(|key| fields.get(key));
        let one_of = || format!("{what} has exactly one of {}", keys.join(", "));
        let first = present.next().ok_or_else(|| self.error(format!("{what} is empty"), one_of()))?;
        match present.next() {
            None => Ok(first),
            Some(second) => {
                let message = format!("{what} has both `{}` and `{}`", first.key, second.key);
                Err(second.error(message, one_of()))
            }
        }
    }
}
