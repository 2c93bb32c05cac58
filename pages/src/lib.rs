//! Pictures of results: SVG figures, and HTML pages that need no network.

pub mod drawing;
pub mod plot;
pub mod report;
