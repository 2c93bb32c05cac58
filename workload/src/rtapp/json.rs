//! JSON as rt-app and workgen take it: with comments, commas before a closing bracket, members without a value, and keys
//! that come again, whose order is the program. A JSON library keeps but the last of those.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Source, WorkloadError};

/// Brackets within brackets; rt-app's own files have 6.
const MOST_DEPTH: usize = 64;
/// All values of a file.
const MOST_VALUES: usize = 1_000_000;

/// A value, and the bytes where it stands.
#[derive(Debug)]
pub(super) struct Json<'a> {
    pub value: Value<'a>,
    pub span: Range<usize>,
}

#[derive(Debug)]
pub(super) enum Value<'a> {
    /// `null`, or a member without a value.
    Null,
    Bool(bool),
    /// As written.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<Member<'a>>),
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member<'a> {
    pub key: Cow<'a, str>,
    /// Where the key stands.
    pub span: Range<usize>,
    pub json: Json<'a>,
}

/// Whether a text with this beginning can only be JSON among the formats of workloads.
pub(crate) fn is_json(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    text.starts_with(b"{") || text.starts_with(b"//") || text.starts_with(b"/*")
}

/// Reads a text that is one value.
pub(super) fn parse<'a>(source: &'a Source<'a>) -> Result<Json<'a>, WorkloadError> {
    let mut reader = Reader { source, text: source.text, at: 0, values: 0 };
    reader.skip()?;
    let json = reader.value(0)?;
    reader.skip()?;
    match reader.peek() {
        None => Ok(json),
        Some(_) => Err(reader.error("there is more behind the end", "a file is one object")),
    }
}

struct Reader<'a> {
    source: &'a Source<'a>,
    text: &'a str,
    at: usize,
    values: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes this byte, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    fn error(&self, message: impl Into<String>, help: &str) -> WorkloadError {
        self.source.error(self.at..self.at + 1, message, help)
    }

    /// Passes over spaces and comments.
    fn skip(&mut self) -> Result<(), WorkloadError> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.len() - rest.trim_start().len();
            let rest = &rest[blank..];
            let comment = if rest.starts_with("//") {
                rest.find('\n').unwrap_or(rest.len())
            } else if let Some(inside) = rest.strip_prefix("/*") {
                let end = inside.find("*/").map(|end| end + 4);
                self.at += blank;
                let end = end.ok_or_else(|| self.error("this comment has no end", "close it with */"))?;
                self.at -= blank;
                end
            } else {
                0
            };
            self.at += blank + comment;
            if comment == 0 {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json<'a>, WorkloadError> {
        self.values += 1;
        if self.values > MOST_VALUES {
            return Err(
                self.error(format!("more than {MOST_VALUES} values"), "no workload of rt-app has as many")
            );
        }
        if depth > MOST_DEPTH {
            return Err(self.error(format!("brackets are nested more than {MOST_DEPTH} deep"), ""));
        }
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.list(depth)?,
            Some(b'"' | b'\'') => Value::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Value::Number(self.word()),
            Some(_) => self.name()?,
            None => return Err(self.error("the file ends where a value should be", "")),
        };
        Ok(Json { value, span: start..self.at })
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>, WorkloadError> {
        let start = self.at;
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip()?;
            if self.take(b'}') {
                return Ok(Value::Object(members));
            }
            let key_at = self.at;
            if !matches!(self.peek(), Some(b'"' | b'\'')) {
                return Err(self.unfinished(start, "a name in quotes or a closing }"));
            }
            let key = self.string()?;
            let span = key_at..self.at;
            self.skip()?;
            let json = if self.take(b':') {
                self.skip()?;
                self.value(depth + 1)?
            } else {
                Json { value: Value::Null, span: span.clone() }
            };
            members.push(Member { key, span, json });
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(b'}') {
                return Err(self.unfinished(start, "a comma or a closing }"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value<'a>, WorkloadError> {
        let start = self.at;
        self.at += 1;
        let mut list = Vec::new();
        loop {
            self.skip()?;
            if self.take(b']') {
                return Ok(Value::List(list));
            }
            list.push(self.value(depth + 1)?);
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(b']') {
                return Err(self.unfinished(start, "a comma or a closing ]"));
            }
        }
    }

    /// Anything but this comes next. At the end of the file the error is at the opening bracket.
    fn unfinished(&self, start: usize, wanted: &str) -> WorkloadError {
        match self.peek() {
            Some(_) => self.error(format!("here should be {wanted}"), ""),
            None => {
                self.source.error(start..start + 1, "this is not closed", format!("the file lacks {wanted}"))
            }
        }
    }

    fn string(&mut self) -> Result<Cow<'a, str>, WorkloadError> {
        let (start, quote) = (self.at, self.text.as_bytes()[self.at]);
        let mut decoded: Option<String> = None;
        let mut from = start + 1;
        loop {
            let rest = &self.text.as_bytes()[from..];
            let Some(stop) = rest.iter().position(|&byte| byte == quote || byte == b'\\') else {
                return Err(self.source.error(start..start + 1, "this text has no end", "close its quotes"));
            };
            let piece = &self.text[from..from + stop];
            self.at = from + stop + 1;
            if rest[stop] == quote {
                return Ok(match decoded {
                    None => Cow::Borrowed(piece),
                    Some(text) => Cow::Owned(text + piece),
                });
            }
            let text = decoded.get_or_insert_with(String::new);
            text.push_str(piece);
            text.push(self.escape()?);
            from = self.at;
        }
    }

    /// The character for which an escape stands, behind its backslash.
    fn escape(&mut self) -> Result<char, WorkloadError> {
        let Some(letter) = self.text[self.at..].chars().next() else {
            return Err(self.error("this text has no end", "close its quotes"));
        };
        self.at += letter.len_utf8();
        Ok(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => self.unicode()?,
            other => other,
        })
    }

    /// `\u` with four digits, or two of them for one letter.
    fn unicode(&mut self) -> Result<char, WorkloadError> {
        let high = self.four_digits()?;
        if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with("\\u") {
            let back = self.at;
            self.at += 2;
            let low = self.four_digits()?;
            if (0xdc00..0xe000).contains(&low) {
                let letter = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = back;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_digits(&mut self) -> Result<u32, WorkloadError> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let value = value.ok_or_else(|| self.error("\\u is not followed by four hexadecimal digits", ""))?;
        self.at += 4;
        Ok(value)
    }

    /// Up to the next bracket, comma, colon, quote or space.
    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let ends = |c: char| c.is_whitespace() || c.is_control() || "{}[],:\"'/".contains(c);
        let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn name(&mut self) -> Result<Value<'a>, WorkloadError> {
        let start = self.at;
        match self.word() {
            "true" | "True" => Ok(Value::Bool(true)),
            "false" | "False" => Ok(Value::Bool(false)),
            "null" => Ok(Value::Null),
            "" => Err(self.error("here should be a value", "a number, a text in quotes, { or [")),
            word => {
                let message = format!("`{}` is no value", word.escape_debug());
                let help = "if it stands for one in a template, put that there; texts are in quotes";
                Err(self.source.error(start..start + word.len(), message, help))
            }
        }
    }
}
