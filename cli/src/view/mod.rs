//! Reports for people and programs. Views compute nothing: they choose, arrange and draw.

pub mod advice;
pub mod advice_json;
pub mod all_figures;
pub mod applied;
pub mod claims;
pub mod claims_page;
mod comparison;
pub mod csv;
pub mod figure_list;
pub mod gantt;
mod histogram;
pub mod interval;
pub mod jobs_csv;
pub mod json;
pub mod kernel_claims;
pub mod kernel_page;
pub mod manual;
pub mod map;
pub mod markdown;
mod matrix;
pub mod page;
pub mod perfetto;
pub mod picture;
mod programs;
pub mod recorded;
pub mod recording;
pub mod safe;
pub mod sweep;
pub mod sweep_page;
pub mod table;
mod tasks;
pub mod terminal;
pub mod textbook;
pub mod theory;
pub mod verified;
mod waits;
pub mod watched;

#[cfg(test)]
mod terminal_tests;
