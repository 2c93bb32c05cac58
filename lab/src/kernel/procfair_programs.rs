//! The process-fair scheduler in a kernel, with real programs: one of many threads, a decoder, compilations and an interactive program, on four CPUs. The paper has its own
//! program only; this is what its scheduler is for.

use divvy_workload::Workload;

use crate::error::LabError;
use crate::kernel::case::{Case, LINUX, Values};
use crate::kernel::machine::Clock;
use crate::kernel::mix::{DECODER, INTERACT, Mix, Programs, Seen};
use crate::kernel::procfair::{CPUS, watched};
use crate::run::{self, S};

pub const MIX: Mix = Mix { cases, values, window_ns: (S, 4 * S), clock: Clock::Instructions };

const THREADS: u64 = 16;
const COMPILATIONS: u64 = 8;

/// The decoder always runs. A compilation is a process of its own, and works as those of SFS do.
fn workload() -> Result<Workload, LabError> {
    let text = format!(
        "cpus = {CPUS}\ntask = [\n\
         {{ name = \"{INTERACT}\", program = [ {{ loop = \"forever\", do = [ {{ sleep = {{ exp = \"100ms\" }} }}, {{ run = {{ exp = \"5ms\" }} }} ] }} ] }},\n\
         {{ name = \"{DECODER}\", program = [ {{ run = \"forever\" }} ] }},\n\
         {{ name = \"gcc\", count = {COMPILATIONS}, program = [ {{ loop = \"forever\", do = [ {{ run = {{ exp = \"100ms\" }} }}, {{ sleep = {{ exp = \"5ms\" }} }} ] }} ] }},\n\
         {{ name = \"pi\", process = \"pi\", count = {THREADS}, program = [ {{ run = \"forever\" }} ] }},\n]\n"
    );
    Ok(watched(&run::workload("procfair-real", &text)?))
}

/// The small version has one of the two selections.
fn cases(small: bool) -> Result<Vec<Programs>, LabError> {
    let specs: &[&str] =
        if small { &["sfq", "sfq+procfair"] } else { &["sfq", "sfq+procfair", "cfs", "cfs+procfair", LINUX] };
    let one = |&spec: &&'static str| {
        let programs = vec![
            (INTERACT, "interact".to_owned()),
            (DECODER, "decoder,0".to_owned()),
            ("gcc", format!("compile,{COMPILATIONS}")),
            ("pi", format!("pi,{THREADS}")),
        ];
        Ok(Programs { case: Case::new(spec, THREADS, workload()?), label: String::new(), programs })
    };
    specs.iter().map(one).collect()
}

fn values(seen: &[Seen]) -> Values {
    let mut values = Values::new();
    for one in seen {
        let name = format!("{}: CPU time of the {THREADS} threads, for each s of the decoder's", one.spec);
        values.push((name, one.cpus("pi") / one.cpus(DECODER)));
    }
    for selection in ["sfq", "cfs"] {
        let of = |spec: &str| seen.iter().find(|one| one.spec == spec);
        let Some((with, without)) = of(&format!("{selection}+procfair")).zip(of(selection)) else { continue };
        for (what, of) in [
            ("frame rate", (|one| one.frames) as fn(&Seen) -> f64),
            ("response of the interactive program", |one| one.response_ms),
        ] {
            let name = format!("{what} under {selection}+procfair, of that under {selection} (wall time)");
            values.push((name, of(with) / of(without)));
        }
    }
    for one in seen {
        for (program, cpus) in one.all() {
            values.push((format!("{}: CPUs that the {program} has", one.spec), *cpus));
        }
    }
    values
}
