//! `divvy studio`: its answers are those of `divvy sim`, and what is hostile is refused and does no harm.

#[path = "studio/process.rs"]
mod process;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use process::Studio;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(example(name)).expect("an example")
}

impl Studio {
    /// Sends bytes, and reads all that comes back: status and body. Both are empty if the connection is closed.
    fn send(&self, bytes: &[u8]) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("connected");
        let _ = stream.write_all(bytes);
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or_default();
        (head.split(' ').nth(1).unwrap_or_default().to_owned(), body.to_owned())
    }

    fn post(&self, body: &[u8]) -> (String, String) {
        let (address, length) = (&self.address, body.len());
        let head = format!(
            "POST /run HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send(&[head.as_bytes(), body].concat())
    }

    fn ask(&self, question: &Value) -> (String, Value) {
        let (status, body) = self.post(question.to_string().as_bytes());
        (status, serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}")))
    }
}

fn question(text: &str, policies: &[&str]) -> Value {
    json!({ "viewer": 1, "text": text, "policies": policies, "seed": 7 })
}

/// The runs that `divvy sim` prints of a text.
fn simulated(text: &str, policies: &str) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_divvy"))
        .args(["sim", "-", "-p", policies, "--seed", "7", "--figures", "--format", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["runs"].take()
}

#[test]
fn its_numbers_are_those_of_sim() {
    let studio = Studio::start(&[]);
    for (name, policies) in
        [("mix.toml", "pbs:alpha=2,eevdf"), ("queue.toml", "fcfs,las"), ("groups.toml", "sfq+groups")]
    {
        let text = text(name);
        let list: Vec<&str> = policies.split(',').collect();
        let (status, answer) = studio.ask(&question(&text, &list));
        assert_eq!(status, "200", "{answer}");
        assert_eq!(answer["data"]["sources"][0]["report"]["runs"], simulated(&text, policies), "{name}");
    }
}

#[test]
fn a_slider_writes_its_value_into_the_text() {
    let studio = Studio::start(&[]);
    let mut asked = question(&text("mix.toml"), &["sfq"]);
    asked["edits"] = json!([["task.editor.weight", "4096"], ["cpus", "1"]]);
    let (status, answer) = studio.ask(&asked);
    assert_eq!(status, "200", "{answer}");
    let text = answer["text"].as_str().expect("a text");
    assert!(text.contains("name = \"editor\", weight = 4096,") && text.contains("\ncpus = 1\n"), "{text}");
    assert_eq!(answer["data"]["sources"][0]["report"]["runs"], simulated(text, "sfq"));
    let knobs = answer["knobs"]["tasks"].as_array().expect("knobs");
    assert_eq!((&knobs[1]["key"], &knobs[1]["value"]), (&"task.backup.nice".into(), &10.0.into()));
    assert_eq!((&knobs[2]["key"], &knobs[2]["value"]), (&"task.editor.weight".into(), &4096.0.into()));
}

/// Worked out by hand: quanta of 4 ms, both weigh the same, so the second's start tag is the first's finish tag.
#[test]
fn steps_have_reasons_and_the_policys_values() {
    let studio = Studio::start(&[]);
    let text = "quantum = \"4ms\"\nduration = \"40ms\"\n[[task]]\nname = \"a\"\nprogram = [ { run = \"forever\" } ]\n[[task]]\nname = \"b\"\nprogram = [ { run = \"forever\" } ]\n";
    let (_, answer) = studio.ask(&question(text, &["sfq"]));
    let steps = &answer["steps"][0];
    let said: Vec<_> = (0..3)
        .map(|i| (&steps["decisions"][i]["at_ns"], steps["decisions"][i]["because"].as_str()))
        .collect();
    assert_eq!(
        said,
        [
            (&0.into(), Some("a comes, and the CPU is idle")),
            (&4_000_000.into(), Some("the slice of a is over")),
            (&8_000_000.into(), Some("the slice of b is over")),
        ]
    );
    assert_eq!(steps["shows"][0]["name"], "start tag");
    let tag = |task: usize, at_ns: u64| {
        let points = steps["tasks"][task]["values"][0].as_array().expect("points");
        let before = points.iter().rfind(|point| point[0].as_u64() <= Some(at_ns));
        before.and_then(|point| point[1].as_u64())
    };
    let base = tag(1, 0).expect("a tag");
    assert_eq!(tag(0, 4_000_000).map(|tag| tag - base), Some(4_000_000));
    assert_eq!(tag(1, 8_000_000).map(|tag| tag - base), Some(4_000_000));
}

#[test]
fn errors_are_where_they_are() {
    let studio = Studio::start(&[]);
    let (status, wrong) =
        studio.ask(&question(&text("mix.toml").replace("name = \"backup\"", "nmae = \"backup\""), &["rr"]));
    assert_eq!((status.as_str(), &wrong["line"], &wrong["column"]), ("422", &7.into(), &5.into()), "{wrong}");
    let (status, wrong) = studio.ask(&question(&text("mix.toml"), &["rr", "rr:speed=2"]));
    assert_eq!((status.as_str(), &wrong["policy"]), ("422", &1.into()), "{wrong}");
}

#[test]
fn a_file_is_compiled_only_if_the_command_names_it() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/policy-file.in/mine.h");
    let spec = file.to_str().expect("plain");
    let asked = question(&text("mix.toml"), &[spec]);
    let (status, wrong) = Studio::start(&[]).ask(&asked);
    assert!(
        status == "422" && wrong["message"].as_str().is_some_and(|text| text.contains("policy file")),
        "{wrong}"
    );
    assert_eq!(Studio::start(&["-p", spec]).ask(&asked).0, "200");
}

