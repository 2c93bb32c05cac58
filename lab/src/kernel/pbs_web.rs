//! Priority-based blind scheduling in a kernel, figure 8: an Apache server whose CGI program works in proportion to the size of what was asked for
//! (`kernel/bench/cgi`), and 30 clients who think between requests. All policies and the simulation have the same thoughts and sizes.

use std::fmt::Write as _;

use divvy_workload::{Dist, Purpose, instance, stream};

use crate::error::LabError;
use crate::kernel::case::{LINUX, Values};
use crate::kernel::machine::Play;
use crate::measured::Measured;
use crate::run::{self, MS, S};

/// The figure is so many times as fast as its simulation in the paper's time (`pbs-8`): thoughts of half a second, not of ten.
const TIMES: u64 = 20;
/// Slices end at ticks of 1 ms, the first at or after their end; so turns last one tick.
const QUANTUM_US: u64 = 900;
const CLIENTS: u64 = 30;
/// Two of the server for each client: one that finds its CGI program ending, and not ended yet, sleeps for 47 ms, and may not be there for a request meanwhile.
const WORKERS: u64 = 2 * CLIENTS;
/// CPU time of a request without work, in µs: the server's until it has made the process of the program, the program's until it waits for the file, and the server's from the
/// program's end to the answer. As counted with one client on an idle machine: 1.2 ms in all, of which the program's process has 0.65 when it begins.
const COSTS_US: [u64; 3] = [300, 650, 200];
/// When responses begin to count, when they end to, and the end.
const WATCHED_MS: (u64, u64, u64) = (2000, 12_000, 13_000);
const SMALL_WATCHED_MS: (u64, u64, u64) = (250, 1750, 2000);

const RR: &str = "rr";
/// Beta, the policy with a small alpha, and with the greatest.
const POLICIES: [(&str, [&str; 2]); 3] = [
    ("inf", ["pbs:alpha=0.2:beta=inf", "pbs:alpha=4:beta=inf"]),
    ("-3", ["pbs:alpha=0.2:beta=-3", "pbs:alpha=4:beta=-3"]),
    ("0", ["pbs:alpha=0.2:beta=0", "pbs:alpha=4:beta=0"]),
];
const ALPHAS: [&str; 2] = ["0.2", "4"];

/// The requests of a repetition, of each client in its order.
struct Asked {
    clients: Vec<Vec<Request>>,
}

struct Request {
    think_ns: u64,
    wait_ns: u64,
    work_ns: u64,
}

/// A request that was answered.
struct Answer {
    client: usize,
    number: usize,
    sent_ns: u64,
    took_ns: u64,
}

/// Those under a policy, in a repetition.
type Answers<'a> = dyn Fn(&str, u32) -> Result<Vec<Answer>, LabError> + 'a;

/// The figure, or its small version.
pub struct Clients {
    small: bool,
    reps: u32,
}

impl Clients {
    pub fn new(small: bool, reps: u32) -> Clients {
        Clients { small, reps }
    }

    fn watched_ns(&self) -> (u64, u64, u64) {
        let (from, to, end) = if self.small { SMALL_WATCHED_MS } else { WATCHED_MS };
        (from * MS, to * MS, end * MS)
    }

