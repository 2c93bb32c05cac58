//! The recorder's BPF programs in the kernel.

use std::cell::RefCell;
use std::os::fd::AsFd as _;
use std::rc::Rc;
use std::sync::Mutex;

use libbpf_rs::btf::{Btf, types};
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder, PrintLevel, RingBuffer, RingBufferBuilder};

use super::cpus::Cpus;
use super::error::RecordError;
use super::sys::Rings;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/record.bpf.o"));
/// One of these two programs is loaded: the first says whether a wake-up came from an interrupt, the second does not.
const WAKES: [(&str, bool); 2] = [("record_waking", true), ("record_waking_blind", false)];
/// Kernels without cgroups do not have its tracepoint.
const CGROUPS: (&str, &str) = ("record_cgroup", "btf_trace_cgroup_mkdir");
/// It comes last: a switch before the others are attached would have wake-ups missing.
const SWITCHES: &str = "record_switch";
/// Slots for programs that interrupt each other: more than contexts there are, each with a program or two.
const SPARE: u32 = 16;
/// The end of the verifier's log that is shown.
const LOG_LINES: usize = 24;

/// The programs, which record as long as they are attached.
pub struct Programs {
    object: Object,
    links: Vec<Link>,
    paths: RingBuffer<'static>,
    new_cgroups: Rc<RefCell<Vec<(u64, String)>>>,
    /// Wake-ups say whether they came from an interrupt.
    pub knows_interrupts: bool,
}

impl Programs {
    /// Loads programs and maps into the kernel, which verifies them. Nothing is recorded yet. Where kallsyms has functions only
    /// (`CONFIG_KALLSYMS_ALL=n`), programs cannot know about interrupts.
    pub fn load(cpus: &Cpus, slots: u32) -> Result<(Self, Rings), RecordError> {
        Self::load_as(cpus, slots, true).or_else(|error| Self::load_as(cpus, slots, false).map_err(|_| error))
    }

    fn load_as(cpus: &Cpus, slots: u32, knows_interrupts: bool) -> Result<(Self, Rings), RecordError> {
        listen();
        let Cpus { rings: count, possible, .. } = *cpus;
        let events = count.checked_mul(slots).ok_or_else(|| {
            mismatch(&format!("a map cannot have {slots} slots for each of {count} CPUs: lower --buffer"))
        })?;
        let mut builder = ObjectBuilder::default();
        let open = builder.name("divvy_record").and_then(|builder| builder.open_memory(OBJECT));
        let mut open = open.map_err(|error| refused(&error))?;
        for mut map in open.maps_mut() {
            let name = map.name().to_owned();
            let set = match name.to_str() {
                Some("events") => map.set_max_entries(events),
                Some("cpus") => map.set_max_entries(possible),
                Some(".rodata.record") => map.set_initial_value(&constants(slots, count)),
                _ => Ok(()),
            };
            set.map_err(|error| refused(&error))?;
        }
        let kernel = Btf::from_vmlinux().map_err(|error| refused(&error))?;
        let has_cgroups = kernel.type_by_name::<types::Typedef<'_>>(CGROUPS.1).is_some();
        if let Some(mut program) = open.progs_mut().find(|program| program.name() == CGROUPS.0) {
            program.set_autoload(has_cgroups);
        }
        for (name, knows) in WAKES {
            if let Some(mut program) = open.progs_mut().find(|program| program.name() == name) {
                program.set_autoload(knows == knows_interrupts);
            }
        }
        let object = open.load().map_err(|error| refused(&error))?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name);
            found.ok_or_else(|| mismatch(&format!("no map `{name}`")))
        };
        let (events, cpus, paths) = (map("events")?, map("cpus")?, map("paths")?);
        let maps = [events.as_fd(), cpus.as_fd()];
        let rings = Rings::new(maps, count as usize, possible as usize, slots as usize)
            .map_err(|error| RecordError::Io("cannot map the rings".to_owned(), error))?;
        let new_cgroups = Rc::new(RefCell::new(Vec::new()));
        let found = Rc::clone(&new_cgroups);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&paths, move |record| {
                found.borrow_mut().extend(path(record));
                0
            })
            .map_err(|error| refused(&error))?;
        let paths = builder.build().map_err(|error| refused(&error))?;
        Ok((Self { object, links: Vec::new(), paths, new_cgroups, knows_interrupts }, rings))
    }

    /// Begins to record.
    pub fn attach(&mut self) -> Result<(), RecordError> {
        for is_last in [false, true] {
            let programs = self.object.progs_mut();
            for program in
                programs.filter(|program| (program.name() == SWITCHES) == is_last && program.autoload())
            {
                self.links.push(program.attach().map_err(|error| refused(&error))?);
            }
        }
        Ok(())
    }

    /// Ends it; what is in the rings stays there.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// The cgroups that were made since it was asked last.
    pub fn new_cgroups(&self) -> Vec<(u64, String)> {
        let _ = self.paths.consume_raw();
        self.new_cgroups.take()
    }
}

fn constants(slots: u32, rings: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&slots.to_ne_bytes());
    bytes[4..8].copy_from_slice(&(slots - SPARE).to_ne_bytes());
    bytes[8..].copy_from_slice(&rings.to_ne_bytes());
    bytes
}

/// Number and path of a new cgroup: `struct path`.
fn path(record: &[u8]) -> Option<(u64, String)> {
    let (id, text) = record.split_first_chunk::<8>()?;
    let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
    Some((u64::from_ne_bytes(*id), String::from_utf8_lossy(&text[..end]).into_owned()))
}

/// Messages of libbpf. They are global because its callback takes no state.
static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn listen() {
    if let Ok(mut said) = SAID.lock() {
        said.clear();
    }
    libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
        if let Ok(mut said) = SAID.lock() {
            said.push(text);
        }
    })));
}

fn refused(error: &libbpf_rs::Error) -> RecordError {
    let said = SAID.lock().map(|said| said.concat()).unwrap_or_default();
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    let log = lines[lines.len().saturating_sub(LOG_LINES)..].iter().map(|line| (*line).to_owned()).collect();
    RecordError::Refused { reason: format!("{error:#}"), log }
}

fn mismatch(what: &str) -> RecordError {
    RecordError::Refused { reason: what.to_owned(), log: Vec::new() }
}
