//! The tables of a result. Names stand in dictionaries: a column of a million jobs has each name once.

mod claims;
mod jobs;
mod names;
mod points;
mod series;
mod slices;
mod sweep;
mod tails;
mod tasks;

pub use claims::claims;
pub use jobs::jobs;
pub use points::points;
pub use series::series;
pub use slices::slices;
pub use sweep::rows;
pub use tails::tails;
pub use tasks::tasks;

use arrow_array::{ArrayRef, Float64Array, Int64Array};

use crate::table::column;

/// Times and counts: with a sign, so that differences may be negative.
fn whole(values: impl Iterator<Item = u64>) -> ArrayRef {
    column(Int64Array::from_iter_values(values.map(signed)))
}

/// The same, where some are not there.
fn some_whole(values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    column(values.map(|value| value.map(signed)).collect::<Int64Array>())
}

fn some_numbers(values: impl Iterator<Item = Option<f64>>) -> ArrayRef {
    column(values.collect::<Float64Array>())
}

fn numbers(values: impl Iterator<Item = f64>) -> ArrayRef {
    column(Float64Array::from_iter_values(values))
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
