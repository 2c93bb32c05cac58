//! The knowledge-based scheduler in a kernel, with programs of Debian: cc1, gzip and grep, each with several inputs, beside a program that loops (`kernel/bench/executions`). The
//! paper leaves existing programs to the future. A task of the simulation needs as much CPU time as the program was counted to need under the conventional scheduler.

use divvy_policy::units::show_duration;
use divvy_workload::Workload;

use crate::error::LabError;
use crate::kernel::case::{Beside, Case, Values, beside, exact, simulated};
use crate::kernel::flow::{CONVENTIONAL, DELAYS, processing_ns};
use crate::kernel::machine::Play;
use crate::run::{MS, workload};

/// A fifth of the paper's, as in figure 6.
const QUANTUM_NS: u64 = 20 * MS;
const PROGRAMS: [&str; 3] = ["cc1", "gzip", "grep"];
/// The number of inputs of each program: of the small version, and of the full one.
const INPUTS: (usize, usize) = (3, 8);
/// Maximum dispatch delays that are played, in ms of the paper: of the small version, and of the full one.
const DELAYS_MS: (&[u64], &[u64]) = (&[40], &[0, 40, 70, 110]);

/// An execution of a program that was executed before.
struct Execution {
    program: &'static str,
    input: usize,
    /// From its first turn to its end.
    processing_ns: f64,
    cpu_ns: f64,
    /// How often it lost its CPU.
    switches: f64,
}

/// Executions under each policy.
type Executions = Vec<Vec<Execution>>;

/// Policies with their delays; the conventional one has none.
fn specs(small: bool) -> Vec<(Option<u64>, &'static str)> {
    let played = if small { DELAYS_MS.0 } else { DELAYS_MS.1 };
    let with = DELAYS.iter().filter(|(delay_ms, _)| played.contains(delay_ms));
    let with = with.map(|&(delay_ms, spec)| (Some(delay_ms), spec));
    std::iter::once((None, CONVENTIONAL)).chain(with).collect()
}

fn inputs(small: bool) -> usize {
    if small { INPUTS.0 } else { INPUTS.1 }
}

/// Simulates programs that need any time: it is for a kernel to say which.
#[cfg(test)]
pub fn simulation(small: bool, seed: u64) -> Result<Values, LabError> {
    let times = PROGRAMS.iter().enumerate().flat_map(|(at, &program)| {
        (1..=inputs(small)).map(move |input| (program, input, (30 + 17 * input + 5 * at) as u64 * MS))
    });
    simulation_of(small, &times.collect::<Vec<_>>(), seed)
}

