//! The state of one CPU during reconstruction.

use super::Life;

/// The thread that runs on a CPU, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Occupant {
    #[default]
    Unknown,
    Idle,
    /// By index.
    Thread(usize),
}

#[derive(Debug, Default)]
pub(super) struct Cpu {
    pub occupant: Occupant,
    /// Time of the first event.
    pub first_ns: Option<u64>,
    /// The last event that showed the occupant here.
    pub seen_ns: u64,
    /// Before this, the CPU was somebody else's.
    pub last_known_ns: u64,
    /// A thread that events show here though no switch brought it, and the time of the first such event.
    pub claim: Option<(i32, u64)>,
    /// Number of losses so far.
    pub losses: u32,
}

impl Cpu {
    /// An event at `t` shows thread `tid` here.
    pub fn witness(&mut self, tid: i32, t_ns: u64, threads: &[Life]) {
        let occupant = match self.occupant {
            Occupant::Unknown => -1,
            Occupant::Idle => 0,
            Occupant::Thread(thread) => threads[thread].tid,
        };
        if tid == occupant {
            self.seen_ns = t_ns;
        } else if self.claim.is_none_or(|(claimant, _)| claimant != tid) {
            self.claim = Some((tid, t_ns));
        }
    }

    /// A switch at `t`.
    pub fn switched(&mut self, t_ns: u64) {
        self.last_known_ns = t_ns;
        self.seen_ns = t_ns;
        self.claim = None;
    }

    /// The occupant was seen on another CPU at `t`. Up to then it counts as having run here, so nobody else did.
    pub fn forget(&mut self, t_ns: u64) {
        self.occupant = Occupant::Unknown;
        self.last_known_ns = self.last_known_ns.max(t_ns);
    }

    /// Some events are gone.
    pub fn lose(&mut self) {
        self.losses += 1;
        self.claim = None;
    }
}
