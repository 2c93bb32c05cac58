//! The repository's files agree with each other: pages of papers/, licences, mutants.txt, docs/ and examples/.

mod examples;
mod licences;
mod many_cpus;
mod mutants;
mod papers;
mod predictions;
mod tutorial;
