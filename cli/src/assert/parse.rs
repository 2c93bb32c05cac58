//! A recursive-descent parser for claims; see the grammar in [`super`].

use divvy_policy::nearest;
use divvy_policy::quantity::parse_time_ns;
use divvy_results::measure::{QUANTITIES, Quantity, STATISTICS, Source, Statistic, Unit};

use super::claim::{ASSERT, Claim, ClaimError, Measure, Name, Op, Side};

pub(super) fn claim(text: &str) -> Result<Claim, ClaimError> {
    Parser::new(text).claim().map_err(|(column, message)| ClaimError {
        option: ASSERT,
        text: text.to_owned(),
        column,
        message,
    })
}

/// Column (from 1) and what is wrong there.
type Wrong = (usize, String);

struct Parser {
    chars: Vec<char>,
    at: usize,
}

/// A side, and what must be known of it to compare it with the other.
struct Typed {
    side: Side,
    column: usize,
    /// `None` for a bare 0, which fits any unit.
    is_time: Option<bool>,
    name: String,
}

impl Parser {
    fn new(text: &str) -> Self {
        Self { chars: text.chars().collect(), at: 0 }
    }

    fn claim(mut self) -> Result<Claim, Wrong> {
        let left = self.side()?;
        let op = self.op()?;
        let right = self.side()?;
        self.skip_spaces();
        if self.peek().is_some() {
            return Err((self.column(), "the claim should end here".to_owned()));
        }
        check_units(&left, &right)?;
        if matches!((&left.side, &right.side), (Side::Number(_), Side::Number(_))) {
            return Err((left.column, "two numbers claim nothing about the report".to_owned()));
        }
        Ok(Claim { text: self.chars.iter().collect(), left: left.side, op, right: right.side })
    }

    fn op(&mut self) -> Result<Op, Wrong> {
        const OPS: [(&str, Op); 6] = [
            ("<=", Op::AtMost),
            (">=", Op::AtLeast),
            ("==", Op::Equal),
            ("!=", Op::Unequal),
            ("<", Op::Less),
            (">", Op::Greater),
        ];
        self.skip_spaces();
        OPS.into_iter()
            .find(|(symbol, _)| self.take(symbol))
            .map(|(_, op)| op)
            .ok_or_else(|| (self.column(), "expected <, <=, >, >=, == or !=".to_owned()))
    }

    fn side(&mut self) -> Result<Typed, Wrong> {
        self.skip_spaces();
        let column = self.column();
        let starts_number = self.peek().is_some_and(|c| c.is_ascii_digit() || matches!(c, '-' | '.'));
        if !starts_number {
            return self.measure(column, 1.0);
        }
        let (value, is_time) = self.number()?;
        self.skip_spaces();
        if !self.take("*") {
            let name = "a number".to_owned();
            return Ok(Typed { side: Side::Number(value), column, is_time, name });
        }
        if is_time == Some(true) {
            return Err((column, "a factor has no unit".to_owned()));
        }
        self.skip_spaces();
        self.measure(column, value)
    }

    fn number(&mut self) -> Result<(f64, Option<bool>), Wrong> {
        let column = self.column();
        let start = self.at;
        self.skip_while(|c| c.is_ascii_digit() || matches!(c, '-' | '.'));
        let digits: String = self.chars[start..self.at].iter().collect();
        let value: f64 = digits.parse().map_err(|_| (column, format!("`{digits}` is not a number")))?;
        match self.unit().as_str() {
            "" => Ok((value, (value != 0.0).then_some(false))),
            "%" => Ok((value / 100.0, Some(false))),
            unit => parse_time_ns(&format!("{digits}{unit}"))
                .map(|ns| (ns as f64, Some(true)))
                .map_err(|error| (column, error.to_string())),
        }
    }

    /// The unit after a number; after a space, only if the word is a known unit.
    fn unit(&mut self) -> String {
        let before = self.at;
        self.skip_spaces();
        let start = self.at;
        self.skip_while(|c| c.is_alphabetic() || c == '%');
        let unit: String = self.chars[start..self.at].iter().collect();
        if start > before && unit != "%" && parse_time_ns(&format!("1{unit}")).is_err() {
            self.at = before;
            return String::new();
        }
        unit
    }

    fn measure(&mut self, column: usize, factor: f64) -> Result<Typed, Wrong> {
        let start = self.at;
        let (name_column, name) = self.word();
        if name.is_empty() {
            return Err((
                name_column,
                "expected a number or a measure, as in `8ms` or `max(error)`".to_owned(),
            ));
        }
        self.skip_spaces();
        let opened = self.take("(");
        let statistic = STATISTICS.iter().find(|(known, _)| *known == name);
        let (quantity, statistic) = match statistic {
            Some((known, statistic)) if opened => (self.pooled(known, *statistic)?, Some(*statistic)),
            Some((known, _)) => {
                return Err((name_column, format!("`{known}` of what? Write {known}(response)")));
            }
            None => (find_quantity(name_column, &name)?, None),
        };
        let mut measure =
            Measure { text: String::new(), quantity, statistic, task: None, process: None, policy: None };
        if opened {
            self.args(&mut measure)?;
        }
        check_scope(&measure, name_column)?;
        measure.text = self.chars[start..self.at].iter().collect::<String>().trim().to_owned();
        Ok(Typed {
            column,
            is_time: Some(measure.unit() == Unit::Time),
            name: format!("`{}`", quantity.name),
            side: Side::Measure { factor, measure },
        })
    }

