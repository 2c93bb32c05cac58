//! The JSON Schemas in `docs/schemas/`: they accept every workload and every output that there is, and they refuse what the
//! reader of workloads refuses.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use jsonschema::Validator;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn schema(name: &str) -> Value {
    let file = root().join(format!("docs/schemas/{name}.schema.json"));
    serde_json::from_str(&text(&file)).expect(name)
}

fn validator(name: &str) -> Validator {
    let schema = schema(name);
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
    jsonschema::draft202012::new(&schema).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Each deviation with its place, a line each.
fn problems(validator: &Validator, value: &Value) -> String {
    let line = |error: jsonschema::ValidationError| format!("{}: {error}\n", error.instance_path());
    validator.iter_errors(value).map(line).collect()
}

/// Runs the command where a reader of the documentation does.
fn divvy(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
    command.args(args).current_dir(root()).output().expect("divvy runs")
}

// ---- workloads ----

/// All files with this ending in a directory and below it.
fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}");
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line == opening {
            found.push(
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect(),
            );
        }
    }
    found
}

/// Every workload of the tree, with its name.
fn workloads() -> Vec<(String, String)> {
    let directories = ["examples", "lab/workloads", "kernel/tests/vm"].map(|name| root().join(name));
    let mut found: Vec<(String, String)> = directories
        .iter()
        .flat_map(|directory| files(directory, "toml"))
        .map(|file| (file.display().to_string(), text(&file)))
        .collect();
    let pages = files(&root().join("docs"), "md").into_iter().chain([root().join("README.md")]);
    for page in pages {
        for (index, block) in blocks(&text(&page), "toml").into_iter().enumerate() {
            found.push((format!("{}, block {}", page.display(), index + 1), block));
        }
    }
    found
}

fn as_json(name: &str, workload: &str) -> Value {
    toml::from_str(workload).unwrap_or_else(|error| panic!("{name}: {error}\n{workload}"))
}

/// Reads workloads with the command, which checks them on the way.
struct Reader {
    directory: PathBuf,
}

impl Reader {
    fn new(test: &str) -> Reader {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        std::fs::create_dir_all(&directory).expect("a directory for this test");
        Reader { directory }
    }

