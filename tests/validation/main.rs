//! The simulator against queueing theory: mean response times of random workloads, at fixed seeds, within their
//! own confidence intervals of the exact value.
//!
//! Each test also shows that it could fail: against the value for a load that is 5 % higher it must.

mod closed;
mod model;
mod multi;
mod single;
mod theory;
mod weighted;
