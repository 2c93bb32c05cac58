//! A policy's BPF object in the kernel, from the bytes of the build to the attached scheduler.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read as _;

use divvy_policy::spec::Spec;
use flate2::read::GzDecoder;
use libbpf_rs::btf::{Btf, types};
use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramInput};

use super::check;
use super::cpus::CPU_SLOTS;
use super::error::LoadError;
use super::host::{Account, Command, Config, Exit, MAX_NAMES, MAX_POOL, ShardStats, Stats, modifier_bits};
use super::host_programs::{self, RULE_TRACER, TRACER};
use super::shards::MOST_SHARDS;
use super::subordinates;
use super::verified::{self, VerifiedProgram};

/// A policy, and its object, packed by gzip.
type Entry = (&'static str, &'static [u8]);
const OBJECTS: &[Entry] = include!(concat!(env!("OUT_DIR"), "/objects.rs"));
/// The same for several shards.
const SHARDED: &[Entry] = include!(concat!(env!("OUT_DIR"), "/sharded.rs"));

/// The map with the ops; attaching it makes it the scheduler.
const OPS: &str = "host_ops";
const OPS_TYPE: &str = "sched_ext_ops";
const FLAGS_TYPE: &str = "scx_ops_flags";
/// With it, tasks that must not migrate are enqueued by the host. Without it the kernel puts them into the local queue, and does
/// not ask for others while two of them are there. Linux 6.12 does not know it, and always asks the host.
const ENQ_MIGRATION_DISABLED: &str = "SCX_OPS_ENQ_MIGRATION_DISABLED";
/// The size of `sched_ext_ops.name`, with its terminator.
const NAME_LEN: usize = 128;
/// A ring buffer is at least a page; no architecture has larger pages than this.
const SMALLEST_RING: u32 = 1 << 16;
/// BPF_LOG_STATS: the verifier's log has its statistics, and no states.
const LOG_STATISTICS: u32 = 4;
/// The end of the verifier's log that is shown.
const LOG_LINES: usize = 24;

/// A loaded scheduler. It is attached as long as the link exists; the maps can be read after that as well.
pub struct Scheduler {
    object: Object,
    link: Option<Link>,
    /// The programs of the tracepoint of exec that are asked for, and once they are attached, their links.
    wanted: Vec<&'static str>,
    tracers: Vec<Link>,
}

impl Scheduler {
    /// Loads programs and maps into the kernel, which verifies them. Nothing is scheduled yet. If CPUs come or go from
    /// `hotplug_seq` on, the kernel ends the scheduler, to be loaded again.
    pub fn load(config: &Config<'_>, timeout_ms: u32, hotplug_seq: u64) -> Result<Self, LoadError> {
        listen(PrintLevel::Warn);
        let open = open(config, timeout_ms, hotplug_seq)?;
        let refused = |error: libbpf_rs::Error| refused(config.spec, &error);
        let object = open.load().map_err(refused)?;
        Ok(Self { object, link: None, wanted: tracers(config), tracers: Vec::new() })
    }

    /// Lets the kernel verify the programs, and takes them out again.
    pub fn verify(config: &Config<'_>, timeout_ms: u32) -> Result<Vec<VerifiedProgram>, LoadError> {
        listen(PrintLevel::Debug);
        // It is never attached, so it does not matter which CPUs come or go.
        let mut open = open(config, timeout_ms, 0)?;
        open.progs_mut().for_each(|mut program| program.set_log_level(LOG_STATISTICS));
        let loaded = open.load().map(drop).map_err(|error| refused(config.spec, &error));
        loaded.map(|()| verified::read(&said()))
    }

    /// Starts to schedule, until it is detached.
    pub fn attach(&mut self, spec: &Spec) -> Result<(), LoadError> {
        let ops = self.object.maps_mut().find(|map| map.name() == OPS);
        let mut ops = ops.ok_or_else(no_ops)?;
        // Another scheduler may have been loaded since the check.
        let attached = ops.attach_struct_ops().or_else(|error| {
            check::no_other_scheduler()?;
            Err(refused(spec, &error))
        });
        self.link = Some(attached?);
        for name in &self.wanted {
            let tracer = self.object.progs_mut().find(|program| program.name() == *name);
            let tracer = tracer.ok_or_else(|| no_program(name))?;
            self.tracers.push(tracer.attach().map_err(|error| refused(spec, &error))?);
        }
        Ok(())
    }

    /// Ends scheduling: the kernel's own scheduler takes over.
    pub fn detach(&mut self) {
        self.tracers.clear();
        self.link = None;
    }

