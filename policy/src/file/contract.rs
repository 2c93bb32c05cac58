//! The contract of `policy.h`, checked by the compiler on a policy file: each line of a header that comes after it fails for one
//! reason. An error of the compiler in that line is told as that reason.

use std::fmt;

/// A function of the contract, in C.
struct Function {
    name: &'static str,
    /// Its constant in `POLICY_HAS`; empty if every policy has it, `!PEEK` if all without PEEK have it.
    has: &'static str,
    result: &'static str,
    arguments: &'static str,
    about: &'static str,
}

const fn function(
    name: &'static str,
    has: &'static str,
    result: &'static str,
    arguments: &'static str,
    about: &'static str,
) -> Function {
    Function { name, has, result, arguments, about }
}

const TOLD: &str = "u32 id, u64 now, enum why why";

/// All functions, in the order of `policy.h`. The state comes first among their arguments.
const FUNCTIONS: [Function; 20] = [
    function("join", "", "void", TOLD, "the task became runnable"),
    function("leave", "", "void", TOLD, "the task is no longer runnable"),
    function("pick", "!PEEK", "u32", "u32 cpu, u64 now", "the task that runs next, 0 if none waits"),
    function("stop", "", "void", TOLD, "its slice is over and it is still runnable"),
    function("init", "INIT", "void", "", "begins on zeroed memory with parameters"),
    function("charge", "CHARGE", "void", "u32 id, u64 ran, u64 now", "the task received service"),
    function("reweigh", "REWEIGH", "void", "u32 id, u64 w, u64 now", "the task's weight becomes w"),
    function("slice", "SLICE", "u64", "u32 id", "how long the slice that begins may last, in ns"),
    function(
        "preempts",
        "PREEMPTS",
        "bool",
        "u32 woken, u32 running, u64 now",
        "whether a task that woke takes the CPU",
    ),
    function("fork", "FORK", "void", "u32 id, u32 parent, u64 now", "the task exists"),
    function("overdrawn", "OVERDRAWN", "u64", "u32 id", "what a task received before it was due, in ns"),
    function("virtual_time", "VIRTUAL_TIME", "u64", "", "the tag at which a task joins that owes nothing"),
    function("session", "SESSION", "void", "u32 id, u64 now", "the task begins another session"),
    function("discard", "DISCARD", "void", "u32 id", "a task that left is taken down"),
    function("peek", "PEEK", "u32", "u32 cpu, u64 now", "the task that runs next, 0 if none waits"),
    function("take", "PEEK", "void", "u32 id", "the task that peek named is picked"),
    function("key", "KEY", "u64", "u32 id", "its place in the order"),
    function("detach", "KEY", "void", "u32 id", "the machine keeps it"),
    function("attach", "SHIFT", "void", "u32 id, u64 by", "the machine gives it back"),
    function("bring", "BRING", "void", "u32 id, u64 work", "its program begins work"),
];

/// A breach of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Breach(String);

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The header that checks a policy of this name, after its own, and what is wrong if the compiler refuses a line of it.
pub(super) struct Check {
    lines: Vec<(String, Option<Breach>)>,
    policy: String,
}

impl Check {
    /// The check of a policy, whose header the compiler finds under this path.
    pub(super) fn new(policy: &str, header: &str) -> Check {
        let mut check = Check { lines: Vec::new(), policy: policy.to_owned() };
        check.line(format!("#include \"{header}\""), None);
        check.line("#ifndef POLICY_HAS\n#define POLICY_HAS 0\n#endif", None);
        check.line(
            format!("_Static_assert(sizeof(struct {policy}) > 0, \"\");"),
            Some(format!(
                "there is no `struct {policy}`: the state and all functions of a policy begin with the file's name without .h"
            )),
        );
        check.line(
            format!("_Static_assert(__builtin_offsetof(struct {policy}, tasks) == 0, \"\");"),
            Some(format!("`struct {policy}` does not begin with `POLICY_STATE;`")),
        );
        check.line("#ifndef POLICY_TITLE", None);
        check.line("#error", Some("there is no POLICY_TITLE: define one line for people".to_owned()));
        check.line("#endif\n#if (POLICY_HAS) & BRING && !defined(POLICY_SIMULATOR_ONLY)", None);
        check.line(
            "#error",
            Some("BRING needs POLICY_SIMULATOR_ONLY, as no kernel knows how long tasks run".to_owned()),
        );
        check.line("#endif", None);
        FUNCTIONS.iter().for_each(|function| check.function(function));
        check
    }

