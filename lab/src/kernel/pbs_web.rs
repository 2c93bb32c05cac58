//! Priority-based blind scheduling in a kernel, figure 8: an Apache server whose CGI program works in proportion to the size of what was asked for
//! (`kernel/bench/cgi`), and 30 clients who think between requests. All policies and the simulation have the same thinking times and sizes.

use std::fmt::Write as _;

use divvy_workload::{Arrivals, Dist, Purpose, Step, Workload, instance, stream};

use crate::error::LabError;
use crate::figures::pbs_users::{CLIENTS, web_tasks};
use crate::kernel::case::{Beside, LINUX, Means, Values, beside, means, numbers};
use crate::kernel::machine::{Play, timeout_s};
use crate::run::{self, MS, S};

/// The figure is so many times as fast as its simulation in the paper's time (`pbs-8`): thoughts of half a second, not of ten.
const TIMES: u64 = 20;
/// A slice ends at a tick of 1 ms, the first at or after its end. A turn that begins at a tick, or soon after, lasts until the next.
const QUANTUM_US: u64 = 900;
/// Two of the server for each client: one that finds its CGI program ending, and not ended yet, sleeps for 47 ms, and may not be there for a request meanwhile.
const WORKERS: u64 = 2 * CLIENTS as u64;
/// A repetition has a server of its own, which begins before it, in s.
const BEGINNING_S: u64 = 3;
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
    /// The mean of all sizes: a request up to it is small.
    mean_work_ns: f64,
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
        Ok(numbers(self.means(seed, &|spec, rep| self.simulated(spec, seed, rep))?))
    }

    pub fn beside_simulation(&self, play: &Play) -> Result<Beside, LabError> {
        let simulated = self.simulation(play.seed)?;
        let specs = self.specs();
        let cases = specs.iter().map(|spec| format!("{spec} {QUANTUM_US}us\n")).collect();
        let mut files = vec![("cases".to_owned(), cases)];
        for rep in 0..self.reps {
            files.push((format!("cases.{rep}"), self.asked(play.seed, rep)?.lines()));
        }
        let duration_ns = self.watched_ns().2;
        let played_s = specs.len() as u64 * u64::from(self.reps) * (duration_ns.div_ceil(S) + BEGINNING_S);
        let numbers = [WORKERS, duration_ns / MS, self.reps.into(), timeout_s(played_s)];
        let said = play.serve("cgi", &numbers, &files, specs.len())?;
        let answers = |spec: &str, rep: u32| {
            let found =
                part(&said, "== serve ", spec).and_then(|case| part(case, "== rep ", &rep.to_string()));
            let answers = found.and_then(read).filter(|answers| !answers.is_empty());
            answers.ok_or_else(|| {
                LabError::Run(format!("what kernel/bench/cgi printed of {spec} does not read: {said:.2000}"))
            })
        };
        Ok(beside(simulated, self.means(play.seed, &answers)?))
    }

    fn means(&self, seed: u64, answers: &Answers) -> Result<Means, LabError> {
        let all = (0..self.reps).map(|rep| self.values(seed, rep, answers));
        Ok(means(&all.collect::<Result<Vec<Values>, _>>()?))
    }

    fn workload(&self) -> Result<Workload, LabError> {
        run::workload("pbs-8", &workload(self.watched_ns().2))
    }

    fn asked(&self, seed: u64, rep: u32) -> Result<Asked, LabError> {
        Asked::draw(&self.workload()?, seed, rep, self.watched_ns().2)
            .ok_or_else(|| own("it has no clients who think, or no servers that read and work"))
    }

    /// Those of one repetition.
    fn values(&self, seed: u64, rep: u32, answers: &Answers) -> Result<Values, LabError> {
        let asked = self.asked(seed, rep)?;
        let specs = self.specs();
        let found = specs.iter().map(|spec| {
            let answers = answers(spec, rep)?;
            let left = asked.left(&answers).map_err(|what| {
                LabError::Run(format!("the answers under {spec} in repetition {rep} are not whole: {what}"))
            })?;
            let (from_ns, to_ns, _) = self.watched_ns();
            let left = left.iter().filter(|sent_ns| (from_ns..to_ns).contains(*sent_ns)).count();
            let means =
                [f64::INFINITY, asked.mean_work_ns].map(|most_ns| self.response_s(&asked, &answers, most_ns));
            Ok((means, left as f64))
        });
        let found = found.collect::<Result<Vec<([f64; 2], f64)>, LabError>>()?;
        let at = |spec: &str| specs.iter().position(|other| *other == spec);
        let of = |spec: &str| at(spec).map(|at| found[at].0);
        let mut values = Values::new();
        for (name, spec) in labels() {
            values.extend(at(spec).map(|at| (format!("{name}: requests without an answer"), found[at].1)));
        }
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
            let request = &asked.clients[answer.client][answer.number];
            (from_ns..to_ns).contains(&answer.sent_ns) && request.work_ns as f64 <= most_ns
        };
        let took: Vec<f64> = answers.iter().filter(counts).map(|answer| answer.took_ns as f64).collect();
        took.iter().sum::<f64>() / took.len() as f64 * TIMES as f64 / S as f64
    }

    fn simulated(&self, spec: &str, seed: u64, rep: u32) -> Result<Vec<Answer>, LabError> {
        let mut workload = self.workload()?;
        let spec = if spec == LINUX {
            // Its slices end when they are to.
            workload.tick_ns = None;
            "eevdf"
        } else {
            spec
        };
        let jobs = run::jobs(&workload, spec, seed, rep)?;
        let mut numbers = vec![0; CLIENTS as usize];
        let mut answers = Vec::new();
        for job in &jobs.done {
            let number = jobs.names[job.row].strip_prefix("user ").and_then(|n| n.parse::<usize>().ok());
            let Some(client) = number.and_then(|number| number.checked_sub(1)) else { continue };
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
    /// The same numbers as the simulation of [`workload`] draws. None if it is another workload.
    fn draw(workload: &Workload, seed: u64, rep: u32, end_ns: u64) -> Option<Asked> {
        let [user, serve, ..] = &workload.tasks[..] else { return None };
        let Arrivals::Closed { think } = &user.arrivals else { return None };
        let [_, Step::Sleep(wait), Step::Run(work), ..] = &serve.program[..] else { return None };
        let client = |i: usize| {
            let [user, serve] = [2 * i, 2 * i + 1];
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
                let think_ns = think.sample_ns(&mut thinks);
                thought_ns += think_ns;
                requests.push(Request {
                    think_ns,
                    wait_ns: of(wait, Purpose::Sleep),
                    work_ns: of(work, Purpose::Run),
                });
            }
            requests
        };
        let clients = (0..workload.tasks.len() / 2).map(client).collect();
        Some(Asked { clients, mean_work_ns: work.mean_ns() })
    }

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
            for Request { think_ns, wait_ns, work_ns } in requests {
                let [think_us, wait_us, work_us] = [think_ns, wait_ns, work_ns].map(|ns| ns / 1000);
                let _ = writeln!(lines, "{client} {think_us} {wait_us} {work_us}");
            }
        }
        lines
    }
}

/// Clients and what serves them, as in `pbs-8`, with the costs of a real server and the ticks of its kernel.
fn workload(end_ns: u64) -> String {
    let head = format!("quantum = \"{QUANTUM_US}us\"\ntick = \"1ms\"\nduration = \"{}ms\"\n", end_ns / MS);
    head + &web_tasks(TIMES, COSTS_US)
}

fn own(what: &str) -> LabError {
    LabError::Own { file: "workloads/pbs-8".to_owned(), what: what.to_owned() }
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
        let asked = clients.asked(7, 0).expect("requests");
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

    /// The requests that are left are those that the end cuts off.
    #[test]
    fn an_answer_that_is_missing_is_seen_and_a_request_without_one_counts() {
        let clients = Clients::new(false, 1);
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
