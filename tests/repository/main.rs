//! The repository's files agree with each other: pages of papers/, mutants.txt, docs/tutorial.md and examples/.

mod examples;
mod mutants;
mod papers;
mod tutorial;
