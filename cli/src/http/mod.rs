//! As much of HTTP as a page or a scrape on this machine needs.

pub mod host;
mod request;
mod response;
mod server;

pub use request::Request;
pub use response::Response;
pub use server::Server;
