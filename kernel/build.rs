//! With the feature `bpf`: compiles the BPF host (`bpf/host.bpf.c`) once for each policy of `policy/select/`, and writes a
//! table of the objects for `src/load/object.rs`; and the recorder (`bpf/record.bpf.c`). With and without it, the sources of the host and
//! of the model around it come into the command (`src/hosted/`), which compiles them when it needs them.

mod tree;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

use tree::{embedded, files, headers, is_for_clippy};

/// This crate
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Versions of clang in the order in which they are tried: first the tested one, then the newest.
const VERSIONS: [u32; 7] = [19, 22, 21, 20, 18, 17, 16];

/// Selections that are built for several shards as well: they keep those that wait in a heap by tags, which a task takes along.
const SHARDED: [&str; 1] = ["sfq"];

fn main() {
    // cargo watches directories with all that is in them, so the parts of the host in bpf/host/ as well.
    for path in ["build.rs", "bpf", "model"] {
        println!("cargo::rerun-if-changed={path}");
    }
    let policy = policy_root();
    for path in tree::PARTS {
        println!("cargo::rerun-if-changed={}", policy.join(path).display());
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("model.rs"), model_sources()).expect("OUT_DIR is writable");
    if env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    let clang = find_clang();
    let (stamp, made_by) = (out.join("made-by"), compiler_text(&clang));
    // An object that another compiler made is of no use, nor one of a run that broke off.
    let newest = fs::read_to_string(&stamp).is_ok_and(|text| text == made_by).then(newest_input).flatten();
    let _ = fs::remove_file(&stamp);
    let mut table = String::from("&[\n");
    let select = policy.join("select");
    for policy in headers(&select).into_iter().filter(|policy| !is_simulator_only(&select, policy)) {
        let object = out.join(format!("{policy}.bpf.o"));
        if !is_current(&object, newest) {
            compile(&clang, "bpf/host.bpf.c", &defines(&policy), &object);
        }
        let _ = writeln!(table, "    ({policy:?}, include_bytes!({:?})),", object.display().to_string());
    }
    table.push_str("]\n");
    fs::write(out.join("objects.rs"), table).expect("OUT_DIR is writable");
    let mut table = String::from("&[\n");
    for policy in SHARDED {
        let object = out.join(format!("{policy}.shards.bpf.o"));
        let mut defines = defines(policy).to_vec();
        defines.push("-DDIVVY_SHARDS".to_owned());
        if !is_current(&object, newest) {
            compile(&clang, "bpf/host.bpf.c", &defines, &object);
        }
        let _ = writeln!(table, "    ({policy:?}, include_bytes!({:?})),", object.display().to_string());
    }
    table.push_str("]\n");
    fs::write(out.join("sharded.rs"), table).expect("OUT_DIR is writable");
    compile(&clang, "bpf/record.bpf.c", &[], &out.join("record.bpf.o"));
    fs::write(stamp, made_by).expect("OUT_DIR is writable");
}

fn defines(policy: &str) -> [String; 2] {
    [format!("-DDIVVY_POLICY={policy}"), format!("-DPOLICY_HEADER=\"select/{policy}.h\"")]
}

/// The headers of divvy-policy, whose build program says where they are.
fn policy_root() -> PathBuf {
    PathBuf::from(env::var_os("DEP_DIVVY_POLICY_ROOT").expect("divvy-policy says where it is"))
}

/// The compiler, and the headers that it uses.
fn compiler_text(clang: &str) -> String {
    format!("{clang} {:?} {}", major(clang), env::var("DEP_BPF_INCLUDE").unwrap_or_default())
}

/// When a file was changed last from which objects are made, or this program. It also runs again when only the model changes, and then
/// dozens of objects are as they were.
fn newest_input() -> Option<SystemTime> {
    let (root, policy) = (Path::new(ROOT), policy_root());
    let parts = tree::PARTS.iter().flat_map(|path| files(&policy, path)).map(|path| policy.join(path));
    let own = files(root, "bpf").into_iter().chain(["build.rs".to_owned()]).map(|path| root.join(path));
    parts.chain(own).filter_map(|path| changed(&path)).max()
}