    /// The small version has both alphas for one beta.
    fn specs(&self) -> Vec<&'static str> {
        if self.small {
            return POLICIES[0].1.to_vec();
        }
        POLICIES.iter().flat_map(|(_, specs)| *specs).chain([RR, LINUX]).collect()
    }

    /// The means over the repetitions.
    pub fn simulation(&self, seed: u64) -> Result<Values, LabError> {
        let means = self.means(seed, &|spec, rep| self.simulated(spec, seed, rep))?;
        Ok(means.into_iter().map(|(name, mean)| (name, mean.number())).collect())
    }

    /// Names, simulated values, and those of the kernel.
    pub fn beside_simulation(&self, play: &Play) -> Result<Vec<(String, f64, Measured)>, LabError> {
        let simulated = self.simulation(play.seed)?;
        let specs = self.specs();
        let cases = specs.iter().map(|spec| format!("{spec} {QUANTUM_US}us\n")).collect();
        let mut files = vec![("cases".to_owned(), cases)];
        for rep in 0..self.reps {
            files.push((format!("cases.{rep}"), Asked::draw(play.seed, rep, self.watched_ns().2).lines()));
        }
        let numbers = [WORKERS, self.watched_ns().2 / MS, self.reps.into()];
        let said = play.serve("cgi", &numbers, &files, specs.len())?;
        let answers = |spec: &str, rep: u32| {
            let found =
                part(&said, "== serve ", spec).and_then(|case| part(case, "== rep ", &rep.to_string()));
            let answers = found.and_then(read).filter(|answers| !answers.is_empty());
            answers.ok_or_else(|| {
                LabError::Run(format!("what kernel/bench/cgi printed of {spec} does not read: {said:.2000}"))
            })
        };
        let both = simulated.into_iter().zip(self.means(play.seed, &answers)?);
        Ok(both.map(|((name, simulated), (_, measured))| (name, simulated, measured)).collect())
    }

    fn means(&self, seed: u64, answers: &Answers) -> Result<Vec<(String, Measured)>, LabError> {
        let all =
            (0..self.reps).map(|rep| self.values(seed, rep, answers)).collect::<Result<Vec<Values>, _>>()?;
        let mean = |i: usize| Measured::mean(&all.iter().map(|values| values[i].1).collect::<Vec<f64>>());
        let names = all.first().into_iter().flatten().map(|(name, _)| name.clone());
        Ok(names.enumerate().map(|(i, name)| (name, mean(i))).collect())
    }

    /// Those of one repetition.
    fn values(&self, seed: u64, rep: u32, answers: &Answers) -> Result<Values, LabError> {
        let asked = Asked::draw(seed, rep, self.watched_ns().2);
        let specs = self.specs();
        let means = specs.iter().map(|spec| {
            let answers = answers(spec, rep)?;
            Ok([f64::INFINITY, work().mean_ns()].map(|most_ns| self.response_s(&asked, &answers, most_ns)))
        });
        let means = means.collect::<Result<Vec<[f64; 2]>, LabError>>()?;
        let of = |spec: &str| specs.iter().position(|other| *other == spec).map(|at| means[at]);
        let mut values = Values::new();
        for (at, what) in ["all", "small"].into_iter().enumerate() {
            for (name, spec) in labels() {
                values.extend(
                    of(spec).map(|means| (format!("{name}: mean response of {what} (s)"), means[at])),
                );
            }
            for (beta, [little, large]) in POLICIES {
                let ratio = |than: &str| of(large).zip(of(than)).map(|(own, than)| own[at] / than[at]);
                for (than, name) in [(little, "alpha 0.2"), (RR, RR), (LINUX, LINUX)] {
                    let name = format!("beta {beta}, alpha 4: response of {what} (of {name}'s)");
                    values.extend(ratio(than).map(|ratio| (name, ratio)));
                }
            }
        }
        Ok(values)
    }

    /// The mean response of requests up to a size, in s of the paper.
    fn response_s(&self, asked: &Asked, answers: &[Answer], most_ns: f64) -> f64 {
        let (from_ns, to_ns, _) = self.watched_ns();
        let counts = |answer: &&Answer| {
            let request = asked.clients.get(answer.client).and_then(|own| own.get(answer.number));
            (from_ns..to_ns).contains(&answer.sent_ns)
                && request.is_some_and(|request| request.work_ns as f64 <= most_ns)
        };
        let took: Vec<f64> = answers.iter().filter(counts).map(|answer| answer.took_ns as f64).collect();
        took.iter().sum::<f64>() / took.len() as f64 * TIMES as f64 / S as f64
    }

    fn simulated(&self, spec: &str, seed: u64, rep: u32) -> Result<Vec<Answer>, LabError> {
        let workload = run::workload("pbs-8", &workload(self.watched_ns().2))?;
        let spec = if spec == LINUX { "eevdf" } else { spec };
        let jobs = run::jobs(&workload, spec, seed, rep)?;
        let mut numbers = vec![0; CLIENTS as usize];
        let mut answers = Vec::new();
        for job in &jobs.done {
            let Some(client) =
                jobs.names[job.row].strip_prefix("user ").and_then(|n| n.parse::<usize>().ok())
            else {
                continue;
            };
            answers.push(Answer {
                client,
                number: numbers[client],
                sent_ns: job.from_ns,
                took_ns: job.to_ns - job.from_ns,
            });
            numbers[client] += 1;
        }
        Ok(answers)
    }
}

impl Asked {
    /// The same numbers as the simulation of [`workload`] draws.
    fn draw(seed: u64, rep: u32, end_ns: u64) -> Asked {
        let client = |i: u64| {
            let [user, serve] = [2 * i as usize, 2 * i as usize + 1];
            let mut thinks = stream(seed, rep, instance(user, 0), Purpose::Sleep);
            let mut requests = Vec::new();
            let mut thought_ns = 0;
            // It has more than it can ask for: answers take time as well.
            for number in 0.. {
                if thought_ns > end_ns {
                    break;
                }
                let of = |dist: &Dist, purpose| {
                    dist.sample_ns(&mut stream(seed, rep, instance(serve, number), purpose))
                };
                let think_ns = think().sample_ns(&mut thinks);
                thought_ns += think_ns;
                requests.push(Request {
                    think_ns,
                    wait_ns: of(&wait(), Purpose::Sleep),
                    work_ns: of(&work(), Purpose::Run),
                });
            }
            requests
        };
        Asked { clients: (0..CLIENTS).map(client).collect() }
    }

    /// The lines of `kernel/bench/clients.c`.
    fn lines(&self) -> String {
        let mut lines = String::new();
        for (client, requests) in self.clients.iter().enumerate() {
            for Request { think_ns, wait_ns, work_ns } in requests {
                let [think_us, wait_us, work_us] = [think_ns, wait_ns, work_ns].map(|ns| ns / 1000);
                let _ = writeln!(lines, "{client} {think_us} {wait_us} {work_us}");
            }
        }
        lines
    }
}

