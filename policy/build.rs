//! Compiles each header of `policy/select/` with the native host around it, reads the pages of `papers/`, and lists
//! what it found: adding a policy is adding a header, and a page for its summary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

#[path = "src/page.rs"]
mod page;
mod tree;

use page::Summary;
use tree::{embedded, files, headers, is_for_clippy, stems};

/// With this in the environment policies are shared libraries: native/mutants.sh puts broken ones in their place,
/// without building anything but them.
const SHARED: &str = "DIVVY_SHARED_POLICIES";

/// Policies in `native/` that no spec can name (`src/account.rs`, `src/called.rs`).
const NAMELESS: [&str; 2] = ["account", "called"];

/// Pages with the promises of policies, and their deviations from the papers: a link, so that the packaged crate has them.
const PAPERS: &str = "papers";

fn main() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = headers(&policy.join("select"));
    let modifiers = [headers(&policy.join("weight")), headers(&policy.join("slice"))].concat();
    let selections = names.iter().map(|name| (name.as_str(), format!("\"select/{name}.h\"")));
    let nameless = NAMELESS.map(|name| (name, format!("\"native/{name}.h\"")));
    for (name, header) in selections.chain(nameless).filter(|_| !is_for_clippy()) {
        let mut host = cc(policy);
        host.define("DIVVY_POLICY", name).define("POLICY_HEADER", header.as_str()).file("native/host.c");
        match env::var_os(SHARED) {
            Some(_) => share(&host, name),
            None => host.compile(&format!("divvy_{name}")),
        }
    }
    cc(policy).file("native/modifiers.c").compile("divvy_modifiers");

    let out = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("hosts.rs"), registry(&names)).expect("OUT_DIR is writable");
    fs::write(
        out.join("sources.rs"),
        embedded("policy/", policy, tree::PARTS.iter().flat_map(|path| files(policy, path))),
    )
    .expect("OUT_DIR is writable");
    fs::write(
        out.join("host_sources.rs"),
        embedded(
            "policy/",
            policy,
            ["native/host.c", "native/host.h", "native/placement.h", "native/turn.h", "native/turns.h"]
                .map(str::to_owned),
        ),
    )
    .expect("OUT_DIR is writable");
    let pages = read_pages(&policy.join(PAPERS), &[names, modifiers].concat());
    fs::write(out.join("summaries.rs"), summaries(&pages)).expect("OUT_DIR is writable");
    println!("cargo::rerun-if-env-changed={SHARED}");
    for path in tree::PARTS.into_iter().chain(["native"]) {
        println!("cargo::rerun-if-changed={path}");
    }
    println!("cargo::rerun-if-changed={PAPERS}");
    // For the build program of divvy-kernel: DEP_DIVVY_POLICY_ROOT.
    println!("cargo::metadata=root={}", policy.display());
}

fn cc(policy: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build.include(policy).std("gnu11").warnings(true).extra_warnings(true).opt_level(2);
    // A decision takes a few hundred instructions. A frame pointer takes a register from it, and to fill a vector with two numbers takes
    // longer than two stores.
    build.force_frame_pointer(false).flag("-fno-tree-slp-vectorize");
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

fn registry(names: &[String]) -> String {
    let mut code = String::from("unsafe extern \"C\" {\n");
    for name in names.iter().map(String::as_str).chain(NAMELESS) {
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

/// Reads the summaries of the policies from their pages. A policy without a page of its name may be on another one, or on none.
fn read_pages(papers: &Path, policies: &[String]) -> Vec<Summary> {
    let mut found: Vec<Summary> = Vec::new();
    for name in stems(papers, ".md") {
        let text = fs::read_to_string(papers.join(format!("{name}.md"))).expect("it was listed");
        let here = page::summaries(&text).unwrap_or_else(|error| panic!("papers/{name}.md:{error}"));
        for summary in here {
            let policy = &summary.policy;
            assert!(policies.contains(policy), "papers/{name}.md: there is no policy {policy} in policy/");
            assert!(
                found.iter().all(|other| other.policy != *policy),
                "papers/{name}.md: {policy} is on another page, too: keep one `## In short: {policy}`"
            );
            found.push(summary);
        }
        assert!(
            !policies.contains(&name) || found.iter().any(|summary| summary.policy == name),
            "papers/{name}.md: add a section `## In short: {name}`, as the other pages have it"
        );
    }
    found
}

fn summaries(pages: &[Summary]) -> String {
    let mut code = String::from("&[\n");
    for Summary { policy, paper, guarantees, cost, deviations } in pages {
        let _ = writeln!(
            code,
            "    Summary {{ policy: {policy:?}, paper: {paper:?}, guarantees: &{guarantees:?}, cost: {cost:?}, \
             deviations: &{deviations:?} }},"
        );
    }
    code.push_str("]\n");
    code
}
