//! Recordings that are directories, or archives of one: of `perf record --threads`, LTTng and SchedViz.

use crate::error::{ErrorKind, TraceError};
use crate::folder::Folder;
use crate::reconstruct::{ReadOptions, reconstruct};
use crate::recording::Recording;
use crate::{ctf, perf_data, schedviz};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// More CPUs than any kernel is built for, and one file for each.
const MOST_FILES: usize = 8192;

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Recording, TraceError> {
    let main = path.join("data");
    if main.is_file() {
        let parts = parts(path);
        let open = |path: &PathBuf| Ok(BufReader::with_capacity(1 << 16, File::open(path)?));
        let main = BufReader::with_capacity(1 << 18, File::open(main)?);
        return reconstruct(options, |sink| perf_data::import_directory(main, &parts, &open, sink));
    }
    let known = [ctf::METADATA, "kernel/metadata", schedviz::HEADER_PAGE, schedviz::METADATA];
    if known.iter().any(|name| path.join(name).is_file()) {
        return folder(&Folder::of_directory(path)?, options);
    }
    Err(TraceError::new(
        ErrorKind::Io,
        "this is a directory, and not one of perf record --threads, LTTng or SchedViz",
    )
    .advise("give the recording in it"))
}

/// A tar archive.
pub(crate) fn archive(file: File, options: &ReadOptions) -> Result<Recording, TraceError> {
    folder(&Folder::of_archive(file)?, options)
}

fn folder(folder: &Folder, options: &ReadOptions) -> Result<Recording, TraceError> {
    let is_called = |path: &str, name: &str| {
        path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let called = |name: &str| folder.names().filter(|path| is_called(path, name)).collect::<Vec<_>>();
    if let [header_page] = called(schedviz::HEADER_PAGE)[..] {
        return reconstruct(options, |sink| schedviz::import(folder, header_page, sink));
    }
    if !called(schedviz::METADATA).is_empty() {
        return Err(schedviz::other());
    }
    // A session of LTTng has the kernel's trace beside those of programs.
    let (all, of_kernel) = (called(ctf::METADATA), called("kernel/metadata"));
    let chosen = match (&all[..], &of_kernel[..]) {
        _ if all.contains(&ctf::METADATA) => Some(ctf::METADATA),
        (_, [one]) | ([one], _) => Some(*one),
        _ => None,
    };
    match chosen {
        Some(metadata) => reconstruct(options, |sink| ctf::import(folder, metadata, sink)),
        None if all.is_empty() => Err(TraceError::new(
            ErrorKind::Unsupported,
            "this is an archive without a recording of LTTng or SchedViz",
        )
        .advise("unpack it, and give the recording in it")),
        None => {
            let some = all.iter().take(3).map(|name| name.escape_debug().to_string());
            let what =
                format!("it has {} traces of LTTng: {}", all.len(), some.collect::<Vec<_>>().join(", "));
            Err(TraceError::new(ErrorKind::Unsupported, what)
                .advise("unpack it, and give the directory of one"))
        }
    }
}

/// The files `data.0`, `data.1`.. of a directory, in the order of their numbers.
fn parts(path: &Path) -> Vec<PathBuf> {
    (0..MOST_FILES)
        .map(|index| path.join(format!("data.{index}")))
        .take_while(|part| part.is_file())
        .collect()
}
