//! Figure 8 of priority-based blind scheduling in a kernel: an Apache server whose CGI program works in proportion to the size of what was asked for.

use divvy_workload::{Arrivals, Dist, Purpose, Step, Workload, instance, stream};

use crate::figures::pbs_users::{CLIENTS, web_tasks};
use crate::kernel::case::{LINUX, Values};
use crate::kernel::pbs_clients::{Draw, Found, POLICIES, RR, Request, Site, labels};

/// Thoughts of half a second, not of ten.
const TIMES: u64 = 20;
/// CPU time of a request without work, in µs: the server's until it has made the process of the program, the program's until it waits for the file, and the server's from the
/// program's end to the answer. As counted with one client on an idle machine: 1.2 ms in all, of which the program's process has 0.65 when it begins.
const COSTS_US: [u64; 3] = [300, 650, 200];

pub static CGI: Site = Site {
    id: "pbs-8",
    name: "cgi",
    // One that finds its CGI program ending, and not ended yet, sleeps for 47 ms, and may not be there for a request meanwhile.
    workers: 2 * CLIENTS as u64,
    beginning_s: 3,
    times: TIMES,
    small_policies: 0,
    watched_ms: (2000, 12_000, 13_000),
    small_watched_ms: (250, 2750, 3000),
    workload: || web_tasks(TIMES, COSTS_US),
    switch_ns: |_| 0,
    thinks_from_ms: 0,
    jobs: (0, 1),
    draw,
    values,
};

fn draw(of: &Draw, client: usize) -> Option<Vec<Request>> {
    let [user, serve] = [2 * client, 2 * client + 1];
    let Arrivals::Closed { think } = &of.workload.tasks.get(user)?.arrivals else { return None };
    let (wait, work) = served(of.workload, serve)?;
    let mut thinks = stream(of.seed, of.rep, instance(user, 0), Purpose::Sleep);
    let mut requests = Vec::new();
    let mut thought_ns = 0;
    // It has more than it can ask for: answers take time as well.
    for number in 0.. {
        if thought_ns > of.end_ns {
            break;
        }
        let sample = |dist: &Dist, purpose| {
            dist.sample_ns(&mut stream(of.seed, of.rep, instance(serve, number), purpose))
        };
        let think_ns = think.sample_ns(&mut thinks);
        thought_ns += think_ns;
        let [wait_ns, work_ns] = [sample(wait, Purpose::Sleep), sample(work, Purpose::Run)];
        let target = format!("/summary?{}&{}", wait_ns / 1000, work_ns / 1000);
        requests.push(Request { think_ns, work_ns, target });
    }
    Some(requests)
}

/// How long what serves a client waits, and then works.
fn served(workload: &Workload, serve: usize) -> Option<(&Dist, &Dist)> {
    let [_, Step::Sleep(wait), Step::Run(work), ..] = &workload.tasks.get(serve)?.program[..] else {
        return None;
    };
    Some((wait, work))
}

fn values(found: &Found) -> Values {
    let mut values = found.without_an_answer();
    // A request up to the mean of all sizes is small.
    let mean_ns = served(&found.workload, 1).map_or(f64::NAN, |(_, work)| work.mean_ns());
    for (most_ns, what) in [(f64::INFINITY, "all"), (mean_ns, "small")] {
        let of = |spec: &str| found.response_s(spec, most_ns);
        for (name, spec) in labels() {
            values.extend(of(spec).map(|mean| (format!("{name}: mean response of {what} (s)"), mean)));
        }
        for (beta, [little, large]) in POLICIES {
            for (than, name) in [(little, "alpha 0.2"), (RR, RR), (LINUX, LINUX)] {
                let name = format!("beta {beta}, alpha 4: response of {what} (of {name}'s)");
                values.extend(of(large).zip(of(than)).map(|(own, than)| (name, own / than)));
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::pbs_clients::tests::{
        asks_what_the_simulation_draws, sees_an_answer_that_is_missing_and_counts_a_request_without_one,
    };

    #[test]
    fn the_server_is_asked_what_the_simulation_draws() {
        asks_what_the_simulation_draws(&CGI, |of| of.iter().chain(&COSTS_US).sum());
    }

    #[test]
    fn an_answer_that_is_missing_is_seen_and_a_request_without_one_counts() {
        sees_an_answer_that_is_missing_and_counts_a_request_without_one(&CGI);
    }
}