/// Whatever comes, there is an answer or a closed connection, and the next question is answered.
#[test]
fn hostile_requests_do_no_harm() {
    let studio = Studio::start(&[]);
    let task = "[[task]]\nname = \"a\"\n";
    let hog = "program = [ { run = \"forever\" } ]\n";
    for (text, part) in [
        (format!("cpus = 4096\nduration = \"1000000000s\"\n{task}{hog}"), "4096 CPUs"),
        (
            format!("cpus = 256\nquantum = \"1us\"\nduration = \"30000000s\"\n{task}count = 1000\n{hog}"),
            "longer than 5 seconds",
        ),
        (format!("duration = \"1s\"\n{task}count = 1000000\n{hog}"), "1000000 tasks"),
        (format!("duration = \"99999999999999999999s\"\n{task}{hog}"), "too long"),
        (format!("{task}{hog}"), "never ends"),
        (format!("a = {}", "[".repeat(100_000)), "recurse"),
        (format!("duration = \"1s\"\n{task}program = {}", "[ { loop = 2, do = ".repeat(5_000)), "recurse"),
        ("\u{0}\u{1}\u{202e}".to_owned(), "TOML"),
    ] {
        let (status, wrong) = studio.ask(&question(&text, &["rr"]));
        let message = wrong["message"].as_str().unwrap_or_default();
        assert!(status == "422" && message.contains(part), "{part}: {status} {message}");
    }
    let address = &studio.address;
    for (bytes, status) in [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(), "400"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(), "403"),
        (format!("GET /../../etc/passwd HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes(), "404"),
        (format!("POST /run HTTP/1.1\r\nHost: {address}\r\nContent-Length: 99999999999999999999\r\n\r\n").into_bytes(), "400"),
        (format!("POST /run HTTP/1.1\r\nHost: {address}\r\nContent-Length: 999999999\r\n\r\n").into_bytes(), "413"),
        (format!("POST /run HTTP/1.1\r\nHost: {address}\r\nOrigin: http://evil.example\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}").into_bytes(), "403"),
    ] {
        assert_eq!(studio.send(&bytes).0, status, "{}", String::from_utf8_lossy(&bytes));
    }
    // Bytes from a seed, as a body and as a whole request.
    let mut state = 1_u64;
    for length in (0..60).map(|i| i * 37) {
        let byte = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let bytes: Vec<u8> = (0..length).map(byte).collect();
        assert_eq!(studio.post(&bytes).0, "422", "{bytes:?}");
    }
    for body in [&b"{\"a\":".repeat(50_000)[..], b"[[[[", b"{}", b"null", b"{\"viewer\":-1}"] {
        assert_eq!(studio.post(body).0, "422");
    }
    assert_eq!(studio.ask(&question(&self::text("mix.toml"), &["rr"])).0, "200");
}

#[test]
fn a_signal_ends_it_as_it_should() {
    let mut studio = Studio::start(&["--listen", "127.0.0.1:0"]);
    assert!(
        studio
            .send(format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", studio.address).as_bytes())
            .1
            .contains("</html>")
    );
    let signal = Command::new("kill").args(["-INT", &studio.child.id().to_string()]).status();
    assert!(signal.expect("it runs").success());
    assert_eq!(studio.child.wait().expect("it ends").code(), Some(0));
}
