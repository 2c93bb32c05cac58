//! How far long work is.

/// Told how far long work is; it may be told from several threads.
pub trait Progress: Sync {
    /// There is this much to do, in the unit of [`Progress::advance`]; `None` if that is not known.
    fn begin(&self, total: Option<u64>);
    /// This much more is done. Returns whether to go on; work that cannot stop halfway goes on in any case.
    fn advance(&self, done: u64) -> bool;
}

/// No progress is shown.
impl Progress for () {
    fn begin(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) -> bool {
        true
    }
}
