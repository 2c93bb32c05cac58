//! The share policies against their papers: worked examples, stated bounds, and exact references that are
//! written here from the formulas.

mod gr3;
mod lockstep;
