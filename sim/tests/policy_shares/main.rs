//! The share policies against their papers: worked examples, stated bounds, and exact references that are
//! written here from the formulas.

mod feasible;
mod gr3;
mod gr3_bounds;
mod gr3_model;
mod groups;
mod lines;
mod lockstep;
mod sfs;
mod surplus;
mod tags;
mod threads;
