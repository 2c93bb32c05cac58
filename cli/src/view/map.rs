//! A line for each switch, with a column for each CPU.

use std::collections::BTreeMap;

use divvy_results::schedule::Schedule;
use divvy_results::text;

use crate::view::recorded::seconds;

/// Signs of a letter and a digit, as perf has them; longer ones follow.
const SHORT_SIGNS: usize = 260;
/// The letters of the alphabet.
const LETTERS: usize = 26;

const IDLE: &str = ".";
const UNKNOWN: &str = "?";

/// The new state of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Now {
    Idle,
    Unknown,
    Task(u32),
}

/// The lines, in order of time. Switches of one time on different CPUs are lines of their own.
pub fn lines(
    schedule: &Schedule,
    origin_ns: u64,
    shown: impl Fn(u64) -> bool,
) -> impl Iterator<Item = String> {
    let mut signs = Signs::default();
    let mut cpus = vec![Now::Unknown; schedule.cpus.len()];
    let mut began = vec![false; schedule.cpus.len()];
    changes(schedule).into_iter().filter_map(move |(at_ns, cpu, now)| {
        if began[cpu] && cpus[cpu] == now {
            return None;
        }
        (cpus[cpu], began[cpu]) = (now, true);
        if !shown(at_ns) {
            return None;
        }
        let (mut line, mut meanings) = (String::new(), String::new());
        for (index, state) in cpus.iter().enumerate() {
            let mark = if index == cpu { '*' } else { ' ' };
            let (sign, new) = if began[index] { signs.of(*state) } else { (String::new(), None) };
            line += &format!(" {mark}{sign:<3}");
            if let Some(thread) = new.map(|task| &schedule.tasks[task as usize]) {
                meanings += &format!("  {sign} => {}:{}", text::escape(&thread.name), thread.tid);
            }
        }
        line += &format!(" {:>16}{meanings}", seconds(origin_ns.saturating_add(at_ns), 6));
        line.push('\n');
        Some(line)
    })
}

/// When a CPU changes, and to what. A CPU that goes from one thread to the next is not idle in between.
fn changes(schedule: &Schedule) -> Vec<(u64, usize, Now)> {
    let mut changes = Vec::new();
    for (cpu, slices) in schedule.cpus.iter().enumerate() {
        for (at, slice) in slices.iter().enumerate() {
            changes.push((slice.from_ns, cpu, Now::Task(slice.task)));
            let follows = slices.get(at + 1).is_some_and(|next| next.from_ns == slice.to_ns);
            if !follows && slice.to_ns < schedule.to_ns {
                changes.push((slice.to_ns, cpu, Now::Idle));
            }
        }
    }
    for loss in schedule.losses.iter().filter(|loss| loss.at_ns < schedule.to_ns) {
        changes.push((loss.at_ns, loss.cpu.index(), Now::Unknown));
    }
    changes.sort_unstable();
    changes
}

/// Signs of tasks, in the order in which they are shown.
#[derive(Default)]
struct Signs {
    by_task: BTreeMap<u32, usize>,
}

impl Signs {
    /// The sign, and the task if it has not been shown before.
    fn of(&mut self, now: Now) -> (String, Option<u32>) {
        let Now::Task(task) = now else {
            return (if now == Now::Idle { IDLE } else { UNKNOWN }.to_owned(), None);
        };
        let next = self.by_task.len();
        let index = *self.by_task.entry(task).or_insert(next);
        (sign(index), (index == next).then_some(task))
    }
}

/// `A0` to `Z9`, then `aa`, `ab`.. and `aaa`...
fn sign(index: usize) -> String {
    let letter = |index: usize, first: u8| char::from(first + (index % LETTERS) as u8);
    if index < SHORT_SIGNS {
        return format!("{}{}", letter(index / 10, b'A'), index % 10);
    }
    let mut rest = index - SHORT_SIGNS + LETTERS;
    let mut letters = vec![letter(rest, b'a')];
    while rest >= LETTERS {
        rest = rest / LETTERS - 1;
        letters.push(letter(rest, b'a'));
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn signs_differ() {
        let signs: BTreeSet<String> = (0..50_000).map(super::sign).collect();
        assert_eq!(signs.len(), 50_000);
        assert_eq!([0, 9, 10, 259, 260, 261].map(super::sign), ["A0", "A9", "B0", "Z9", "aa", "ab"]);
    }
}
