//! From TOML to a [`Workload`].

mod dists;
mod fields;
mod groups;
mod locate;
mod program;
mod topology;

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead as _, BufReader, ErrorKind, Read};
use std::path::Path;

use divvy_policy::CpuId;
use flate2::bufread::MultiGzDecoder;
use toml::de::DeTable;

pub use self::fields::toml_kind;
use self::fields::{Field, Fields};
use self::groups::Groups;
use self::program::{Index, Names};
use super::error::{Source, WorkloadError};
use super::rtapp::{self, is_json};
use super::swf::{self, JobLog};
use super::{
    Arrivals, Barrier, DEFAULT_QUANTUM_NS, MAX_CPUS, MAX_FILE_BYTES, MAX_INSTANCES, Task, Workload, check,
};

/// The first bytes of a file that gzip packed.
const GZIP: [u8; 2] = [0x1f, 0x8b];

impl Workload {
    /// Reads a workload file, TOML, rt-app's JSON or a log of jobs, packed with gzip or not, and what is to be told of it:
    /// how the workload is not quite as the file says.
    ///
    /// # Errors
    /// If the file cannot be read, is longer than 64 MiB, or does not hold a workload; see [`Workload::parse`].
    pub fn load(path: &Path) -> Result<(Self, Vec<String>), WorkloadError> {
        Self::load_by(path, &JobLog::default())
    }

    /// As [`Workload::load`], if it is a log of jobs with these settings.
    ///
    /// # Errors
    /// As there.
    pub fn load_by(path: &Path, log: &JobLog) -> Result<(Self, Vec<String>), WorkloadError> {
        Self::read_any(open(path)?, &path.display().to_string(), log)
    }

    /// As [`Workload::load`], of what is read; `file` is its name.
    ///
    /// # Errors
    /// As there.
    pub fn read_any(
        input: impl Read,
        file: &str,
        log: &JobLog,
    ) -> Result<(Self, Vec<String>), WorkloadError> {
        let bytes = read_bytes(input, file)?;
        match swf::is_swf(&bytes) {
            // People's names in its comments may be in any encoding.
            true => swf::parse(&String::from_utf8_lossy(&bytes), file, log),
            false => Self::parse_any(&utf8(bytes, file)?, file),
        }
    }

    /// As [`Workload::load`], of a text; `file` is its name.
    ///
    /// # Errors
    /// As there.
    pub fn parse_any(text: &str, file: &str) -> Result<(Self, Vec<String>), WorkloadError> {
        match is_json(text.as_bytes()) {
            _ if swf::is_swf(text.as_bytes()) => swf::parse(text, file, &JobLog::default()),
            true => rtapp::parse(text, file),
            false => Ok((Self::parse(text, file)?, Vec::new())),
        }
    }

    /// Whether a file with this beginning, and perhaps this name, is a workload and no trace: rt-app's JSON begins with a
    /// brace or a comment, a log of jobs with a comment or numbers, and TOML has a `task`.
    pub fn is_workload(start: &[u8], path: &Path) -> bool {
        let is_task = |line: &[u8]| {
            let rest = line.strip_prefix(b"[[task]]").or_else(|| line.strip_prefix(b"task"));
            rest.is_some_and(|rest| rest.trim_ascii_start().first().is_none_or(|byte| b"=[#".contains(byte)))
        };
        let start = &unpacked_start(start);
        is_json(start)
            || Self::is_job_log(start)
            || path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
            || start.split(|byte| *byte == b'\n').any(is_task)
    }

    /// Whether a file with this beginning is a log of jobs.
    pub fn is_job_log(start: &[u8]) -> bool {
        swf::is_swf(&unpacked_start(start))
    }

    /// The text of a workload file.
    ///
    /// # Errors
    /// If the file cannot be read, is longer than 64 MiB, or is not UTF-8.
    pub fn read(path: &Path) -> Result<String, WorkloadError> {
        let file = path.display().to_string();
        utf8(read_bytes(open(path)?, &file)?, &file)
    }

    /// Reads a workload from TOML text; `file` is its name, for errors and as the workload's name.
    ///
    /// # Errors
    /// With file, line and column, and with what to do: bad TOML, an unknown key, a value of the wrong kind or out
    /// of range, or whatever [`Workload::check`] objects to.
    pub fn parse(text: &str, file: &str) -> Result<Self, WorkloadError> {
        let source = Source { file, text };
        let table = DeTable::parse(text).map_err(|e| {
            let span = e.span().unwrap_or(0..0);
            let help = if is_json(text.as_bytes()) || swf::is_swf(text.as_bytes()) {
                "of rt-app's JSON, and of a log of jobs, make TOML: divvy convert IN OUT.toml"
            } else {
                ""
            };
            source.error(span, format!("not valid TOML: {}", e.message()), help)
        })?;
        let workload = machine(&source, table.get_ref())?;
        workload.check().map_err(|problem| {
            let span = locate::span(&source, table.get_ref(), &workload, &problem.place);
            source.error(span, problem.message, problem.help)
        })?;
        Ok(workload)
    }
}

