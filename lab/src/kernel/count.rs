//! Counting what scheduling decisions cost in a kernel, in instructions: `kernel/bench/decisions` does it, in the virtual machine.

use crate::error::LabError;
use crate::kernel::machine::Play;

/// Policies, each of which is counted with each number of clients.
pub struct Counting {
    /// Its name is that of what the clients do: `yield`, `equal`, `hackbench` or `lmbench`.
    pub program: &'static str,
    /// On more than one CPU only whole yields are counted.
    pub cpus: u32,
    pub policies: &'static [&'static str],
    pub clients: &'static [u64],
    /// How much they do, if not as much as the script says.
    pub operations: Option<u32>,
}

impl Counting {
    /// Without these its costs with so many clients cannot be told.
    fn needed(&self, clients: u64) -> Vec<&'static str> {
        match (self.program, self.cpus, clients) {
            ("hackbench", ..) => vec![DISPATCH],
            ("lmbench", _, 1) => CALLS.to_vec(),
            ("lmbench", ..) => RINGS.iter().flat_map(|(_, names)| *names).collect(),
            ("yield", 1, _) => SELECTION.into_iter().chain([WHOLE]).collect(),
            _ => vec![WHOLE],
        }
    }
}

/// Instructions, as they were counted.
#[derive(Default)]
pub struct Counts {
    all: Vec<Count>,
}

struct Count {
    what: &'static str,
    cpus: u32,
    policy: String,
    clients: u64,
    /// A BPF program of the scheduler, [`WHOLE`], or one of [`CALLS`] and [`RINGS`].
    name: String,
    runs: f64,
    instructions: f64,
}

/// The name of what is more than a BPF program: the system call, the decision and the switch.
const WHOLE: &str = "whole";
/// It runs at each decision.
const DISPATCH: &str = "host_dispatch";
/// The programs that run when a task that can go on has had its turn, and another begins.
const SELECTION: [&str; 4] = ["host_stopping", "host_enqueue", DISPATCH, "host_running"];
/// System calls of one process; the last two make another one.
pub const CALLS: [&str; 3] = ["syscall", "fork", "exec"];
/// How large the arrays of lmbench's processes are, in kB; a pass of its token, and the same by one process.
pub const RINGS: [(u64, [&str; 2]); 3] =
    [(0, ["ring-0", "alone-0"]), (16, ["ring-16", "alone-16"]), (64, ["ring-64", "alone-64"])];

impl Counts {
    fn of<'a>(
        &'a self,
        what: &str,
        cpus: u32,
        policy: &str,
        clients: u64,
    ) -> impl Iterator<Item = &'a Count> {
        let is_asked = move |count: &&Count| {
            (count.what, count.cpus, count.policy.as_str(), count.clients) == (what, cpus, policy, clients)
        };
        self.all.iter().filter(is_asked)
    }

    /// Selecting a client that yields, and what comes with it: the means of four programs, together. A heavy client may be selected again and go
    /// on; then only one of them runs. So the instructions are not divided by the number of decisions.
    pub fn selection(&self, policy: &str, clients: u64) -> Option<f64> {
        SELECTION.iter().map(|name| self.mean("yield", 1, policy, clients, name)).sum()
    }

    /// All that the scheduler does for clients of hackbench, for each decision.
    pub fn decision(&self, policy: &str, clients: u64) -> Option<f64> {
        let of = || self.of("hackbench", 1, policy, clients);
        let decisions = of().find(|count| count.name == DISPATCH)?.runs;
        Some(of().map(|count| count.instructions).sum::<f64>() / decisions)
    }

    /// A yield: the system call, the decision and the switch.
    pub fn whole(&self, program: &str, cpus: u32, policy: &str, clients: u64) -> Option<f64> {
        self.mean(program, cpus, policy, clients, WHOLE)
    }

    /// One of lmbench's [`CALLS`].
    pub fn call(&self, policy: &str, name: &str) -> Option<f64> {
        self.mean("lmbench", 1, policy, 1, name)
    }

    /// A context switch, by lmbench: a pass of its token among so many processes with arrays of so many kB, less what one process takes.
    pub fn context_switch(&self, policy: &str, processes: u64, kb: u64) -> Option<f64> {
        let (_, [ring, alone]) = RINGS.iter().find(|(size, _)| *size == kb)?;
        let pass = |name| self.mean("lmbench", 1, policy, processes, name);
        Some(pass(ring)? - pass(alone)?)
    }

    /// Instructions for each of its runs.
    fn mean(&self, what: &str, cpus: u32, policy: &str, clients: u64, name: &str) -> Option<f64> {
        let found = self.of(what, cpus, policy, clients).find(|count| count.name == name)?;
        Some(found.instructions / found.runs)
    }
}

/// Counts all of these.
pub fn all(runs: &[Counting], play: &Play) -> Result<Counts, LabError> {
    let mut counts = Counts::default();
    for run in runs {
        let clients: Vec<String> = run.clients.iter().map(u64::to_string).collect();
        let mut arguments =
            vec!["--cpus".to_owned(), run.cpus.to_string(), run.program.to_owned(), clients.join(" ")];
        arguments.extend(run.policies.iter().map(|&policy| policy.to_owned()));
        let said = play.count(&arguments, run.operations, run.clients.len() * run.policies.len())?;
        counts.all.append(&mut read(run, &said)?);
    }
    Ok(counts)
}

