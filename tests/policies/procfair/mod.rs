//! procfair (papers/procfair.md).

mod equations;
