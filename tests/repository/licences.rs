//! A policy's BPF program tells the kernel the licence of its source.

use std::fs;
use std::path::Path;

#[test]
fn each_policy_tells_the_kernel_its_own_licence() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/select");
    let mut gpl_only = Vec::new();
    for entry in fs::read_dir(folder).expect("policy/select") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a header");
        let spdx = text.lines().next().expect("a line");
        let tells_gpl = text.lines().any(|line| line == "#define POLICY_LICENSE \"GPL\"");
        match spdx {
            "/* SPDX-License-Identifier: GPL-2.0-only */" => {
                assert!(tells_gpl, "{}: add #define POLICY_LICENSE \"GPL\"", path.display());
                gpl_only.push(path.file_stem().expect("a name").to_owned());
            }
            "/* SPDX-License-Identifier: MIT OR GPL-2.0-only */" => {
                assert!(!tells_gpl, "{}: it is not GPL only", path.display());
            }
            other => panic!("{}: no SPDX line that is known: {other}", path.display()),
        }
    }
    gpl_only.sort();
    assert_eq!(gpl_only, ["cfs", "eevdf", "linux24", "o1", "qfq"]);
}
