//! Tests of the file's text.

use std::fs;
use std::path::{Path, PathBuf};

use divvy_policy::{Failure as _, FailureKind};

use super::file::{Rule, Rules};
use super::name::Name;
use super::*;

fn parse(text: &str) -> Result<Rules, RulesError> {
    Rules::parse(text, Path::new("x.toml"))
}

fn read(path: &Path) -> Result<Rules, RulesError> {
    Rules::read(super::file::open(path)?, path)
}

fn refusal(text: &str) -> String {
    match parse(text) {
        Ok(rules) => panic!("{} is taken: {rules:?}", &text[..text.len().min(200)]),
        Err(error) => {
            assert_eq!(error.kind(), FailureKind::BadInput);
            error.to_string()
        }
    }
}

fn write(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("divvy-rules-text-{name}-{}", std::process::id()));
    fs::write(&path, bytes).expect("a file");
    path
}

#[test]
fn every_table_and_form_of_a_weight_is_read() {
    let text = "# a comment\n[user]\nwww-data = 2048\n\"1000\" = 0.5\n7 = +3\n[executable]\n\
                \"/usr/bin/a b\" = 256\ncc1 = 1_000\n[service]\nbackup = 100\n\"nginx.service\" = 1e0\n";
    // Weights are decimals without exponents, as in `divvy set`.
    assert!(
        refusal(text).starts_with("x.toml:11:19: the weight of `nginx.service` is 1e0\n"),
        "{}",
        refusal(text)
    );
    let text = text.replace("1e0", "0.0009765625");
    let text = format!(
        "{text}\"org.x.Y\" = 100000000\n\"a@b.slice\" = 2.75\n\
         [cgroup]\n\"/user.slice\" = 1\n\"//a//b/\" = 2\n"
    );
    let rule = |name, weight| Rule { name, weight };
    let name = str::to_owned;
    let expected = [
        rule(Name::User(name("www-data")), 2048 << 10),
        rule(Name::Uid(1000), 512),
        rule(Name::Uid(7), 3 << 10),
        rule(Name::Executable(name("/usr/bin/a b")), 256 << 10),
        rule(Name::Executable(name("cc1")), 1000 << 10),
        rule(Name::Service(name("backup.service")), 100 << 10),
        rule(Name::Service(name("nginx.service")), 1),
        rule(Name::Service(name("org.x.Y.service")), 100_000_000 << 10),
        rule(Name::Service(name("a@b.slice")), 2816),
        rule(Name::Cgroup(name("user.slice")), 1 << 10),
        rule(Name::Cgroup(name("a/b")), 2 << 10),
    ];
    assert_eq!(parse(&text).expect("it is right").rules, expected);
}

#[test]
fn an_empty_file_has_no_rules() {
    for text in ["", "\n# nothing\n", "[user]\n", "user = {}\n", "\u{feff}[service]\n"] {
        assert!(parse(text).unwrap_or_else(|error| panic!("{error}")).is_empty(), "{text:?}");
    }
    assert!(!parse("[user]\na = 1\n").expect("it is right").is_empty());
}

