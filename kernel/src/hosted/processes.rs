//! Processes with several threads. The kernel keeps the first thread of a process, its leader, until all others have ended.

/// The processes of a workload, by number.
#[derive(Debug, Default)]
pub(super) struct Processes(Vec<Process>);

#[derive(Clone, Debug, Default)]
struct Process {
    leader: Option<u32>,
    threads: u32,
}

/// The consequences of a thread's end for its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// It was the leader, and others remain: it lingers.
    pub lingers: bool,
    /// It was the last one, and this leader, which lingered, is to be reaped.
    pub reaped: Option<u32>,
}

impl Processes {
    /// A new thread of the process. Returns its leader, which may be itself.
    pub fn join(&mut self, process: usize, task: u32) -> u32 {
        if self.0.len() <= process {
            self.0.resize(process + 1, Process::default());
        }
        let process = &mut self.0[process];
        process.threads += 1;
        *process.leader.get_or_insert(task)
    }

    /// A thread of the process ends.
    pub fn leave(&mut self, process: usize, task: u32) -> Left {
        let process = &mut self.0[process];
        process.threads -= 1;
        let leads = process.leader == Some(task);
        if process.threads > 0 {
            return Left { lingers: leads, reaped: None };
        }
        let leader = process.leader.take();
        Left { lingers: false, reaped: leader.filter(|_| !leads) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leader_lingers_until_the_last_thread_ends() {
        let mut processes = Processes::default();
        assert_eq!((processes.join(2, 7), processes.join(2, 8), processes.join(2, 9)), (7, 7, 7));
        assert_eq!(processes.leave(2, 8), Left::default());
        assert_eq!(processes.leave(2, 7), Left { lingers: true, reaped: None });
        assert_eq!(processes.join(2, 8), 7);
        assert_eq!(processes.leave(2, 8), Left::default());
        assert_eq!(processes.leave(2, 9), Left { lingers: false, reaped: Some(7) });
        assert_eq!(processes.join(2, 9), 9);
        assert_eq!(processes.leave(2, 9), Left::default());
    }
}
