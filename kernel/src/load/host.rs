//! The structs of `bpf/host.h`, field by field; a test compares the two.

use divvy_policy::spec::{Part, Spec};
use divvy_policy::{Kind, PolicyInfo};

use super::cpus::Cpus;
use super::grouping::Grouping;
use super::rules::Key;

/// Tasks that a BPF object has room for, counting id 0.
pub const MAX_POOL: u32 = 1 << 14;

/// `struct host_config`, as the bytes of `.rodata.config`.
#[derive(Clone, Debug)]
pub struct Config<'a> {
    pub spec: &'a Spec,
    pub cpus: &'a Cpus,
    pub quantum_ns: u64,
    pub pool: u32,
    pub fail_every: u32,
    pub log: bool,
    pub grouping: Option<Grouping>,
    /// Keeps the limits of CPU time that cgroups have.
    pub limits: bool,
    /// There may be rules.
    pub rules: bool,
    pub starvation_limit_ms: u32,
    /// One dispatch in so many measures how long it waits for the lock: a power of two, or 0 for none.
    pub sample: u32,
    pub tick_ns: u32,
}

impl Config<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Self { pool, fail_every, starvation_limit_ms, sample, tick_ns, .. } = *self;
        let by = |grouping| (self.grouping == Some(grouping)).into();
        let (cgroups, users) = (by(Grouping::Cgroups), by(Grouping::Users));
        let (log, limits, rules) = (self.log.into(), self.limits.into(), self.rules.into());
        // Windows of 8 decisions: of a load that repeats with fewer, each one is measured.
        let no_sample = if sample == 0 { u32::MAX } else { (sample - 1) << 3 };
        let words =
            [pool, fail_every, log, cgroups, starvation_limit_ms, no_sample, tick_ns, users, limits, rules];
        for word in words {
            bytes.extend(word.to_ne_bytes());
        }
        for cpu in self.cpus.machine().into_iter().chain(self.cpus.kernel()) {
            bytes.extend(cpu.to_ne_bytes());
        }
        bytes.extend(self.quantum_ns.to_ne_bytes());
        bytes.extend(self.cpus.count().to_ne_bytes());
        bytes.extend(modifier_bits(self.spec).to_ne_bytes());
        for value in params(self.spec) {
            bytes.extend(value.to_ne_bytes());
        }
        bytes
    }
}

fn modifiers() -> impl Iterator<Item = &'static PolicyInfo> {
    divvy_policy::all().iter().filter(|policy| policy.kind == Kind::Modifier)
}

/// The bit of a modifier: modifiers have bits in the order of the machine's list.
pub fn modifier_bit(name: &str) -> Option<u32> {
    modifiers().position(|modifier| modifier.name == name).map(|index| 1 << index)
}

/// The bits of all modifiers of a spec.
pub fn modifier_bits(spec: &Spec) -> u32 {
    spec.modifiers.iter().filter_map(|part| modifier_bit(part.name)).sum()
}

/// All parameters: the policy's, then those of every modifier, whether it is on or not.
fn params(spec: &Spec) -> Vec<i64> {
    let selection = divvy_policy::find(spec.selection.name).map(|info| (info, Some(&spec.selection)));
    let modifiers = modifiers().map(|info| (info, spec.modifiers.iter().find(|part| part.name == info.name)));
    selection.into_iter().chain(modifiers).flat_map(|(info, part)| values(info, part)).collect()
}

fn values(info: &'static PolicyInfo, part: Option<&Part>) -> Vec<i64> {
    let set = |name| part.and_then(|part| part.settings.iter().find(|setting| setting.param == name));
    info.params.iter().map(|param| set(param.name).map_or(param.default, |setting| setting.raw)).collect()
}

