//! The words of TSDL, the language in which a CTF trace describes itself.

use crate::error::{ErrorKind, Place, TraceError};

/// One word, number, text or mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Text(String),
    Number(i128),
    Mark(&'static str),
    End,
}

/// Marks, the longer ones first.
const MARKS: [&str; 16] = [":=", "...", "{", "}", "[", "]", "(", ")", "<", ">", ";", ",", "=", ":", ".", "*"];

/// Cuts a description into tokens, one at a time.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u64,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, line: 1 }
    }

    /// An error at the line that was reached.
    pub fn error(&self, what: impl Into<String>) -> TraceError {
        TraceError::new(ErrorKind::Malformed, format!("metadata: {}", what.into()))
            .at(Place::Line(self.line))
            .advise("the trace is damaged: copy it again, or record again")
    }

    pub fn next(&mut self) -> Result<Token, TraceError> {
        self.skip_blank()?;
        let rest = &self.text[self.at..];
        let Some(&first) = rest.as_bytes().first() else { return Ok(Token::End) };
        if first == b'"' {
            return self.text();
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            let count = rest.bytes().take_while(|b| is_part(b)).count();
            self.at += count;
            return Ok(Token::Word(rest[..count].to_owned()));
        }
        if first.is_ascii_digit() || first == b'-' {
            let count = 1 + rest.bytes().skip(1).take_while(u8::is_ascii_alphanumeric).count();
            self.at += count;
            return number(&rest[..count])
                .map(Token::Number)
                .ok_or_else(|| self.error("a number is damaged"));
        }
        match MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            Some(mark) => {
                self.at += mark.len();
                Ok(Token::Mark(mark))
            }
            None => Err(self.error("a character that means nothing here")),
        }
    }

    fn skip_blank(&mut self) -> Result<(), TraceError> {
        loop {
            let rest = &self.text[self.at..];
            let blank = rest.bytes().take_while(u8::is_ascii_whitespace).count();
            let comment = match &rest[blank..] {
                text if text.starts_with("/*") => {
                    Some(text.find("*/").ok_or_else(|| self.error("a comment has no end"))? + 2)
                }
                text if text.starts_with("//") => Some(text.find('\n').unwrap_or(text.len())),
                _ => None,
            };
            let skipped = blank + comment.unwrap_or(0);
            self.line += rest[..skipped].bytes().filter(|&b| b == b'\n').count() as u64;
            self.at += skipped;
            if comment.is_none() {
                return Ok(());
            }
        }
    }

    /// A text in quotes. A backslash keeps the character behind it.
    fn text(&mut self) -> Result<Token, TraceError> {
        let mut text = String::new();
        let mut characters = self.text[self.at + 1..].char_indices();
        while let Some((index, character)) = characters.next() {
            match character {
                '"' => {
                    self.at += index + 2;
                    return Ok(Token::Text(text));
                }
                '\\' => text.extend(characters.next().map(|(_, kept)| kept)),
                other => text.push(other),
            }
            self.line += u64::from(character == '\n');
        }
        Err(self.error("a text has no end"))
    }
}

/// Decimal, `0x` or octal, with a sign in front and C's letters behind.
fn number(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok()?,
        None => digits.parse().ok()?,
    };
    Some(sign * i128::from(value))
}
