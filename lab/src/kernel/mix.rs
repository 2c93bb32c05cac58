//! Real programs beside each other in the virtual machine (`kernel/bench/mix`), and tasks that stand for them in the simulator. How much CPU time each has is what
//! both measure.

use divvy_policy::units::show_duration;
use divvy_results::report::Run;

use crate::error::LabError;
use crate::figures::sfs_load::response_ms;
use crate::kernel::case::{Beside, Case, Means, Values, beside, means, numbers, service_s, simulated};
use crate::kernel::machine::{Clock, Play, timeout_s};
use crate::run::{MS, S};

/// From when all programs have begun until they are watched: of the small version, and of the full one.
const WARM_UP_NS: (u64, u64) = (S, 2 * S);
/// The time that a case takes besides: the programs begin, and end.
const BEGINNING_S: u64 = 20;

/// A figure of real programs.
pub struct Mix {
    pub cases: fn(small: bool) -> Result<Vec<Programs>, LabError>,
    /// Takes what was seen in a window of each case.
    pub values: fn(&[Seen]) -> Values,
    /// The length of a window: of the small version, and of the full one.
    pub window_ns: (u64, u64),
    /// The virtual machine's clock.
    pub clock: Clock,
}

/// A case, whose workload has a task for each program.
pub struct Programs {
    pub case: Case,
    /// Tells it apart from others of the same spec.
    pub label: String,
    /// Names, and what `kernel/bench/mix` starts. Tasks have the same names, or names that begin so.
    pub programs: Vec<(&'static str, String)>,
}

impl Programs {
    fn has(&self, name: &str) -> bool {
        self.programs.iter().any(|(other, _)| *other == name)
    }
}

/// Measurements of a window of a case: simulated, or in the kernel. Frames and responses are no numbers in a case without those programs.
pub struct Seen {
    pub spec: &'static str,
    pub label: String,
    /// The CPUs that each program had.
    cpus: Vec<(&'static str, f64)>,
    /// Frames that the decoder decoded in a second. In a simulation it decodes one for each second of CPU time: frame rates are only divided by each other.
    pub frames: f64,
    /// The mean response time of the interactive program, in ms.
    pub response_ms: f64,
}

/// The decoder's name.
pub const DECODER: &str = "decoder";
/// The interactive program's.
pub const INTERACT: &str = "Interact";

impl Seen {
    /// The CPUs that a program had.
    pub fn cpus(&self, program: &str) -> f64 {
        self.cpus.iter().find(|(name, _)| *name == program).map_or(f64::NAN, |(_, cpus)| *cpus)
    }

