//! Surplus fair scheduling in a kernel, figure 6 with real programs: web servers and a database beside simulations, a decoder beside compilations, an interactive
//! program beside simulations. The tasks of the figure's simulation stand for them.

use crate::error::LabError;
use crate::kernel::case::{Case, Values};
use crate::kernel::machine::Clock;
use crate::kernel::mix::{DECODER, INTERACT, Mix, Programs, Seen};
use crate::kernel::sfs_load::{self, CREDIT, TIME_SHARING};
use crate::run::S;

pub const MIX_6A: Mix =
    Mix { cases: cases_6a, values: values_6a, window_ns: (4 * S, 4 * S), clock: Clock::Real };
pub const MIX_6B: Mix =
    Mix { cases: cases_6b, values: values_6b, window_ns: (2 * S, 4 * S), clock: Clock::Real };
pub const MIX_6C: Mix =
    Mix { cases: cases_6c, values: values_6c, window_ns: (3 * S, 10 * S), clock: Clock::Real };

/// The greatest number of jobs.
const MOST: u64 = 10;

/// Server 2, whose weight varies: as in the paper a web server, or a database.
const SECOND: [(&str, &str); 2] = [("http", "two web servers"), ("database", "a web server and a database")];

/// The small version has the most uneven weights, and the database.
fn cases_6a(small: bool) -> Result<Vec<Programs>, LabError> {
    let mut all = Vec::new();
    for (kind, servers) in &SECOND[usize::from(small)..] {
        all.extend(sfs_load::cases_6a(small)?.into_iter().map(|case| {
            let weight = case.point;
            let programs = vec![
                ("server 1", "http,1".to_owned()),
                ("server 2", format!("{kind},{weight}")),
                ("dhrystone", "simulate,20".to_owned()),
            ];
            Programs { case, label: format!("{servers}, weights 1:{weight}"), programs }
        }));
    }
    Ok(all)
}

fn values_6a(seen: &[Seen]) -> Values {
    let ratio = |one: &Seen| {
        let name = format!("{}, {}: server 2 for each s of server 1's", one.spec, one.label);
        (name, one.cpus("server 2") / one.cpus("server 1"))
    };
    seen.iter().map(ratio).chain(seen.iter().flat_map(cpus)).collect()
}

/// The small version has SFS alone.
fn cases_6b(small: bool) -> Result<Vec<Programs>, LabError> {
    let programs = |case: Case| {
        let jobs = case.point;
        let mut programs = vec![(DECODER, "decoder,-20".to_owned())];
        if jobs > 0 {
            programs.push(("gcc", format!("compile,{jobs}")));
        }
        Programs { case, label: compilations(jobs), programs }
    };
    Ok(sfs_load::cases_6b(small)?.into_iter().map(programs).collect())
}

fn values_6b(seen: &[Seen]) -> Values {
    let of = |spec: &str, jobs: u64| find(seen, spec, &compilations(jobs));
    let mut values = Values::new();
    for spec in ["sfs", TIME_SHARING] {
        let Some((alone, most)) = of(spec, 0).zip(of(spec, MOST)) else { continue };
        let name = |what: &str| format!("{spec}: {what} beside {MOST} compilations, for each alone");
        values.push((name("CPU time of the decoder"), most.cpus(DECODER) / alone.cpus(DECODER)));
        values.push((name("frame rate"), most.frames / alone.frames));
    }
    if let Some((sfs, time_sharing)) = of("sfs", MOST).zip(of(TIME_SHARING, MOST)) {
        let name = format!("frame rate beside {MOST} compilations under sfs, for each under linux24");
        values.push((name, sfs.frames / time_sharing.frames));
    }
    values.extend(seen.iter().flat_map(cpus));
    values
}

fn compilations(jobs: u64) -> String {
    format!("{jobs} compilations")
}

/// The small version has the last of the two claims.
fn cases_6c(small: bool) -> Result<Vec<Programs>, LabError> {
    let programs = |case: Case| {
        let jobs = case.point;
        let programs = vec![(INTERACT, "interact".to_owned()), ("disksim", format!("simulate,{jobs}"))];
        Programs { case, label: simulations(jobs), programs }
    };
    Ok(sfs_load::cases_6c(small)?.into_iter().map(programs).collect())
}

fn values_6c(seen: &[Seen]) -> Values {
    let response_ms = |spec| find(seen, spec, &simulations(MOST)).map(|one| one.response_ms);
    let compared = ["sfs", CREDIT].into_iter().filter_map(|spec| {
        let name = format!("{MOST} simulations: response under {spec} for each ms under linux24");
        Some((name, response_ms(spec)? / response_ms("linux24")?))
    });
    let all = seen.iter().map(|one| {
        let name = format!("{}, {}: mean response of Interact (ms)", one.spec, one.label);
        (name, one.response_ms)
    });
    compared.chain(all).chain(seen.iter().flat_map(cpus)).collect()
}

fn simulations(jobs: u64) -> String {
    format!("{jobs} simulations")
}

fn find<'a>(seen: &'a [Seen], spec: &str, label: &str) -> Option<&'a Seen> {
    seen.iter().find(|one| one.spec == spec && one.label == label)
}

/// The CPUs that each program has.
fn cpus(seen: &Seen) -> impl Iterator<Item = (String, f64)> {
    seen.all()
        .iter()
        .map(|(program, cpus)| (format!("{}, {}: CPUs that the {program} has", seen.spec, seen.label), *cpus))
}