    pub fn stats(&self) -> Result<Stats, LoadError> {
        Ok(Stats::read(&self.value(".data.stats", Stats::SIZE)?))
    }

    /// The counts of so many shards, in their order.
    pub fn shard_stats(&self, shards: usize) -> Result<Vec<ShardStats>, LoadError> {
        let bytes = self.value(".data.shards", ShardStats::SIZE * MOST_SHARDS)?;
        Ok(bytes.chunks_exact(ShardStats::SIZE).take(shards).map(ShardStats::read).collect())
    }

    /// The accounts of all tasks, by id.
    pub fn accounts(&self) -> Result<Vec<Account>, LoadError> {
        let bytes = self.value(".data.tasks", Account::SIZE * MAX_POOL as usize)?;
        Ok(bytes.chunks_exact(Account::SIZE).map(Account::read).collect())
    }

    pub fn exit(&self) -> Result<Exit, LoadError> {
        Ok(Exit::read(&self.value(".data.exit", Exit::SIZE)?))
    }

    /// The programs that were executed since loading: identity and command line.
    pub fn executed(&self) -> Result<BTreeMap<u64, String>, LoadError> {
        let map = self.map("names")?;
        let mut found = BTreeMap::new();
        // If the kernel deletes a key meanwhile, the iteration may start again; so it is limited.
        for key in map.keys().take(2 * MAX_NAMES) {
            let value = map.lookup(&key, MapFlags::ANY);
            let value = value.map_err(|error| io("cannot read `names`", &error))?;
            let identity = key.as_slice().try_into().map(u64::from_ne_bytes);
            if let (Ok(identity), Some(value)) = (identity, value) {
                found.insert(identity, host_programs::name(&value));
            }
        }
        Ok(found)
    }

    /// Runs a program with this argument, which it may change.
    pub fn command(&self, name: &str, context: &mut [u8]) -> Result<(), LoadError> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| no_program(name))?;
        let input = ProgramInput { context_in: Some(context), ..ProgramInput::default() };
        let output = program.test_run(input).map_err(|error| io(&format!("cannot run `{name}`"), &error))?;
        if output.return_value == 0 { Ok(()) } else { Err(no_program(name)) }
    }

    /// The map of the log's records.
    pub fn records(&self) -> Result<libbpf_rs::Map<'_>, LoadError> {
        self.map("records")
    }

    fn map(&self, name: &str) -> Result<libbpf_rs::Map<'_>, LoadError> {
        self.object
            .maps()
            .find(|map| map.name() == name)
            .ok_or_else(|| LoadError::Mismatch(format!("no map `{name}`")))
    }

    fn value(&self, name: &str, size: usize) -> Result<Vec<u8>, LoadError> {
        let value = self.map(name)?.lookup(&0u32.to_ne_bytes(), MapFlags::ANY);
        let value = value.map_err(|error| io(&format!("cannot read {name}"), &error))?.unwrap_or_default();
        if value.len() == size { Ok(value) } else { Err(size_mismatch(name, value.len(), size)) }
    }
}

/// The host's answer if there is no such task: ESRCH.
const NO_SUCH_TASK: u32 = 3;

impl Scheduler {
    /// Runs a command's program. Returns the value that it left, or None if there is no such task.
    pub fn run(&self, name: &str, command: Command) -> Result<Option<u64>, String> {
        let program = self.object.progs_mut().find(|program| program.name() == name);
        let program = program.ok_or_else(|| format!("there is no program `{name}`"))?;
        let mut context = command.bytes();
        let input = ProgramInput { context_in: Some(&mut context), ..ProgramInput::default() };
        match program.test_run(input).map_err(|error| format!("{error:#}"))?.return_value {
            0 => Ok(Some(Command::value_of(&context))),
            NO_SUCH_TASK => Ok(None),
            other => Err(format!("`{name}` answers {other}")),
        }
    }
}

/// Reads an object as [`Scheduler::load`] does, without the kernel. A libbpf that is too old finds no scheduler in it.
pub fn readable() -> Result<(), LoadError> {
    listen(PrintLevel::Warn);
    if let Some(entry) = OBJECTS.first() {
        let open = ObjectBuilder::default().open_memory(&unpacked(entry)?);
        let open =
            open.map_err(|error| LoadError::Mismatch(format!("the object of {}: {error:#}", entry.0)))?;
        open.maps().find(|map| map.name() == OPS).ok_or_else(no_ops)?;
    }
    Ok(())
}

fn no_ops() -> LoadError {
    LoadError::Mismatch(format!("no map `{OPS}`"))
}

