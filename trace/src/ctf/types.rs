//! The types of a CTF trace's fields, and how a value is read by its type.

use crate::perf_data::bytes::Endian;
use std::rc::Rc;

/// Types in types. A decoder goes as deep, so there is a limit.
pub(super) const MOST_DEPTH: usize = 64;
/// Values in one event, and those among them that may have no bits: there could be any number.
const MOST_VALUES: u64 = 1 << 20;
const MOST_EMPTY: u64 = 256;

#[derive(Debug, Clone)]
pub(super) enum Type {
    Integer(Integer),
    Float {
        bits: u64,
        align: u64,
    },
    Text,
    Enumeration(Rc<Enumeration>),
    Struct(Rc<Fields>),
    Variant {
        tag: String,
        options: Rc<Fields>,
    },
    Array {
        element: Rc<Type>,
        length: u64,
    },
    /// Its length is an earlier field.
    Sequence {
        element: Rc<Type>,
        length: String,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Integer {
    pub bits: u64,
    pub align: u64,
    pub is_signed: bool,
    /// The trace's own order if there is none.
    pub endian: Option<Endian>,
    /// A character.
    pub is_text: bool,
    /// A reading of the clock, or its low bits.
    pub is_clock: bool,
}

#[derive(Debug)]
pub(super) struct Enumeration {
    pub integer: Integer,
    /// First and last value, and their name.
    pub ranges: Vec<(i128, i128, String)>,
}

#[derive(Debug)]
pub(super) struct Fields {
    pub fields: Vec<(String, Type)>,
    pub align: u64,
    pub depth: usize,
}

impl Fields {
    pub fn new(fields: Vec<(String, Type)>, least_align: u64) -> Fields {
        let align = fields.iter().map(|(_, field)| field.align()).fold(least_align.max(1), u64::max);
        let depth = 1 + fields.iter().map(|(_, field)| field.depth()).max().unwrap_or(0);
        Fields { fields, align, depth }
    }
}

impl Type {
    pub fn align(&self) -> u64 {
        match self {
            Type::Integer(integer) => integer.align,
            Type::Float { align, .. } => *align,
            Type::Text => 8,
            Type::Enumeration(enumeration) => enumeration.integer.align,
            Type::Struct(fields) => fields.align,
            Type::Variant { .. } => 1, // that of the option which is there
            Type::Array { element, .. } | Type::Sequence { element, .. } => element.align(),
        }
    }

    /// Arrays in arrays count as well, and only where they are few: a type is made of types that were within the limit.
    pub fn depth(&self) -> usize {
        match self {
            Type::Struct(fields) | Type::Variant { options: fields, .. } => fields.depth,
            Type::Array { element, .. } | Type::Sequence { element, .. } => 1 + element.depth(),
            _ => 0,
        }
    }
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Number(i64),
    Named(i128, &'a Enumeration),
    /// From one byte of the packet to another.
    Text(usize, usize),
}

/// Reads values out of a packet, from bit to bit.
pub(super) struct Decoder<'a, 'd> {
    data: &'d [u8],
    /// Where the content ends, in bits.
    end: u64,
    pub at: u64,
    endian: Endian,
    /// The named values of this event, the last one last.
    pub values: Vec<(&'a str, Value<'a>)>,
    /// The clock, by the last reading; `None` where readings do not count.
    pub clock: Option<u64>,
    /// Values so far, and where the first began.
    count: u64,
    start: u64,
}

impl<'a, 'd> Decoder<'a, 'd> {
    /// From the start of a packet, or from bit `at` of it.
    pub fn new(data: &'d [u8], at: u64, end: u64, endian: Endian) -> Self {
        let end = end.min(data.len() as u64 * 8);
        Decoder { data, end, at, endian, values: Vec::new(), clock: None, count: 0, start: at }
    }

    /// The last number of this name.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.values.iter().rev().find(|(known, _)| *known == name).and_then(|(_, value)| match *value {
            Value::Number(number) => Some(number),
            Value::Named(number, _) => Some(number as i64),
            Value::Text(..) => None,
        })
    }

