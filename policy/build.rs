//! Compiles each header of `policy/select/` with the native host around it, and lists what it found:
//! adding a policy is adding a header.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// With this in the environment policies are shared libraries: native/mutants.sh puts broken ones in their place,
/// without building anything but them.
const SHARED: &str = "DIVVY_SHARED_POLICIES";

/// What the C is compiled from.
const SOURCES: [&str; 9] =
    ["native", "policy.h", "machine.h", "event.h", "entitled.h", "lib", "select", "slice", "weight"];

fn main() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = headers(&policy.join("select"));
    for name in &names {
        let mut host = cc(policy);
        host.define("DIVVY_POLICY", name.as_str())
            .define("POLICY_HEADER", format!("\"select/{name}.h\"").as_str())
            .file("native/host.c");
        match env::var_os(SHARED) {
            Some(_) => share(&host, name),
            None => host.compile(&format!("divvy_{name}")),
        }
    }
    cc(policy).file("native/modifiers.c").compile("divvy_modifiers");

    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("hosts.rs"), registry(&names)).expect("OUT_DIR is writable");
    println!("cargo::rerun-if-env-changed={SHARED}");
    for path in SOURCES {
        println!("cargo::rerun-if-changed={path}");
    }
}

fn cc(policy: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.include(policy).std("gnu11").warnings(true).extra_warnings(true).opt_level(2);
    // The contract's functions take what most policies need, not what each uses.
    build.flag("-Wno-unused-parameter").flag("-Wno-sign-compare");
    // Lists of parameters may be empty.
    build.flag("-Wno-type-limits");
    build
}

/// Compile a policy's host to a shared library, and link to that.
fn share(host: &cc::Build, name: &str) {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut link = host.get_compiler().to_command();
    link.arg("-shared").args(host.compile_intermediates()).arg("-o").arg(format!("{out}/libdivvy_{name}.so"));
    assert!(link.status().is_ok_and(|status| status.success()), "{link:?}");
    println!("cargo::rustc-link-search=native={out}");
    println!("cargo::rustc-link-lib=dylib=divvy_{name}");
}

fn headers(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".h").map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn registry(names: &[String]) -> String {
    let mut code = String::from("unsafe extern \"C\" {\n");
    for name in names {
        let _ = writeln!(code, "    static divvy_host_{name}: Host;");
    }
    let _ = writeln!(code, "}}\n\nfn hosts() -> [&'static Host; {}] {{", names.len());
    code.push_str("    // SAFETY: each is a constant of native/host.c.\n    unsafe { [");
    for name in names {
        let _ = write!(code, "&divvy_host_{name}, ");
    }
    code.push_str("] }\n}\n");
    code
}
