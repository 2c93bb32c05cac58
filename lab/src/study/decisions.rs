//! How often GR3MP asks its queue for one quantum (MP-SCHEDULE, section 3.1), counted beside the policy: the queue's
//! order is what one CPU alone runs, and what the CPUs run follows from that order and the frontlogs alone.

use divvy_policy::TaskId;

/// MP-SCHEDULE over a queue whose order is known.
pub struct Decisions {
    queue: Vec<TaskId>,
    at: usize,
    /// `None` before the first decision.
    on: Vec<Option<TaskId>>,
    runs: Vec<bool>,
    frontlog: Vec<u32>,
    most: u32,
}

impl Decisions {
    /// For `n` clients, more than CPUs; none runs yet.
    pub fn new(queue: Vec<TaskId>, cpus: u32, n: usize) -> Decisions {
        let on = vec![None; cpus as usize];
        Decisions { queue, at: 0, on, runs: vec![false; n + 1], frontlog: vec![0; n + 1], most: 0 }
    }

    /// Whole rounds of a schedule. Fails where the algorithm would run another client.
    pub fn add(&mut self, ran: &[Option<TaskId>]) -> Result<(), String> {
        for round in ran.chunks(self.on.len()) {
            for (cpu, &task) in round.iter().enumerate() {
                let expected = self.decide(cpu);
                if Some(expected) != task {
                    let ran = task.map_or("nothing".to_owned(), |task| format!("task {task}"));
                    return Err(format!("CPU {cpu} runs {ran}, where MP-SCHEDULE runs task {expected}"));
                }
            }
        }
        Ok(())
    }

    fn decide(&mut self, cpu: usize) -> TaskId {
        if let Some(before) = self.on[cpu] {
            if self.frontlog[before.index()] > 0 {
                self.frontlog[before.index()] -= 1;
                return before;
            }
            self.runs[before.index()] = false;
        }
        let mut selections = 0;
        loop {
            let next = self.queue[self.at];
            self.at = (self.at + 1) % self.queue.len();
            selections += 1;
            if !self.runs[next.index()] {
                self.most = self.most.max(selections);
                self.runs[next.index()] = true;
                self.on[cpu] = Some(next);
                return next;
            }
            self.frontlog[next.index()] += 1;
        }
    }

    /// Most selections for one quantum.
    pub fn most(&self) -> u32 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figure 3 of the paper: the queue gives 2 1 2 1 1 3 (C1 is 1), and C1 runs from its frontlog beside C3.
    #[test]
    fn figure_3() {
        let mut decisions = Decisions::new([2, 1, 2, 1, 1, 3].map(TaskId::new).to_vec(), 2, 3);
        assert_eq!(decisions.add(&[2, 1, 2, 1, 3, 1, 2, 1].map(TaskId::from_raw)), Ok(()));
        assert_eq!(decisions.most(), 2);
        assert!(decisions.add(&[1, 2].map(TaskId::from_raw)).is_err());
    }
}
