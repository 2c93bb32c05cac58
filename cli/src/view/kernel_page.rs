//! Figures that ran in a kernel as one HTML file: the paper, the simulation and the kernel side by side.

use std::fmt::Write as _;

use divvy_lab::kernel::{Also, Compared, KernelClaim};
use divvy_lab::{find, number_text};
use divvy_pages::plot::escape;

use super::claims::summary;
use super::claims_page::{self, END, also, begin, drawings, hint};
use super::kernel_claims::{agreement, beyond, claims, difference_text, end};

/// Writes the page; `command` is what made it, and `missing` names figures that could not be measured.
pub fn write(done: &[Compared], missing: &[&str], seed: u64, command: &str) -> String {
    let mut out = begin("What the papers claim, in the simulation and in a kernel", seed, command);
    contents(&mut out, done, missing);
    done.iter().for_each(|one| figure(&mut out, one));
    out.push_str(END);
    out
}

fn contents(out: &mut String, done: &[Compared], missing: &[&str]) {
    let all: Vec<&KernelClaim> = done.iter().flat_map(|one| &one.claims).collect();
    let _ = writeln!(
        out,
        "<p class=\"summary\">{}{}.</p>\n<p>The verdict is on the kernel: a claim is ok only if the whole measured interval is within the \
         tolerance. Each value is also compared with the simulation of the same workload, and has the limit for that \
         difference. Where the difference is greater, the reason stands below, if it is known. Costs are counted in instructions, and nothing simulates them.</p>",
        if done.len() == 1 { String::new() } else { format!("{} figures. ", done.len()) },
        end(all.iter().copied()),
    );
    if !missing.is_empty() {
        let _ = writeln!(out, "<p class=\"bad\">Not measured: {}.</p>", missing.join(", "));
    }
    if done.len() == 1 {
        return;
    }
    out.push_str(
        "<nav aria-label=\"Figures\"><table>\n<thead><tr><th>figure</th><th>what</th><th>kernel and paper</th><th>as simulated</th></tr></thead>\n<tbody>\n",
    );
    for one in done {
        let (agree, of) = agreement(one.claims.iter());
        let agrees = if of == 0 { "not simulated".to_owned() } else { format!("{agree} of {of}") };
        let is_bad = claims(one).any(|claim| claim.verdict.is_failure());
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td{2}>{3}</td><td{4}>{agrees}</td></tr>",
            one.figure.id,
            escape(title(one)),
            if is_bad { " class=\"bad\"" } else { "" },
            summary(claims(one)),
            if agree < of { " class=\"bad\"" } else { "" },
        );
    }
    out.push_str("</tbody></table></nav>\n");
}

/// That of the simulated figure; others have real programs.
fn title(one: &Compared) -> &'static str {
    find(one.figure.id).map_or("real programs", |figure| figure.title)
}

fn figure(out: &mut String, one: &Compared) {
    let _ = writeln!(
        out,
        "<section id=\"{0}\">\n<h2>{0}: {1}</h2>\n<p class=\"about\">in a kernel, {2}{3}</p>",
        one.figure.id,
        escape(title(one)),
        one.figure.cpus_text(),
        if one.small { ", the small version" } else { "" },
    );
    drawings(out, &one.plots);
    out.push_str(
        "<div class=\"scrollbox\"><div class=\"scroll\"><table class=\"claims\">\n<thead><tr><th>claim</th><th>source</th><th>expected</th><th>kernel</th>\
         <th>tolerance</th><th>simulation</th><th>kernel less simulation</th><th>verdict</th></tr></thead>\n<tbody>\n",
    );
    one.claims.iter().for_each(|claim| row(out, claim));
    out.push_str("</tbody>\n</table></div></div>\n");
    let simulated = |value: Option<f64>| value.map(number_text).unwrap_or_default();
    let head = "<tr><th>value</th><th>kernel</th><th>simulation</th></tr>";
    let cells = |one: &Also| [one.name.clone(), one.measured.to_string(), simulated(one.simulated)];
    also(out, head, one.also.iter().map(cells));
    out.push_str("</section>\n");
}

fn row(out: &mut String, one: &KernelClaim) {
    let limit = one.agrees().map(|_| format!(" (limit {})", one.limit)).unwrap_or_default();
    let further = [one.simulated.map(number_text).unwrap_or_default(), format!("{}{limit}", beyond(one))];
    let columns = claims_page::row(out, &one.claim, &further);
    if let Some(text) = difference_text(one) {
        hint(out, &text, columns);
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel_claims::tests::compared;
    use super::*;
    use divvy_lab::Tolerance;

    #[test]
    fn a_page_has_paper_simulation_and_kernel_and_nothing_from_elsewhere() {
        let differs = compared(Tolerance::Relative(0.01), 1.02);
        let page = write(
            &[differs, compared(Tolerance::Relative(0.01), 1.009)],
            &["pbs-7"],
            1,
            "divvy paper \"<all>\" --kernel",
        );
        assert!(page.contains("&lt;all&gt;") && !page.contains("<all>"));
        for part in [
            "2 figures.",
            ">0 of 9<",
            ">9 of 9<",
            "no reason is known",
            "(limit ±1%)",
            "Not measured: pbs-7.",
            "linux: T2 for each s of T1",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert_eq!(page.matches("<tr>").count(), page.matches("</tr>").count());
        assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("<script"));
    }

    /// Their cells of the simulation are empty, and there is no limit.
    #[test]
    fn costs_have_no_simulation() {
        let mut one = compared(Tolerance::Exact, 1.0);
        one.claims.iter_mut().for_each(|claim| claim.simulated = None);
        let page = write(&[one], &[], 1, "divvy");
        assert!(!page.contains("(limit") && !page.contains("no reason is known"), "{page}");
        assert!(!page.contains("Not measured"), "{page}");
    }
}
