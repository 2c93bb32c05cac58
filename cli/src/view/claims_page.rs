//! Reproduced figures as one HTML file: tables and drawings, without scripts.

use std::fmt::Write as _;

use divvy_lab::{Claim, Reproduction, Verdict};

use divvy_pages::palette::themed;
use divvy_pages::plot::{Plot, escape};
use divvy_pages::report::style;
use divvy_results::figures::base64;

use super::claims::{basis, source, summary};

const OWN_STYLE: &str = "
td, th { text-align: left; vertical-align: top; white-space: normal; }
td:nth-child(n+2):nth-child(-n+5) { font-variant-numeric: tabular-nums; }
tbody td:first-child { max-width: 26rem; }
.claims td:nth-child(1) { min-width: 16rem; } .claims td:nth-child(2), .claims td:nth-child(5) { min-width: 12rem; }
.bad { font-weight: bold; color: var(--hue1); }
.drawings { display: grid; gap: 1rem 1.5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)); margin: .8rem 0; }
.drawing { margin: 0; min-width: 0; } .drawing:only-child { max-width: 60rem; }
.also { columns: 34rem; column-gap: 2rem; } .also table { width: 100%; } .also td:nth-child(2) { text-align: right; white-space: nowrap; }
 .drawing > svg { display: block; width: 100%; height: auto; }
.drawing figcaption { text-align: right; font-size: .78rem; }
@media (max-width: 46rem) { .drawing { overflow-x: auto; } .drawing > svg { min-width: 35rem; } }
td.hint > div { position: sticky; left: .7rem; max-width: min(75rem, 100vw - 4.5rem); }
a { color: var(--accent); } section > h3 { margin-top: 1.2rem; }
@media print { section { break-inside: avoid; } }
";

/// Writes the page; `command` is what made it.
pub fn write(done: &[Reproduction], seed: u64, command: &str) -> String {
    let mut out = begin("What the papers claim, and what was measured", seed, command);
    contents(&mut out, done);
    done.iter().for_each(|one| figure(&mut out, one));
    out.push_str(END);
    out
}

/// The end of a page.
pub const END: &str = "</body>\n</html>\n";

/// A page up to its heading, with the command that made it.
pub fn begin(heading: &str, seed: u64, command: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>divvy paper</title>\n\
         <style>{}{OWN_STYLE}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n\
         <p class=\"facts\">divvy {}, seed {seed}</p>\n<p class=\"command\"><code>{}</code></p>\n",
        style(),
        env!("CARGO_PKG_VERSION"),
        escape(command)
    )
}

fn contents(out: &mut String, done: &[Reproduction]) {
    let claims: Vec<Claim> = done.iter().flat_map(|one| one.claims.iter().cloned()).collect();
    let _ = writeln!(
        out,
        "<p class=\"summary\">{}{}.</p>\n<p>What is expected is printed in the paper, inferred, worded, read off a plot, or derived by us: the \
         column \"source\" says which. A claim is ok only if the whole measured interval is within the tolerance.</p>",
        if done.len() == 1 { String::new() } else { format!("{} figures. ", done.len()) },
        summary(claims.iter()),
    );
    if done.len() == 1 {
        return;
    }
    out.push_str("<nav aria-label=\"Figures\"><table>\n");
    for one in done {
        let class = if one.fails() { " class=\"bad\"" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td{class}>{2}</td></tr>",
            one.figure.id,
            escape(one.figure.title),
            summary(one.claims.iter())
        );
    }
    out.push_str("</table></nav>\n");
}

fn figure(out: &mut String, one: &Reproduction) {
    let small = if one.small { ", the small version" } else { "" };
    let _ = write!(
        out,
        "<section id=\"{0}\">\n<h2>{0}: {1}</h2>\n<p class=\"about\">papers/{2}.md{small}</p>\n",
        one.figure.id,
        escape(one.figure.title),
        one.figure.page()
    );
    drawings(out, &one.plots);
    out.push_str(
        "<div class=\"scrollbox\"><div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th>claim</th><th>source</th><th>expected</th><th>measured</th><th>tolerance</th><th>verdict</th></tr></thead>\n<tbody>\n",
    );
    for claim in &one.claims {
        row(out, claim, &[]);
    }
    out.push_str("</tbody>\n</table></div></div>\n");
    also(out, "", one.also.iter().map(|(name, value)| [name.clone(), value.to_string()]));
    out.push_str("</section>\n");
}

