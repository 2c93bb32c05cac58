//! How far long work is.

/// Told how far long work is; it may be told from several threads.
pub trait StepProgress: Sync {
    /// There are so many steps to do.
    fn begin(&self, steps: u64);
    /// So many more are done.
    fn advance(&self, steps: u64);
}

/// Nobody looks on.
impl StepProgress for () {
    fn begin(&self, _: u64) {}
    fn advance(&self, _: u64) {}
}