macro_rules! stats {
    ($(#[$doc:meta])* $Stats:ident { $($name:ident: $help:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(default)]
        pub struct $Stats {
            $(#[doc = $help] pub $name: u64,)*
        }

        impl $Stats {
            /// Bytes of the map's value.
            pub const SIZE: usize = [$(stringify!($name)),*].len() * 8;
            /// In the host's order.
            #[cfg(test)]
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Reads the map's value.
            pub fn read(bytes: &[u8]) -> Self {
                let mut words = Words(bytes);
                Self { $($name: words.u64(),)* }
            }

            /// Each count with its name and description.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), $help, self.$name)),*].into_iter()
            }

            /// The differences from `earlier`.
            pub fn since(&self, earlier: &Self) -> Self {
                Self { $($name: self.$name.saturating_sub(earlier.$name),)* }
            }
        }
    };
}

stats! {
    /// `struct host_stats`: counts since loading.
    Stats {
        decisions: "Times that the policy was asked.",
        faults: "Answers against the contract.",
        events: "Events told to the machine, if there is a log of them.",
        switches: "Tasks that came on a CPU.",
        wakes: "Tasks that became runnable.",
        kept: "Slices that went on after an interruption by the kernel.",
        kicks: "CPUs asked to dispatch.",
        kernel_threads: "Times that a kernel thread went first.",
        pinned: "Times that a task that must not migrate was enqueued for its CPU.",
        fallbacks: "Times that a task without an id went to the fallback queue.",
        rescues: "Slices granted to tasks that had waited beyond the starvation limit.",
        held: "Times that a task was held because a cgroup around it had used up its limit of CPU time.",
        missing: "Picked tasks that could not be found.",
        late: "Times that a CPU waited for a task that it had picked on another.",
        without_id: "Tasks alive without an id.",
        tasks: "Tasks alive with an id.",
        runnable: "Tasks runnable now.",
        records: "Records of the log.",
        dropped: "Records that found no room.",
        lock_samples: "Dispatches whose wait for the lock was measured.",
        lock_wait_ns: "The total of those waits.",
        moves: "Times that a task went to another shard.",
        taken: "Tasks that a CPU took from another shard.",
    }
}

stats! {
    /// `struct shard_stats`: counts of a shard since loading.
    ShardStats {
        decisions: "Times that the shard's policy was asked.",
        runnable: "Tasks of the shard runnable now.",
        moves: "Times that a task came from another shard.",
        taken: "Tasks of the shard that a CPU of another one took.",
        lock_samples: "Dispatches whose wait for the shard's lock was measured.",
        lock_wait_ns: "The total of those waits.",
    }
}

/// A shard: its CPUs, as the kernel lists them, and its counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shard {
    /// As `0-3,8`.
    pub cpus: String,
    /// Since loading, or in an interval; `runnable` is at its end.
    #[serde(flatten)]
    pub counts: ShardStats,
}

impl Stats {
    /// With several shards, which are counted one by one: their sums.
    pub fn with(self, shards: &[Shard]) -> Self {
        let sum = |count: fn(&ShardStats) -> u64| shards.iter().map(|shard| count(&shard.counts)).sum();
        if shards.is_empty() {
            return self;
        }
        Self {
            decisions: sum(|counts| counts.decisions),
            runnable: sum(|counts| counts.runnable),
            moves: sum(|counts| counts.moves),
            taken: sum(|counts| counts.taken),
            lock_samples: sum(|counts| counts.lock_samples),
            lock_wait_ns: sum(|counts| counts.lock_wait_ns),
            ..self
        }
    }
}

impl Shard {
    /// The differences from `earlier`, which may be of nobody.
    pub fn since(&self, earlier: Option<&Self>) -> Self {
        let earlier = earlier.map(|shard| shard.counts).unwrap_or_default();
        let counts = ShardStats { runnable: self.counts.runnable, ..self.counts.since(&earlier) };
        Self { cpus: self.cpus.clone(), counts }
    }

    /// The mean time in ns that a dispatch waited for the shard's lock.
    #[must_use]
    pub fn lock_wait_ns(&self) -> Option<f64> {
        mean(self.counts.lock_wait_ns, self.counts.lock_samples)
    }
}

/// None of no samples.
pub(super) fn mean(total: u64, samples: u64) -> Option<f64> {
    (samples > 0).then(|| total as f64 / samples as f64)
}

