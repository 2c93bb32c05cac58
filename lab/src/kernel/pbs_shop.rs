//! Figure 9 of priority-based blind scheduling in a kernel: a shop of three tiers, with TPC-W's mix as the simulated figure has it. A client has a process of each
//! tier: it keeps its connection to a worker of the web server, which keeps one to a process of the application, and that one to the database.

use std::fmt::Write as _;

use divvy_workload::{Purpose, Step, instance, stream};

use crate::figures::pbs_users::{CLIENTS, page, queries};
use crate::kernel::case::{LINUX, Values};
use crate::kernel::pbs_clients::{Draw, Found, POLICIES, RR, Request, Site, labels};
use crate::run::MS;

/// Thoughts of 0.7 s, not of seven: then the paper's quantum is a tick of 1 ms.
const TIMES: u64 = 10;
/// CPU time of a request without work, in µs, of a tier before and after it asks the next; of the database before and after it waits for its disk. As counted with one client on an
/// idle machine: 84 of the server, 45 of the application, 80 of the database and 123 if it waits.
const FRONT_US: [u64; 2] = [54, 30];
const APPLICATION_US: [u64; 2] = [22, 23];
const DATABASE_US: [u64; 2] = [50, 56];
/// CPU time of the client itself, in µs, before and after: as counted with all clients under linux and rr, 45. It is real-time. In the simulation the server has it.
const CLIENT_US: [u64; 2] = [23, 22];
/// Before the clients think, each process begins, and answers a request without work: how often it sleeps until then, and its CPU time, in µs, as counted. So all processes are
/// equally old, where a task that begins with its first request is younger than others by thoughts.
const FRONT_BEGINS: (u64, u64) = (4, 870);
const APPLICATION_BEGINS: (u64, u64) = (16, 460);
const DATABASE_BEGINS: (u64, u64) = (6, 18_900);
/// From when the application begins, in ms: until the others do, and until the clients think.
const OTHERS_BEGIN_MS: u64 = 100;
const THINKS_FROM_MS: u64 = 1400;
/// CPU time in ms from which a query is rather one of searches than one of little, and one of best sellers than of searches: where the mix has as many of both.
const KINDS_FROM_MS: [f64; 2] = [7.4, 59.6];
/// The longest wait for the disk, in ms. Longer ones are as rare as one in 20,000.
const MOST_WAIT_MS: u64 = 10;

pub static SHOP: Site = Site {
    id: "pbs-9",
    name: "shop",
    workers: CLIENTS as u64,
    beginning_s: 5,
    times: TIMES,
    small_policies: 2, // between alphas of beta inf is no difference
    watched_ms: (1500, 9500, 10_500),
    small_watched_ms: (250, 2250, 2500),
    workload,
    switch_ns,
    thinks_from_ms: THINKS_FROM_MS,
    // It asks, and it has the answer.
    jobs: (FRONT_BEGINS.0 as usize, 2),
    draw,
    values,
};

fn workload() -> String {
    let ([before, after], queries) = (page(TIMES), queries(TIMES));
    let disk = disk();
    let mut text = String::new();
    for i in 1..=CLIENTS {
        let _ = write!(
            text,
            "[[task]]\nname = \"user {i}\"\nstart = \"{OTHERS_BEGIN_MS}ms\"\n\
             program = [ {}, {{ until = \"{THINKS_FROM_MS}ms\" }}, {{ loop = \"forever\", do = [ {{ sleep = {{ exp = \"{}us\" }} }}, \
             {{ run = \"{}us\" }}, {{ wake = \"application {i}\" }}, {{ wait = true }}, {{ run = \"{}us\" }} ] }} ]\n\
             [[task]]\nname = \"application {i}\"\n\
             program = [ {}, {{ loop = \"forever\", do = [ {{ wait = true }}, {{ run = \"{}us\" }}, {{ run = {before} }}, \
             {{ wake = \"database {i}\" }}, {{ wait = true }}, {{ run = {after} }}, {{ run = \"{}us\" }}, \
             {{ wake = \"user {i}\" }} ] }} ]\n\
             [[task]]\nname = \"database {i}\"\nstart = \"{OTHERS_BEGIN_MS}ms\"\n\
             program = [ {}, {{ loop = \"forever\", do = [ {{ wait = true }}, {{ run = \"{}us\" }}, {{ sleep = {disk} }}, \
             {{ run = \"{}us\" }}, {{ run = {queries} }}, {{ wake = \"application {i}\" }} ] }} ]\n",
            begins(FRONT_BEGINS),
            7_000_000 / TIMES,
            FRONT_US[0] + CLIENT_US[0],
            FRONT_US[1] + CLIENT_US[1],
            begins(APPLICATION_BEGINS),
            APPLICATION_US[0],
            APPLICATION_US[1],
            begins(DATABASE_BEGINS),
            DATABASE_US[0],
            DATABASE_US[1],
        );
    }
    text
}

/// As counted with all clients: the CPU time of all three tiers beyond the work that was asked for and the costs of idle servers, for each switch that the simulation has.
fn switch_ns(spec: &str) -> u64 {
    match spec {
        RR => 6400,
        LINUX => 7400,
        _ => 14_100, // pbs
    }
}

/// The beginning of a process, which sleeps so often.
fn begins((sleeps, us): (u64, u64)) -> String {
    let each_ns = 1000 * us / sleeps;
    format!("{{ loop = {sleeps}, do = [ {{ run = \"{each_ns}ns\" }}, {{ sleep = \"100us\" }} ] }}")
}