    /// The message about a workload that it refuses.
    fn refusal(&self, workload: &str) -> Option<String> {
        let [from, to] = ["in.toml", "out.toml"].map(|name| self.directory.join(name));
        std::fs::write(&from, workload).expect("the workload is written");
        let done = divvy(&["convert", from.to_str().expect("UTF-8"), to.to_str().expect("UTF-8")]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.code() {
            Some(0) => None,
            Some(4) => Some(said),
            code => panic!("exit code {code:?} for\n{workload}\n{said}"),
        }
    }
}

#[test]
fn the_schema_accepts_every_workload_of_the_tree() {
    let (validator, reader) = (validator("workload"), Reader::new("accepts"));
    let workloads = workloads();
    assert!(workloads.len() >= 35, "only {} workloads", workloads.len());
    for (name, workload) in workloads {
        let found = problems(&validator, &as_json(&name, &workload));
        assert!(found.is_empty(), "{name}:\n{found}");
        assert_eq!(reader.refusal(&workload), None, "{name}");
    }
}

/// A workload that has every table and every kind of step and distribution.
const WHOLE: &str = r#"
name = "whole"
cpus = 2
quantum = "4ms"
duration = "10s"
warmup = "1s"
tick = "1ms"
switch_cost = "2us"
migration_cost = "5us"
topology = { llc = 2, smt = 1, node = 1, same_core_cost = "0s", same_llc_cost = "1us", same_node_cost = "2us", other_node_cost = "3us" }
group = [ { name = "ann/web", weight = 3 } ]
barrier = { gate = { parties = 2 } }
task = [
  { name = "A", weight = 2.5, process = "P", executable = "x", user = "ann", group = "web", count = 2, start = "1s",
    stop = "9s", affinity = [0, 1], program = [ { barrier = "gate" }, { run = "5ms" }, { yield = true } ] },
  { name = "B", nice = 5, arrivals = { open = { exp = "10ms" }, limit = 50 }, program = [ { run = { uniform = { lo = "1ms", hi = "2ms" } } } ] },
  { name = "C", arrivals = { closed = { pareto = { shape = 1.5, scale = "1ms" } } }, program = [ { run = { bounded_pareto = { shape = 1.5, lo = "1ms", hi = "1s" } } } ] },
  { name = "D", program = [ { loop = 3, do = [ { lock = "m" }, { run = { hyper = { p = [0.9, 0.1], means = ["1ms", "10ms"] } } }, { unlock = "m" } ] }, { fork = "E" }, { wake = "F" } ] },
  { name = "E", start = "fork", program = [ { run = { erlang = { k = 4, mean = "1ms" } } }, { sleep = { lognormal = { median = "1ms", sigma = 0.5 } } } ] },
  { name = "F", program = [ { wait = true }, { post = "s" }, { take = "s" }, { until = "2s" }, { run = { choice = { values = ["1ms", "2ms"], weights = [1, 2] } } } ] },
  { name = "G", program = [ { loop = "forever", do = [ { run = { hyper = { mean = "1ms", scv = 5 } } }, { period = "10ms" } ] } ] },
  { name = "H", program = [ { run = "forever" } ] },
]
"#;

/// A text in [`WHOLE`], and the wrong one that replaces it.
const MUTATIONS: [(&str, &str); 80] = [
    ("cpus = 2", "cpu = 2"),
    ("cpus = 2", "cpus = 0"),
    ("cpus = 2", "cpus = 4097"),
    ("cpus = 2", "cpus = \"2\""),
    ("name = \"whole\"", "name = 7"),
    ("quantum = \"4ms\"", "quantum = \"0ms\""),
    ("quantum = \"4ms\"", "quantum = 4"),
    ("quantum = \"4ms\"", "quantum = \"4\""),
    ("quantum = \"4ms\"", "quantum = \"4 days\""),
    ("quantum = \"4ms\"", "quantum = \"-4ms\""),
    ("duration = \"10s\"", "duration = \"0.0s\""),
    ("duration = \"10s\"", "duration = \".5s\""),
    ("tick = \"1ms\"", "tick = \"0s\""),
    ("tick = \"1ms\"", "ticks = \"1ms\""),
    ("switch_cost = \"2us\"", "switch_cost = true"),
    ("migration_cost = \"5us\"", "migration_cost = [\"5us\"]"),
    ("llc = 2, smt", "smt"),
    ("llc = 2, smt", "llc = 0, smt"),
    ("llc = 2, smt", "llc = \"2\", smt"),
    ("smt = 1", "smt = 4097"),
    ("smt = 1", "smt = 1.5"),
    ("node = 1", "node = [1]"),
    ("other_node_cost = \"3us\"", "other_node_cost = 3"),
    ("group = [ { name = \"ann/web\", weight = 3 } ]", "group = { name = \"ann/web\", weight = 3 }"),
    ("{ name = \"ann/web\", weight = 3 }", "{ weight = 3 }"),
    ("{ name = \"ann/web\", weight = 3 }", "{ name = \"ann/web\", weight = 3, nice = 1 }"),
    ("{ name = \"ann/web\", weight = 3 }", "{ name = \"ann/web\", share = 3 }"),
    ("{ gate = { parties = 2 } }", "{ gate = { parties = 0 } }"),
    ("{ gate = { parties = 2 } }", "{ gate = { } }"),
    ("{ gate = { parties = 2 } }", "{ gate = 2 }"),
    ("{ gate = { parties = 2 } }", "{ gate = { parties = 2, of = 3 } }"),
    ("{ name = \"A\", weight", "{ weight"),
    ("name = \"A\"", "name = \"\""),
    ("name = \"A\"", "name = \"a\\tb\""),
    ("weight = 2.5", "weight = 0"),
    ("weight = 2.5", "weight = -1"),
    ("weight = 2.5", "weight = 200000000"),
    ("weight = 2.5", "weight = \"2.5\""),
    ("weight = 2.5", "wieght = 2.5"),
    ("weight = 2.5", "weight = 2.5, nice = 0"),
    ("process = \"P\"", "process = \"\""),
    ("executable = \"x\"", "executable = 1"),
    ("user = \"ann\"", "user = \"ann/web\""),
    ("group = \"web\", count", "group = \"web//logs\", count"),
    ("group = \"web\", count", "group = \"\", count"),
    ("count = 2", "count = 0"),
    ("count = 2", "count = 1000001"),
    ("start = \"1s\"", "start = \"forked\""),
    ("stop = \"9s\"", "stop = \"never\""),
    ("affinity = [0, 1]", "affinity = []"),
    ("affinity = [0, 1]", "affinity = [0, 0]"),
    ("affinity = [0, 1]", "affinity = [-1]"),
    ("affinity = [0, 1]", "affinity = 1"),
    ("{ yield = true }", "{ yield = false }"),
    ("{ yield = true }", "{ yield = true, run = \"1ms\" }"),
    ("{ yield = true }", "{ }"),
    ("{ yield = true }", "{ compute = \"1ms\" }"),
    ("{ yield = true }", "\"yield\""),
    ("nice = 5", "nice = 20"),
    ("nice = 5", "nice = -21"),
    ("nice = 5", "count = 2"),
    ("limit = 50", "limit = 0"),
    ("limit = 50", "most = 50"),
    ("{ open = { exp = \"10ms\" }, limit = 50 }", "{ open = { exp = \"10ms\" }, closed = \"1ms\" }"),
    ("{ open = { exp = \"10ms\" }, limit = 50 }", "{ closed = \"1ms\", limit = 50 }"),
    ("{ open = { exp = \"10ms\" }, limit = 50 }", "{ limit = 50 }"),
    ("{ exp = \"10ms\" }", "{ exp = \"0ms\" }"),
    ("{ exp = \"10ms\" }", "{ exp = \"10ms\", uniform = { lo = \"1ms\", hi = \"2ms\" } }"),
    ("{ exp = \"10ms\" }", "{ normal = \"10ms\" }"),
    ("lo = \"1ms\", hi = \"2ms\"", "lo = \"1ms\""),
    ("shape = 1.5, scale", "shape = 0.001, scale"),
    ("hi = \"1s\"", "hi = \"0s\""),
    ("p = [0.9, 0.1], means", "p = [1, 0], means"),
    ("p = [0.9, 0.1], means = [\"1ms\", \"10ms\"]", "p = [0.9, 0.1], mean = \"1ms\""),
    ("k = 4", "k = 1001"),
    ("sigma = 0.5", "sigma = 101"),
    ("values = [\"1ms\", \"2ms\"]", "values = []"),
    ("scv = 5", "scv = 0.5"),
    ("{ loop = 3,", "{ loop = 0,"),
    ("{ run = \"forever\" }", "{ run = \"always\" }"),
];

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let (validator, reader) = (validator("workload"), Reader::new("refuses"));
    assert_eq!(reader.refusal(WHOLE), None);
    assert_eq!(problems(&validator, &as_json("whole", WHOLE)), "");
    for (right, wrong) in MUTATIONS {
        assert!(WHOLE.contains(right), "nothing to replace: {right}");
        let workload = WHOLE.replacen(right, wrong, 1);
        assert!(reader.refusal(&workload).is_some(), "the reader accepts {wrong}");
        let found = problems(&validator, &as_json(wrong, &workload));
        assert!(!found.is_empty(), "the schema accepts {wrong}");
    }
}

