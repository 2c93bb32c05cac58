//! Protobuf's wire format: numbered fields, of four kinds.

/// A message in the making.
#[derive(Debug, Default)]
pub(super) struct Message(pub Vec<u8>);

impl Message {
    pub fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// Negative numbers take ten bytes, as protobuf's int32 and int64 do.
    pub fn signed(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    pub fn bytes(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub fn message(&mut self, field: u32, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    /// A string or a message, and where in the message around it its bytes begin.
    Bytes(&'a [u8], usize),
}

impl<'a> Value<'a> {
    pub fn number(self) -> u64 {
        match self {
            Value::Number(value) => value,
            Value::Bytes(..) => 0,
        }
    }

    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes, _) => bytes,
            Value::Number(_) => &[],
        }
    }
}

/// Numbers of a repeated field: one, or many packed. `None` if they are damaged, or more than `most`.
pub(super) fn numbers(value: Value, into: &mut Vec<u64>, most: usize) -> Option<()> {
    match value {
        Value::Number(number) => into.push(number),
        Value::Bytes(data, _) => {
            let mut packed = Fields::of(data);
            while packed.at < data.len() && into.len() <= most {
                into.push(packed.varint()?);
            }
        }
    }
    (into.len() <= most).then_some(())
}

/// The fields of a message, in its order; `Err` is where in it the damage is.
pub(super) struct Fields<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    pub fn of(data: &'a [u8]) -> Self {
        Fields { data, at: 0 }
    }

    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.varint()?;
        let field = u32::try_from(tag >> 3).ok().filter(|&field| field > 0)?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => Value::Number(self.fixed(8)?),
            5 => Value::Number(self.fixed(4)?),
            2 => {
                let size = usize::try_from(self.varint()?).ok()?;
                let start = self.at;
                Value::Bytes(self.take(size)?, start)
            }
            _ => return None,
        };
        Some((field, value))
    }

    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let bytes = self.data.get(self.at..self.at.checked_add(size)?)?;
        self.at += size;
        Some(bytes)
    }

    fn fixed(&mut self, size: usize) -> Option<u64> {
        Some(self.take(size)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for index in 0..10 {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), usize>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.data.len() {
            return None;
        }
        let start = self.at;
        let field = self.field();
        if field.is_none() {
            self.at = self.data.len();
        }
        Some(field.ok_or(start))
    }
}
