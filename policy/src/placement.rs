//! The part of a spec after `@`: the shards into which the CPUs are divided, each with a machine of its own
//! (`papers/placement.md`).
//!
//! `@cpu` is a shard for each CPU, `@shards:size=8` one for each 8 of them, `@llc` and `@node` one for each last-level cache and node of
//! the machine's topology. All take `skew=Q`, the quanta by which a shard may be ahead of another one, and `steal=off`, so that idle CPUs
//! do not take tasks from other shards.

use std::fmt;
use std::str::FromStr;

use crate::nearest;

/// The most CPUs of a shard: its set of CPUs is one word.
pub const MOST_CPUS: u32 = 64;
/// The greatest skew, in quanta.
pub const MOST_SKEW: u32 = 1000;

/// The quanta by which a shard may be ahead, if the spec does not say.
const DEFAULT_SKEW: u32 = 1;

/// Where tasks are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How CPUs are divided.
    pub shards: Shards,
    /// The quanta by which a shard may be ahead of another one before it takes a task from there.
    pub skew_quanta: u32,
    /// Whether an idle CPU takes tasks from other shards.
    pub steal: bool,
}

/// How CPUs are divided into shards, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shards {
    /// Each CPU is one.
    EachCpu,
    /// So many CPUs are one; the last has what is left.
    OfSize(u32),
    /// Those that share a last-level cache are one.
    EachLlc,
    /// Those of a node are one.
    EachNode,
}

/// An error after the `@` of a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// No such placement.
    #[error("there is no placement `{}`{}; write `@llc`, `@node`, `@cpu` or `@shards:size=8`", .0.escape_debug(), did_you_mean(.0, &KINDS))]
    Unknown(String),
    /// Something that belongs before the `@`.
    #[error("a placement comes last: write `+{}` before the `@`", .0.escape_debug())]
    NotLast(String),
    /// No such parameter.
    #[error("`@{kind}` has no parameter `{}`{}; it has {}", name.escape_debug(), did_you_mean(name, params(kind)), params(kind).join(", "))]
    UnknownParam {
        /// The placement.
        kind: &'static str,
        /// As written.
        name: String,
    },
    /// The same parameter twice.
    #[error("parameter `{0}` is set twice")]
    Twice(&'static str),
    /// A parameter that is needed, or whose value does not fit.
    #[error("`@{kind}` needs `{param}={takes}`, as in `@{kind}:{param}={example}`")]
    Value {
        /// The placement.
        kind: &'static str,
        /// The parameter.
        param: &'static str,
        /// The values that it takes.
        takes: &'static str,
        /// One of them.
        example: &'static str,
    },
}

const KINDS: [&str; 4] = ["cpu", "shards", "llc", "node"];
const PARAMS: [&str; 3] = ["size", "skew", "steal"];

/// The parameters of a placement.
fn params(kind: &str) -> &'static [&'static str] {
    if kind == "shards" { &PARAMS } else { &PARAMS[1..] }
}

fn did_you_mean(name: &str, known: &[&'static str]) -> String {
    nearest(name, known.iter().copied()).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

impl Placement {
    /// Reads what comes after the `@`.
    ///
    /// # Errors
    /// When the name, a parameter or a value is not one of those that there are.
    pub fn parse(text: &str) -> Result<Placement, PlacementError> {
        if let Some((_, modifiers)) = text.split_once('+') {
            return Err(PlacementError::NotLast(modifiers.to_owned()));
        }
        let mut fields = text.split(':');
        let name = fields.next().unwrap_or_default();
        let kind = KINDS.into_iter().find(|kind| *kind == name);
        let kind = kind.ok_or_else(|| PlacementError::Unknown(name.to_owned()))?;
        let mut values: [Option<&str>; PARAMS.len()] = [None; PARAMS.len()];
        for field in fields {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            let Some(param) = params(kind).iter().find(|param| **param == name) else {
                return Err(PlacementError::UnknownParam { kind, name: name.to_owned() });
            };
            let at = PARAMS.iter().position(|p| p == param).unwrap_or_default();
            if values[at].replace(value).is_some() {
                return Err(PlacementError::Twice(param));
            }
        }
        let [size, skew, steal] = values;
        let wrong = |param, takes, example| PlacementError::Value { kind, param, takes, example };
        let shards = match kind {
            "cpu" => Shards::EachCpu,
            "llc" => Shards::EachLlc,
            "node" => Shards::EachNode,
            _ => Shards::OfSize(
                size.and_then(|size| within(size, 1, MOST_CPUS)).ok_or(wrong("size", "1..64", "8"))?,
            ),
        };
        let skew_quanta = match skew {
            None => DEFAULT_SKEW,
            Some(skew) => within(skew, 0, MOST_SKEW).ok_or(wrong("skew", "0..1000", "2"))?,
        };
        let steal = match steal {
            None | Some("on") => true,
            Some("off") => false,
            Some(_) => return Err(wrong("steal", "on|off", "off")),
        };
        Ok(Placement { shards, skew_quanta, steal })
    }
}

/// The number, if it is one of these.
fn within(text: &str, least: u32, most: u32) -> Option<u32> {
    u32::from_str(text).ok().filter(|number| (least..=most).contains(number))
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.shards {
            Shards::EachCpu => f.write_str("cpu")?,
            Shards::OfSize(size) => write!(f, "shards:size={size}")?,
            Shards::EachLlc => f.write_str("llc")?,
            Shards::EachNode => f.write_str("node")?,
        }
        if self.skew_quanta != DEFAULT_SKEW {
            write!(f, ":skew={}", self.skew_quanta)?;
        }
        if self.steal { Ok(()) } else { f.write_str(":steal=off") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_write() {
        for (text, what) in [
            ("cache", "there is no placement `cache`; write `@llc`, `@node`, `@cpu` or `@shards:size=8`"),
            (
                "llcs",
                "there is no placement `llcs`; did you mean `llc`?; write `@llc`, `@node`, `@cpu` or `@shards:size=8`",
            ),
            (
                "shard",
                "there is no placement `shard`; did you mean `shards`?; write `@llc`, `@node`, `@cpu` or `@shards:size=8`",
            ),
            ("llc:size=2", "`@llc` has no parameter `size`; it has skew, steal"),
            ("node:skew=x", "`@node` needs `skew=0..1000`, as in `@node:skew=2`"),
            ("shards", "`@shards` needs `size=1..64`, as in `@shards:size=8`"),
            ("shards:size=65", "`@shards` needs `size=1..64`, as in `@shards:size=8`"),
            ("cpu+feasible", "a placement comes last: write `+feasible` before the `@`"),
            ("cpu:size=2", "`@cpu` has no parameter `size`; it has skew, steal"),
            ("cpu:skew=-1", "`@cpu` needs `skew=0..1000`, as in `@cpu:skew=2`"),
            ("cpu:steal=no", "`@cpu` needs `steal=on|off`, as in `@cpu:steal=off`"),
            ("cpu:skew=1:skew=2", "parameter `skew` is set twice"),
        ] {
            assert_eq!(Placement::parse(text).map_err(|error| error.to_string()), Err(what.to_owned()));
        }
    }

    #[test]
    fn defaults_are_not_printed() {
        for (text, printed) in [
            ("cpu:skew=1:steal=on", "cpu"),
            ("llc:skew=2:steal=on", "llc:skew=2"),
            ("node:steal=off", "node:steal=off"),
            ("shards:steal=off:size=8:skew=02", "shards:size=8:skew=2:steal=off"),
        ] {
            assert_eq!(Placement::parse(text).map(|placement| placement.to_string()), Ok(printed.to_owned()));
        }
    }
}
