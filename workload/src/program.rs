//! Programs as flat code: a [`Step`] tree becomes instructions, and a position in it is two numbers. The simulator
//! executes them, and so do real threads.

use crate::{Dist, Step};

/// One instruction. Indices are those of the workload.
#[derive(Clone, Debug)]
pub enum Op {
    /// [`Step::Run`].
    Run(Dist),
    /// [`Step::RunForever`].
    RunForever,
    /// [`Step::Sleep`].
    Sleep(Dist),
    /// [`Step::Period`].
    Period(u64),
    /// [`Step::Until`].
    Until(u64),
    /// [`Step::Lock`].
    Lock(usize),
    /// [`Step::Unlock`].
    Unlock(usize),
    /// [`Step::Barrier`].
    Barrier(usize),
    /// [`Step::Fork`].
    Fork(usize),
    /// [`Step::Yield`].
    Yield,
    /// [`Step::Session`].
    Session,
    /// [`Step::Wake`].
    Wake(usize),
    /// [`Step::Wait`].
    Wait,
    /// [`Step::Post`].
    Post(usize),
    /// [`Step::Take`].
    Take(usize),
    /// Enter a loop of so many turns; `end` is behind it.
    Enter {
        /// At least 0.
        times: u64,
        /// Index.
        end: usize,
    },
    /// The end of a loop's body; `body` is its first instruction.
    Again {
        /// Index.
        body: usize,
    },
    /// The end of the body of a loop for ever, which needs no count.
    Forever {
        /// Index.
        body: usize,
    },
    /// The end of the program.
    End,
}

/// A program, shared by all instances of a task.
#[derive(Debug)]
pub struct Program {
    ops: Vec<Op>,
}

/// Where an instance is in its program.
#[derive(Clone, Debug, Default)]
pub struct Position {
    next: usize,
    /// Turns left of each counted loop entered, the innermost last.
    loops: Vec<u64>,
}

impl Program {
    /// The instructions of a task's program.
    pub fn new(steps: &[Step]) -> Program {
        let mut ops = Vec::with_capacity(steps.len() + 1);
        flatten(steps, &mut ops);
        ops.push(Op::End);
        Program { ops }
    }

    /// The next instruction that does something; loops are followed. `End` repeats.
    pub fn next(&self, at: &mut Position) -> &Op {
        loop {
            let op = &self.ops[at.next];
            match *op {
                Op::Enter { times: 0, end } => at.next = end,
                Op::Enter { times, .. } => {
                    at.loops.push(times);
                    at.next += 1;
                }
                Op::Again { body } => at.again(body),
                Op::Forever { body } => at.next = body,
                Op::End => return op,
                _ => {
                    at.next += 1;
                    return op;
                }
            }
        }
    }
}

impl Position {
    /// Back to the program's start.
    pub fn rewind(&mut self) {
        self.next = 0;
        self.loops.clear();
    }

    fn again(&mut self, body: usize) {
        match self.loops.last_mut() {
            Some(turns) if *turns > 1 => {
                *turns -= 1;
                self.next = body;
            }
            _ => {
                self.loops.pop();
                self.next += 1;
            }
        }
    }
}

fn flatten(steps: &[Step], ops: &mut Vec<Op>) {
    for step in steps {
        match step {
            Step::Run(d) => ops.push(Op::Run(d.clone())),
            Step::RunForever => ops.push(Op::RunForever),
            Step::Sleep(d) => ops.push(Op::Sleep(d.clone())),
            Step::Period(ns) => ops.push(Op::Period(*ns)),
            Step::Until(ns) => ops.push(Op::Until(*ns)),
            Step::Lock(i) => ops.push(Op::Lock(*i)),
            Step::Unlock(i) => ops.push(Op::Unlock(*i)),
            Step::Barrier(i) => ops.push(Op::Barrier(*i)),
            Step::Fork(i) => ops.push(Op::Fork(*i)),
            Step::Yield => ops.push(Op::Yield),
            Step::Session => ops.push(Op::Session),
            Step::Wake(i) => ops.push(Op::Wake(*i)),
            Step::Wait => ops.push(Op::Wait),
            Step::Post(i) => ops.push(Op::Post(*i)),
            Step::Take(i) => ops.push(Op::Take(*i)),
            Step::Loop { times: None, body } => {
                let first = ops.len();
                flatten(body, ops);
                ops.push(Op::Forever { body: first });
            }
            Step::Loop { times: Some(times), body } => {
                let enter = ops.len();
                ops.push(Op::End);
                flatten(body, ops);
                ops.push(Op::Again { body: enter + 1 });
                ops[enter] = Op::Enter { times: *times, end: ops.len() };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(steps: &[Step], n: usize) -> Vec<u64> {
        let (program, mut at) = (Program::new(steps), Position::default());
        let mut seen = Vec::new();
        for _ in 0..n {
            match program.next(&mut at) {
                Op::Until(t) => seen.push(*t),
                Op::End => break,
                other => panic!("{other:?}"),
            }
        }
        seen
    }

    #[test]
    fn loops_nest_and_zero_turns_are_skipped() {
        let inner = Step::Loop { times: Some(2), body: vec![Step::Until(2)] };
        let none = Step::Loop { times: Some(0), body: vec![Step::Until(9)] };
        let outer = Step::Loop { times: Some(2), body: vec![Step::Until(1), inner, none] };
        assert_eq!(trace(&[outer, Step::Until(3)], 100), [1, 2, 2, 1, 2, 2, 3]);
    }

    #[test]
    fn endless_loops_go_on() {
        let steps = [Step::Loop { times: None, body: vec![Step::Until(1), Step::Until(2)] }];
        assert_eq!(trace(&steps, 5), [1, 2, 1, 2, 1]);
    }
}
