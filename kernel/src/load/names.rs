//! Names, users and cgroups of tasks, from /proc.

use super::host::Account;
use crate::proc_text::{self, cgroup, uids};

/// The number of known tasks that are read again at each look, because a task may execute a program, change its user, or
/// move to another cgroup. If there are more, they take turns.
const AT_ONCE: usize = 500;

/// A thread's name, user and cgroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub pid: u32,
    tgid: u32,
    pub comm: String,
    /// The real user.
    pub uid: Option<u32>,
    /// The cgroup's path, from the root.
    pub cgroup: String,
}

impl Name {
    /// Reads the current values; None if the thread no longer exists.
    fn find(account: &Account) -> Option<Self> {
        let read = |file: &str| proc_text::read(format!("/proc/{}/{file}", account.pid));
        let comm = read("comm")?;
        Some(Self {
            pid: account.pid,
            tgid: account.tgid,
            comm: comm.strip_suffix('\n').unwrap_or(&comm).to_owned(),
            uid: read("status").and_then(|status| uids(&status)).map(|[real, ..]| real),
            cgroup: read("cgroup").map(|cgroups| cgroup(&cgroups).to_owned()).unwrap_or_default(),
        })
    }

    /// A task that exited has no pid any more.
    fn is_of(&self, account: &Account) -> bool {
        let pid = account.pid == 0 || account.pid == self.pid;
        pid && account.tgid == self.tgid
    }
}

/// A thread's real, effective and saved user.
pub(super) fn uids_of(pid: u32) -> Option<[u32; 3]> {
    uids(&proc_text::read(format!("/proc/{pid}/status"))?)
}

/// The names of tasks by id. An entry may be an earlier task's, until the id is asked for again.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: Vec<Name>,
    looks: usize,
    /// The number of looks until each task has had its turn.
    turns: usize,
}

impl Names {
    /// Begins a look that will ask for this many tasks.
    pub fn next_look(&mut self, tasks: usize) {
        self.looks = self.looks.wrapping_add(1);
        self.turns = tasks.div_ceil(AT_ONCE).max(1);
    }

    /// The name of a task. After the task has exited this is its last known name; if it was never asked for, it is empty.
    pub fn of(&mut self, id: usize, account: &Account) -> Name {
        if self.known.len() <= id {
            self.known.resize(id + 1, Name::default());
        }
        let is_turn = self.is_turn_of(id);
        let known = &mut self.known[id];
        let is_known = known.pid != 0 && known.is_of(account);
        if account.pid != 0 && (!is_known || is_turn) {
            match Name::find(account) {
                Some(name) => *known = name,
                None if !is_known => *known = Name::default(),
                None => {}
            }
        }
        if known.pid != 0 && known.is_of(account) {
            return known.clone();
        }
        Name { pid: account.pid, tgid: account.tgid, ..Name::default() }
    }

    fn is_turn_of(&self, id: usize) -> bool {
        let turns = self.turns.max(1);
        id % turns == self.looks % turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_thread() -> Account {
        let pid = std::process::id();
        Account { pid, tgid: pid, ..Account::default() }
    }

    #[test]
    fn what_proc_says_is_read() {
        assert_eq!(uids("Name:\tx\nUid:\t1000\t0\t1\t2\nGid:\t5\t5\t5\t5\n"), Some([1000, 0, 1]));
        assert_eq!(uids("Name:\tUid:\n"), None);
        assert_eq!(cgroup("1:cpu:/old\n0::/user.slice/a b\n"), "/user.slice/a b");
        assert_eq!(cgroup("1:cpu:/old\n"), "");
    }

    #[test]
    fn a_task_keeps_its_name_when_it_has_ended() {
        let (mut names, account) = (Names::default(), this_thread());
        let name = names.of(3, &account);
        assert!(name.pid == account.pid && !name.comm.is_empty() && name.uid.is_some());
        let ended = Account { pid: 0, ..account };
        assert_eq!(names.of(3, &ended), name);
        let another = Account { tgid: account.tgid + 1, ..ended };
        assert_eq!(names.of(3, &another).comm, "", "the id is another task's");
    }

    #[test]
    fn a_thread_that_nobody_saw_has_no_name() {
        let gone = Account { pid: u32::MAX, tgid: u32::MAX, ..Account::default() };
        let name = Names::default().of(0, &gone);
        assert_eq!((name.pid, name.comm.as_str(), name.uid), (u32::MAX, "", None));
    }

    #[test]
    fn a_known_task_is_looked_up_again_in_its_turn() {
        let (mut names, account) = (Names::default(), this_thread());
        let name = names.of(1, &account);
        names.known[1].comm = "before exec".to_owned();
        names.next_look(2 * AT_ONCE - 1);
        names.next_look(2 * AT_ONCE);
        assert_eq!(names.of(1, &account).comm, "before exec");
        names.next_look(2 * AT_ONCE);
        assert_eq!(names.of(1, &account), name);
    }
}