/// Where the schema has the steps of one key.
const STEP: &str = "/$defs/step/oneOf/0/properties";

/// Where a key that nobody knows is put, and the place in the schema that lists the known ones.
const TABLES: [(&str, &str, &str); 17] = [
    ("name = \"whole\"", "unheard_of = 1\nname = \"whole\"", "/properties"),
    ("name = \"A\"", "unheard_of = 1, name = \"A\"", "/$defs/task/properties"),
    ("name = \"ann/web\"", "unheard_of = 1, name = \"ann/web\"", "/$defs/group/properties"),
    ("parties = 2", "unheard_of = 1, parties = 2", "/$defs/barrier/properties"),
    ("llc = 2", "unheard_of = 1, llc = 2", "/$defs/topology/properties"),
    ("yield = true", "unheard_of = 1", STEP),
    ("loop = 3", "unheard_of = 1, loop = 3", "/$defs/step/oneOf/1/properties"),
    ("exp = \"10ms\"", "unheard_of = 1", "/$defs/random/properties"),
    ("lo = \"1ms\", hi = \"2ms\"", "unheard_of = 1", "/$defs/random/properties/uniform/properties"),
    ("shape = 1.5, scale = \"1ms\"", "unheard_of = 1", "/$defs/random/properties/pareto/properties"),
    ("shape = 1.5, lo", "unheard_of = 1, lo", "/$defs/random/properties/bounded_pareto/properties"),
    ("k = 4", "unheard_of = 4", "/$defs/random/properties/erlang/properties"),
    ("sigma = 0.5", "unheard_of = 0.5", "/$defs/random/properties/lognormal/properties"),
    ("weights = [1, 2]", "unheard_of = [1, 2]", "/$defs/random/properties/choice/properties"),
    ("scv = 5", "unheard_of = 5", "/$defs/random/properties/hyper/oneOf"),
    ("limit = 50", "unheard_of = 50", "/$defs/arrivals/oneOf"),
    ("{ run = \"forever\" }", "{ unheard_of = 1 }", STEP),
];

