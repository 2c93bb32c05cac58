//! Fair queueing by tags: of all clients the one with the least key runs.
//!
//! With unit quanta, a client of weight phi that has run k quanta has start tag S = k / phi and finish tag F
//! = (k+1) / phi.

use super::Schedule;
use crate::oracle::{Rational, fraction};

/// The key by which a client is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Least F (Parekh and Gallager's PGPS; Demers et al.). Stride scheduling with exact strides makes the
    /// same choices: a pass is a finish tag in other units.
    Wfq,
    /// Least S (Goyal et al.).
    Sfq,
    /// Least F among those with S <= V, where V = quanta handed out / sum of weights (Bennett and Zhang). One
    /// CPU. Also EEVDF with requests of one quantum.
    Wf2q,
    /// Least surplus phi (S - v), where v is the least S of all, running ones included (Chandra et al.).
    Sfs,
}

/// Which of the clients with equal keys goes first. A client queues up again whenever its quantum ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The one that has queued the longest; at first, the lowest number.
    Fifo,
    /// The one that has queued the least; at first, the highest number.
    Lifo,
}

struct Client {
    weight: u64,
    /// k.
    ran: u64,
    /// When it queued up: greater is later.
    queued: u64,
}

impl Client {
    fn start(&self) -> Rational {
        fraction(self.ran, self.weight)
    }

    fn finish(&self) -> Rational {
        fraction(self.ran + 1, self.weight)
    }
}

/// The first `quanta` quanta on `cpus` CPUs in step. At a boundary each CPU in turn takes back its client,
/// with its new tags, and chooses among those that no CPU holds.
///
/// # Panics
/// If a weight is 0, or WF2Q is asked for on several CPUs.
pub fn schedule(weights: &[u64], cpus: usize, quanta: usize, rule: Rule, ties: Ties) -> Schedule {
    assert!(rule != Rule::Wf2q || cpus == 1, "WF2Q is for one CPU");
    let mut queued = 0..;
    let mut now_queued = || queued.next().unwrap_or(u64::MAX);
    let mut clients: Vec<Client> =
        weights.iter().map(|&weight| Client { weight, ran: 0, queued: now_queued() }).collect();
    let total: u64 = weights.iter().sum();
    let mut running: Vec<Option<usize>> = vec![None; cpus];
    let mut rows = Vec::with_capacity(quanta);
    for quantum in 0..quanta {
        for cpu in 0..cpus {
            if let Some(client) = running[cpu].take() {
                clients[client].ran += 1;
                clients[client].queued = now_queued();
            }
            let virtual_time = fraction(quantum, total);
            running[cpu] = choose(&clients, &running, rule, ties, &virtual_time);
        }
        rows.push(running.clone());
    }
    rows
}

fn choose(
    clients: &[Client],
    running: &[Option<usize>],
    rule: Rule,
    ties: Ties,
    now: &Rational,
) -> Option<usize> {
    let least_start = clients.iter().map(Client::start).min()?;
    let waiting = (0..clients.len()).filter(|&client| !running.contains(&Some(client)));
    let eligible = waiting.filter(|&client| rule != Rule::Wf2q || clients[client].start() <= *now);
    eligible.min_by_key(|&client| {
        let client = &clients[client];
        let key = match rule {
            Rule::Wfq | Rule::Wf2q => client.finish(),
            Rule::Sfq => client.start(),
            Rule::Sfs => (client.start() - &least_start) * fraction(client.weight, 1),
        };
        let turn = match ties {
            Ties::Fifo => client.queued,
            Ties::Lifo => u64::MAX - client.queued,
        };
        (key, turn)
    })
}

#[cfg(test)]
mod tests {
    use super::super::{first_cpu, service_error};
    use super::*;
    use num_traits::ToPrimitive as _;