/// The lines that it printed, without those that say what is counted next.
fn read(run: &Counting, said: &str) -> Result<Vec<Count>, LabError> {
    let lines = said.lines().filter(|line| !line.starts_with("== "));
    let found: Option<Vec<Count>> = lines.map(|line| count(run, line)).collect();
    let is_complete = |found: &Vec<Count>| {
        let is_counted = |policy: &str, clients: u64| {
            let is_there = |name: &&str| {
                found.iter().any(|count| {
                    (count.policy.as_str(), count.clients, &count.name.as_str()) == (policy, clients, name)
                })
            };
            run.needed(clients).iter().all(is_there)
        };
        run.policies.iter().all(|policy| run.clients.iter().all(|&clients| is_counted(policy, clients)))
    };
    found
        .filter(is_complete)
        .ok_or_else(|| LabError::Run(format!("what kernel/bench/decisions printed does not read: {said}")))
}

/// `POLICY TASKS NAME RUNS INSTRUCTIONS`
fn count(run: &Counting, line: &str) -> Option<Count> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [policy, clients, name, runs, instructions] = words[..] else { return None };
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    Some(Count {
        what: run.program,
        cpus: run.cpus,
        policy: policy.to_owned(),
        clients: clients.parse().ok()?,
        name: name.to_owned(),
        runs: number(runs).filter(|&runs| runs > 0.0)?,
        instructions: number(instructions).filter(|&instructions| instructions >= 0.0)?,
    })
}

/// Counts that are all the same.
#[cfg(test)]
pub fn equal(runs: &[Counting]) -> Counts {
    let mut all = Vec::new();
    for run in runs {
        for policy in run.policies {
            for &clients in run.clients {
                let of = |name: &&str| count(run, &format!("{policy} {clients} {name} 10 1000"));
                all.extend(run.needed(clients).iter().map(|name| of(name).expect("a line")));
            }
        }
    }
    Counts { all }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "== count gr3, 10\ngr3 10 host_enqueue 500 130000\ngr3 10 host_dispatch 1000 1000000\n\
        gr3 10 host_running 500 50000\ngr3 10 host_stopping 500 80000\ngr3 10 host_yield 1000 80000\n\
        gr3 10 whole 1000 3200000\n";

    fn counting(program: &'static str) -> Counting {
        Counting { program, cpus: 1, policies: &["gr3"], clients: &[10], operations: None }
    }

    /// Half of the decisions left the CPU with who had it.
    #[test]
    fn costs_are_for_each_run_of_a_program_or_for_each_decision() {
        let of = |program| Counts { all: read(&counting(program), SAID).expect("lines") };
        let yields = of("yield");
        assert_eq!(yields.selection("gr3", 10), Some(260.0 + 1000.0 + 100.0 + 160.0));
        assert_eq!(yields.whole("yield", 1, "gr3", 10), Some(3200.0));
        assert_eq!((yields.whole("yield", 2, "gr3", 10), yields.selection("gr3", 100)), (None, None));
        assert_eq!(of("hackbench").selection("gr3", 10), None, "other clients");
        let without_whole = SAID.split("gr3 10 whole").next().expect("lines");
        let messages = Counts { all: read(&counting("hackbench"), without_whole).expect("lines") };
        assert_eq!(messages.decision("gr3", 10), Some(1340.0));
    }

    /// The second line of each pair is what no switch is part of.
    #[test]
    fn a_context_switch_is_what_a_process_alone_does_not_take() {
        let run = Counting { clients: &[1, 2], ..counting("lmbench") };
        let calls = "gr3 1 syscall 10 5000\ngr3 1 fork 10 900000\ngr3 1 exec 10 4000000\n";
        let rings = "gr3 2 ring-0 100 800000\ngr3 2 alone-0 100 300000\ngr3 2 ring-16 100 1900000\ngr3 2 alone-16 100 1200000\n\
                     gr3 2 ring-64 100 5000000\ngr3 2 alone-64 100 4000000\n";
        let counts = Counts { all: read(&run, &format!("{calls}{rings}")).expect("lines") };
        assert_eq!(
            [0, 16, 64].map(|kb| counts.context_switch("gr3", 2, kb)),
            [Some(5000.0), Some(7000.0), Some(10000.0)]
        );
        assert_eq!((counts.call("gr3", "fork"), counts.context_switch("gr3", 8, 0)), (Some(90_000.0), None));
        for without in [calls, rings] {
            assert!(read(&run, without).is_err(), "{without}");
        }
    }

    #[test]
    fn what_is_missing_or_damaged_is_an_error() {
        for said in
            ["", "gr3 10 whole 1000", "gr3 10 whole 0 5", "gr3 10 whole 1000 many", "gr3 100 whole 1 1"]
        {
            assert!(read(&counting("yield"), said).is_err(), "{said:?}");
        }
        let without = SAID.replace("gr3 10 host_running 500 50000\n", "");
        assert!(read(&counting("yield"), &without).is_err(), "a program did not run, or has another name");
    }
}