/// `struct account`: a task's row of `.data.tasks`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Account {
    /// CPU time received.
    pub received_ns: u64,
    /// CPU time entitled to, in the fluid model.
    pub entitled_ns: u64,
    /// Its weight after the modifiers; nice 0 is 2^20.
    pub weight: u64,
    /// The weight that was asked for.
    pub nominal: u64,
    /// Time waited for a CPU, in waits that ended.
    pub waited_ns: u64,
    /// 0: the row is free, and has the last task's numbers.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Times that it came on a CPU.
    pub turns: u32,
    /// The process by which it is counted.
    pub process: u32,
    /// Whether it is runnable.
    pub runnable: u32,
    /// The number of waits.
    pub waits: u32,
}

impl Account {
    pub(crate) const SIZE: usize = 64;

    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut words = Words(bytes);
        Self {
            received_ns: words.u64(),
            entitled_ns: words.u64(),
            weight: words.u64(),
            nominal: words.u64(),
            waited_ns: words.u64(),
            pid: words.u32(),
            tgid: words.u32(),
            turns: words.u32(),
            process: words.u32(),
            runnable: words.u32(),
            waits: words.u32(),
        }
    }
}

/// Programs that the map `names` has room for.
#[cfg(feature = "bpf")]
pub const MAX_NAMES: usize = 8192;

/// `struct host_exit`: how the scheduler ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exit {
    /// 0 while the scheduler runs.
    pub kind: i64,
    pub code: i64,
    pub reason: String,
    pub message: String,
    pub dump: String,
}

impl Exit {
    const REASON: usize = 128;
    const MESSAGE: usize = 1024;
    const DUMP: usize = 32768;
    pub const SIZE: usize = 16 + Self::REASON + Self::MESSAGE + Self::DUMP;

    pub fn read(bytes: &[u8]) -> Self {
        let mut words = Words(bytes);
        Self {
            kind: words.u64().cast_signed(),
            code: words.u64().cast_signed(),
            reason: words.text(Self::REASON),
            message: words.text(Self::MESSAGE),
            dump: words.text(Self::DUMP),
        }
    }
}

/// `struct host_command`: the argument of a command's program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    pub pid: u32,
    /// The parameter's owner: 0 is the policy, else the modifier's bit.
    pub owner: u32,
    pub index: u32,
    pub value: u64,
}

impl Command {
    pub const SIZE: usize = 24;

    pub fn bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        for (at, word) in [self.pid, self.owner, self.index, 0].into_iter().enumerate() {
            bytes[at * 4..at * 4 + 4].copy_from_slice(&word.to_ne_bytes());
        }
        bytes[16..].copy_from_slice(&self.value.to_ne_bytes());
        bytes
    }

    /// The value that the program left.
    pub fn value_of(bytes: &[u8]) -> u64 {
        Words(bytes.get(16..).unwrap_or_default()).u64()
    }
}

/// `MAX_RULES`
pub const MOST_RULES: usize = 16_384;

/// The bytes of a `struct host_rule`; without a weight the rule goes.
pub fn rule_bytes(key: Key, weight: Option<u64>) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..4].copy_from_slice(&(key.kind as u32).to_ne_bytes());
    bytes[4..8].copy_from_slice(&key.device.to_ne_bytes());
    bytes[8..16].copy_from_slice(&key.number.to_ne_bytes());
    bytes[16..20].copy_from_slice(&key.owner.to_ne_bytes());
    bytes[24..].copy_from_slice(&weight.unwrap_or(0).to_ne_bytes());
    bytes
}

/// Reads the fields of a C struct in order; after its end all are 0.
pub struct Words<'a>(pub &'a [u8]);

impl Words<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        match self.0.split_first_chunk() {
            Some((word, rest)) => {
                self.0 = rest;
                *word
            }
            None => [0; N],
        }
    }

    pub fn u64(&mut self) -> u64 {
        u64::from_ne_bytes(self.take())
    }

    pub fn u32(&mut self) -> u32 {
        u32::from_ne_bytes(self.take())
    }

    /// A C string, up to its terminator or the end of its array.
    fn text(&mut self, size: usize) -> String {
        let (field, rest) = self.0.split_at(size.min(self.0.len()));
        self.0 = rest;
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
