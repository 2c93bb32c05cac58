//! The modifiers of slices, against the papers' words.

mod flow;
mod paper;
#[path = "../properties/record.rs"]
mod record;
