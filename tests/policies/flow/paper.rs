//! The process controller of the knowledge-based scheduler, transcribed from section 3.2 with its C_s, C_c, T_e and
//! pfs_ptr, in exact fractions. It leaves out what the paper leaves open: a delay has no end, a sequence is as
//! long as the first execution. One thing is read otherwise than printed: C_s becomes 0 whenever the next process is dispatched,
//! also if T_e < 0, where the print keeps C_c and so would count the wait as CPU time.

use divvy_sim::oracle::{Rational, whole};

/// A process under control, and the PFS of its program.
pub struct Controller {
    /// T_p of each entry.
    pub pfs: Vec<Rational>,
    tm: Rational,
    x: Rational,
    y: Rational,
    cs: Rational,
    te: Rational,
    pfs_ptr: usize,
}

impl Controller {
    /// `x` and `y` in percent.
    pub fn new(pfs: &[u64], tm: u64, x: u32, y: u32) -> Controller {
        let percent = |p: u32| whole(p) / whole(100);
        Controller {
            pfs: pfs.iter().map(|&tp| whole(tp)).collect(),
            tm: whole(tm),
            x: percent(x),
            y: percent(y),
            cs: whole(0),
            te: whole(0),
            pfs_ptr: 0,
        }
    }

    /// I. When a process is created.
    pub fn created(&mut self) {
        self.cs = whole(0);
        self.pfs_ptr = 0;
        self.te = self.pfs[0].clone();
    }

    /// From ready to run at `cc`, which is not 0.
    pub fn runs(&mut self, cc: u64) {
        if self.cs == whole(0) {
            self.cs = whole(cc);
        }
    }

    /// II. When a process uses up its timeslice: whether it is allowed to continue.
    pub fn expires(&mut self, cc: u64) -> bool {
        self.te = &self.te - (whole(cc) - &self.cs);
        let continues = self.te <= self.tm && self.te >= whole(0);
        self.cs = if continues { whole(cc) } else { whole(0) };
        continues
    }

    /// III. When a process blocks itself; IV is the same adjustment.
    pub fn blocks(&mut self, cc: u64) {
        let left = &self.te - (whole(cc) - &self.cs);
        let tp = &mut self.pfs[self.pfs_ptr];
        if left < whole(0) {
            *tp = &*tp - &left * &self.x;
        } else if left > whole(0) {
            *tp = &*tp - &left * &self.y;
        }
        self.cs = whole(0);
        self.pfs_ptr += 1;
        if let Some(tp) = self.pfs.get(self.pfs_ptr) {
            self.te = tp.clone();
        }
    }
}
