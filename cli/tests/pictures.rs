//! The pictures of the examples are what the commands beside them draw. `DIVVY_DRAW=1` draws them anew.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A picture that is larger is no drawing for a page of text.
const MOST_BYTES: usize = 40_000;

fn examples() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples"))
}

/// The commands of the page that draw, as words.
fn commands(page: &str) -> Vec<Vec<&str>> {
    let commands = page.lines().filter_map(|line| line.strip_prefix("divvy "));
    commands.map(|line| line.split(' ').collect()).filter(|words: &Vec<&str>| words.contains(&"-o")).collect()
}

#[test]
fn pictures_are_what_their_commands_draw() {
    let page = fs::read_to_string(examples().join("README.md")).expect("a page");
    let commands = commands(&page);
    assert!(commands.len() >= 8, "{} commands", commands.len());
    for words in commands {
        let (name, arguments) = words.split_last().expect("words");
        assert!(page.contains(&format!("]({name})")), "{name} is drawn and not shown");
        let drawn = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_divvy"));
        let output = command.args(arguments).arg(&drawn).current_dir(examples()).output().expect("it runs");
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let (picture, kept) = (fs::read_to_string(&drawn).expect("a picture"), examples().join(name));
        if std::env::var_os("DIVVY_DRAW").is_some() {
            fs::write(&kept, &picture).expect("written");
        }
        assert!(picture.len() < MOST_BYTES, "{name}: {} bytes", picture.len());
        let kept = fs::read_to_string(&kept).unwrap_or_default();
        assert!(
            kept == picture,
            "{name} is not what `divvy {}` draws; DIVVY_DRAW=1 draws it",
            words.join(" ")
        );
    }
}

/// Pictures say themselves what they are on: a dark page shows through nothing.
#[test]
fn pictures_have_a_ground_of_their_own() {
    for entry in fs::read_dir(examples()).expect("examples") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|ending| ending == "svg") {
            let svg = fs::read_to_string(&path).expect("a picture");
            let (_, after) = svg.split_once('\n').expect("lines");
            assert!(after.starts_with("<rect ") && !svg.contains("<script"), "{}", path.display());
        }
    }
}
