//! `divvy paper [ID|all]`.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use divvy_lab::{Figure, Reproduction, Setting, reproduce};
use divvy_pages::plot::Plot;
use divvy_policy::nearest;

use crate::args::{PaperArgs, PlainFormat};
use crate::commands::common::this_command;
use crate::output::Output;
use crate::place::{self, BadPlace};
use crate::progress::FigureBar;
use crate::view::{claims, claims_page};

/// Asked for a figure that there is not.
#[derive(Debug, thiserror::Error)]
#[error("there is no figure `{}`{} (`divvy paper` lists them)", id.escape_debug(), hint(*nearest))]
pub struct UnknownFigure {
    id: String,
    nearest: Option<&'static str>,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|id| format!("; did you mean `{id}`?")).unwrap_or_default()
}

/// Some of what was reproduced is not as the paper has it.
#[derive(Debug, thiserror::Error)]
#[error("not met: {}", claims.join(", "))]
pub struct ClaimsNotMet {
    /// How many of which figure.
    claims: Vec<String>,
}

/// Lists all, or reproduces.
pub fn run(args: &PaperArgs, output: Output) -> anyhow::Result<()> {
    let Some(id) = &args.id else {
        let text = match args.format {
            PlainFormat::Table => claims::list(output.columns(None)),
            PlainFormat::Json => claims::list_json()?,
        };
        return output.write(&text, None);
    };
    let figures = figures(id)?;
    let page = args.output.as_deref().filter(|path| path.extension().is_some_and(|ending| ending == "html"));
    let dir = args.output.as_deref().filter(|_| page.is_none());
    check_places(args, dir, page)?;
    let mut done = Vec::new();
    for figure in figures {
        let one = reproduce_one(figure, args, output)?;
        if let Some(dir) = dir {
            one.plots.iter().try_for_each(|plot| write_plot(plot, dir))?;
        }
        if args.format == PlainFormat::Table {
            let between = if done.is_empty() { "" } else { "\n" };
            output.write(&format!("{between}{}", claims::table(&one, output.columns(None))), None)?;
        }
        done.push(one);
    }
    if args.format == PlainFormat::Json {
        output.write(&claims::json(&done, id == "all", args.seed)?, None)?;
    }
    if let Some(page) = page {
        output.write(&claims_page::write(&done, args.seed, &this_command()), Some(page))?;
    }
    verdict(&done)
}

/// Before the minutes that it may take.
fn check_places(args: &PaperArgs, dir: Option<&Path>, page: Option<&Path>) -> Result<(), BadPlace> {
    dir.map_or(Ok(()), |dir| place::directory("-o", dir, "figures need"))?;
    page.map_or(Ok(()), |page| place::file("-o", page))?;
    args.resume.as_deref().map_or(Ok(()), |dir| place::directory("--resume", dir, "what is found is kept in"))
}

fn figures(id: &str) -> Result<Vec<&'static Figure>, UnknownFigure> {
    if id == "all" {
        return Ok(divvy_lab::all().iter().collect());
    }
    divvy_lab::find(id).map(|figure| vec![figure]).ok_or_else(|| UnknownFigure {
        id: id.to_owned(),
        nearest: nearest(id, divvy_lab::all().iter().map(|figure| figure.id)),
    })
}

fn reproduce_one(figure: &'static Figure, args: &PaperArgs, output: Output) -> anyhow::Result<Reproduction> {
    let bar = FigureBar::new(figure.id, output);
    let setting =
        Setting { small: args.small, seed: args.seed, progress: &bar, saved: args.resume.as_deref() };
    Ok(reproduce(figure, &setting)?)
}

fn write_plot(plot: &Plot, dir: &Path) -> anyhow::Result<()> {
    let path = dir.join(format!("{}.svg", plot.name));
    fs::write(&path, &plot.svg).with_context(|| format!("cannot write {}", path.display()))
}

fn verdict(done: &[Reproduction]) -> anyhow::Result<()> {
    let failed = |one: &Reproduction| one.claims.iter().filter(|claim| claim.verdict.is_failure()).count();
    let failing = done.iter().filter(|one| one.fails());
    let claims: Vec<String> = failing
        .map(|one| format!("{} of {} claims of {}", failed(one), one.claims.len(), one.figure.id))
        .collect();
    if claims.is_empty() { Ok(()) } else { Err(ClaimsNotMet { claims }.into()) }
}