/// Each with its place, the problem, and what is allowed.
#[test]
fn errors_say_where_and_what_is_allowed() {
    let weights = "a weight is a plain decimal, as in 512 or 0.5, at least 1/1024 and at most 100000000";
    for (text, start, allowed) in [
        (
            "\n[usr]\n",
            "x.toml:2:2: there is no table `usr`",
            "did you mean [user]? the tables are [executable], ",
        ),
        (
            "[zzzzzz]\n",
            "x.toml:1:2: there is no table `zzzzzz`",
            "the tables are [executable], [service], [cgroup], [user]",
        ),
        ("weight = 3\n", "x.toml:1:1: there is no table `weight`", "the tables are"),
        ("user = 3\n", "x.toml:1:8: `user` is an integer", "it must be a table, as in [user]"),
        ("[[user]]\na = 1\n", "x.toml:1:1: `user` is a list", "it must be a table"),
        ("[user]\n\na = \"1\"\n", "x.toml:3:5: the weight of `a` is a string", weights),
        ("[user]\na = true\n", "x.toml:2:5: the weight of `a` is true or false", weights),
        ("[user]\na = [1]\n", "x.toml:2:5: the weight of `a` is a list", weights),
        ("[user]\na = 2020-01-01\n", "x.toml:2:5: the weight of `a` is a date", weights),
        ("[user]\na = 0x10\n", "x.toml:2:5: the weight of `a` is 0x10, not decimal", weights),
        ("[user]\na = 0\n", "x.toml:2:5: the weight of `a` is 0", weights),
        ("[user]\na = 0.0001\n", "x.toml:2:5: the weight of `a` is 0.0001", weights),
        ("[user]\na = -3\n", "x.toml:2:5: the weight of `a` is -3", weights),
        ("[user]\na = 100000000.1\n", "x.toml:2:5: the weight of `a` is 100000000.1", weights),
        ("[user]\na = nan\n", "x.toml:2:5: the weight of `a` is nan", weights),
        ("[user]\na = -inf\n", "x.toml:2:5: the weight of `a` is -inf", weights),
        ("[user]\n\u{e4} = 1\n", "x.toml:2:1: not valid TOML: ", "the tables are"),
        ("[user]\n\"\u{e4}\u{e4}\" = 0\n", "x.toml:2:8: the weight of `\u{e4}\u{e4}` is 0", weights),
        (
            "[service]\nnginx.service = 2\n",
            "x.toml:2:1: the weight of `nginx` is a table",
            "as in \"nginx.service\" = 512",
        ),
        ("[user.a]\nweight = 1\n", "x.toml:1:1: the weight of `a` is a table", weights),
        ("[user]\n\"\" = 1\n", "x.toml:2:1: `` is no name", "at least one character"),
        ("[user]\n\"a\\u0000b\" = 1\n", "x.toml:2:1: `a\\0b` has a NUL in it", "and no NUL"),
        ("[user]\n4294967295 = 1\n", "x.toml:2:1: `4294967295` is no user's number", "at most 4294967294"),
        (
            "[executable]\n\"bin/x\" = 1\n",
            "x.toml:2:1: `bin/x` is a relative path",
            "an absolute path, or a name without a slash",
        ),
        ("[service]\n\"a/b\" = 1\n", "x.toml:2:1: `a/b` has a slash in it", "name the path in [cgroup]"),
        (
            "[cgroup]\n\"/a/../b\" = 1\n",
            "x.toml:2:1: `/a/../b` has `.` or `..` in it",
            "a path below the root",
        ),
        ("[cgroup]\n\"./a\" = 1\n", "x.toml:2:1: `./a` has `.` or `..` in it", "a path below the root"),
        ("[cgroup]\n\"/\" = 1\n", "x.toml:2:1: `/` is the root", "a path below the root"),
        ("[user]\na = 1\na = 2\n", "x.toml:3:1: not valid TOML: duplicate key", "the tables are"),
        ("[user]\na\n", "x.toml:2:2: not valid TOML: ", "the tables are"),
        ("[user]\nb = 0\na = 0\n[x]\n", "x.toml:4:2: there is no table", "the tables are"),
        ("[zz]\n[aa]\n", "x.toml:1:2: there is no table `zz`", "the tables are"),
        ("[user]\nb = 0\na = 0\n", "x.toml:2:5: the weight of `b`", weights),
    ] {
        let error = refusal(text);
        assert!(error.starts_with(start) && error.contains(allowed), "{text}\n{error}");
    }
}

