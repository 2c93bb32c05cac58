//! With the feature `bpf`: compiles the BPF host (`bpf/host.bpf.c`) twice for each policy of `policy/select/`, for one machine and for several shards, and
//! writes tables of the objects for `src/load/object.rs`; and the recorder (`bpf/record.bpf.c`). With and without it, the sources of the host and
//! of the model around it come into the command (`src/hosted/`), which compiles them when it needs them.

mod tree;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use std::{env, fs, thread};

use flate2::Compression;
use flate2::write::GzEncoder;
use tree::{embedded, files, headers, is_for_clippy};

/// This crate
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Versions of clang in the order in which they are tried: first the tested one, then the newest.
const VERSIONS: [u32; 7] = [19, 22, 21, 20, 18, 17, 16];

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
    let select = policy.join("select");
    let policies = headers(&select).into_iter().filter(|policy| !is_simulator_only(&select, policy));
    let objects: Vec<Object> = policies
        .flat_map(|name| [false, true].map(|shards| Object::new(&policy, &out, &name, shards)))
        .collect();
    let stale: Vec<&Object> = objects.iter().filter(|object| !is_current(&object.packed(), newest)).collect();
    at_once(&stale, |object| {
        compile(&clang, "bpf/host.bpf.c", &object.defines, &object.path);
        object.pack();
    });
    for (name, shards) in [("objects.rs", false), ("sharded.rs", true)] {
        let entries = objects.iter().filter(|object| object.shards == shards).map(Object::entry);
        let table = format!("&[\n{}]\n", entries.collect::<String>());
        fs::write(out.join(name), table).expect("OUT_DIR is writable");
    }
    compile(&clang, "bpf/record.bpf.c", &[], &out.join("record.bpf.o"));
    fs::write(stamp, made_by).expect("OUT_DIR is writable");
}

/// The host with a policy, for one machine or for several shards (`papers/placement.md`).
struct Object {
    policy: String,
    shards: bool,
    defines: Vec<String>,
    path: PathBuf,
}

impl Object {
    fn new(root: &Path, out: &Path, policy: &str, shards: bool) -> Object {
        let mut defines =
            vec![format!("-DDIVVY_POLICY={policy}"), format!("-DPOLICY_HEADER=\"select/{policy}.h\"")];
        let placement = format!("placement/{policy}.h");
        if shards {
            defines.push("-DDIVVY_SHARDS".to_owned());
        }
        if shards && root.join(&placement).exists() {
            defines.push(format!("-DPLACEMENT_HEADER=\"{placement}\""));
        }
        let path =
            out.join(if shards { format!("{policy}.shards.bpf.o") } else { format!("{policy}.bpf.o") });
        Object { policy: policy.to_owned(), shards, defines, path }
    }

    /// Its entry in the table.
    fn entry(&self) -> String {
        format!("    ({:?}, include_bytes!({:?})),\n", self.policy, self.packed().display().to_string())
    }

    /// The same object in a tenth of its size: the command has dozens of them.
    fn packed(&self) -> PathBuf {
        self.path.with_extension("o.gz")
    }

    fn pack(&self) {
        let bytes = fs::read(&self.path).expect("it was made");
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        let packed = packed.write_all(&bytes).and_then(|()| packed.finish()).expect("memory takes it");
        fs::write(self.packed(), packed).expect("OUT_DIR is writable");
    }
}

/// Does it with each of them, on all CPUs.
fn at_once<T: Sync>(items: &[T], with: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            with(item);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
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
