//! A parser of TSDL's blocks and types.

use super::lexer::{Lexer, Token};
use super::types::{Enumeration, Fields, Integer, MOST_DEPTH, Type};
use crate::error::TraceError;
use crate::perf_data::bytes::Endian;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Blocks in blocks.
const MOST_NESTED: usize = 64;

/// A block: `key = value;` and `key := type;`.
#[derive(Default)]
pub(super) struct Block {
    pub values: BTreeMap<String, String>,
    pub types: BTreeMap<String, Type>,
}

impl Block {
    pub fn number(&self, key: &str) -> u64 {
        self.values.get(key).and_then(|value| value.parse().ok()).unwrap_or(0)
    }
}

pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    pub next: Token,
    /// Types by their names, the innermost scope last. Those of `struct`, `enum` and `variant` begin with that word.
    scopes: Vec<BTreeMap<String, Type>>,
    nested: usize,
}

impl<'a> Parser<'a> {
    pub fn new(text: &'a str) -> Result<Parser<'a>, TraceError> {
        let mut lexer = Lexer::new(text);
        let next = lexer.next()?;
        Ok(Parser { lexer, next, scopes: vec![BTreeMap::new()], nested: 0 })
    }

    /// An error at the line that was reached.
    pub fn error(&self, what: impl Into<String>) -> TraceError {
        self.lexer.error(what)
    }

    pub fn advance(&mut self) -> Result<Token, TraceError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    pub fn unexpected(&self) -> TraceError {
        let found = match &self.next {
            Token::End => "the end".to_owned(),
            Token::Word(text) | Token::Text(text) => {
                format!("\"{}\"", text.chars().take(40).collect::<String>().escape_debug())
            }
            Token::Number(number) => number.to_string(),
            Token::Mark(mark) => format!("\"{mark}\""),
        };
        self.error(format!("{found} does not belong here"))
    }

    fn is(&self, mark: &str) -> bool {
        matches!(&self.next, Token::Mark(next) if *next == mark)
    }

    /// Takes a mark if it is next.
    fn take(&mut self, mark: &str) -> Result<bool, TraceError> {
        let is_next = self.is(mark);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    pub fn expect(&mut self, mark: &str) -> Result<(), TraceError> {
        match self.take(mark)? {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn word(&mut self) -> Result<String, TraceError> {
        match self.advance()? {
            Token::Word(word) => Ok(word),
            other => {
                self.next = other;
                Err(self.unexpected())
            }
        }
    }

    fn number(&mut self) -> Result<i128, TraceError> {
        match self.advance()? {
            Token::Number(number) => Ok(number),
            other => {
                self.next = other;
                Err(self.unexpected())
            }
        }
    }

    /// Words with dots between them.
    fn path(&mut self) -> Result<String, TraceError> {
        let mut path = self.word()?;
        while self.take(".")? {
            path.push('.');
            path += &self.word()?;
        }
        Ok(path)
    }

    /// The last part of a path: fields are found by it.
    fn field_name(&mut self) -> Result<String, TraceError> {
        let path = self.path()?;
        Ok(path.rsplit('.').next().unwrap_or_default().to_owned())
    }

    fn enter(&mut self) -> Result<(), TraceError> {
        self.nested += 1;
        if self.nested > MOST_NESTED {
            return Err(self.error(format!("more than {MOST_NESTED} blocks in blocks")));
        }
        self.scopes.push(BTreeMap::new());
        self.expect("{")
    }

    fn leave(&mut self) -> Result<(), TraceError> {
        self.nested -= 1;
        self.scopes.pop();
        self.expect("}")
    }

    fn is_definition(&self) -> bool {
        matches!(&self.next, Token::Word(word)
            if matches!(word.as_str(), "typealias" | "typedef" | "struct" | "enum" | "variant"))
    }

    /// `{ key = value; key := type; }`
    pub fn block(&mut self) -> Result<Block, TraceError> {
        let mut block = Block::default();
        self.enter()?;
        while !self.is("}") {
            if self.is_definition() {
                self.definition()?;
                continue;
            }
            let key = self.path()?;
            if self.take(":=")? {
                let (kind, _) = self.kind(false)?;
                block.types.insert(key, kind);
            } else {
                self.expect("=")?;
                let value = match self.next {
                    Token::Word(_) => self.path()?,
                    _ => match self.advance()? {
                        Token::Text(text) => text,
                        Token::Number(number) => number.to_string(),
                        other => {
                            self.next = other;
                            return Err(self.unexpected());
                        }
                    },
                };
                block.values.insert(key, value);
            }
            self.expect(";")?;
        }
        self.leave()?;
        Ok(block)
    }

    /// A type that gets a name.
    pub fn definition(&mut self) -> Result<(), TraceError> {
        let is = |next: &Token, name: &str| matches!(next, Token::Word(word) if word == name);
        if is(&self.next, "typealias") {
            self.advance()?;
            let (kind, _) = self.kind(false)?;
            self.expect(":=")?;
            let mut name = self.word()?;
            while let Token::Word(_) = self.next {
                name = format!("{name} {}", self.word()?);
            }
            self.define(name, kind);
        } else if is(&self.next, "typedef") {
            self.advance()?;
            let (kind, name) = self.kind(true)?;
            let name = name.ok_or_else(|| self.unexpected())?;
            let kind = self.dimensions(kind)?;
            self.define(name, kind);
        } else {
            self.kind(false)?; // it defines its own name
        }
        self.expect(";")
    }

    fn define(&mut self, name: String, kind: Type) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, kind);
        }
    }

    fn look_up(&self, name: &str) -> Result<Type, TraceError> {
        let mut scopes = self.scopes.iter().rev();
        let found = scopes.find_map(|scope| scope.get(name)).cloned();
        found.ok_or_else(|| self.error(format!("there is no type \"{}\"", name.escape_debug())))
    }

    /// A type, and the name behind it where a field is declared.
    fn kind(&mut self, declares: bool) -> Result<(Type, Option<String>), TraceError> {
        let mut words = vec![self.word()?];
        if words[0] == "const" {
            words[0] = self.word()?;
        }
        let kind = match words[0].as_str() {
            "integer" => Type::Integer(self.integer()?),
            "floating_point" => {
                let block = self.block()?;
                let bits = block.number("exp_dig").saturating_add(block.number("mant_dig"));
                let align = self.align_of(&block, bits)?;
                Type::Float { bits, align }
            }
            "string" => {
                if self.is("{") {
                    self.block()?;
                }
                Type::Text
            }
            "struct" => self.structure()?,
            "enum" => self.enumeration()?,
            "variant" => self.variant()?,
            _ => {
                while let Token::Word(_) = self.next {
                    words.push(self.word()?);
                }
                let name = if declares && words.len() > 1 { words.pop() } else { None };
                return Ok((self.look_up(&words.join(" "))?, name));
            }
        };
        if kind.depth() > MOST_DEPTH {
            return Err(self.error(format!("more than {MOST_DEPTH} types in types")));
        }
        let name = match self.next {
            Token::Word(_) if declares => Some(self.word()?),
            _ => None,
        };
        Ok((kind, name))
    }

    fn align_of(&self, block: &Block, bits: u64) -> Result<u64, TraceError> {
        let align = match block.values.get("align") {
            Some(_) => block.number("align"),
            None if bits.is_multiple_of(8) => 8,
            None => 1,
        };
        match align.is_power_of_two() && align <= 1 << 16 {
            true => Ok(align),
            false => Err(self.error(format!("an alignment of {align}"))),
        }
    }

    fn integer(&mut self) -> Result<Integer, TraceError> {
        let block = self.block()?;
        let bits = block.number("size");
        if !(1..=64).contains(&bits) {
            return Err(self.error(format!("an integer of {bits} bits")));
        }
        let value = |key: &str| block.values.get(key).map(String::as_str);
        Ok(Integer {
            bits,
            align: self.align_of(&block, bits)?,
            is_signed: matches!(value("signed"), Some("true" | "TRUE" | "1")),
            endian: value("byte_order")
                .filter(|order| *order != "native")
                .map(|order| if is_big_endian(order) { Endian::Big } else { Endian::Little }),
            is_text: matches!(value("encoding"), Some("UTF8" | "ASCII" | "utf8" | "ascii")),
            is_clock: value("map").is_some(),
        })
    }

    /// A name behind `struct`, `enum` or `variant`, with that word.
    fn tag(&mut self, what: &str) -> Result<Option<String>, TraceError> {
        match self.next {
            Token::Word(_) => Ok(Some(format!("{what} {}", self.word()?))),
            _ => Ok(None),
        }
    }

    fn structure(&mut self) -> Result<Type, TraceError> {
        let name = self.tag("struct")?;
        if let Some(name) = name.as_ref().filter(|_| !self.is("{")) {
            return self.look_up(name);
        }
        let fields = self.fields()?;
        let mut align = 1;
        if matches!(&self.next, Token::Word(word) if word == "align") {
            self.advance()?;
            self.expect("(")?;
            align = u64::try_from(self.number()?).unwrap_or(0);
            self.expect(")")?;
            if !align.is_power_of_two() || align > 1 << 16 {
                return Err(self.error(format!("an alignment of {align}")));
            }
        }
        let kind = Type::Struct(Rc::new(Fields::new(fields, align)));
        if let Some(name) = name {
            self.define(name, kind.clone());
        }
        Ok(kind)
    }

    /// `variant [name] [<tag>] { .. }`. A named one gets its tag where it is used.
    fn variant(&mut self) -> Result<Type, TraceError> {
        let name = self.tag("variant")?;
        let mut tag = String::new();
        if self.take("<")? {
            tag = self.field_name()?;
            self.expect(">")?;
        }
        if let Some(name) = name.as_ref().filter(|_| !self.is("{")) {
            return match self.look_up(name)? {
                Type::Variant { options, .. } if !tag.is_empty() => Ok(Type::Variant { tag, options }),
                kind => Ok(kind),
            };
        }
        let kind = Type::Variant { tag, options: Rc::new(Fields::new(self.fields()?, 1)) };
        if let Some(name) = name {
            self.define(name, kind.clone());
        }
        Ok(kind)
    }

    fn enumeration(&mut self) -> Result<Type, TraceError> {
        let name = self.tag("enum")?;
        let integer = if self.take(":")? { self.kind(false)?.0 } else { Type::Text };
        if let Some(name) = name.as_ref().filter(|_| !self.is("{")) {
            return self.look_up(name);
        }
        let integer = match integer {
            Type::Integer(integer) => integer,
            Type::Text => match self.look_up("int")? {
                Type::Integer(integer) => integer,
                _ => return Err(self.unexpected()),
            },
            _ => return Err(self.error("an enum of what is no integer")),
        };
        self.expect("{")?;
        let (mut ranges, mut next) = (Vec::new(), 0i128);
        while !self.is("}") {
            let label = match self.advance()? {
                Token::Word(label) | Token::Text(label) => label,
                other => {
                    self.next = other;
                    return Err(self.unexpected());
                }
            };
            let (mut first, mut last) = (next, next);
            if self.take("=")? {
                first = self.number()?;
                last = if self.take("...")? { self.number()? } else { first };
            }
            next = last + 1;
            ranges.push((first, last, label));
            if !self.take(",")? {
                break;
            }
        }
        self.expect("}")?;
        let kind = Type::Enumeration(Rc::new(Enumeration { integer, ranges }));
        if let Some(name) = name {
            self.define(name, kind.clone());
        }
        Ok(kind)
    }

    fn fields(&mut self) -> Result<Vec<(String, Type)>, TraceError> {
        let mut fields = Vec::new();
        self.enter()?;
        while !self.is("}") {
            if matches!(&self.next, Token::Word(word) if word == "typealias" || word == "typedef") {
                self.definition()?;
                continue;
            }
            let (kind, mut name) = self.kind(true)?;
            while let Some(field) = name.take() {
                fields.push((field, self.dimensions(kind.clone())?));
                if self.take(",")? {
                    name = Some(self.word()?);
                }
            }
            self.expect(";")?;
        }
        self.leave()?;
        Ok(fields)
    }

    /// `[3]` or `[length]` behind a field's name, perhaps several.
    fn dimensions(&mut self, kind: Type) -> Result<Type, TraceError> {
        let mut lengths = Vec::new();
        while self.take("[")? {
            lengths.push(match self.next {
                Token::Number(_) => Err(u64::try_from(self.number()?).unwrap_or(0)),
                _ => Ok(self.field_name()?),
            });
            self.expect("]")?;
            if lengths.len() > MOST_DEPTH {
                return Err(self.error("too many dimensions"));
            }
        }
        let kind = lengths.into_iter().rev().fold(kind, |element, length| {
            let element = Rc::new(element);
            match length {
                Ok(length) => Type::Sequence { element, length },
                Err(length) => Type::Array { element, length },
            }
        });
        match kind.depth() > MOST_DEPTH {
            true => Err(self.error(format!("more than {MOST_DEPTH} types in types"))),
            false => Ok(kind),
        }
    }
}

pub(super) fn is_big_endian(order: &str) -> bool {
    matches!(order, "be" | "network")
}