/// A damaged file is refused soon, by a short message without control characters.
#[test]
fn hostile_files_are_refused() {
    let long = "9".repeat(1 << 19);
    for text in [
        format!("[user]\na = {long}\n"),
        format!("[user]\na = 0.{long}\n"),
        format!("[user]\na = -{long}\n"),
        format!("[user]\na = 0x{long}\n"),
        format!("[user]\na = 1e{}\n", &long[..400]),
        format!("[user]\n{long} = 1\n"),
        format!("[user]\n{long} = 0\n"),
        format!("[cgroup]\n\"{}\" = 1\n", "../".repeat(1 << 18)),
        format!("[user]\na = {}\n", "[".repeat(1 << 19)),
        format!("[user]\na = {}\n", "{a=".repeat(1 << 18)),
        format!("[user]\n{}a = 1\n", "a.".repeat(1 << 18)),
        format!("[{}]\n", "a.".repeat(1 << 18)),
        "[[user]]\n".repeat(1 << 16),
        "\0".repeat(1 << 10),
        "[user]\na = 1\0\n".to_owned(),
        "[user]\n\"\u{1b}[2J\" = 1\n".to_owned(),
        "[user]\n\"\\u001b[2J\" = 0\n".to_owned(),
        "\u{1b}[2J = 0\n".to_owned(),
    ] {
        let error = refusal(&text);
        assert!(error.starts_with("x.toml:"), "{error}");
        assert!(error.len() < 600, "{}", error.len());
        assert!(!error.contains(|c: char| c.is_control() && c != '\n'), "{error:?}");
    }
}

#[test]
fn there_are_at_most_1024_rules() {
    let text =
        |rules: u32| format!("[user]\n{}", (0..rules).map(|i| format!("u{i} = 1\n")).collect::<String>());
    assert_eq!(parse(&text(1024)).expect("it is right").rules.len(), 1024);
    assert_eq!(refusal(&text(1025)), "x.toml:1026:1: there are 1025 rules\n  at most 1024 are allowed");
    let over = format!("{}[service]\ns = 1\n", text(1024));
    assert!(refusal(&over).starts_with("x.toml:1027:1: there are 1025 rules"));
}

#[test]
fn files_are_read_up_to_a_mebibyte() {
    let rule = b"[user]\na = 1\n".to_vec();
    let filled = |length: usize| [rule.clone(), vec![b'\n'; length - rule.len()]].concat();
    let path = write("long", &filled(1 << 20));
    assert_eq!(read(&path).expect("it is just short enough").rules.len(), 1);
    for length in [(1 << 20) + 1, 2 << 20] {
        fs::write(&path, filled(length)).expect("a file");
        let error = read(&path).expect_err("it is too long").to_string();
        assert_eq!(
            error,
            format!("{}: it is longer than 1 MiB, the most that a file of rules may have", path.display())
        );
        let text = String::from_utf8(filled(length)).expect("it is text");
        assert!(refusal(&text).contains("longer than 1 MiB"));
    }
    fs::remove_file(&path).expect("it was made above");
}

#[test]
fn what_is_no_text_is_refused() {
    let path = write("bytes", b"[user]\na = 1\n\xc3\xa4\xff = 2\n");
    let error = read(&path).expect_err("it is not UTF-8");
    assert!(
        error.to_string().starts_with(&format!("{}:3:2: this is not UTF-8\n", path.display())),
        "{error}"
    );
    assert_eq!(error.kind(), FailureKind::BadInput);
    fs::remove_file(&path).expect("it was made above");
    let error = read(&path).expect_err("it is gone");
    assert!(
        matches!(&error, RulesError::Io { .. }) && error.to_string().starts_with("cannot read "),
        "{error}"
    );
    let directory = read(&std::env::temp_dir()).expect_err("it is a directory");
    assert!(directory.to_string().contains("not a regular file"), "{directory}");
    // Nobody writes to the pipe: a read would wait for ever.
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
    let pipe = read(&path).expect_err("it is a pipe");
    assert!(pipe.to_string().contains("not a regular file"), "{pipe}");
    fs::remove_file(&path).expect("it was made above");
}