fn failed(file: &str, reason: String) -> WorkloadError {
    WorkloadError::File { file: file.to_owned(), reason }
}

fn open(path: &Path) -> Result<File, WorkloadError> {
    File::open(path).map_err(|e| failed(&path.display().to_string(), e.to_string()))
}

/// The bytes of an input, without its packing.
fn read_bytes(input: impl Read, file: &str) -> Result<Vec<u8>, WorkloadError> {
    let mut input = BufReader::new(input);
    let is_packed = input.fill_buf().map_err(|e| failed(file, e.to_string()))?.starts_with(&GZIP);
    let mut bytes = Vec::new();
    let read = match is_packed {
        true => MultiGzDecoder::new(input).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes),
        false => input.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes),
    };
    read.map_err(|e| match e.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData if is_packed => {
            failed(file, format!("what gzip packed there is cut off or damaged ({e}): copy it again"))
        }
        _ => failed(file, e.to_string()),
    })?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(failed(file, "it is longer than 64 MiB, which no workload file is".to_owned()));
    }
    Ok(bytes)
}

/// The beginning of a file without its packing, as far as it goes.
fn unpacked_start(start: &[u8]) -> Cow<'_, [u8]> {
    if !start.starts_with(&GZIP) {
        return Cow::Borrowed(start);
    }
    let mut unpacked = Vec::new();
    // The beginning ends somewhere, which is no error.
    let _ = MultiGzDecoder::new(start).take(1 << 16).read_to_end(&mut unpacked);
    Cow::Owned(unpacked)
}

fn utf8(bytes: Vec<u8>, file: &str) -> Result<String, WorkloadError> {
    String::from_utf8(bytes).map_err(|e| {
        let offset = e.utf8_error().valid_up_to();
        failed(file, format!("it is not UTF-8 text (at byte {offset}); a workload is a TOML file"))
    })
}

fn machine<'a>(source: &'a Source<'a>, table: &'a DeTable<'a>) -> Result<Workload, WorkloadError> {
    const KEYS: [&str; 12] = [
        "name",
        "cpus",
        "quantum",
        "duration",
        "warmup",
        "tick",
        "switch_cost",
        "migration_cost",
        "topology",
        "task",
        "group",
        "barrier",
    ];
    let fields = Fields::new(source, table, "the workload", 0, &KEYS)?;
    let entries = tables(&fields, "task", "a task", &TASK_KEYS)?;
    let mut names = Names { tasks: named(&entries)?, ..Names::default() };
    let mut groups = Groups::default();
    let tasks: Vec<Task> =
        entries.into_iter().map(|entry| task(entry, &mut names, &mut groups)).collect::<Result<_, _>>()?;
    groups.describe(&tables(&fields, "group", "a group", &["name", "weight", "nice", "cpu_max"])?)?;
    let barriers = barriers(&fields, &names, &tasks)?;
    Ok(Workload {
        name: fields.get("name").map(|name| name.string()).transpose()?.unwrap_or(source.file).to_owned(),
        cpus: fields.get("cpus").map(|n| n.unsigned(1, MAX_CPUS.into())).transpose()?.unwrap_or(1) as u32,
        quantum_ns: fields.duration("quantum")?.unwrap_or(DEFAULT_QUANTUM_NS),
        duration_ns: fields.duration("duration")?,
        warmup_ns: fields.duration("warmup")?.unwrap_or(0),
        tick_ns: fields.duration("tick")?,
        switch_cost_ns: fields.duration("switch_cost")?.unwrap_or(0),
        migration_cost_ns: fields.duration("migration_cost")?.unwrap_or(0),
        topology: fields.get("topology").map(topology::topology).transpose()?,
        groups: groups.into_all(),
        tasks,
        locks: names.locks.names.into_iter().map(str::to_owned).collect(),
        semaphores: names.semaphores.names.into_iter().map(str::to_owned).collect(),
        barriers,
    })
}

/// The tables of a list such as `[[task]]`, if it is there.
fn tables<'a>(
    fields: &Fields<'a>,
    key: &'static str,
    what: &'static str,
    keys: &[&str],
) -> Result<Vec<Fields<'a>>, WorkloadError> {
    match fields.get(key) {
        Some(list) if list.value.get_ref().is_table() => {
            let help = format!("write [[{key}]], once for each {key}");
            Err(list.error(format!("[{key}] is a single table"), help))
        }
        Some(list) => list.list()?.map(|entry| entry.fields(what, keys)).collect(),
        None => Ok(Vec::new()),
    }
}

