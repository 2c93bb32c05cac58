//! Section 3.3 written a second time, line by line, with lists: who is infeasible, and what they weigh.

/// Clients in the queue, and those of them that are infeasible
#[derive(Debug, Default)]
pub struct Readjustment {
    cpus: u64,
    /// Client and original weight, in the order in which they were inserted or got it
    clients: Vec<(u32, u64)>,
    /// I, in the order in which they were found
    pub infeasible: Vec<u32>,
    /// The weight of its members
    cap: u64,
}

impl Readjustment {
    pub fn new(cpus: u64) -> Readjustment {
        Readjustment { cpus, ..Readjustment::default() }
    }

    pub fn insert(&mut self, id: u32, weight: u64) {
        self.clients.push((id, weight));
    }

    pub fn remove(&mut self, id: u32) {
        self.clients.retain(|&(client, _)| client != id);
    }

    pub fn weight(&self, id: u32) -> u64 {
        let &(_, original) = self.clients.iter().find(|&&(client, _)| client == id).unwrap();
        if self.infeasible.contains(&id) { self.cap } else { original }
    }

    fn group(&self, order: u32) -> Vec<(u32, u64)> {
        self.clients.iter().copied().filter(|(_, weight)| weight.ilog2() == order).collect()
    }

    /// WEIGHT-READJUSTMENT, with the first INFEASIBLE. With no more clients than CPUs all get the least weight (D4).
    pub fn readjust(&mut self) {
        let mut orders: Vec<u32> = self.clients.iter().map(|(_, weight)| weight.ilog2()).collect();
        orders.sort_unstable();
        orders.dedup();
        let mut groups = orders.iter().rev().map(|&order| (order, self.group(order)));
        let total = sum(&self.clients);
        let mut infeasible = Vec::new();
        if self.cpus == 1 {
            return;
        }
        if self.clients.len() as u64 <= self.cpus {
            self.infeasible = groups.flat_map(|(_, group)| group).map(|(id, _)| id).collect();
            self.cap = self.clients.iter().map(|&(_, weight)| weight).min().unwrap_or(0);
            return;
        }
        let last = loop {
            let (order, group) = groups.next().unwrap();
            let (left, of_others) =
                (self.cpus - infeasible.len() as u64, total - sum(&infeasible) - sum(&group));
            let size = group.len() as u64;
            if !(size < left && (1 << order) * (left - size) > of_others) {
                break group;
            }
            infeasible.extend(group);
        };
        if (last.len() as u64) < 2 * (self.cpus - infeasible.len() as u64) {
            let mut sorted = last;
            sorted.sort_by_key(|&(_, weight)| std::cmp::Reverse(weight));
            for client in sorted {
                if client.1 * (self.cpus - infeasible.len() as u64) <= total - sum(&infeasible) {
                    break;
                }
                infeasible.push(client);
            }
        }
        self.cap = (total - sum(&infeasible)) / (self.cpus - infeasible.len() as u64);
        self.infeasible = infeasible.into_iter().map(|(id, _)| id).collect();
        self.must_be_feasible();
    }

    /// Lemma 1: nobody asks for more than a CPU's part of the total; and whoever was lowered is not the lighter for it.
    fn must_be_feasible(&self) {
        let weights: Vec<u64> = self.clients.iter().map(|&(id, _)| self.weight(id)).collect();
        let (most, total) = (weights.iter().max().unwrap(), weights.iter().sum::<u64>());
        assert!(most * self.cpus <= total, "{self:?}");
        assert!(self.infeasible.is_empty() || *most == self.cap, "{self:?}");
    }
}

fn sum(clients: &[(u32, u64)]) -> u64 {
    clients.iter().map(|(_, weight)| weight).sum()
}