/// The reader lists the keys of a table when it meets one that it does not know.
#[test]
fn the_schema_lists_the_keys_that_the_reader_takes() {
    let (schema, reader) = (schema("workload"), Reader::new("keys"));
    for (right, wrong, place) in TABLES {
        let said = reader.refusal(&WHOLE.replacen(right, wrong, 1)).expect(wrong);
        let (_, listed) = said.split_once("its keys are ").unwrap_or_else(|| panic!("{wrong}: {said}"));
        let mut taken: Vec<&str> = listed.trim().split(", ").collect();
        taken.sort_unstable();
        // For a step the reader also names `loop`, which has a table of its own.
        taken.retain(|key| !(place == STEP && *key == "loop"));
        let found = schema.pointer(place).unwrap_or_else(|| panic!("no {place}"));
        // Alternatives: the keys of all of them.
        let tables: Vec<&Value> = match found.as_array() {
            Some(alternatives) => alternatives.iter().map(|one| &one["properties"]).collect(),
            None => vec![found],
        };
        let keys = tables.iter().flat_map(|table| table.as_object().expect(place).keys());
        let mut documented: Vec<&str> = keys.map(String::as_str).collect();
        documented.sort_unstable();
        documented.dedup();
        assert_eq!(documented, taken, "{place}");
    }
}

/// Every key that the schema has is in the reference page.
#[test]
fn the_reference_page_has_every_key() {
    fn keys(value: &Value, found: &mut Vec<String>) {
        if let Some(properties) = value.get("properties").and_then(Value::as_object) {
            found.extend(properties.keys().cloned());
        }
        match value {
            Value::Object(fields) => fields.values().for_each(|field| keys(field, found)),
            Value::Array(entries) => entries.iter().for_each(|entry| keys(entry, found)),
            _ => {}
        }
    }
    let page = text(&root().join("docs/reference/workload.md"));
    let mut found = Vec::new();
    keys(&schema("workload"), &mut found);
    assert!(found.len() > 50, "{found:?}");
    for key in found {
        assert!(page.contains(&format!("`{key}`")), "docs/reference/workload.md has no `{key}`");
    }
}

// ---- results ----

const RECORDING: &str = "examples/compile-beside-interactive.perf.data";