    /// The quantity after `statistic(`.
    fn pooled(&mut self, name: &str, statistic: Statistic) -> Result<&'static Quantity, Wrong> {
        self.skip_spaces();
        let (column, word) = self.word();
        let quantity = find_quantity(column, &word)?;
        if quantity.takes(statistic) {
            return Ok(quantity);
        }
        let quantity_name = quantity.name;
        Err((
            column,
            match quantity.source {
                Source::Run(_) => format!("`{quantity_name}` is one number a run; write it without {name}()"),
                _ => format!("there is no {name} of `{quantity_name}`; it has {}", statistics_of(quantity)),
            },
        ))
    }

    /// Arguments up to the closing parenthesis.
    fn args(&mut self, measure: &mut Measure) -> Result<(), Wrong> {
        // After `statistic(quantity` a comma comes first; after `quantity(` an argument does.
        let mut wants_comma = measure.statistic.is_some();
        loop {
            self.skip_spaces();
            if self.take(")") {
                return Ok(());
            }
            if wants_comma && !self.take(",") {
                return Err((self.column(), "expected `,` or `)`".to_owned()));
            }
            wants_comma = true;
            self.arg(measure)?;
        }
    }

    fn arg(&mut self, measure: &mut Measure) -> Result<(), Wrong> {
        self.skip_spaces();
        let column = self.column();
        let before = self.at;
        let (_, key) = self.word();
        self.skip_spaces();
        let keyed = self.peek() == Some('=') && matches!(key.as_str(), "task" | "process" | "policy");
        if keyed {
            self.at += 1;
        } else {
            self.at = before;
        }
        let name = self.name()?;
        let slot = match key.as_str() {
            "process" if keyed => &mut measure.process,
            "policy" if keyed => &mut measure.policy,
            _ => &mut measure.task,
        };
        if slot.is_some() {
            let what = if keyed { key.as_str() } else { "task" };
            return Err((column, format!("a {what} is named already")));
        }
        *slot = Some(name);
        Ok(())
    }

    /// A name in double quotes, or up to `,` or `)`.
    fn name(&mut self) -> Result<Name, Wrong> {
        self.skip_spaces();
        let column = self.column();
        let quoted = self.take("\"");
        let start = self.at;
        self.skip_while(|c| if quoted { c != '"' } else { !matches!(c, ',' | ')') });
        let text: String = self.chars[start..self.at].iter().collect();
        if quoted && !self.take("\"") {
            return Err((column, "the closing `\"` is missing".to_owned()));
        }
        let text = if quoted { text } else { text.trim().to_owned() };
        if text.is_empty() {
            return Err((column, "a name is missing".to_owned()));
        }
        Ok(Name { text, column })
    }

    fn word(&mut self) -> (usize, String) {
        let (column, start) = (self.column(), self.at);
        self.skip_while(|c| c.is_alphanumeric() || c == '_');
        (column, self.chars[start..self.at].iter().collect())
    }

    fn column(&self) -> usize {
        self.at + 1
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found =
            symbol.chars().enumerate().all(|(offset, c)| self.chars.get(self.at + offset) == Some(&c));
        if found {
            self.at += symbol.chars().count();
        }
        found
    }

    fn skip_spaces(&mut self) {
        self.skip_while(char::is_whitespace);
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
    }
}

fn find_quantity(column: usize, name: &str) -> Result<&'static Quantity, Wrong> {
    if let Some(quantity) = QUANTITIES.iter().find(|quantity| quantity.name == name) {
        return Ok(quantity);
    }
    let names = QUANTITIES.iter().map(|quantity| quantity.name);
    let statistics = STATISTICS.iter().map(|(name, _)| *name).filter(|statistic| *statistic != name);
    let hint = match nearest(name, names.clone().chain(statistics)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; there are {}", names.collect::<Vec<_>>().join(", ")),
    };
    Err((column, format!("nothing is called `{}`{hint}", name.escape_debug())))
}

fn statistics_of(quantity: &Quantity) -> String {
    let names: Vec<&str> = STATISTICS
        .iter()
        .filter(|(_, statistic)| quantity.takes(*statistic))
        .map(|(name, _)| *name)
        .collect();
    names.join(", ")
}

/// A number a run has no task, one task's number needs one, and a distribution needs a statistic.
fn check_scope(measure: &Measure, column: usize) -> Result<(), Wrong> {
    let name = measure.quantity.name;
    match measure.quantity.source {
        Source::Run(_) => match measure.task.as_ref().or(measure.process.as_ref()) {
            Some(task) => {
                Err((task.column, format!("`{name}` is one number a run; only policy= narrows it")))
            }
            None => Ok(()),
        },
        _ if measure.statistic.is_some() => Ok(()),
        _ if needs_statistic(measure.quantity) => Err((
            column,
            format!("`{name}` is a distribution; say which number of it, as in mean({name}) or p99({name})"),
        )),
        _ if measure.task.is_none() => Err((
            column,
            format!(
                "`{name}` is one number a task; name the task, as in {name}(T1), or pool, as in max({name})"
            ),
        )),
        _ => Ok(()),
    }
}

fn check_units(left: &Typed, right: &Typed) -> Result<(), Wrong> {
    let (Some(left_time), Some(right_time)) = (left.is_time, right.is_time) else {
        return Ok(());
    };
    if left_time == right_time {
        return Ok(());
    }
    let (time, other) = if left_time { (left, right) } else { (right, left) };
    Err((
        other.column,
        match (&time.side, &other.side) {
            (_, Side::Number(_)) => format!("{} is a time; give the number a unit, as in `8ms`", time.name),
            _ => format!("{} is not a time, {} is", other.name, time.name),
        },
    ))
}

/// One task's number needs no statistic; one distribution does.
fn needs_statistic(quantity: &Quantity) -> bool {
    matches!(quantity.source, Source::Samples { .. })
}
