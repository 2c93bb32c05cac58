//! The command `divvy`.

fn main() {}
