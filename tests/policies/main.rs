//! Each selection and each modifier against its paper: worked examples, stated bounds, and exact references that are
//! written here from the formulas and share no code with the policy.

mod blind;
mod cfs;
mod clairvoyant;
mod eevdf;
mod feasible;
mod flow;
mod gr3;
mod groups;
mod lines;
mod linux;
mod lottery;
mod pbs;
mod procfair;
mod queues;
mod rounds;
mod sfs;
mod study;
mod tags;
mod threads;
mod values;
mod virtual_time;