    /// Its text.
    pub(super) fn text(&self) -> String {
        self.lines.iter().map(|(line, _)| line.as_str()).collect::<Vec<_>>().join("\n") + "\n"
    }

    fn line(&mut self, text: impl AsRef<str>, breach: Option<String>) {
        for line in text.as_ref().lines() {
            self.lines.push((line.to_owned(), breach.clone().map(Breach)));
        }
    }

    fn function(&mut self, function: &Function) {
        let Function { name, has, result, about, .. } = function;
        let policy = self.policy.clone();
        let prototype = prototype(&policy, function, "");
        let condition = match *has {
            "" => "1".to_owned(),
            "!PEEK" => "!((POLICY_HAS) & PEEK)".to_owned(),
            has => format!("(POLICY_HAS) & {has}"),
        };
        self.line(format!("#if {condition}"), None);
        let listed = match *has {
            "" | "!PEEK" => String::new(),
            has => format!("{has} is in POLICY_HAS, and "),
        };
        self.line(
            format!("typedef __typeof__({policy}_{name}) contract_{name};"),
            Some(format!(
                "{listed}there is no function {policy}_{name}: {about}\n    static inline {prototype}"
            )),
        );
        let types = |constant: &str| format!("{result} ({})", arguments(&policy, function, constant));
        self.line(
            format!(
                "_Static_assert(__builtin_types_compatible_p(contract_{name}, {}) || \
                 __builtin_types_compatible_p(contract_{name}, {}), \"\");",
                types(""),
                types("const ")
            ),
            Some(format!(
                "{policy}_{name} has other arguments, or another result, than the contract's\n    static inline {prototype}"
            )),
        );
        self.line("#endif", None);
    }

    /// The breaches that a compiler's errors tell, each once; `header` is the check's path. A missing function makes more errors after
    /// it, so the first kind of breach is told alone.
    pub(super) fn breaches(&self, header: &str, said: &str) -> Vec<Breach> {
        let mut found: Vec<Breach> = Vec::new();
        let mut lines: Vec<usize> =
            errors(said).filter(|(file, _, _)| *file == header).map(|error| error.1).collect();
        lines.sort_unstable();
        lines.dedup();
        // An unknown function fails in the line of its type, too.
        let mut before = 0;
        for at in lines {
            let Some((_, Some(breach))) = self.lines.get(at.wrapping_sub(1)) else { continue };
            if at != before + 1 {
                found.push(breach.clone());
            }
            before = at;
        }
        if let Some(first) = found.first().filter(|breach| breach.0.contains("`struct ")) {
            return vec![first.clone()];
        }
        // The defaults' names are made of a macro of the command line.
        let of_defaults = |file: &str| matches!(file, "policy/defaults.h" | "<command-line>");
        for (_, _, message) in errors(said).filter(|(file, _, _)| of_defaults(file)) {
            found.extend(self.unlisted(message).filter(|breach| !found.contains(breach)));
        }
        found
    }

    /// A default that the policy's own function has replaced, by the compiler's message.
    fn unlisted(&self, message: &str) -> Option<Breach> {
        if !["redefinition of", "conflicting types for"].iter().any(|start| message.starts_with(start)) {
            return None;
        }
        let named = message.split(['\'', '`', '\u{2018}', '\u{2019}']).nth(1)?;
        let name = named.strip_prefix(&self.policy)?.strip_prefix('_')?;
        let has = match name {
            "before_peek" => "PREPARE",
            name => FUNCTIONS.iter().find(|function| function.name == name)?.has,
        };
        if has.is_empty() || has.starts_with('!') {
            return None;
        }
        Some(Breach(format!(
            "{named} is not in POLICY_HAS: add {has} there, as in `#define POLICY_HAS {has}`"
        )))
    }
}

fn prototype(policy: &str, function: &Function, constant: &str) -> String {
    format!("{} {policy}_{}({})", function.result, function.name, arguments(policy, function, constant))
}

fn arguments(policy: &str, function: &Function, constant: &str) -> String {
    let state = format!("{constant}struct {policy} *s");
    if function.arguments.is_empty() { state } else { format!("{state}, {}", function.arguments) }
}

/// The errors in what a compiler said: file, line, and message. What has no line, as the command line, has line 0.
pub(super) fn errors(said: &str) -> impl Iterator<Item = (&str, usize, &str)> {
    said.lines().filter_map(|line| {
        let (place, message) = line.split_once(" error: ").or_else(|| line.split_once(" fatal error: "))?;
        let mut place = place.trim_end_matches(" fatal").trim_end_matches(':').split(':');
        Some((place.next()?, place.next().and_then(|line| line.parse().ok()).unwrap_or(0), message))
    })
}
