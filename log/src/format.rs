//! The bytes of a log; `mod.rs` has the tables.

/// Bytes of a record.
pub const RECORD_SIZE: usize = 32;

pub(super) const MAGIC: &[u8; 8] = b"divvylog";
const END_MAGIC: &[u8; 8] = b"divvyend";
const BYTE_ORDER: u32 = 0x0102_0304;
const VERSION: u32 = 1;
pub(super) const END_KIND: u8 = 255;
/// Bytes of the header before the spec.
pub(super) const FIXED_SIZE: usize = 48;
/// No spec is longer: a name and a value for each of a few dozen parameters.
const SPEC_MAX: usize = 64 << 10;

/// The configuration of the kernel's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Policy, modifiers and parameters, as `divvy load` takes them.
    pub spec: String,
    /// CPUs of the machine.
    pub cpus: u32,
    /// Greatest task id.
    pub pool: u32,
    /// The slice of policies that have none of their own.
    pub quantum_ns: u64,
    /// CPUs of a shard, the last of which may have fewer, if there are several; else 0.
    pub shard_cpus: u32,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let size = (FIXED_SIZE + self.spec.len()).next_multiple_of(RECORD_SIZE);
        let mut bytes = MAGIC.to_vec();
        // Lengths are far below 2^32: SPEC_MAX.
        let words = [BYTE_ORDER, VERSION, size as u32, RECORD_SIZE as u32, self.cpus, self.pool];
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(self.quantum_ns.to_ne_bytes());
        bytes.extend((self.spec.len() as u32).to_ne_bytes());
        bytes.extend(self.shard_cpus.to_ne_bytes());
        bytes.resize(FIXED_SIZE, 0);
        bytes.extend(self.spec.as_bytes());
        bytes.resize(size, 0);
        bytes
    }

    /// From the fixed part: the header without its spec, that text's length, and the size of both.
    pub(super) fn decode(fixed: &[u8; FIXED_SIZE]) -> Result<(Header, usize, usize), String> {
        let word = |at| u32_at(fixed, at);
        if &fixed[..8] != MAGIC {
            return Err("not a log of divvy (`divvy load SPEC --log FILE` writes one)".to_owned());
        }
        if word(8) == BYTE_ORDER.swap_bytes() {
            return Err("written in the other byte order; verify it on a machine like the one that wrote it"
                .to_owned());
        }
        if word(8) != BYTE_ORDER || word(20) != RECORD_SIZE as u32 {
            return Err("a damaged header".to_owned());
        }
        if word(12) != VERSION {
            return Err(format!("version {} of the format; this divvy reads {VERSION}", word(12)));
        }
        let (size, length) = (word(16) as usize, word(40) as usize);
        if length > SPEC_MAX || size != (FIXED_SIZE + length).next_multiple_of(RECORD_SIZE) {
            return Err("a damaged header: its sizes are not possible".to_owned());
        }
        let header = Header {
            spec: String::new(),
            cpus: word(24),
            pool: word(28),
            quantum_ns: u64_at(fixed, 32),
            shard_cpus: word(44),
        };
        Ok((header, length, size))
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trailer {
    pub records: u64,
    pub dropped: u64,
}

impl Trailer {
    pub(super) fn encode(self) -> [u8; RECORD_SIZE] {
        let mut bytes = [0; RECORD_SIZE];
        bytes[..8].copy_from_slice(&self.records.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.dropped.to_ne_bytes());
        bytes[16..24].copy_from_slice(END_MAGIC);
        bytes[30] = END_KIND;
        bytes
    }

    pub(super) fn decode(bytes: &[u8; RECORD_SIZE]) -> Option<Trailer> {
        let trailer = Trailer { records: u64_at(bytes, 0), dropped: u64_at(bytes, 8) };
        (trailer.encode() == *bytes).then_some(trailer)
    }
}

/// `struct record` of `bpf/host.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Record {
    pub now: u64,
    pub value: u64,
    pub seq: u32,
    pub id: u32,
    pub answer: u32,
    pub cpu: u16,
    pub kind: u8,
    pub why: u8,
}

/// The bits of a record's kind from which on it says the shard: `LOG_SHARD` of `bpf/host.h`.
const SHARD_BIT: u32 = 5;

impl Record {
    /// The shard whose machine was told. There are no more than eight.
    pub(super) fn shard(&self) -> usize {
        usize::from(self.kind >> SHARD_BIT)
    }

    /// The event's number.
    pub(super) fn event(&self) -> u8 {
        self.kind & ((1 << SHARD_BIT) - 1)
    }

    pub(super) fn decode(bytes: &[u8; RECORD_SIZE]) -> Record {
        Record {
            now: u64_at(bytes, 0),
            value: u64_at(bytes, 8),
            seq: u32_at(bytes, 16),
            id: u32_at(bytes, 20),
            answer: u32_at(bytes, 24),
            cpu: u16::from_ne_bytes([bytes[28], bytes[29]]),
            kind: bytes[30],
            why: bytes[31],
        }
    }

    #[cfg(test)]
    pub(super) fn encode(&self) -> [u8; RECORD_SIZE] {
        let mut bytes = [0; RECORD_SIZE];
        bytes[..8].copy_from_slice(&self.now.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.value.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[20..24].copy_from_slice(&self.id.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.answer.to_ne_bytes());
        bytes[28..30].copy_from_slice(&self.cpu.to_ne_bytes());
        bytes[30] = self.kind;
        bytes[31] = self.why;
        bytes
    }
}

/// Where a record, counted from 1, begins.
pub(super) fn offset(header_size: u64, record: u64) -> u64 {
    header_size + (record - 1) * RECORD_SIZE as u64
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