/// Schema, arguments, and the exit code.
const RESULTS: [(&str, &[&str], i32); 20] = [
    (
        "results",
        &[
            "sim",
            "examples/mix.toml",
            "-p",
            "rr,sfs",
            "--duration",
            "2s",
            "--reps",
            "2",
            "--figures",
            "--schedule",
            "3",
        ],
        0,
    ),
    ("results", &["sim", "examples/queue.toml", "-p", "pbs:alpha=2", "--duration", "5s"], 0),
    ("results", &["sim", "examples/queue.toml", "-p", "fcfs,eevdf", "--duration", "5s", "--theory"], 0),
    ("results", &["sim", "examples/just-before-a-block.toml", "-p", "rr,rr+flow"], 0),
    ("results", &["sim", "examples/groups.toml", "-p", "sfq+groups", "--duration", "2s"], 0),
    ("results", &["replay", RECORDING, "-p", "eevdf,cfs", "--figures"], 0),
    ("results", &["replay", RECORDING, "-p", "eevdf", "--keep", "make", "--per-thread"], 0),
    ("results", &["play", "examples/mix.toml", "--duration", "100ms"], 0),
    ("claims", &["paper"], 0),
    ("claims", &["paper", "--all-figures"], 0),
    ("claims", &["paper", "sfs-6a", "--small"], 0),
    ("claims", &["paper", "sfs-1"], 0),
    ("claims", &["paper", "gr3-1", "--small"], 0),
    (
        "sweep",
        &[
            "sweep",
            "examples/queue.toml",
            "--vary",
            "load=0.5,0.8",
            "--vary",
            "alpha=0,inf",
            "-p",
            "pbs",
            "--baseline",
            "rr",
            "--reps",
            "2",
            "--per-task",
            "--duration",
            "2s",
        ],
        0,
    ),
    (
        "sweep",
        &[
            "sweep",
            "examples/mix.toml",
            "--vary",
            "quantum=1ms,4ms",
            "-p",
            "rr",
            "--reps",
            "1",
            "--duration",
            "1s",
        ],
        0,
    ),
    (
        "advice",
        &[
            "advise",
            "examples/mix.toml",
            "-p",
            "rr,sfq",
            "--quantum",
            "4ms",
            "--duration",
            "1s",
            "--reps",
            "2",
            "--goal",
            "share(backup) < 30%",
        ],
        0,
    ),
    (
        "advice",
        &[
            "advise",
            "examples/mix.toml",
            "-p",
            "rr",
            "--duration",
            "500ms",
            "--reps",
            "1",
            "--goal",
            "max(error) < 1ns",
        ],
        3,
    ),
    ("policies", &["policies"], 0),
    ("policies", &["policies", "sfs"], 0),
    ("verify", &["verify", "cli/tests/cmd/verify.in/ok.log"], 0),
];

#[test]
fn the_schemas_accept_what_the_command_prints() {
    for (name, args, code) in RESULTS {
        let done = divvy(&[args, &["--format", "json"]].concat());
        assert_eq!(done.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        let value = serde_json::from_slice(&done.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"));
        let found = problems(&validator(name), &value);
        assert!(found.is_empty(), "{args:?}:\n{found}");
    }
}

/// On a machine that lacks something the exit code is 5, and the result the same.
#[test]
fn the_schema_accepts_what_the_doctor_finds() {
    let done = divvy(&["doctor", "--format", "json"]);
    let value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(problems(&validator("doctor"), &value), "");
}

#[test]
fn the_schema_accepts_every_line_about_a_log() {
    let validator = validator("verify");
    for log in ["ok", "mismatch", "dropped"] {
        let log = format!("cli/tests/cmd/verify.in/{log}.log");
        let done = divvy(&["verify", &log, "--events", "--format", "json"]);
        let said = String::from_utf8(done.stdout).expect("UTF-8");
        assert!(said.lines().count() > 3, "{log}: {said}");
        for line in said.lines() {
            let found = problems(&validator, &serde_json::from_str(line).expect("JSON"));
            assert!(found.is_empty(), "{log}: {line}\n{found}");
        }
    }
}

/// Every table of a result is closed: a field that is not written down is found by the tests above.
#[test]
fn no_schema_accepts_a_field_that_it_does_not_describe() {
    let cases = [
        ("results", &["sim", "examples/mix.toml", "-p", "rr", "--duration", "100ms"][..], "/runs/0/tasks/0"),
        ("claims", &["paper", "sfs-1"][..], "/claims/0"),
        ("policies", &["policies", "sfs"][..], "/params/0"),
        (
            "advice",
            &["advise", "examples/mix.toml", "-p", "rr", "--duration", "500ms", "--goal", "jain > 0"],
            "/best/0/goals/0",
        ),
    ];
    for (name, args, place) in cases {
        let done = divvy(&[args, &["--format", "json"]].concat());
        let mut value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let table = value.pointer_mut(place).and_then(Value::as_object_mut).expect(place);
        table.insert("unheard_of".to_owned(), Value::from(1));
        assert!(!validator(name).is_valid(&value), "{name}");
    }
}
