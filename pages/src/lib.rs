//! Pictures of results: SVG figures, and HTML pages that need no network.
//!
//! - [`plot`] draws SVG: line charts, surfaces, and Gantt charts of a [`divvy_results::schedule::Schedule`].
//! - [`drawing`] chooses the charts of a report for `-o FILE.svg`.
//! - [`report`] writes a report, or a sweep, as one HTML file with its data and scripts.
//! - [`studio`] is the page of a server that runs what the page asks for, with the figures of a report.
//! - [`palette`] has the colours and dashes of both.
//!
//! All of them only draw numbers that the report already has. Names from outside are escaped.

pub mod drawing;
pub mod palette;
pub mod plot;
pub mod report;
pub mod studio;