/// Whether the object was made after its newest input.
fn is_current(object: &Path, newest: Option<SystemTime>) -> bool {
    newest.is_some_and(|newest| changed(object).is_some_and(|made| made > newest))
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

/// The text of the host's files and the model's, by path. Scripts and races are the storm's.
fn model_sources() -> String {
    let root = Path::new(ROOT);
    let storms = ["script.c", "script.h", "storm.c", "memory.c"].map(|name| format!("model/{name}"));
    let model = files(root, "model").into_iter().filter(|path| !storms.contains(path));
    let host = ["bpf/host.bpf.c", "bpf/host.h", "bpf/kernel.h"].map(str::to_owned);
    embedded("kernel/", root, model.chain(files(root, "bpf/host")).chain(host))
}

/// $CLANG, or the first clang that is installed and new enough.
fn find_clang() -> String {
    let named = env::var("CLANG").ok();
    let candidates = match &named {
        Some(clang) => vec![clang.clone()],
        None => VERSIONS.iter().map(|v| format!("clang-{v}")).chain(["clang".to_owned()]).collect(),
    };
    candidates.into_iter().find(|clang| major(clang).is_some_and(|major| major >= 16)).unwrap_or_else(|| {
        panic!("the feature `bpf` needs a clang >= 16: apt-get install clang-19 llvm-19, or set CLANG")
    })
}

fn major(clang: &str) -> Option<u32> {
    let output = Command::new(clang).arg("-dumpversion").output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().split('.').next()?.parse().ok()
}

fn compile(clang: &str, source: &str, defines: &[String], object: &Path) {
    if is_for_clippy() {
        return fs::write(object, "").expect("OUT_DIR is writable");
    }
    let mut command = Command::new(clang);
    command.current_dir(ROOT);
    command.args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wno-unused-function"]);
    // The objects are the same wherever the crates are.
    let policy = policy_root();
    command.arg(format!("-ffile-prefix-map={ROOT}=kernel"));
    if let Ok(libbpf) = env::var("DEP_BPF_INCLUDE") {
        command.arg(format!("-ffile-prefix-map={libbpf}=libbpf"));
    }
    command.arg(format!("-ffile-prefix-map={}=policy", policy.display()));
    command.args(defines);
    command.arg(format!("-I{}", policy.display()));
    command.args(["-Ibpf", &format!("-D__TARGET_ARCH_{}", target_arch())]);
    command.args(library_includes());
    command.args(["-c", source, "-o"]).arg(object);
    let status = command.status().unwrap_or_else(|e| panic!("{clang}: {e}"));
    assert!(status.success(), "{clang} could not compile {source} with {defines:?}: {status}");
    strip(clang, object);
}

/// The architecture's name in libbpf's headers.
fn target_arch() -> &'static str {
    match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        Ok("riscv64") => "riscv",
        Ok("s390x") => "s390",
        Ok("powerpc64") => "powerpc",
        other => panic!("the feature `bpf` does not know the architecture {other:?}"),
    }
}

/// The headers of the libbpf that is linked; and the kernel's, which are in a directory for this architecture that clang
/// does not search for the BPF target.
fn library_includes() -> Vec<String> {
    let libbpf = env::var("DEP_BPF_INCLUDE").map(|dir| format!("-I{dir}"));
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    libbpf.into_iter().chain([format!("-I/usr/include/{arch}-linux-gnu")]).collect()
}

/// Removes the debug information to make the object smaller. libbpf reads the BTF, which stays. Without llvm-strip the
/// object is larger, and works as well.
fn strip(clang: &str, object: &Path) {
    let name = clang
        .rsplit_once("clang")
        .map_or("llvm-strip".to_owned(), |(dir, version)| format!("{dir}llvm-strip{version}"));
    for strip in [name.as_str(), "llvm-strip"] {
        if Command::new(strip).arg("-g").arg(object).status().is_ok_and(|status| status.success()) {
            return;
        }
    }
}

/// Policies for the simulator only have no object; the loader says so before it looks for one.
fn is_simulator_only(select: &Path, policy: &str) -> bool {
    let header = fs::read_to_string(select.join(format!("{policy}.h"))).expect("policies are text");
    header.contains("\n#define POLICY_SIMULATOR_ONLY ")
}