fn no_program(name: &str) -> LoadError {
    LoadError::Mismatch(format!("no program `{name}`"))
}

fn size_mismatch(name: &str, has: usize, expected: usize) -> LoadError {
    LoadError::Mismatch(format!("{name} has {has} bytes, {expected} were expected"))
}

fn io(what: &str, error: &libbpf_rs::Error) -> LoadError {
    LoadError::Io(what.to_owned(), std::io::Error::other(format!("{error:#}")))
}

fn unpacked(&(name, packed): &Entry) -> Result<Vec<u8>, LoadError> {
    let mut bytes = Vec::new();
    let read = GzDecoder::new(packed).read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|error| LoadError::Mismatch(format!("the object for `{name}`: {error}")))
}

/// The policy's object with its constants, before the kernel sees it.
fn open(config: &Config<'_>, timeout_ms: u32, hotplug_seq: u64) -> Result<OpenObject, LoadError> {
    let policy = config.spec.selection.name;
    let objects = if config.cpus.divided().is_some() { SHARDED } else { OBJECTS };
    let entry = objects.iter().find(|(name, _)| *name == policy);
    let bytes =
        unpacked(entry.ok_or_else(|| LoadError::Mismatch(format!("no object for the policy `{policy}`")))?)?;
    let mut builder = ObjectBuilder::default();
    let open = builder.name("divvy").and_then(|builder| builder.open_memory(&bytes));
    let mut open = open.map_err(|error| refused(config.spec, &error))?;
    configure(&mut open, config)?;
    fill_ops(&mut open, &bytes, config.spec, timeout_ms, hotplug_seq)?;
    for name in tracers(config) {
        let tracer = open.progs_mut().find(|program| program.name() == name);
        tracer.ok_or_else(|| no_program(name))?.set_autoload(true);
    }
    Ok(open)
}

