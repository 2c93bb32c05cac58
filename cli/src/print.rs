//! Prints the report of `sim`, `replay` or `play` in the format that was asked for.

use divvy_pages::drawing;
use divvy_pages::report::{self, Source};
use divvy_results::report::Report;

use crate::args::output::{Format, Target};
use crate::command_line::this_command;
use crate::output::Output;
use crate::view::page::{PageOptions, page};
use crate::view::{csv, gantt, json, markdown, perfetto, terminal};

/// Writes the report to stdout or a file.
pub fn print(
    mut report: Report,
    options: &PageOptions,
    target: &Target,
    output: Output,
) -> anyhow::Result<Report> {
    report.version = Some(env!("CARGO_PKG_VERSION").to_owned());
    report.command = Some(this_command());
    let file = target.file;
    let text = match target.format {
        format @ (Format::Table | Format::Markdown) => {
            let page = page(&report, &PageOptions { by: target.by, ..*options });
            if format == Format::Markdown {
                markdown::write(&page)
            } else {
                let (columns, styled) = (output.columns(file), output.is_styled(file));
                terminal::draw(&page, columns, styled) + &gantt::draw(&report, columns, styled)
            }
        }
        Format::Json => json::write(&report)?,
        Format::Csv => csv::write(&report, target.by.unwrap_or_default()),
        Format::Svg => drawing::draw(&report, target.figure, &target.look.look())?,
        Format::Html => report::write(&[Source { name: None, report: &report }])?,
        Format::Perfetto => {
            let trace = perfetto::trace(&report)?;
            output.notes(&trace.notes);
            output.write_bytes(&trace.bytes, file)?;
            return Ok(report);
        }
    };
    output.write(&text, file)?;
    Ok(report)
}