    /// Reads a value; `None` if it is not all there, or makes no sense.
    pub fn read(&mut self, kind: &'a Type, name: &'a str) -> Option<()> {
        self.count += 1;
        if self.count > MOST_VALUES || self.count > MOST_EMPTY + (self.at - self.start) {
            return None;
        }
        match kind {
            Type::Integer(integer) => {
                let raw = self.integer(integer)?;
                self.keep(name, Value::Number(raw));
            }
            Type::Float { bits, align } => {
                self.align(*align)?;
                self.skip(*bits)?;
            }
            Type::Text => {
                self.align(8)?;
                let start = (self.at / 8) as usize;
                let rest = self.data.get(start..(self.end / 8) as usize)?;
                let length = memchr::memchr(0, rest)?;
                self.at += (length as u64 + 1) * 8;
                self.keep(name, Value::Text(start, start + length));
            }
            Type::Enumeration(enumeration) => {
                let raw = self.integer(&enumeration.integer)?;
                let number =
                    if enumeration.integer.is_signed { i128::from(raw) } else { i128::from(raw as u64) };
                self.keep(name, Value::Named(number, enumeration));
            }
            Type::Struct(fields) => {
                self.align(fields.align)?;
                fields.fields.iter().try_for_each(|(name, field)| self.read(field, name))?;
            }
            Type::Variant { tag, options } => {
                let (_, value) = self.values.iter().rev().find(|(known, _)| known == tag)?;
                let Value::Named(number, enumeration) = *value else { return None };
                let mut ranges = enumeration.ranges.iter();
                let (_, _, label) = ranges.find(|(first, last, _)| (*first..=*last).contains(&number))?;
                let (name, option) = options.fields.iter().find(|(name, _)| name == label)?;
                self.read(option, name)?;
            }
            Type::Array { element, length } => self.elements(element, *length, name)?,
            Type::Sequence { element, length } => {
                let length = u64::try_from(self.number(length)?).ok()?;
                self.elements(element, length, name)?;
            }
        }
        Some(())
    }

    /// Characters are a text up to a NUL; other elements are read and have no name.
    fn elements(&mut self, element: &'a Type, length: u64, name: &'a str) -> Option<()> {
        self.align(element.align())?;
        match element {
            Type::Integer(Integer { bits: 8, align: ..=8, is_text: true, .. })
                if self.at.is_multiple_of(8) =>
            {
                let start = (self.at / 8) as usize;
                self.skip(length.checked_mul(8)?)?;
                let text = self.data.get(start..start + length as usize)?;
                let used = memchr::memchr(0, text).unwrap_or(text.len());
                self.keep(name, Value::Text(start, start + used));
            }
            _ => (0..length).try_for_each(|_| self.read(element, ""))?,
        }
        Some(())
    }

    fn keep(&mut self, name: &'a str, value: Value<'a>) {
        if !name.is_empty() {
            self.values.push((name, value));
        }
    }

    fn align(&mut self, align: u64) -> Option<()> {
        self.at = self.at.checked_next_multiple_of(align)?;
        (self.at <= self.end).then_some(())
    }

    fn skip(&mut self, bits: u64) -> Option<()> {
        self.at = self.at.checked_add(bits).filter(|at| *at <= self.end)?;
        Some(())
    }

    /// Sign-extended. A reading of the clock moves the clock: its low bits never go backwards, so they have wrapped if they do.
    fn integer(&mut self, integer: &Integer) -> Option<i64> {
        self.align(integer.align)?;
        let at = self.at;
        self.skip(integer.bits)?;
        let endian = integer.endian.unwrap_or(self.endian);
        let raw = bits(self.data, at, integer.bits, endian)?;
        if integer.is_clock
            && let Some(clock) = &mut self.clock
        {
            *clock = match integer.bits {
                64 => raw,
                few => {
                    let next = *clock >> few << few | raw;
                    if next < *clock { next.wrapping_add(1 << few) } else { next }
                }
            };
        }
        let unused = 64 - integer.bits as u32;
        Some(if integer.is_signed { (raw << unused) as i64 >> unused } else { raw as i64 })
    }
}

/// `count` bits, 1 to 64. The first is the lowest of its byte in little endian, the highest in big endian.
fn bits(data: &[u8], at: u64, count: u64, endian: Endian) -> Option<u64> {
    let start = (at / 8) as usize;
    if at.is_multiple_of(8) && matches!(count, 8 | 16 | 32 | 64) {
        return endian.uint(data, start, count as usize / 8);
    }
    let bytes = data.get(start..(at + count).div_ceil(8) as usize)?;
    let whole = match endian {
        Endian::Little => {
            bytes.iter().rev().fold(0u128, |all, byte| all << 8 | u128::from(*byte)) >> (at % 8)
        }
        Endian::Big => {
            let after = bytes.len() as u64 * 8 - at % 8 - count;
            bytes.iter().fold(0u128, |all, byte| all << 8 | u128::from(*byte)) >> after
        }
    };
    Some((whole & ((1u128 << count) - 1)) as u64)
}