/// Waits for the disk: exponential with a mean of 1 ms, rounded to whole ms, as PostgreSQL's own sleep has them. 1 ns is none.
fn disk() -> String {
    let more_than = |ms: f64| (-(ms - 0.5).max(0.0)).exp();
    let part =
        |ms: u64| more_than(ms as f64) - if ms < MOST_WAIT_MS { more_than(ms as f64 + 1.0) } else { 0.0 };
    let values: Vec<String> =
        (0..=MOST_WAIT_MS).map(|ms| if ms == 0 { "1ns".to_owned() } else { format!("{ms}ms") }).collect();
    let parts: Vec<String> = (0..=MOST_WAIT_MS).map(|ms| format!("{:.6}", part(ms))).collect();
    format!("{{ choice = {{ values = {values:?}, weights = [{}] }} }}", parts.join(", "))
}

fn draw(of: &Draw, client: usize) -> Option<Vec<Request>> {
    let [user, application, database] = [0, 1, 2].map(|tier| 3 * client + tier);
    let task = |number: usize| of.workload.tasks.get(number);
    let stream = |number: usize, purpose| stream(of.seed, of.rep, instance(number, 0), purpose);
    let [.., Step::Loop { body: asks, .. }] = &task(user)?.program[..] else { return None };
    let [Step::Sleep(think), ..] = &asks[..] else { return None };
    let [.., Step::Loop { body: pages, .. }] = &task(application)?.program[..] else { return None };
    let [_, _, Step::Run(before), _, _, Step::Run(after), ..] = &pages[..] else { return None };
    let [.., Step::Loop { body: asked, .. }] = &task(database)?.program[..] else { return None };
    let [_, _, Step::Sleep(disk), _, Step::Run(query), ..] = &asked[..] else { return None };
    let mut thinks = stream(user, Purpose::Sleep);
    let mut pages = stream(application, Purpose::Run);
    let mut waits = stream(database, Purpose::Sleep);
    let mut works = stream(database, Purpose::Run);
    let mut requests = Vec::new();
    let mut thought_ns = 0;
    // It has more than it can ask for: answers take time as well.
    while thought_ns <= of.end_ns {
        let think_ns = think.sample_ns(&mut thinks);
        thought_ns += think_ns;
        let [before_ns, after_ns] = [before, after].map(|part| part.sample_ns(&mut pages));
        let wait_ns = disk.sample_ns(&mut waits);
        let query_ns = query.sample_ns(&mut works);
        let kind = KINDS_FROM_MS.iter().filter(|ms| query_ns as f64 >= **ms * MS as f64).count();
        let [before_us, query_us, after_us] = [before_ns, query_ns, after_ns].map(|ns| ns / 1000);
        let target = format!("/shop?{before_us}&{kind}&{}&{query_us}&{after_us}", wait_ns / MS);
        requests.push(Request { think_ns, work_ns: before_ns + query_ns + after_ns, target });
    }
    Some(requests)
}

fn values(found: &Found) -> Values {
    let of = |spec: &str| found.response_s(spec, f64::INFINITY);
    let ratio = |own: &str, than: &str| of(own).zip(of(than)).map(|(own, than)| own / than);
    let mut values = found.without_an_answer();
    for (name, spec) in labels() {
        values.extend(of(spec).map(|mean| (format!("{name}: mean response (s)"), mean)));
    }
    for (beta, [little, large]) in POLICIES {
        for than in [RR, LINUX] {
            let name = format!("beta {beta}, alpha 4: response (of {than}'s)");
            values.extend(ratio(large, than).map(|ratio| (name, ratio)));
        }
        let name = format!("beta {beta}, alpha 0.2: response (of alpha 4's)");
        values.extend(ratio(little, large).map(|ratio| (name, ratio)));
    }
    values.extend(ratio(RR, LINUX).map(|ratio| (format!("{RR}: response (of {LINUX}'s)"), ratio)));
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::pbs_clients::tests::asks_what_the_simulation_draws;

    #[test]
    fn the_shop_is_asked_what_the_simulation_draws() {
        asks_what_the_simulation_draws(&SHOP, |of| {
            let costs_us = [FRONT_US, APPLICATION_US, DATABASE_US, CLIENT_US];
            // Each tier runs, and the first two do once more. If the first ran last, it needs no switch.
            let costs_us = costs_us.iter().flatten().sum::<u64>() + 4 * switch_ns(RR) / 1000;
            of[0] + 1000 * of[2] + of[3] + of[4] + costs_us
        });
    }

    /// The mix is 73, 22 and 5 %; the kinds are told by their sizes, so the first has some of the others.
    #[test]
    fn all_kinds_of_queries_are_asked() {
        let workload =
            crate::run::workload("pbs-9", &format!("duration = \"1s\"\n{}", workload())).expect("it reads");
        let of = Draw { workload: &workload, seed: 1, rep: 0, end_ns: 10_000 * MS };
        let requests: Vec<Request> =
            (0..CLIENTS as usize).flat_map(|client| draw(&of, client).expect("requests")).collect();
        let part = |kind: &str| {
            let of_kind = requests.iter().filter(|request| request.target.split('&').nth(1) == Some(kind));
            of_kind.count() as f64 / requests.len() as f64
        };
        assert!(
            (0.7..0.9).contains(&part("0")) && (0.1..0.25).contains(&part("1")),
            "{} {}",
            part("0"),
            part("1")
        );
        assert!((0.01..0.05).contains(&part("2")), "{}", part("2"));
        let wait_ms = |request: &Request| request.target.split('&').nth(2).and_then(|ms| ms.parse().ok());
        let waits: Vec<f64> = requests.iter().map(|request| wait_ms(request).expect("a wait")).collect();
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        assert!((0.8..1.15).contains(&mean), "{mean}");
    }
}