/// Simulates programs that need these times.
fn simulation_of(small: bool, times: &[(&'static str, usize, u64)], seed: u64) -> Result<Values, LabError> {
    let mut all = Executions::new();
    for (_, spec) in specs(small) {
        let one = |&(program, input, cpu_ns): &(&'static str, usize, u64)| {
            let case = Case::new(spec, 1, beside_a_loop(cpu_ns)?);
            let run = simulated(&case, seed, 1)?.remove(0);
            // The first and the last switch are those from the loop to the program, and back.
            let switches = (run.switches as f64 - 2.0) / 2.0;
            let processing_ns = processing_ns(&run, "known");
            Ok(Execution { program, input, processing_ns, cpu_ns: cpu_ns as f64, switches })
        };
        all.push(times.iter().map(one).collect::<Result<_, LabError>>()?);
    }
    Ok(values(small, &all))
}

/// The program is executed to be logged, and again.
fn beside_a_loop(cpu_ns: u64) -> Result<Workload, LabError> {
    let begin_ns = 4 * cpu_ns + 200 * MS;
    let text = format!(
        "quantum = \"{QUANTUM_NS}ns\"\ntick = \"1ms\"\nwarmup = \"{}ns\"\nduration = \"{}ns\"\ntask = [\n\
         {{ name = \"loop\", program = [ {{ run = \"forever\" }} ] }},\n\
         {{ name = \"logged\", executable = \"program\", program = [ {{ until = \"50ms\" }}, {{ run = \"{cpu_ns}ns\" }} ] }},\n\
         {{ name = \"known\", executable = \"program\", start = \"{}ns\", program = [ {{ until = \"{begin_ns}ns\" }}, \
         {{ run = \"{cpu_ns}ns\" }}, {{ sleep = \"60s\" }} ] }},\n]\n",
        begin_ns - MS,
        2 * begin_ns,
        begin_ns - 50 * MS,
    );
    workload("flow-real", &text)
}

pub fn beside_simulation(small: bool, play: &Play) -> Result<Beside, LabError> {
    let specs = specs(small);
    let cases = specs.iter().map(|(_, spec)| format!("{spec} {}\n", show_duration(QUANTUM_NS))).collect();
    let files = [("policies".to_owned(), cases)];
    let said = play.serve(("executions", &[]), &[inputs(small) as u64], &files, specs.len())?;
    let found = read(small, &said).ok_or_else(|| {
        LabError::Run(format!("what kernel/bench/executions printed does not read: {said:.2000}"))
    })?;
    let conventional = found.first().into_iter().flatten();
    let times = conventional.map(|one| (one.program, one.input, one.cpu_ns as u64)).collect::<Vec<_>>();
    let simulated = simulation_of(small, &times, play.seed)?;
    // The machine counts instructions.
    Ok(beside(simulated, exact(values(small, &found))))
}

/// The second executions of all programs, under each policy.
fn read(small: bool, said: &str) -> Option<Executions> {
    let parts: Vec<&str> = said.split("== serve ").skip(1).collect();
    let of_policy = |part: &&str| -> Option<Vec<Execution>> {
        let lines: Vec<&str> = part.lines().filter_map(|line| line.strip_prefix("executed ")).collect();
        let number = PROGRAMS.len() * inputs(small);
        let known = lines.get(number..).filter(|_| lines.len() == 2 * number)?;
        known.iter().map(|line| execution(line)).collect()
    };
    let all = parts.iter().map(of_policy).collect::<Option<Executions>>()?;
    (all.len() == specs(small).len()).then_some(all)
}

/// `PROGRAM-INPUT PROCESSING_NS CPU_NS SWITCHES`
fn execution(line: &str) -> Option<Execution> {
    let words: Vec<&str> = line.split(' ').collect();
    let [label, processing_ns, cpu_ns, switches] = words[..] else { return None };
    let (name, input) = label.split_once('-')?;
    let program = PROGRAMS.into_iter().find(|program| *program == name)?;
    let number = |text: &str| text.parse::<u64>().ok().map(|n| n as f64);
    Some(Execution {
        program,
        input: input.parse().ok()?,
        processing_ns: number(processing_ns)?,
        cpu_ns: number(cpu_ns)?,
        switches: number(switches)?,
    })
}

/// A measured quantity of an execution.
type Quantity = fn(&Execution) -> f64;

/// A program's inputs take this together, divided by what they take under the conventional scheduler.
fn values(small: bool, all: &Executions) -> Values {
    let mut values = Values::new();
    let sum = |of: &[Execution], program: &str, what: Quantity| -> f64 {
        of.iter().filter(|one| one.program == program).map(what).sum()
    };
    let [conventional, with @ ..] = &all[..] else { return values };
    let kinds: [(&str, Quantity); 3] = [
        ("processing time", |one| one.processing_ns),
        ("CPU time", |one| one.cpu_ns),
        ("times that it loses its CPU", |one| one.switches),
    ];
    for (what, of) in kinds {
        for ((delay_ms, _), executions) in specs(small).into_iter().skip(1).zip(with) {
            for program in PROGRAMS {
                let name = format!("{program}, Tm = {} ms: {what} (of rr's)", delay_ms.unwrap_or_default());
                values.push((name, sum(executions, program, of) / sum(conventional, program, of)));
            }
        }
    }
    for program in PROGRAMS {
        let name = format!("{program}: CPU time of all inputs under rr (ms)");
        values.push((name, sum(conventional, program, |one| one.cpu_ns) / MS as f64));
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(number: usize, cpu_ns: u64) -> String {
        let lines = (0..2).flat_map(|_| {
            (1..=number).flat_map(|input| {
                PROGRAMS.map(|program| format!("executed {program}-{input} 9 {cpu_ns} 2\n"))
            })
        });
        format!("== serve x\n{}", lines.collect::<String>())
    }

    /// A program that needs 45 ms has three turns beside the loop, or two if the last is within the delay.
    #[test]
    fn a_rest_that_the_delay_covers_needs_no_turn() {
        let times = PROGRAMS.map(|program| (program, 1, 45 * MS));
        let values = simulation_of(true, &times, 1).expect("it runs");
        let value = |name: &str| values.iter().find(|(other, _)| other == name).expect("a value").1;
        assert!(
            (value("gzip, Tm = 40 ms: processing time (of rr's)") - 65.0 / 85.0).abs() < 0.03,
            "{values:?}"
        );
        assert_eq!(value("gzip, Tm = 40 ms: times that it loses its CPU (of rr's)"), 0.5, "{values:?}");
        assert_eq!(value("gzip, Tm = 40 ms: CPU time (of rr's)"), 1.0);
    }

    #[test]
    fn what_is_missing_or_damaged_is_an_error() {
        let both = said(INPUTS.0, 7).repeat(2);
        let found = read(true, &both).expect("executions");
        assert_eq!((found.len(), found[1].len(), found[1][0].cpu_ns), (2, 9, 7.0));
        let damaged =
            [both.replacen("gzip-2", "gzip-x", 2), both.replacen("cc1-1", "cc2-1", 2), said(INPUTS.0, 7)];
        for said in damaged.into_iter().chain([said(INPUTS.0 - 1, 7).repeat(2), both.replace(" 2\n", "\n")]) {
            assert!(read(true, &said).is_none(), "{said}");
        }
    }
}
