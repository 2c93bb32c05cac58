//! The bytes of a log; `mod.rs` has the tables.

/// Bytes of a record.
pub const RECORD_SIZE: usize = 32;

pub(super) const MAGIC: &[u8; 8] = b"divvylog";
const END_MAGIC: &[u8; 8] = b"divvyend";
const BYTE_ORDER: u32 = 0x0102_0304;
const VERSION: u32 = 1;
/// That of a log of several shards.
const VERSION_OF_SHARDS: u32 = 2;
pub(super) const END_KIND: u8 = 255;
/// Bytes of the header before the spec.
pub(super) const FIXED_SIZE: usize = 48;
/// `MOST_SHARDS` of `bpf/host.h`.
pub(super) const MOST_SHARDS: usize = 64;
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
    /// CPUs of each shard, if there are several.
    pub shards: Vec<u8>,
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let size = (FIXED_SIZE + self.spec.len() + self.shards.len()).next_multiple_of(RECORD_SIZE);
        let version = if self.shards.is_empty() { VERSION } else { VERSION_OF_SHARDS };
        let mut bytes = MAGIC.to_vec();
        // Lengths are far below 2^32: SPEC_MAX.
        let words = [BYTE_ORDER, version, size as u32, RECORD_SIZE as u32, self.cpus, self.pool];
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(self.quantum_ns.to_ne_bytes());
        bytes.extend((self.spec.len() as u32).to_ne_bytes());
        bytes.extend((self.shards.len() as u32).to_ne_bytes());
        bytes.resize(FIXED_SIZE, 0);
        bytes.extend(self.spec.as_bytes());
        bytes.extend(&self.shards);
        bytes.resize(size, 0);
        bytes
    }

    /// From the fixed part: the header without its spec and shards, and how long these and all are.
    pub(super) fn decode(fixed: &[u8; FIXED_SIZE]) -> Result<(Header, Lengths), String> {
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
        let (version, shards) = (word(12), word(44) as usize);
        if ![VERSION, VERSION_OF_SHARDS].contains(&version) {
            return Err(format!(
                "version {version} of the format; this divvy reads up to {VERSION_OF_SHARDS}"
            ));
        }
        if version == VERSION && shards > 0 {
            return Err(format!(
                "a log of several shards in version {version} of the format, which this divvy does not read: write it anew"
            ));
        }
        let (size, spec) = (word(16) as usize, word(40) as usize);
        if spec > SPEC_MAX
            || shards > MOST_SHARDS
            || (version == VERSION_OF_SHARDS) != (shards > 1)
            || size != (FIXED_SIZE + spec + shards).next_multiple_of(RECORD_SIZE)
        {
            return Err("a damaged header: its sizes are not possible".to_owned());
        }
        let header = Header {
            spec: String::new(),
            cpus: word(24),
            pool: word(28),
            quantum_ns: u64_at(fixed, 32),
            shards: Vec::new(),
        };
        Ok((header, Lengths { spec, shards, header: size }))
    }
}

/// In bytes.
pub(super) struct Lengths {
    pub spec: usize,
    pub shards: usize,
    pub header: usize,
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
    /// The shard whose machine was told. With several it is the upper half of the field of the CPU: `LOG_SHARD` of `bpf/host.h`.
    pub shard: u8,
    pub kind: u8,
    pub why: u8,
}

impl Record {
    pub(super) fn decode(bytes: &[u8; RECORD_SIZE], several_shards: bool) -> Record {
        let field = u16::from_ne_bytes([bytes[28], bytes[29]]);
        let (cpu, shard) = match several_shards {
            true if field as u8 == u8::MAX => (u16::MAX, (field >> 8) as u8),
            true => (field & 0xff, (field >> 8) as u8),
            false => (field, 0),
        };
        Record {
            now: u64_at(bytes, 0),
            value: u64_at(bytes, 8),
            seq: u32_at(bytes, 16),
            id: u32_at(bytes, 20),
            answer: u32_at(bytes, 24),
            cpu,
            shard,
            kind: bytes[30],
            why: bytes[31],
        }
    }

    #[cfg(test)]
    pub(super) fn encode(&self, several_shards: bool) -> [u8; RECORD_SIZE] {
        let cpu = if several_shards { self.cpu & 0xff | u16::from(self.shard) << 8 } else { self.cpu };
        let mut bytes = [0; RECORD_SIZE];
        bytes[..8].copy_from_slice(&self.now.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.value.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[20..24].copy_from_slice(&self.id.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.answer.to_ne_bytes());
        bytes[28..30].copy_from_slice(&cpu.to_ne_bytes());
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