/// The tasks' names, each of which must be new: steps refer to tasks by name.
fn named<'a>(entries: &[Fields<'a>]) -> Result<Index<'a>, WorkloadError> {
    let mut index = Index::default();
    for (expected, entry) in entries.iter().enumerate() {
        let field = entry.require("name", "\"T1\"")?;
        if index.number(field.string()?) != expected {
            return Err(field
                .error("another task has this name", "give each task its own; `count` makes several alike"));
        }
    }
    Ok(index)
}

const TASK_KEYS: [&str; 14] = [
    "name",
    "weight",
    "nice",
    "process",
    "executable",
    "user",
    "group",
    "count",
    "limit",
    "start",
    "stop",
    "affinity",
    "arrivals",
    "program",
];

fn task<'a>(fields: Fields<'a>, names: &mut Names<'a>, groups: &mut Groups) -> Result<Task, WorkloadError> {
    let forked = fields.get("start").is_some_and(|start| start.value.get_ref().as_str() == Some("fork"));
    let limit = match fields.get("limit") {
        Some(field) if !forked => {
            return Err(field.error(
                "`limit` is for a task that forks start",
                "give it start = \"fork\" or leave it out",
            ));
        }
        field => field.map(|n| n.unsigned(1, MAX_INSTANCES)).transpose()?,
    };
    let arrivals = match fields.get("arrivals") {
        Some(field) if forked => {
            return Err(field
                .error("`arrivals` of a task that forks start", "leave out `arrivals` or start = \"fork\""));
        }
        Some(field) => arrivals(field)?,
        None if forked => Arrivals::Forked { limit },
        None => Arrivals::Once,
    };
    let program = fields.require("program", "[ { run = \"forever\" } ]")?;
    Ok(Task {
        name: fields.require("name", "\"T1\"")?.string()?.to_owned(),
        weight: fields.weight()?,
        process: fields.get("process").map(|name| name.string().map(str::to_owned)).transpose()?,
        group: groups.of_task(&fields)?,
        executable: fields.get("executable").map(|name| name.string().map(str::to_owned)).transpose()?,
        count: fields.get("count").map(|n| n.unsigned(1, MAX_INSTANCES)).transpose()?.unwrap_or(1) as u32,
        start_ns: if forked { 0 } else { fields.duration("start")?.unwrap_or(0) },
        stop_ns: fields.duration("stop")?,
        affinity: fields.get("affinity").map(affinity).transpose()?,
        arrivals,
        program: program::program(program, names)?,
    })
}

/// CPU numbers, in order.
fn affinity(field: Field) -> Result<Vec<CpuId>, WorkloadError> {
    let cpus = field.list()?.map(|cpu| cpu.unsigned(0, u64::from(MAX_CPUS) - 1));
    let mut cpus: Vec<CpuId> = cpus.map(|cpu| cpu.map(|n| CpuId::new(n as u32))).collect::<Result<_, _>>()?;
    cpus.sort_unstable();
    Ok(cpus)
}

/// `{ open = DIST }`, `{ open = DIST, limit = 1000 }` or `{ closed = DIST }`.
fn arrivals(field: Field) -> Result<Arrivals, WorkloadError> {
    let fields = field.fields("`arrivals`", &["open", "closed", "limit"])?;
    let limit = fields.get("limit");
    match (fields.get("open"), fields.get("closed")) {
        (Some(open), None) => Ok(Arrivals::Open {
            interarrival: dists::dist(open)?,
            limit: limit.map(|n| n.unsigned(1, u64::MAX)).transpose()?,
        }),
        (None, Some(closed)) => match limit {
            None => Ok(Arrivals::Closed { think: dists::dist(closed)? }),
            Some(limit) => Err(limit.error("`limit` is for open arrivals", "leave it out")),
        },
        _ => Err(field
            .error("`arrivals` is neither open nor closed", "for instance { open = { exp = \"10ms\" } }")),
    }
}

/// The barriers that programs name, with the parties that `[barrier.NAME]` gives, or else as many as there are instances
/// that name it.
fn barriers<'a>(
    fields: &Fields<'a>,
    names: &Names<'a>,
    tasks: &[Task],
) -> Result<Vec<Barrier>, WorkloadError> {
    let explicit = match fields.get("barrier") {
        Some(field) => Some(field.fields("[barrier]", &names.barriers.names)?),
        None => None,
    };
    let users = check::barrier_users(tasks, names.barriers.names.len());
    let barrier = |(name, users): (&&'a str, Option<u64>)| {
        let parties = match explicit.and_then(|table| table.get(name)) {
            Some(field) => {
                let fields = field.fields("a barrier", &["parties"])?;
                fields.require("parties", "3")?.unsigned(1, MAX_INSTANCES)?
            }
            // Without a bound on its users there is no default; the check says so.
            None => users.unwrap_or(0).min(MAX_INSTANCES),
        };
        Ok(Barrier { name: (*name).to_owned(), parties: parties as u32 })
    };
    names.barriers.names.iter().zip(users).map(barrier).collect()
}
