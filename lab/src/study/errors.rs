//! Service errors in exact integers.

use divvy_policy::TaskId;

/// Least and greatest service error, in quanta.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The most that a client was behind, below 0.
    pub least: f64,
    /// The most that a client was ahead.
    pub most: f64,
}

impl Range {
    /// Before any.
    pub const NONE: Range = Range { least: f64::INFINITY, most: f64::NEG_INFINITY };

    /// Around both.
    pub fn with(self, other: Range) -> Range {
        Range { least: self.least.min(other.least), most: self.most.max(other.most) }
    }
}

/// A client. All in 1/total quanta, so that nothing is rounded: total and weight are below 2^20, quanta below 2^21.
#[derive(Clone, Copy)]
struct Client {
    /// Received, times the total.
    service: i64,
    weight: i64,
}

/// The errors of a schedule as it goes on.
pub struct Errors {
    clients: Vec<Client>,
    total: i64,
    /// Quanta given out.
    t: i64,
    least: i64,
    most: i64,
}

impl Errors {
    pub fn new(weights: &[u64], total: u64) -> Errors {
        let clients = weights.iter().map(|&weight| Client { service: 0, weight: weight as i64 }).collect();
        Errors { clients, total: total as i64, t: 0, least: 0, most: 0 }
    }

    /// More quanta; tasks are numbered from 1. Only who runs gains on its due, by 1 - weight/total, and all others
    /// lose: a client is farthest behind just before it runs, and farthest ahead just after.
    pub fn add(&mut self, ran: impl IntoIterator<Item = TaskId>) {
        let (mut t, mut least, mut most) = (self.t, self.least, self.most);
        for task in ran {
            let client = &mut self.clients[task.index() - 1];
            let before = client.service - t * client.weight;
            client.service += self.total;
            t += 1;
            least = least.min(before);
            most = most.max(before + self.total - client.weight);
        }
        (self.t, self.least, self.most) = (t, least, most);
    }

    pub fn range(&self) -> Range {
        let quanta = |error: i64| error as f64 / self.total as f64;
        Range { least: quanta(self.least), most: quanta(self.most) }
    }

    /// Whether each client has had exactly its due.
    pub fn closes(&self) -> bool {
        self.clients.iter().all(|client| client.service == self.t * client.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights 2, 1, 1 served 1 1 2 3: by hand.
    #[test]
    fn errors_of_a_short_schedule() {
        let mut errors = Errors::new(&[2, 1, 1], 4);
        errors.add([1, 1].map(TaskId::new));
        assert!(!errors.closes());
        assert_eq!(errors.range(), Range { least: 0.0, most: 1.0 });
        errors.add([2, 3].map(TaskId::new));
        assert!(errors.closes());
        // The third client is 3/4 behind before it runs.
        assert_eq!(errors.range(), Range { least: -0.75, most: 1.0 });
    }
}
