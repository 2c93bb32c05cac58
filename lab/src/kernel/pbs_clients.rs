//! Priority-based blind scheduling in a kernel, figures 8 and 9: clients who think between requests, and servers that answer them (`kernel/bench/clients`).
//! All policies and the simulation have the same thinking times and sizes.

use std::fmt::Write as _;

use divvy_workload::Workload;

use crate::error::LabError;
use crate::figures::pbs_users::CLIENTS;
use crate::kernel::case::{Beside, LINUX, Means, TICK_NS, Values, beside, means, numbers, to_nearest_tick};
use crate::kernel::machine::{Play, timeout_s};
use crate::run::{self, MS, S};

/// A turn that begins at a tick, or soon after, lasts until the next.
const QUANTUM_NS: u64 = TICK_NS * 9 / 10;

pub(crate) const RR: &str = "rr";
/// Beta, the policy with a small alpha, and with the greatest.
pub(crate) const POLICIES: [(&str, [&str; 2]); 3] = [
    ("inf", ["pbs:alpha=0.2:beta=inf", "pbs:alpha=4:beta=inf"]),
    ("-3", ["pbs:alpha=0.2:beta=-3", "pbs:alpha=4:beta=-3"]),
    ("0", ["pbs:alpha=0.2:beta=0", "pbs:alpha=4:beta=0"]),
];
const ALPHAS: [&str; 2] = ["0.2", "4"];

/// The servers of a figure, and what is measured.
pub struct Site {
    /// The figure.
    pub id: &'static str,
    /// As `kernel/bench/clients` calls it, and so many processes of its web server.
    pub name: &'static str,
    pub workers: u64,
    /// A repetition has servers of its own, which begin before it, in s.
    pub beginning_s: u64,
    /// The figure is so many times as fast as its simulation in the paper's time.
    pub times: u64,
    /// Which of the [`POLICIES`] the small version has.
    pub small_policies: usize,
    /// When responses begin to count, when they end to, and the end: in ms, of the full version and of the small one.
    pub watched_ms: (u64, u64, u64),
    pub small_watched_ms: (u64, u64, u64),
    /// The tasks.
    pub workload: fn() -> String,
    /// The simulated cost of a switch under a policy, in ns.
    pub switch_ns: fn(&str) -> u64,
    /// When clients begin to think in the simulation, in ms: what serves them is there before.
    pub thinks_from_ms: u64,
    /// Jobs of a client's task in the simulation: those before it thinks, and those of each request.
    pub jobs: (usize, usize),
    /// The requests of a client: at least as many as it can ask for until an end. None if it is another workload.
    pub draw: fn(&Draw, client: usize) -> Option<Vec<Request>>,
    pub values: fn(&Found) -> Values,
}

/// Numbers from which requests are drawn.
pub struct Draw<'a> {
    pub workload: &'a Workload,
    pub seed: u64,
    pub rep: u32,
    pub end_ns: u64,
}

pub struct Request {
    pub think_ns: u64,
    /// CPU time.
    pub work_ns: u64,
    /// The path and the query that the server is asked for.
    pub target: String,
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

/// Requests of a repetition, and the answers under all policies.
pub struct Found<'a> {
    site: &'a Site,
    pub workload: Workload,
    watched_ns: (u64, u64, u64),
    asked: Asked,
    specs: Vec<&'static str>,
    answers: Vec<Vec<Answer>>,
    left: Vec<usize>,
}

/// The requests of a repetition, of each client in its order.
struct Asked {
    clients: Vec<Vec<Request>>,
}

/// The figure, or its small version.
pub struct Clients {
    site: &'static Site,
    small: bool,
    reps: u32,
}

impl Clients {
    pub fn new(site: &'static Site, small: bool, reps: u32) -> Clients {
        Clients { site, small, reps }
    }

    fn watched_ns(&self) -> (u64, u64, u64) {
        let (from, to, end) = if self.small { self.site.small_watched_ms } else { self.site.watched_ms };
        (from * MS, to * MS, end * MS)
    }