    fn one_cpu(weights: &[u64], rule: Rule, ties: Ties) -> Vec<usize> {
        let total: u64 = weights.iter().sum();
        first_cpu(&schedule(weights, 1, total as usize, rule, ties)).into_iter().flatten().collect()
    }

    fn errors(weights: &[u64], rule: Rule, ties: Ties) -> (f64, f64) {
        let total: u64 = weights.iter().sum();
        let (least, greatest) = service_error(&schedule(weights, 1, total as usize, rule, ties), weights);
        (least.to_f64().unwrap_or(f64::NAN), greatest.to_f64().unwrap_or(f64::NAN))
    }

    #[test]
    fn small_schedules_by_hand() {
        // Finish tags 1/3 2/3 1, 1/2 1, 1: the last three are equal.
        assert_eq!(one_cpu(&[3, 2, 1], Rule::Wfq, Ties::Fifo), [0, 1, 0, 2, 1, 0]);
        // Start tags 0 1/3 2/3, 0 1/2, 0.
        assert_eq!(one_cpu(&[3, 2, 1], Rule::Sfq, Ties::Fifo), [0, 1, 2, 0, 1, 0]);
        assert_eq!(one_cpu(&[3, 2, 1], Rule::Sfq, Ties::Lifo), [2, 1, 0, 0, 1, 0]);
        assert_eq!(one_cpu(&[1, 1, 1], Rule::Sfs, Ties::Fifo), [0, 1, 2]);
    }

    /// One client N times as heavy as each of N others. WFQ runs it N times before anybody else, or N - 1
    /// times if the others go first of equal tags; under SFQ it waits for all of them after its first
    /// quantum, or before it.
    #[test]
    fn one_heavy_client() {
        let heavy: Vec<u64> = std::iter::once(16).chain([1; 16]).collect();
        for (rule, ties, expected) in [
            (Rule::Wfq, Ties::Lifo, (-31.0 / 32.0, 8.0)),
            (Rule::Wfq, Ties::Fifo, (-30.0 / 32.0, 7.5)),
            (Rule::Sfq, Ties::Fifo, (-7.5, 30.0 / 32.0)),
            (Rule::Sfq, Ties::Lifo, (-8.0, 31.0 / 32.0)),
            (Rule::Wf2q, Ties::Fifo, (-30.0 / 32.0, 30.0 / 32.0)),
        ] {
            assert_eq!(errors(&heavy, rule, ties), expected, "{rule:?} {ties:?}");
        }
    }

    /// WF2Q is never more than a quantum off (strictly), WFQ never that far behind, SFQ never that far ahead.
    #[test]
    fn bounds() {
        for case in 0..60_u64 {
            let weights: Vec<u64> = (0..case % 7 + 2).map(|i| (case * 31 + i * i * 17) % 23 + 1).collect();
            for ties in [Ties::Fifo, Ties::Lifo] {
                let wf2q = errors(&weights, Rule::Wf2q, ties);
                assert!(wf2q.0 > -1.0 && wf2q.1 < 1.0, "{weights:?}: {wf2q:?}");
                assert!(errors(&weights, Rule::Wfq, ties).0 > -1.0, "{weights:?}");
                assert!(errors(&weights, Rule::Sfq, ties).1 < 1.0, "{weights:?}");
            }
        }
    }

    /// Three equal clients on two CPUs: nobody runs twice at once, and all get two thirds.
    #[test]
    fn two_cpus() {
        for rule in [Rule::Sfq, Rule::Wfq, Rule::Sfs] {
            let rows = schedule(&[1, 1, 1], 2, 6, rule, Ties::Fifo);
            let mut ran = [0; 3];
            for row in &rows {
                assert_ne!(row[0], row[1]);
                row.iter().flatten().for_each(|&client| ran[client] += 1);
            }
            assert_eq!(ran, [4, 4, 4], "{rule:?}: {rows:?}");
        }
        assert_eq!(schedule(&[1], 2, 1, Rule::Sfq, Ties::Fifo), [[Some(0), None]]);
    }
}
