//! One stream of packets: the events of a CPU, in order.

use super::events::Tracepoint;
use super::schema::{Schema, Stream};
use super::types::{Decoder, Value};
use crate::error::{ErrorKind, Place, TraceError};
use crate::folder::Part;
use crate::import::Facts;
use divvy_policy::CpuId;

/// The first word of a packet.
const MAGIC: i64 = 0xc1fc_1fc1;
/// As many bytes hold a packet's head.
const HEAD_BYTES: u64 = 4096;
/// Sub-buffers of LTTng are a few MiB.
const MOST_PACKET_BYTES: u64 = 1 << 26;

/// Something that happened.
pub(super) enum Item<'a> {
    /// The tracer dropped events before this packet.
    Lost { events: u64 },
    /// One of the tracepoints that are read: its values, and the packet that has their texts.
    Event {
        tracepoint: Tracepoint,
        context: &'a [(&'a str, Value<'a>)],
        fields: &'a [(&'a str, Value<'a>)],
        packet: &'a [u8],
    },
}

pub(super) struct Packets<'s> {
    part: Part,
    schema: &'s Schema,
    /// Where the next packet begins, in bytes.
    next: u64,
    packet: Vec<u8>,
    /// The packet's stream; `None` if it cannot be read on.
    stream: Option<&'s Stream>,
    cpu: CpuId,
    /// Where the next event begins and the packet's content ends, in bits.
    at: u64,
    end: u64,
    clock: u64,
    /// Events that the tracer has dropped by its count, so far.
    discarded: u64,
    lost: Option<u64>,
    event: Option<Tracepoint>,
    values: Vec<(&'s str, Value<'s>)>,
    /// Where the event's own fields begin among them.
    fields_at: usize,
}

impl<'s> Packets<'s> {
    pub fn new(part: Part, schema: &'s Schema) -> Packets<'s> {
        Packets {
            part,
            schema,
            next: 0,
            packet: Vec::new(),
            stream: None,
            cpu: CpuId::new(0),
            at: 0,
            end: 0,
            clock: 0,
            discarded: 0,
            lost: None,
            event: None,
            values: Vec::new(),
            fields_at: 0,
        }
    }

    pub fn name(&self) -> &str {
        self.part.name()
    }

    /// The CPU of the packet.
    pub fn cpu(&self) -> CpuId {
        self.cpu
    }

    /// About where in the file it is.
    pub fn offset(&self) -> u64 {
        self.next
    }

    /// Goes to the next item; its time by the trace's clock, or `None` at the end.
    pub fn next_time(&mut self, facts: &mut Facts) -> Result<Option<u64>, TraceError> {
        loop {
            if self.lost.is_some() || self.event.is_some() {
                return Ok(Some(self.clock));
            }
            if self.at < self.end {
                if self.next_event().is_none() {
                    facts.malformed += 1; // the rest of the packet makes no sense
                    self.at = self.end;
                }
            } else if !self.next_packet(facts).map_err(|error| error.in_file(self.part.name()))? {
                return Ok(None);
            }
        }
    }

    /// The item that [`Packets::next_time`] went to.
    pub fn item(&mut self) -> Option<Item<'_>> {
        if let Some(events) = self.lost.take() {
            return Some(Item::Lost { events });
        }
        let tracepoint = self.event.take()?;
        let (context, fields) = self.values.split_at(self.fields_at);
        Some(Item::Event { tracepoint, context, fields, packet: &self.packet })
    }

    /// Reads an event. One that does not tell about scheduling is read over.
    fn next_event(&mut self) -> Option<()> {
        let stream = self.stream?;
        let mut decoder = Decoder::new(&self.packet, self.at, self.end, self.schema.endian);
        decoder.clock = Some(self.clock);
        decoder.values = std::mem::take(&mut self.values);
        decoder.values.clear();
        let id = match &stream.event_header {
            Some(header) => {
                decoder.read(header, "")?;
                decoder.number("id").unwrap_or(0) as u64
            }
            None => 0,
        };
        let class = stream.events.get(&id)?;
        for context in [&stream.event_context, &class.context].into_iter().flatten() {
            decoder.read(context, "")?;
        }
        self.fields_at = decoder.values.len();
        if let Some(fields) = &class.fields {
            decoder.read(fields, "")?;
        }
        if decoder.at == self.at {
            return None; // an event without a single bit would come for ever
        }
        (self.at, self.clock) = (decoder.at, decoder.clock.unwrap_or(self.clock));
        self.values = decoder.values;
        self.event = class.tracepoint;
        Some(())
    }