/// Further values, in a part that opens. Without a head there is one value in each row.
pub fn also<const N: usize>(out: &mut String, head: &str, rows: impl ExactSizeIterator<Item = [String; N]>) {
    if rows.len() == 0 {
        return;
    }
    let _ = writeln!(
        out,
        "<details><summary>Measured as well: {} values</summary>\n<div class=\"also\"><table>{head}",
        rows.len()
    );
    rows.for_each(|row| table_row(out, &row, ""));
    out.push_str("</table></div></details>\n");
}

/// A row of a table. The last cells are HTML.
pub fn table_row(out: &mut String, texts: &[String], last: &str) {
    let cells: String = texts.iter().map(|text| format!("<td>{}</td>", escape(text))).collect();
    let _ = writeln!(out, "<tr>{cells}{last}</tr>");
}

/// The drawings of a figure, beside each other if there is room.
pub fn drawings(out: &mut String, plots: &[Plot]) {
    out.push_str("<div class=\"drawings\">\n");
    plots.iter().for_each(|plot| drawing(out, plot));
    out.push_str("</div>\n");
}

/// Within the page, so that it has the page's colours and width; and as a file to save.
fn drawing(out: &mut String, plot: &Plot) {
    let (name, file) = (escape(&plot.name), base64(plot.svg.as_bytes()));
    let svg = themed(&plot.svg.replace(" xmlns=\"http://www.w3.org/2000/svg\"", ""));
    let svg = svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{name}\" "), 1);
    let _ = writeln!(
        out,
        "<figure class=\"drawing\">{svg}<figcaption><a download=\"{name}.svg\" href=\"data:image/svg+xml;base64,{file}\">Save as SVG</a></figcaption></figure>"
    );
}

/// A claim's row, with further cells before the verdict. The reason of the verdict stands below. Returns the number of columns.
pub fn row(out: &mut String, claim: &Claim, further: &[String]) -> usize {
    let cells = [
        claim.name.clone(),
        source(claim),
        claim.stated.to_string(),
        claim.measured.to_string(),
        basis(claim).unwrap_or_else(|| claim.tolerance.to_string()),
    ];
    let class = if claim.verdict.is_failure() { " class=\"bad\"" } else { "" };
    let verdict = format!("<td{class}>{}</td>", escape(&claim.verdict.to_string()));
    let cells = [&cells, further].concat();
    table_row(out, &cells, &verdict);
    let columns = cells.len() + 1;
    if let Some(analysis) = claim.analysis.as_ref().filter(|_| claim.verdict != Verdict::Missing) {
        hint(out, analysis, columns);
    }
    columns
}

/// A reason below a row of so many columns.
pub fn hint(out: &mut String, text: &str, columns: usize) {
    let _ =
        writeln!(out, "<tr><td colspan=\"{columns}\" class=\"hint\"><div>{}</div></td></tr>", escape(text));
}

#[cfg(test)]
mod tests {
    use divvy_lab::{Setting, find, reproduce};

    use super::*;

    #[test]
    fn a_page_has_its_claims_and_drawings_and_nothing_from_elsewhere() {
        let setting = Setting { small: true, seed: 1, progress: &(), saved: None };
        let done = [reproduce(find("sfs-5").expect("a figure"), &setting).expect("it runs")];
        let page = write(&done, 1, "divvy paper \"<sfs-5>\"");
        assert!(page.contains("&lt;sfs-5&gt;") && !page.contains("<sfs-5>"));
        assert!(
            page.contains("href=\"data:image/svg+xml")
                && page.contains("stroke=\"var(--hue0)\"")
                && page.contains("NOT MET")
        );
        assert!(page.contains("<td>printed: section 4.3</td>"));
        assert_eq!(page.matches("<tr>").count(), page.matches("</tr>").count());
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    }
}
