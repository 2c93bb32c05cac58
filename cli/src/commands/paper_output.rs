//! Where the drawings of `divvy paper` go: files of a directory, or one page.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use divvy_pages::plot::{Look, Plot};

use crate::args::look::LookArgs;
use crate::args::output::BadOutputArgs;
use crate::output::Output;
use crate::output_path;

/// The places of `-o`.
pub struct Drawings<'a> {
    dir: Option<&'a Path>,
    page: Option<&'a Path>,
    look: Look,
}

impl<'a> Drawings<'a> {
    /// Checks them first, because the figures may take minutes.
    pub fn to(output: Option<&'a Path>, look: &LookArgs) -> Result<Drawings<'a>, BadOutputArgs> {
        let page = output.filter(|path| path.extension().is_some_and(|ending| ending == "html"));
        let dir = output.filter(|_| page.is_none());
        if dir.is_none() && look.is_given() {
            return Err(BadOutputArgs::LookWithoutSvg);
        }
        dir.map_or(Ok(()), |dir| output_path::directory("-o", dir, "a directory for figures"))?;
        page.map_or(Ok(()), |page| output_path::file("-o", page))?;
        Ok(Drawings { dir, page, look: look.look() })
    }

    /// Writes a figure's drawings, if there is a directory.
    pub fn add(&self, plots: &[Plot]) -> anyhow::Result<()> {
        self.dir.map_or(Ok(()), |dir| plots.iter().try_for_each(|plot| write_plot(plot, &self.look, dir)))
    }

    /// Writes the page, if there is one.
    pub fn end(&self, page: impl FnOnce() -> String, output: Output) -> anyhow::Result<()> {
        self.page.map_or(Ok(()), |path| output.write(&page(), Some(path)))
    }
}

fn write_plot(plot: &Plot, look: &Look, dir: &Path) -> anyhow::Result<()> {
    let path = dir.join(format!("{}.svg", plot.name));
    let drawn = if *look == Look::default() { None } else { Some(look.figure(std::slice::from_ref(plot))?) };
    fs::write(&path, drawn.as_deref().unwrap_or(&plot.svg))
        .with_context(|| format!("cannot write {}", path.display()))
}