fn think() -> Dist {
    Dist::Exp(10 * S / TIMES)
}

/// For the disk
fn wait() -> Dist {
    Dist::Exp(10 * MS / TIMES)
}

fn work() -> Dist {
    Dist::BoundedPareto { shape: 1.2, lo: 50 * MS / TIMES, hi: 50 * S / TIMES }
}

/// Clients and what serves them, as in `pbs-8`, with the costs of a real server.
fn workload(end_ns: u64) -> String {
    let [before, program, after] = COSTS_US;
    let mut text = format!("quantum = \"{QUANTUM_US}us\"\nduration = \"{}ms\"\n", end_ns / MS);
    let ns = |ns: u64| format!("{ns}ns");
    for i in 0..CLIENTS {
        let _ = write!(
            text,
            "[[task]]\nname = \"user {i}\"\narrivals = {{ closed = {{ exp = \"{}\" }} }}\n\
             program = [ {{ run = \"{before}us\" }}, {{ fork = \"serve {i}\" }}, {{ wait = true }}, {{ run = \"{after}us\" }} ]\n\
             [[task]]\nname = \"serve {i}\"\nstart = \"fork\"\n\
             program = [ {{ run = \"{program}us\" }}, {{ sleep = {{ exp = \"{}\" }} }}, \
             {{ run = {{ bounded_pareto = {{ shape = 1.2, lo = \"{}\", hi = \"{}\" }} }} }}, \
             {{ wake = \"user {i}\" }} ]\n",
            ns(10 * S / TIMES),
            ns(10 * MS / TIMES),
            ns(50 * MS / TIMES),
            ns(50 * S / TIMES),
        );
    }
    text
}

/// The beginnings of names of values, and the policies.
fn labels() -> impl Iterator<Item = (String, &'static str)> {
    let pbs = POLICIES.iter().flat_map(|(beta, specs)| {
        ALPHAS.iter().zip(specs).map(move |(alpha, spec)| (format!("beta {beta}, alpha {alpha}"), *spec))
    });
    pbs.chain([RR, LINUX].map(|spec| (spec.to_owned(), spec)))
}

/// The lines behind such a heading, until the next heading of this kind.
fn part<'a>(said: &'a str, heading: &str, of: &str) -> Option<&'a str> {
    said.split(heading).skip(1).find_map(|part| part.strip_prefix(of)?.strip_prefix('\n'))
}

/// `answer CLIENT NUMBER SENT_US TOOK_US`
fn read(said: &str) -> Option<Vec<Answer>> {
    let answer = |line: &str| {
        let words = line.split(' ').map(|word| word.parse::<u64>().ok()).collect::<Option<Vec<u64>>>()?;
        let [client, number, sent_us, took_us] = words[..] else { return None };
        Some(Answer {
            client: client as usize,
            number: number as usize,
            sent_ns: sent_us.checked_mul(1000)?,
            took_ns: took_us.checked_mul(1000)?,
        })
    };
    said.lines().filter_map(|line| line.strip_prefix("answer ")).map(answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first request is sent when the first thought ends, and each takes as long as its work at least.
    #[test]
    fn the_server_is_asked_what_the_simulation_draws() {
        let clients = Clients::new(false, 1);
        let asked = Asked::draw(7, 0, clients.watched_ns().2);
        let answers = clients.simulated(RR, 7, 0).expect("it runs");
        assert!(answers.len() > 100, "{}", answers.len());
        let mut least_ns = u64::MAX;
        for answer in &answers {
            let request = &asked.clients[answer.client][answer.number];
            if answer.number == 0 {
                assert_eq!(answer.sent_ns, request.think_ns);
            }
            let own_ns = request.work_ns + request.wait_ns + COSTS_US.iter().sum::<u64>() * 1000;
            assert!(answer.took_ns >= own_ns, "{} and {own_ns}", answer.took_ns);
            least_ns = least_ns.min(answer.took_ns - own_ns);
        }
        assert!(least_ns < 10, "one had no others beside it: {least_ns}");
    }

    #[test]
    fn what_is_missing_or_damaged_is_no_answer() {
        let said = "== serve rr\n== rep 0\nanswer 0 0 10 20\n== rep 1\nanswer 1 2 30 40\n== serve linux\n== rep 0\nanswer 0 0 1 x\n";
        let found = |spec: &str, rep: &str| read(part(part(said, "== serve ", spec)?, "== rep ", rep)?);
        let answers = found("rr", "1").expect("an answer");
        let [Answer { client: 1, number: 2, sent_ns: 30_000, took_ns: 40_000 }] = answers[..] else {
            panic!("{} answers", answers.len());
        };
        assert!(found("linux", "0").is_none() && found("linux", "1").is_none() && found("r", "0").is_none());
    }
}
