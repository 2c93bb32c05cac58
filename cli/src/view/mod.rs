//! Reports for people and programs. Views compute nothing: they choose, arrange and draw.

mod bar;
mod comparison;
pub mod csv;
pub mod gantt;
pub mod json;
pub mod live;
pub mod markdown;
mod matrix;
pub mod page;
pub mod report;
pub mod table;
mod tasks;
pub mod text;

#[cfg(test)]
mod table_tests;
