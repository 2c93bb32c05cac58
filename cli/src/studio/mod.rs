//! `divvy studio`: a page that shows a workload under policies while both are changed. The server keeps nothing but the runs that it is at.

mod answer;
mod asked;
mod refusal;
mod runs;
mod steps;

use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use divvy_kernel::load::Signals;
use divvy_policy::Description;
use serde::Serialize;
use serde_json::json;

use crate::http::{Request, Response, Server, host};
use crate::output::Output;
use answer::{NoAnswer, answer};
use asked::Asked;
use refusal::Refusal;
use runs::Runs;

/// A text of the longest kind, quoted in JSON.
const MOST_BODY: usize = 640 << 10;
/// A workload for who gives none.
pub const FIRST: &str = include_str!("first.toml");

/// The data that a page begins with.
#[derive(Debug, Serialize)]
pub struct Start {
    /// As `divvy policies --format json` has them.
    pub policies: Vec<Description>,
    /// The first question.
    pub state: State,
    /// The version of divvy.
    pub version: &'static str,
}

/// The question, as a link has it, too.
#[derive(Debug, Serialize)]
pub struct State {
    /// The workload.
    pub text: String,
    /// Specs.
    pub policies: Vec<String>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// As the workload has it.
    pub load: Option<f64>,
}

/// Serves the page until a signal ends it.
///
/// # Errors
/// If the port is taken, or the system cannot wait.
pub fn serve(address: SocketAddr, start: &Start, output: Output) -> anyhow::Result<()> {
    // This comes before the other threads.
    let mut signals = Signals::block().context("cannot wait for signals")?;
    let page = divvy_pages::studio::page(start)?;
    let server = Server::listen(address, MOST_BODY)
        .with_context(|| format!("cannot listen at {address}; --listen 127.0.0.1:0 takes any free port"))?;
    output.note(&format!("divvy studio is at {}; Ctrl-C ends it", server.url("/")));
    let runs = Runs::new().context("cannot start threads")?;
    thread::spawn(move || {
        let error = server.serve_forever(|request| respond(request, &page, &runs));
        output.note(&format!("pages are no longer answered: {error}"));
    });
    while !signals.wait_until(Instant::now() + Duration::from_secs(3600))? {}
    Ok(())
}

fn respond(request: &Request, page: &str, runs: &Runs) -> Response {
    let named = request.field("host").unwrap_or_default();
    match (request.method.as_str(), request.path()) {
        // A page of the web whose name leads here would be answered else.
        _ if !host::is_address(named) => {
            Response::plain("403 Forbidden", "ask for an address, or localhost\n")
        }
        ("GET", "/") => Response::new("200 OK", "text/html; charset=utf-8", page),
        ("POST", "/run") if is_of_page(request, named) => run(&request.body, runs),
        ("POST", "/run") => Response::plain("403 Forbidden", "only the studio's own page may ask\n"),
        ("GET", _) => Response::plain("404 Not Found", "there is /\n"),
        _ => Response::plain("405 Method Not Allowed", "GET / and POST /run are\n"),
    }
}

/// Whether JSON is sent, and not by a page from elsewhere. A browser asks before it sends JSON elsewhere, and is not answered.
fn is_of_page(request: &Request, host: &str) -> bool {
    let is_json =
        request.field("content-type").is_some_and(|kind| kind.eq_ignore_ascii_case("application/json"));
    is_json && request.field("origin").is_none_or(|origin| origin == format!("http://{host}"))
}

fn run(body: &[u8], runs: &Runs) -> Response {
    let result = match serde_json::from_slice::<Asked>(body) {
        Ok(asked) => answer(&asked, runs),
        Err(error) => Err(NoAnswer::Refused(Refusal::new(format!("that is no question: {error}")))),
    };
    let (status, said) = match result {
        Ok(answer) => ("200 OK", Ok(answer)),
        Err(NoAnswer::Refused(refusal)) => ("422 Unprocessable Content", serde_json::to_vec(&refusal)),
        Err(NoAnswer::Superseded) => {
            ("409 Conflict", serde_json::to_vec(&json!({ "message": "a newer question took its place" })))
        }
        Err(NoAnswer::Busy) => {
            ("503 Service Unavailable", serde_json::to_vec(&json!({ "message": "too many runs at once" })))
        }
    };
    match said {
        Ok(said) => Response::new(status, "application/json", said),
        Err(error) => Response::plain("500 Internal Server Error", &format!("{error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &str, path: &str, fields: &[(&str, &str)], body: &str) -> &'static str {
        respond(&Request::of(method, path, fields, body), "page", &Runs::new().expect("threads")).status
    }

    #[test]
    fn only_its_own_page_may_ask() {
        let (host, json) = (("Host", "127.0.0.1:7878"), ("Content-Type", "application/json"));
        let ok = json!({ "viewer": 1, "text": FIRST, "policies": ["rr"], "seed": 1 }).to_string();
        let post = |fields: &[(&str, &str)]| status("POST", "/run", fields, &ok);
        assert_eq!(post(&[host, json, ("Origin", "http://127.0.0.1:7878")]), "200 OK");
        assert_eq!(post(&[host, json]), "200 OK");
        assert_eq!(post(&[host, json, ("Origin", "http://evil.example")]), "403 Forbidden");
        assert_eq!(post(&[host, json, ("Origin", "null")]), "403 Forbidden");
        assert_eq!(post(&[host, ("Content-Type", "text/plain")]), "403 Forbidden");
        assert_eq!(post(&[("Host", "evil.example"), json]), "403 Forbidden");
        assert_eq!(post(&[json]), "403 Forbidden");
        assert_eq!(status("OPTIONS", "/run", &[host], ""), "405 Method Not Allowed");
        assert_eq!(status("GET", "/", &[host], ""), "200 OK");
        assert_eq!(status("GET", "/etc/passwd", &[host], ""), "404 Not Found");
    }
}