    pub fn all(&self) -> &[(&'static str, f64)] {
        &self.cpus
    }

    fn simulated(programs: &Programs, run: &Run) -> Seen {
        let seconds = run.duration_ns as f64 / S as f64;
        let cpus = |&(name, _): &(&'static str, String)| (name, service_s(run, name) / seconds);
        let cpus = programs.programs.iter().map(cpus).collect();
        let frames = if programs.has(DECODER) { service_s(run, DECODER) / seconds } else { f64::NAN };
        let response_ms = if programs.has(INTERACT) { response_ms(run) } else { f64::NAN };
        Seen { spec: programs.case.spec, label: programs.label.clone(), cpus, frames, response_ms }
    }

    /// The lines of `kernel/bench/watch.c` about a window.
    fn read(programs: &Programs, said: &str) -> Option<Seen> {
        let line = |key: &str| said.lines().find_map(|line| line.strip_prefix(key)?.parse::<u64>().ok());
        let number = |key: &str| line(key).map(|n| n as f64);
        let (window_ns, ..) = said.split_once('\n')?;
        let seconds = window_ns.parse::<u64>().ok().filter(|ns| *ns > 0)? as f64 / S as f64;
        let cpus = |&(name, _): &(&'static str, String)| {
            Some((name, line(&format!("cpu {} ", in_guest(name)))? as f64 / S as f64 / seconds))
        };
        let cpus = programs.programs.iter().map(cpus).collect::<Option<Vec<_>>>()?;
        let mut seen = Seen {
            spec: programs.case.spec,
            label: programs.label.clone(),
            cpus,
            frames: f64::NAN,
            response_ms: f64::NAN,
        };
        if programs.has(DECODER) {
            seen.frames = number("frame ")? / seconds;
        }
        if programs.has(INTERACT) {
            seen.response_ms = number("took_ns ")? / number("answers ").filter(|n| *n > 0.0)? / MS as f64;
        }
        Some(seen)
    }
}

impl Mix {
    /// The means over the repetitions.
    pub fn simulation(&self, small: bool, reps: u32, seed: u64) -> Result<Values, LabError> {
        let cases = (self.cases)(small)?;
        let runs = cases
            .iter()
            .map(|programs| simulated(&programs.case, seed, reps))
            .collect::<Result<Vec<_>, _>>()?;
        let of_rep = |rep: usize| {
            cases.iter().zip(&runs).map(|(programs, runs)| Seen::simulated(programs, &runs[rep])).collect()
        };
        Ok(numbers(self.means((0..reps as usize).map(of_rep))))
    }

    /// A window of the kernel for each repetition.
    pub fn beside_simulation(
        &self,
        small: bool,
        reps: u32,
        cpus: u32,
        play: &Play,
    ) -> Result<Beside, LabError> {
        let simulated = self.simulation(small, reps, play.seed)?;
        let cases = (self.cases)(small)?;
        let (warm_up_ns, window_ns) =
            if small { (WARM_UP_NS.0, self.window_ns.0) } else { (WARM_UP_NS.1, self.window_ns.1) };
        let played_s = (warm_up_ns + u64::from(reps) * window_ns).div_ceil(S) + BEGINNING_S;
        let timeout_s = timeout_s(played_s * cases.len() as u64);
        let numbers = [cpus.into(), warm_up_ns / MS, window_ns / MS, reps.into(), timeout_s];
        let lines = cases.iter().map(line).collect();
        let clock = if self.clock == Clock::Real { "real" } else { "instructions" };
        let said = play.serve(("mix", &[clock]), &numbers, &[("programs".to_owned(), lines)], cases.len())?;
        let windows = read(&cases, &said, reps as usize).ok_or_else(|| {
            LabError::Run(format!("what kernel/bench/mix printed does not read: {said:.2000}"))
        })?;
        Ok(beside(simulated, self.means(windows.into_iter())))
    }

    fn means(&self, windows: impl Iterator<Item = Vec<Seen>>) -> Means {
        means(&windows.map(|seen| (self.values)(&seen)).collect::<Vec<Values>>())
    }
}

/// The name of a program's cgroup.
fn in_guest(name: &str) -> String {
    name.replace(' ', "-")
}

/// The line of `kernel/bench/mix`.
fn line(programs: &Programs) -> String {
    let Programs { case, programs, .. } = programs;
    let word = |(name, kind): &(&str, String)| format!(" {}:{kind}", in_guest(name));
    let words: String = programs.iter().map(word).collect();
    format!("{} {}{words}\n", case.spec, show_duration(case.workload.quantum_ns))
}

/// Reads the measurements of each case, window by window.
fn read(cases: &[Programs], said: &str, windows: usize) -> Option<Vec<Vec<Seen>>> {
    let parts: Vec<&str> = said.split("== serve ").skip(1).collect();
    let of_case = |(programs, part): (&Programs, &&str)| -> Option<Vec<Seen>> {
        part.split("window ").skip(1).map(|window| Seen::read(programs, window)).collect()
    };
    let seen = cases.iter().zip(&parts).map(of_case).collect::<Option<Vec<_>>>()?;
    let is_whole = parts.len() == cases.len() && seen.iter().all(|seen| seen.len() == windows);
    let mut cases: Vec<_> = is_whole.then_some(seen)?.into_iter().map(Vec::into_iter).collect();
    Some((0..windows).map(|_| cases.iter_mut().filter_map(Iterator::next).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::procfair_programs;
    use crate::kernel::sfs_programs::{MIX_6A, MIX_6B};

    #[test]
    fn a_case_is_a_line() {
        for (mix, at, right) in [
            (
                procfair_programs::MIX,
                1,
                "sfq+procfair 4ms Interact:interact decoder:decoder,0 gcc:compile,8 pi:pi,16\n",
            ),
            (MIX_6A, 1, "sfs 4ms server-1:http,1 server-2:http,2 dhrystone:simulate,20\n"),
            (MIX_6A, 7, "sfs 4ms server-1:http,1 server-2:database,7 dhrystone:simulate,20\n"),
            (MIX_6B, 5, "sfs 20ms decoder:decoder,-20 gcc:compile,10\n"),
        ] {
            assert_eq!(line(&(mix.cases)(false).expect("cases")[at]), right);
        }
    }

    #[test]
    fn a_case_without_a_decoder_has_no_frames() {
        let cases = (MIX_6A.cases)(true).expect("cases");
        let said = "== serve sfs\nwindow 2000000000\ncpu server-1 100000000\ncpu server-2 700000000\ncpu dhrystone 3000000000\n";
        let seen = &read(&cases, said, 1).expect("a window")[0][0];
        assert_eq!((seen.cpus("server 1"), seen.cpus("server 2")), (0.05, 0.35));
        assert!(seen.frames.is_nan() && seen.response_ms.is_nan());
        assert!(read(&cases, &said.replace("server-2", "server 2"), 1).is_none());
    }

    #[test]
    fn what_is_missing_or_damaged_is_an_error() {
        let cases = (procfair_programs::MIX.cases)(true).expect("cases");
        let window = |decoder: u32, frames: u32| {
            format!(
                "window 2000000000\ncpu Interact 90000000\ncpu decoder {decoder}00000000\ncpu gcc 3000000000\ncpu pi 4000000000\n\
                 frame {frames}\nanswers 20\ntook_ns 100000000\n"
            )
        };
        let (first, second) = (window(10, 90), window(5, 40));
        let said = format!("== serve sfq a\n{first}{first}== serve sfq+procfair b\n{second}{second}");
        let windows = read(&cases, &said, 2).expect("two windows");
        assert_eq!((windows.len(), windows[1].len()), (2, 2));
        let last = &windows[1][1];
        assert_eq!((last.cpus(DECODER), last.cpus("gcc"), last.frames), (0.25, 1.5, 20.0));
        assert_eq!(last.response_ms, 5.0);
        for (was, is) in [
            (first.as_str(), ""),
            ("== serve", "==  serve"),
            ("frame 40", "frame x"),
            ("cpu gcc ", "cpu gc "),
            ("answers 20\n", ""),
            ("answers 20", "answers 0"),
            ("window 2000000000", "window 0"),
        ] {
            let damaged = said.replacen(was, is, 1);
            assert!(damaged != said && read(&cases, &damaged, 2).is_none(), "{damaged}");
        }
        assert!(read(&cases, &said, 1).is_none(), "a window too many");
    }
}
