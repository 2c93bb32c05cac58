//! Opens the studio in headless Chromium, and uses it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use super::process::Studio;
use super::{root, scratch};

/// The shares of tasks, as `divvy sim` prints them.
fn shares(workload: &str, policy: &str) -> Vec<f64> {
    let args = ["sim", workload, "-p", policy, "--format", "json"];
    let output = Command::new(env!("CARGO_BIN_EXE_divvy")).args(args).output().expect("it runs");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let tasks = report["runs"][0]["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| task["share"].as_f64().expect("a share")).collect()
}

/// Stands before the studio, and adds a script to its page. The rest it passes on, under the studio's own address.
fn with_script(studio: String, script: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let own = listener.local_addr().expect("an address").to_string();
    let address = own.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten().take(1000) {
            let (own, studio, script) = (own.clone(), studio.clone(), script.clone());
            thread::spawn(move || pass(client, &own, &studio, &script));
        }
    });
    address
}

fn pass(mut client: TcpStream, own: &str, studio: &str, script: &str) {
    let mut reader = BufReader::new(client.try_clone().expect("a copy"));
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if let Some((name, value)) =
            line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        {
            length = value.trim().parse().unwrap_or_else(|_| panic!("{name}: {value}"));
        }
        head.push_str(&line.replace(own, studio));
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut behind = TcpStream::connect(studio).expect("connected");
    behind.write_all(&[head.as_bytes(), &body].concat()).expect("passed on");
    let mut said = Vec::new();
    behind.read_to_end(&mut said).expect("an answer");
    if head.starts_with("GET / ") {
        let text = String::from_utf8(said).expect("a page");
        let page = text
            .split_once("\r\n\r\n")
            .expect("a body")
            .1
            .replace("</body>", &format!("<script>{script}</script></body>"));
        let length = page.len();
        said = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}").into_bytes();
    }
    // The browser may have gone to another page.
    let _ = client.write_all(&said);
}

#[test]
#[ignore = "needs Chromium: make test-report"]
fn the_studio_answers_and_can_be_used() {
    let workload = root().join("examples/mix.toml");
    let workload = workload.to_str().expect("plain");
    let expected = serde_json::json!({
        "first": shares(workload, "pbs:alpha=1"),
        "moved": shares(workload, "pbs:alpha=inf"),
        "typed": shares(workload, "rr"),
    });
    let script = format!(
        "(() => {{\n\"use strict\";\n{}\nconst EXPECTED = {expected};\n{}\n}})();",
        include_str!("common.js"),
        include_str!("studiotest.js")
    );
    for width in [1280, 420] {
        let studio = Studio::start(&[workload, "-p", "pbs:alpha=1"]);
        let url = format!("http://{}/", with_script(studio.address.clone(), script.clone()));
        super::open(&url, &scratch(&format!("studio-{width}.profile")), width);
    }
}