    /// The small version has both alphas for one beta.
    fn specs(&self) -> Vec<&'static str> {
        if self.small {
            return POLICIES[self.site.small_policies].1.to_vec();
        }
        POLICIES.iter().flat_map(|(_, specs)| *specs).chain([RR, LINUX]).collect()
    }

    /// The means over the repetitions.
    pub fn simulation(&self, seed: u64) -> Result<Values, LabError> {
        Ok(numbers(self.means(seed, &|spec, rep| self.simulated(spec, seed, rep))?))
    }

    pub fn beside_simulation(&self, play: &Play) -> Result<Beside, LabError> {
        let simulated = self.simulation(play.seed)?;
        let specs = self.specs();
        let cases = specs.iter().map(|spec| format!("{spec} {QUANTUM_NS}ns\n")).collect();
        let mut files = vec![("cases".to_owned(), cases)];
        for rep in 0..self.reps {
            files.push((format!("cases.{rep}"), self.asked(play.seed, rep)?.lines()));
        }
        let duration_ns = self.watched_ns().2;
        let played_s =
            specs.len() as u64 * u64::from(self.reps) * (duration_ns.div_ceil(S) + self.site.beginning_s);
        let numbers = [self.site.workers, duration_ns / MS, self.reps.into(), timeout_s(played_s)];
        let said = play.serve(("clients", &[self.site.name]), &numbers, &files, specs.len())?;
        let answers = |spec: &str, rep: u32| {
            let found =
                part(&said, "== serve ", spec).and_then(|case| part(case, "== rep ", &rep.to_string()));
            let answers = found.and_then(read).filter(|answers| !answers.is_empty());
            answers.ok_or_else(|| {
                LabError::Run(format!(
                    "what kernel/bench/clients printed of {spec} does not read: {said:.2000}"
                ))
            })
        };
        Ok(beside(simulated, self.means(play.seed, &answers)?))
    }

    fn means(&self, seed: u64, answers: &Answers) -> Result<Means, LabError> {
        let all = (0..self.reps).map(|rep| self.values(seed, rep, answers));
        Ok(means(&all.collect::<Result<Vec<Values>, _>>()?))
    }

    /// Clients and what serves them, with the costs of real servers and the ticks of their kernel.
    fn workload(&self) -> Result<Workload, LabError> {
        let end_ms = self.site.thinks_from_ms + self.watched_ns().2 / MS;
        let head = format!("duration = \"{end_ms}ms\"\n");
        let workload = run::workload(self.site.id, &(head + &(self.site.workload)()))?;
        Ok(Workload { quantum_ns: to_nearest_tick(QUANTUM_NS), tick_ns: Some(TICK_NS), ..workload })
    }

    fn asked(&self, seed: u64, rep: u32) -> Result<Asked, LabError> {
        let workload = self.workload()?;
        let draw = Draw { workload: &workload, seed, rep, end_ns: self.watched_ns().2 };
        let clients = (0..CLIENTS as usize).map(|client| (self.site.draw)(&draw, client));
        let clients = clients.collect::<Option<_>>().ok_or_else(|| LabError::Own {
            file: format!("workloads/{}", self.site.id),
            what: "it has no clients who think, or no servers that read and work".to_owned(),
        })?;
        Ok(Asked { clients })
    }

    /// Those of one repetition.
    fn values(&self, seed: u64, rep: u32, answers: &Answers) -> Result<Values, LabError> {
        let (from_ns, to_ns, _) = self.watched_ns();
        let mut found = Found {
            site: self.site,
            workload: self.workload()?,
            watched_ns: self.watched_ns(),
            asked: self.asked(seed, rep)?,
            specs: self.specs(),
            answers: Vec::new(),
            left: Vec::new(),
        };
        for spec in self.specs() {
            let answers = answers(spec, rep)?;
            let left = found.asked.left(&answers).map_err(|what| {
                LabError::Run(format!("the answers under {spec} in repetition {rep} are not whole: {what}"))
            })?;
            found.left.push(left.iter().filter(|sent_ns| (from_ns..to_ns).contains(*sent_ns)).count());
            found.answers.push(answers);
        }
        Ok((self.site.values)(&found))
    }

    fn simulated(&self, spec: &str, seed: u64, rep: u32) -> Result<Vec<Answer>, LabError> {
        let mut workload = self.workload()?;
        workload.switch_cost_ns = (self.site.switch_ns)(spec);
        let spec = if spec == LINUX {
            // Its slices end when they are to.
            workload.tick_ns = None;
            "eevdf"
        } else {
            spec
        };
        let jobs = run::jobs(&workload, spec, seed, rep)?;
        let (from_ns, (at_birth, of_request)) = (self.site.thinks_from_ms * MS, self.site.jobs);
        let mut done = vec![0; CLIENTS as usize];
        let mut sent_ns = vec![0; CLIENTS as usize];
        let mut answers = Vec::new();
        for job in &jobs.done {
            let number = jobs.names[job.row].strip_prefix("user ").and_then(|n| n.parse::<usize>().ok());
            let Some(client) = number.and_then(|number| number.checked_sub(1)) else { continue };
            done[client] += 1;
            let Some(before) = (done[client] - 1_usize).checked_sub(at_birth) else { continue };
            if before % of_request == 0 {
                sent_ns[client] = job.from_ns;
            }
            if before % of_request + 1 == of_request {
                let sent_ns = sent_ns[client];
                let (number, took_ns) = (before / of_request, job.to_ns - sent_ns);
                answers.push(Answer { client, number, sent_ns: sent_ns - from_ns, took_ns });
            }
        }
        Ok(answers)
    }
}

