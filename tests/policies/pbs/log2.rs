//! lib/log2.h: its error, and where its table comes from.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

fn here(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// log2(n/256) for n from 256 to 1023, in 2^-30 rounded to nearest: squaring brings out a binary digit each time.
fn log2_30(n: u64) -> u64 {
    let whole = n / 512;
    let (mut x, mut log) = (u128::from(n) << (55 - whole), whole);
    for _ in 0..31 {
        x = (x * x) >> 63;
        let digit = x >> 64;
        x >>= digit;
        log = 2 * log + digit as u64;
    }
    log.div_ceil(2)
}

#[test]
fn log2_table_is_generated() {
    let path = here("../policy/lib/log2_table.h");
    let text = fs::read_to_string(&path).unwrap();
    let (head, rows) = text.split_at(text.find("= {\n").unwrap() + 4);
    let entries: Vec<String> = (256..514).map(|n| log2_30(n).to_string()).collect();
    let made: String = entries.chunks(8).map(|row| format!("\t{},\n", row.join(", "))).collect();
    let made = format!("{head}{made}}};\n\n#endif\n");
    if env::var_os("DIVVY_BLESS").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let tail = rows.len();
    assert!(text == made, "{} ({tail} bytes of table) is not what DIVVY_BLESS=1 would write", path.display());
}

#[test]
fn log2_is_within_its_bound() {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("log2");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(&cc)
        .args(["-O2", "-std=gnu11", "-fsanitize=undefined", "-fno-sanitize-recover", "-I"])
        .arg(here("../policy"))
        .arg(here("policies/pbs/log2.c"))
        .arg("-o")
        .arg(&program)
        .arg("-lm")
        .output()
        .unwrap_or_else(|e| panic!("{cc}: {e}"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let ran = Command::new(&program).output().unwrap();
    assert!(
        ran.status.success(),
        "{}{}",
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr)
    );
}
