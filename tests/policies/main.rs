//! Each selection and each modifier against its paper: worked examples, stated bounds, and exact references that are
//! written here from the formulas and share no code with the policy.

mod bvt;
mod cfs;
mod drr;
mod eevdf;
mod fcfs;
mod feasible;
mod flow;
mod gr3;
mod groups;
mod las;
mod linux24;
mod lottery;
mod mlfq;
mod o1;
mod pbs;
mod plcfs;
mod procfair;
mod ps;
mod qfq;
mod rr;
mod sfq;
mod sfs;
mod srpt;
mod srr;
mod stride;
mod strr;
mod study;
mod tfps;
mod values;
mod virtual_time;
mod vtrr;
mod wf2q;
mod wf2qplus;
mod wfq;
mod wrr;