impl Asked {
    /// When the requests without an answer were sent, or would be: each client has at most one, after its last answer. The error is an answer that is not
    /// the next of its client, or to no request.
    fn left(&self, answers: &[Answer]) -> Result<Vec<u64>, String> {
        let mut clients: Vec<(usize, u64)> = vec![(0, 0); self.clients.len()];
        for answer in answers {
            let Answer { client, number, .. } = *answer;
            let Some((next, ended_ns)) = clients.get_mut(client) else {
                return Err(format!("there is no client {client}"));
            };
            if number != *next || number >= self.clients[client].len() {
                return Err(format!("answer {number} of client {client} comes where {next} is the next"));
            }
            *next += 1;
            *ended_ns = answer.sent_ns + answer.took_ns;
        }
        let sent_ns = |((next, ended_ns), own): (&(usize, u64), &Vec<Request>)| {
            own.get(*next).map(|request| ended_ns + request.think_ns)
        };
        Ok(clients.iter().zip(&self.clients).filter_map(sent_ns).collect())
    }

    /// The lines of `kernel/bench/clients.c`.
    fn lines(&self) -> String {
        let mut lines = String::new();
        for (client, requests) in self.clients.iter().enumerate() {
            for Request { think_ns, target, .. } in requests {
                let _ = writeln!(lines, "{client} {} {target}", think_ns / 1000);
            }
        }
        lines
    }
}

impl Found<'_> {
    /// The mean response of requests up to a size under this policy, in s of the paper. None if it was not run.
    pub fn response_s(&self, spec: &str, most_ns: f64) -> Option<f64> {
        let (from_ns, to_ns, _) = self.watched_ns;
        let counts = |answer: &&Answer| {
            let request = &self.asked.clients[answer.client][answer.number];
            (from_ns..to_ns).contains(&answer.sent_ns) && request.work_ns as f64 <= most_ns
        };
        let answers = &self.answers[self.at(spec)?];
        let took: Vec<f64> = answers.iter().filter(counts).map(|answer| answer.took_ns as f64).collect();
        Some(took.iter().sum::<f64>() / took.len() as f64 * self.site.times as f64 / S as f64)
    }

    /// How many requests that count have no answer, by policy.
    pub fn without_an_answer(&self) -> Values {
        let left = labels().filter_map(|(name, spec)| Some((name, self.left[self.at(spec)?] as f64)));
        left.map(|(name, left)| (format!("{name}: requests without an answer"), left)).collect()
    }

    fn at(&self, spec: &str) -> Option<usize> {
        self.specs.iter().position(|other| *other == spec)
    }
}

/// The beginnings of names of values, and the policies.
pub(crate) fn labels() -> impl Iterator<Item = (String, &'static str)> {
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
pub(crate) mod tests {
    use super::*;

    /// The first request is sent when the first thought ends, and each takes as long as its work at least.
    /// The numbers of its target say what that is, in µs.
    pub fn asks_what_the_simulation_draws(site: &'static Site, least_us: fn(&[u64]) -> u64) {
        let clients = Clients::new(site, false, 1);
        let asked = clients.asked(7, 0).expect("requests");
        let answers = clients.simulated(RR, 7, 0).expect("it runs");
        assert!(answers.len() > 100, "{}", answers.len());
        let mut beyond_us = u64::MAX;
        for answer in &answers {
            let Request { think_ns, target, .. } = &asked.clients[answer.client][answer.number];
            if answer.number == 0 {
                assert_eq!(answer.sent_ns, *think_ns);
            }
            let (_, numbers) = target.split_once('?').expect("numbers");
            let numbers: Vec<u64> =
                numbers.split('&').map(|number| number.parse().expect("a number")).collect();
            let (took_us, least_us) = (answer.took_ns / 1000, least_us(&numbers));
            assert!(took_us >= least_us, "{target}: {took_us}");
            beyond_us = beyond_us.min(took_us - least_us);
        }
        assert!(beyond_us < 4, "one had no others beside it, and parts of us: {beyond_us}");
    }

    /// The requests that are left are those that the end cuts off.
    pub fn sees_an_answer_that_is_missing_and_counts_a_request_without_one(site: &'static Site) {
        let clients = Clients::new(site, false, 1);
        let asked = clients.asked(7, 0).expect("requests");
        let mut answers = clients.simulated(RR, 7, 0).expect("it runs");
        let left = asked.left(&answers).expect("whole");
        assert_eq!(left.len(), CLIENTS as usize);
        let last = answers.pop().expect("an answer");
        let without = asked.left(&answers).expect("the last one of a client may be missing");
        assert_eq!(without[last.client], last.sent_ns);
        let first = answers.iter().position(|answer| answer.client == 3).expect("an answer");
        let gone = answers.remove(first);
        assert!(asked.left(&answers).is_err(), "a gap");
        for (client, number) in [(CLIENTS as usize, 0), (3, usize::MAX)] {
            let other = Answer { client, number, ..gone };
            assert!(asked.left(&[other]).is_err(), "{client}, {number}");
        }
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