/// The programs that are to be called when a task executes a program
fn tracers(config: &Config<'_>) -> Vec<&'static str> {
    let flow = config.spec.knows_programs().then_some(TRACER);
    flow.into_iter().chain(config.rules.then_some(RULE_TRACER)).collect()
}

/// Writes the constants; without a log the ring buffer is as small as possible.
fn configure(open: &mut OpenObject, config: &Config<'_>) -> Result<(), LoadError> {
    let bytes = config.bytes();
    for mut map in open.maps_mut() {
        if map.name() == ".rodata.config" {
            let size = map.initial_value().map_or(0, <[u8]>::len);
            if size != bytes.len() {
                return Err(size_mismatch(".rodata.config", size, bytes.len()));
            }
            map.set_initial_value(&bytes).map_err(|error| io("cannot set .rodata.config", &error))?;
        } else if map.name() == ".rodata.shards"
            && let Some(divided) = config.cpus.divided()
        {
            let bytes = divided.bytes(CPU_SLOTS);
            let size = map.initial_value().map_or(0, <[u8]>::len);
            if size != bytes.len() {
                return Err(size_mismatch(".rodata.shards", size, bytes.len()));
            }
            map.set_initial_value(&bytes).map_err(|error| io("cannot set .rodata.shards", &error))?;
        } else if map.name() == ".bss.machines"
            && let Some(divided) = config.cpus.divided()
        {
            let all = map.value_size() as usize;
            let bytes = divided.machine_bytes(all);
            let bytes = bytes.ok_or_else(|| LoadError::Mismatch(format!(".bss.machines has {all} bytes")))?;
            map.set_value_size(bytes as u32).map_err(|error| io("cannot resize .bss.machines", &error))?;
        } else if map.name() == ".rodata.modifiers" {
            let modifiers = modifier_bits(config.spec).to_ne_bytes();
            map.set_initial_value(&modifiers).map_err(|error| io("cannot set .rodata.modifiers", &error))?;
        } else if map.name() == ".data.subordinates" {
            let ranges = subordinates::bytes(&subordinates::read());
            map.set_initial_value(&ranges).map_err(|error| io("cannot set .data.subordinates", &error))?;
        } else if map.name() == "records" && !config.log {
            map.set_max_entries(SMALLEST_RING).map_err(|error| io("cannot resize `records`", &error))?;
        }
    }
    Ok(())
}

/// Names the scheduler after the spec, sets the watchdog and flags, and leaves out ops that this kernel does not know.
fn fill_ops(
    open: &mut OpenObject,
    bytes: &[u8],
    spec: &Spec,
    timeout_ms: u32,
    hotplug_seq: u64,
) -> Result<(), LoadError> {
    let refused = |error: libbpf_rs::Error| refused(spec, &error);
    let host = Btf::from_raw("divvy", bytes).map_err(refused)?;
    let host = host.ok_or_else(|| LoadError::Mismatch("the object has no BTF".to_owned()))?;
    let members = members(&host)?;
    let kernel = Btf::from_vmlinux().map_err(refused)?;
    let known = self::members(&kernel)?;
    let knows = |name: &str| known.iter().any(|(other, _)| other == name);
    let mut ops = open.maps_mut().find(|map| map.name() == OPS).ok_or_else(no_ops)?;
    let value = ops.initial_value_mut().ok_or_else(|| LoadError::Mismatch(format!("`{OPS}` is empty")))?;
    for (index, (name, start)) in members.iter().enumerate() {
        let end = members.get(index + 1).map_or(value.len(), |(_, next)| *next);
        let field = value
            .get_mut(*start..end)
            .ok_or_else(|| LoadError::Mismatch(format!("`{OPS_TYPE}.{name}` is outside of the map")))?;
        match name.as_str() {
            "name" => write_name(field, spec),
            "timeout_ms" => field[..4].copy_from_slice(&timeout_ms.to_ne_bytes()),
            "hotplug_seq" if knows(name) => field[..8].copy_from_slice(&hotplug_seq.to_ne_bytes()),
            "flags" => add_flags(field, flag(&kernel, ENQ_MIGRATION_DISABLED)),
            _ if !knows(name) => field.fill(0),
            _ => {}
        }
    }
    Ok(())
}

/// The members of `struct sched_ext_ops` with their offsets in bytes.
fn members(btf: &Btf<'_>) -> Result<Vec<(String, usize)>, LoadError> {
    let ops = btf.type_by_name::<types::Struct<'_>>(OPS_TYPE);
    let ops = ops.ok_or_else(|| LoadError::Mismatch(format!("no type `{OPS_TYPE}`")))?;
    let place = |attr| match attr {
        types::MemberAttr::Normal { offset } | types::MemberAttr::BitField { offset, .. } => {
            offset as usize / 8
        }
    };
    Ok(ops
        .iter()
        .filter_map(|member| Some((member.name?.to_str()?.to_owned(), place(member.attr))))
        .collect())
}

/// A flag of `struct sched_ext_ops` by its name; 0 if this kernel does not know it.
fn flag(kernel: &Btf<'_>, name: &str) -> u64 {
    let has_name = |other: Option<&OsStr>| other.is_some_and(|other| other == name);
    let short = kernel.type_by_name::<types::Enum<'_>>(FLAGS_TYPE).and_then(|flags| {
        flags.iter().find(|member| has_name(member.name)).and_then(|member| u64::try_from(member.value).ok())
    });
    let long = || {
        let flags = kernel.type_by_name::<types::Enum64<'_>>(FLAGS_TYPE)?;
        flags.iter().find(|member| has_name(member.name)).and_then(|member| u64::try_from(member.value).ok())
    };
    short.or_else(long).unwrap_or(0)
}

fn add_flags(field: &mut [u8], more: u64) {
    for (to, byte) in field.iter_mut().zip(more.to_ne_bytes()) {
        *to |= byte;
    }
}

/// Writes a name such as `divvy_gr3_procfair`. The kernel accepts only letters, digits, `_` and `.`.
fn write_name(field: &mut [u8], spec: &Spec) {
    let text = format!("divvy_{spec}");
    let bytes =
        text.bytes().map(|byte| if byte.is_ascii_alphanumeric() || byte == b'.' { byte } else { b'_' });
    field.fill(0);
    let room = NAME_LEN.min(field.len()) - 1;
    for (to, byte) in field[..room].iter_mut().zip(bytes) {
        *to = byte;
    }
}

thread_local! {
    /// Messages of libbpf, whose callback takes no state. A thread has its own: one may load while another loads again.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps messages of this level and above.
fn listen(level: PrintLevel) {
    SAID.with_borrow_mut(String::clear);
    libbpf_rs::set_print(Some((level, |_, text| SAID.with_borrow_mut(|said| said.push_str(&text)))));
}

fn said() -> String {
    SAID.with_borrow(String::clone)
}

fn refused(spec: &Spec, error: &libbpf_rs::Error) -> LoadError {
    let said = said();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let log = lines[lines.len().saturating_sub(LOG_LINES)..].iter().map(|line| (*line).to_owned()).collect();
    LoadError::Refused { policy: spec.to_string(), reason: format!("{error:#}"), log }
}

#[cfg(test)]
#[path = "stack_tests.rs"]
mod tests;
