//! What a CTF trace says about itself: a parser of TSDL, version 1.8.
//!
//! Source: the CTF 1.8.3 specification, and what LTTng and `perf data convert --to-ctf` write. Names of fields are taken as they
//! are; a length or a tag is the last field of that name, whatever scope its path names.

use super::events::Tracepoint;
use super::lexer::Token;
use super::parser::{Parser, is_big_endian};
use super::types::Type;
use crate::error::TraceError;
use crate::perf_data::bytes::Endian;
use std::collections::BTreeMap;

/// How packets and events look.
#[derive(Debug)]
pub(super) struct Schema {
    pub endian: Endian,
    pub packet_header: Option<Type>,
    pub streams: BTreeMap<u64, Stream>,
    /// The name and the frequency of the first clock.
    pub clock: Option<(String, u64)>,
    pub environment: BTreeMap<String, String>,
}

#[derive(Debug, Default)]
pub(super) struct Stream {
    pub packet_context: Option<Type>,
    pub event_header: Option<Type>,
    pub event_context: Option<Type>,
    pub events: BTreeMap<u64, EventClass>,
}

#[derive(Debug)]
pub(super) struct EventClass {
    /// One of those that tell about scheduling.
    pub tracepoint: Option<Tracepoint>,
    pub context: Option<Type>,
    pub fields: Option<Type>,
}

impl Schema {
    /// Reads a whole description.
    pub fn parse(text: &str) -> Result<Schema, TraceError> {
        schema(Parser::new(text)?)
    }
}

fn schema(mut parser: Parser) -> Result<Schema, TraceError> {
    let mut schema = Schema {
        endian: Endian::Little,
        packet_header: None,
        streams: BTreeMap::new(),
        clock: None,
        environment: BTreeMap::new(),
    };
    while parser.next != Token::End {
        let Token::Word(word) = parser.next.clone() else { return Err(parser.unexpected()) };
        if !matches!(word.as_str(), "trace" | "stream" | "event" | "clock" | "env" | "callsite") {
            parser.definition()?;
            continue;
        }
        parser.advance()?;
        let mut block = parser.block()?;
        parser.expect(";")?;
        match word.as_str() {
            "trace" => {
                let is_big = block.values.get("byte_order").is_some_and(|order| is_big_endian(order));
                schema.endian = if is_big { Endian::Big } else { Endian::Little };
                schema.packet_header = block.types.remove("packet.header");
            }
            "stream" => {
                let stream = schema.streams.entry(block.number("id")).or_default();
                stream.packet_context = block.types.remove("packet.context");
                stream.event_header = block.types.remove("event.header");
                stream.event_context = block.types.remove("event.context");
            }
            "event" => {
                let stream = schema.streams.entry(block.number("stream_id")).or_default();
                let id = block.number("id");
                let tracepoint = block.values.get("name").and_then(|name| Tracepoint::of(name));
                let (context, fields) = (block.types.remove("context"), block.types.remove("fields"));
                stream.events.insert(id, EventClass { tracepoint, context, fields });
            }
            "clock" => {
                let name = block.values.get("name").cloned().unwrap_or_default();
                let frequency = block.values.get("freq").map_or(1_000_000_000, |_| block.number("freq"));
                if frequency == 0 {
                    return Err(parser.error("a clock has no frequency"));
                }
                schema.clock.get_or_insert((name, frequency));
            }
            "env" => schema.environment = block.values,
            _ => {}
        }
    }
    Ok(schema)
}
