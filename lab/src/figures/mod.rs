//! The drivers of the figures.

pub(crate) mod costs;
pub(crate) mod flow;
pub(crate) mod gr3;
pub(crate) mod pbs;
pub(crate) mod pbs_users;
pub(crate) mod procfair;
pub(crate) mod sfs;
pub(crate) mod sfs_heuristic;
pub(crate) mod sfs_load;
pub(crate) mod study;
pub(crate) mod web;
