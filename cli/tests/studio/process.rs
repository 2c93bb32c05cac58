//! A studio that runs for a test.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// It ends with the test.
pub struct Studio {
    pub child: Child,
    /// Where it listens, as it said.
    pub address: String,
}

impl Studio {
    pub fn start(args: &[&str]) -> Studio {
        let mut child = Command::new(env!("CARGO_BIN_EXE_divvy"))
            .arg("studio")
            .args(args)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe")).read_line(&mut line).expect("a line");
        let rest = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
        let address = rest.split('/').next().expect("an address").to_owned();
        Studio { child, address }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
