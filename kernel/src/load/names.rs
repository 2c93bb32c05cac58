//! Who the tasks are: names, users and cgroups, as /proc has them.

use std::fs;

use super::host::Account;

/// Known tasks that are looked up again at each look: one may execute a program, become another user's, or move to
/// another cgroup. Of more than this, each has its turn.
const AT_ONCE: usize = 500;

/// What is known of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Name {
    pub pid: u32,
    tgid: u32,
    pub comm: String,
    /// Real.
    pub uid: Option<u32>,
    /// Its path, from the root.
    pub cgroup: String,
}

impl Name {
    /// As it is now; None when there is no such thread any more.
    fn find(account: &Account) -> Option<Self> {
        let read = |file: &str| {
            let bytes = fs::read(format!("/proc/{}/{file}", account.pid)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let comm = read("comm")?;
        Some(Self {
            pid: account.pid,
            tgid: account.tgid,
            comm: comm.strip_suffix('\n').unwrap_or(&comm).to_owned(),
            uid: read("status").and_then(|status| real_uid(&status)),
            cgroup: read("cgroup").map(|cgroups| cgroup(&cgroups).to_owned()).unwrap_or_default(),
        })
    }

    /// A task that exited has no pid any more.
    fn is_of(&self, account: &Account) -> bool {
        let pid = account.pid == 0 || account.pid == self.pid;
        pid && account.tgid == self.tgid
    }
}

/// Of /proc/PID/status.
fn real_uid(status: &str) -> Option<u32> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().next()?.parse().ok()
}

/// Of /proc/PID/cgroup: that of version 2.
fn cgroup(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default()
}

/// By the task's id; of an earlier task where the id was not asked for since.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: Vec<Name>,
    looks: usize,
    /// Looks until each has had its turn.
    turns: usize,
}

impl Names {
    /// So many are going to be asked for.
    pub fn next_look(&mut self, tasks: usize) {
        self.looks = self.looks.wrapping_add(1);
        self.turns = tasks.div_ceil(AT_ONCE).max(1);
    }

    /// A task that exited keeps the name that it had when it was last asked for; if it never was it has none.
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
        assert_eq!(real_uid("Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n"), Some(1000));
        assert_eq!(real_uid("Name:\tUid:\n"), None);
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