    /// Reads the next packet; `false` at the end.
    fn next_packet(&mut self, facts: &mut Facts) -> Result<bool, TraceError> {
        if self.next >= self.part.len() {
            return Ok(false);
        }
        let start = self.next;
        let damaged = |what: String| {
            TraceError::new(ErrorKind::Malformed, what)
                .at(Place::Offset(start))
                .advise("the trace is damaged: copy it again, or record again")
        };
        self.part.read_at(start, HEAD_BYTES, &mut self.packet)?;
        let left = self.part.len() - start;
        let Some(head) = self.head() else {
            if left < HEAD_BYTES {
                facts.cut_at.get_or_insert(self.part.len());
                self.next = self.part.len();
                return Ok(true);
            }
            return Err(damaged("this is no packet of the trace".to_owned()));
        };
        let bytes = head.bytes.unwrap_or(left);
        if bytes > MOST_PACKET_BYTES {
            return Err(damaged(format!("a packet claims {bytes} bytes")));
        }
        let content = head.content_bits.unwrap_or(bytes * 8);
        if bytes == 0 || content.div_ceil(8) > bytes || head.data_at > content {
            return Err(damaged("a packet contradicts its own size".to_owned()));
        }
        if bytes > left {
            facts.cut_at.get_or_insert(self.part.len());
        }
        self.part.read_at(start, bytes, &mut self.packet)?;
        self.next = start.saturating_add(bytes);
        self.stream = self.schema.streams.get(&head.stream);
        if self.stream.is_none() {
            return Err(damaged(format!("a packet of stream {}, which is not described", head.stream)));
        }
        self.cpu = CpuId::new(head.cpu);
        (self.at, self.end) = (head.data_at, content.min(self.packet.len() as u64 * 8));
        self.clock = head.begins.unwrap_or(self.clock);
        let discarded = head.discarded.unwrap_or(self.discarded);
        if discarded > self.discarded {
            self.lost = Some(discarded - self.discarded);
        }
        self.discarded = discarded;
        Ok(true)
    }

    /// The head of the packet that was read; `None` if it is not all there, or no packet's.
    fn head(&self) -> Option<Head> {
        let mut decoder = Decoder::new(&self.packet, 0, u64::MAX, self.schema.endian);
        let mut stream = 0;
        if let Some(header) = &self.schema.packet_header {
            decoder.read(header, "")?;
            if decoder.number("magic").is_some_and(|magic| magic & 0xffff_ffff != MAGIC) {
                return None;
            }
            stream = decoder.number("stream_id").unwrap_or(0) as u64;
        }
        if let Some(context) =
            self.schema.streams.get(&stream).and_then(|stream| stream.packet_context.as_ref())
        {
            decoder.read(context, "")?;
        }
        let number = |name: &str| decoder.number(name).map(|number| number as u64);
        Some(Head {
            stream,
            content_bits: number("content_size"),
            bytes: number("packet_size").map(|bits| bits / 8),
            begins: number("timestamp_begin"),
            cpu: number("cpu_id").and_then(|cpu| u32::try_from(cpu).ok()).unwrap_or(0),
            discarded: number("events_discarded"),
            data_at: decoder.at,
        })
    }
}

/// What a packet says about itself.
struct Head {
    stream: u64,
    content_bits: Option<u64>,
    bytes: Option<u64>,
    begins: Option<u64>,
    cpu: u32,
    discarded: Option<u64>,
    /// Where its events begin, in bits.
    data_at: u64,
}
