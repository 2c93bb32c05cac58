//! Every figure, table, example and algorithm of the five papers, whether it is reproduced or not.

/// A figure, a table or the like of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// The paper's page of `papers/`.
    pub paper: &'static str,
    /// As the paper calls it, as in `Figure 6(a)`; or the section.
    pub number: &'static str,
    /// On one line.
    pub title: &'static str,
    /// Whether it is reproduced.
    pub status: Status,
}

/// Whether a figure is reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// By the figure of this ID.
    By(&'static str),
    /// The reason why it is not.
    Not(&'static str),
}

use Status::{By, Not};

const DEFINITIONS: Status = Not("definitions of symbols; papers/ has them, and nothing is measured");
const DRAWING: Status = Not("a drawing that explains the text; nothing is measured");
const ALGORITHM: Status =
    Not("an algorithm: the policy is programmed by it, and the rules in papers/ cite it");

const fn of(paper: &'static str, number: &'static str, title: &'static str, status: Status) -> Listed {
    Listed { paper, number, title, status }
}

static LISTED: &[Listed] = &[
    of("gr3", "Table 1", "symbols of GR3", DEFINITIONS),
    of("gr3", "Table 2", "symbols of GR3MP", DEFINITIONS),
    of("gr3", "Figure 1", "intergroup scheduling", By("gr3-1")),
    of("gr3", "Figure 2", "intragroup scheduling", By("gr3-2")),
    of("gr3", "Figure 3", "multiprocessor scheduling", By("gr3-3")),
    of("gr3", "Figure 4", "errors of WRR", By("gr3-4")),
    of("gr3", "Figure 5", "errors of WFQ", By("gr3-5")),
    of("gr3", "Figure 6", "errors of SFQ", By("gr3-6")),
    of("gr3", "Figure 7", "errors of VTRR", By("gr3-7")),
    of("gr3", "Figure 8", "errors of SRR", By("gr3-8")),
    of("gr3", "Figure 9", "errors of GR3", By("gr3-9")),
    of("gr3", "Figure 10", "errors of GR3MP", By("gr3-10")),
    of("gr3", "Figure 11", "scheduling decisions of GR3MP", By("gr3-10")),
    of("gr3", "Figure 12", "average cost of a decision", By("gr3-12")),
    of("gr3", "Figure 13", "the same under hackbench", By("gr3-13")),
    of("gr3", "Figure 14", "CPU time of web servers, Linux, one CPU", By("gr3-14")),
    of("gr3", "Figure 15", "CPU time of web servers, WFQ, one CPU", By("gr3-14")),
    of("gr3", "Figure 16", "CPU time of web servers, VTRR, one CPU", By("gr3-14")),
    of("gr3", "Figure 17", "CPU time of web servers, GR3, one CPU", By("gr3-14")),
    of("gr3", "Figure 18", "CPU time of web servers, Linux, two CPUs", By("gr3-18")),
    of("gr3", "Figure 19", "CPU time of web servers, GR3MP, two CPUs", By("gr3-18")),
    of("gr3", "section 5.2", "two further web experiments", By("gr3-web")),
    of("gr3", "section 5.1", "WF2Q, which is not shown", By("gr3-wf2q")),
    of("gr3", "section 5.1", "a heavy client of 50 %", By("gr3-skew")),
    of("gr3", "section 5.1", "two orders of magnitude, over other policies", By("gr3-rivals")),
    of("gr3", "section 6", "a client N times as heavy as N others", By("gr3-n1")),
    of("sfs", "Example 1", "infeasible weights", By("sfs-1")),
    of(
        "sfs",
        "Example 2",
        "10,000 threads beside short ones",
        Not(
            "no run of its own: the test sfs_r5_example_2 has it; Figure 5 measures the effect, and sfs-5 reproduces that",
        ),
    ),
    of("sfs", "Figure 1", "a thread starves under SFQ", By("sfs-1")),
    of("sfs", "Figure 2", "weight readjustment", ALGORITHM),
    of("sfs", "Figure 3", "accuracy of the heuristic", By("sfs-3")),
    of("sfs", "Figure 4(a)", "SFQ without readjustment", By("sfs-4")),
    of("sfs", "Figure 4(b)", "SFQ with readjustment", By("sfs-4")),
    of("sfs", "Figure 5(a)", "short threads under SFQ", By("sfs-5")),
    of("sfs", "Figure 5(b)", "short threads under SFS", By("sfs-5")),
    of("sfs", "Figure 6(a)", "web servers by weight", By("sfs-6a")),
    of("sfs", "Figure 6(b)", "a video decoder beside compilations", By("sfs-6b")),
    of("sfs", "Figure 6(c)", "an interactive program beside simulations", By("sfs-6c")),
    of("sfs", "Figure 7", "cost of context switches", By("sfs-7")),
    of("sfs", "Table 1", "lmbench: fork, exec, context switches", By("sfs-table-1")),
    of("pbs", "Figure 1", "from FCFS to LAS", DRAWING),
    of("pbs", "Figure 2", "shares of four tasks", By("pbs-2")),
    of("pbs", "Figure 3", "four tasks interrupt the oldest", By("pbs-3")),
    of("pbs", "Figure 4", "Figure 2 in the kernel: pbs-2 --kernel", By("pbs-2")),
    of("pbs", "Figure 5", "process states", DRAWING),
    of("pbs", "Figure 6", "process states with sessions", DRAWING),
    of("pbs", "Figure 7", "eight users", By("pbs-7")),
    of("pbs", "Figure 8(a)", "a web server, all requests", By("pbs-8")),
    of("pbs", "Figure 8(b)", "a web server, small requests", By("pbs-8")),
    of("pbs", "Figure 9", "TPC-W", By("pbs-9")),
    of("pbs", "Algorithm 1", "PBS in constant time", ALGORITHM),
    of("flow", "Figure 1(a)", "two processes, time sharing", By("flow-1")),
    of("flow", "Figure 1(b)", "two processes, delayed switches", By("flow-1")),
    of("flow", "Figure 2(a)", "an image of a log", DRAWING),
    of("flow", "Figure 2(b)", "an image of a PFS", DRAWING),
    of("flow", "Figure 3", "from a log to a PFS", ALGORITHM),
    of("flow", "Figure 4", "scheduling by a PFS", ALGORITHM),
    of("flow", "Figure 5", "the processing flowchart", ALGORITHM),
    of("flow", "Figure 6", "processing time against the maximum delay", By("flow-6")),
    of("flow", "section 4.1", "overhead", By("flow-overhead")),
    of(
        "procfair",
        "Figure 1",
        "(not in our text of the paper)",
        Not("neither it nor its caption is in our text of the paper"),
    ),
    of("procfair", "Figure 2(a)", "slices of well-threaded programs", DRAWING),
    of("procfair", "Figure 2(b)", "slices beside a greedy program", DRAWING),
    of("procfair", "Figure 3", "time against threads", By("procfair-3")),
    of("procfair", "Figure 4", "the times alpha and beta of Eq. 3 to 5", DRAWING),
    of("procfair", "Figure 5", "two programs under CFS", By("procfair-5")),
    of("procfair", "Figure 6", "outputs of two programs under CFS", By("procfair-6")),
    of("procfair", "Figure 7(a)", "slices under PFS, well-threaded", DRAWING),
    of("procfair", "Figure 7(b)", "slices under PFS, a greedy program", DRAWING),
    of("procfair", "Figure 8", "two programs under PFS", By("procfair-8")),
    of("procfair", "Figure 9", "outputs of two programs under PFS", By("procfair-9")),
    of("procfair", "Figure 10", "slices under TFPS", By("tfps-10")),
    of(
        "procfair",
        "Table 1",
        "events of the timing",
        Not("how the authors took times; the simulator's are exact"),
    ),
    of("procfair", "Table 2", "threads and outputs of Figures 6 and 9", By("procfair-6")),
];

/// All, paper by paper.
#[must_use]
pub fn all_of_the_papers() -> &'static [Listed] {
    LISTED
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{all, find};

    /// Figures, tables, algorithms and examples of each paper, as its text numbers them.
    const COUNTS: [(&str, [(&str, u32); 4]); 5] = [
        ("gr3", [("Figure", 19), ("Table", 2), ("Algorithm", 0), ("Example", 0)]),
        ("sfs", [("Figure", 7), ("Table", 1), ("Algorithm", 0), ("Example", 2)]),
        ("pbs", [("Figure", 9), ("Table", 0), ("Algorithm", 1), ("Example", 0)]),
        ("flow", [("Figure", 6), ("Table", 0), ("Algorithm", 0), ("Example", 0)]),
        ("procfair", [("Figure", 10), ("Table", 2), ("Algorithm", 0), ("Example", 0)]),
    ];

    /// `Figure 6(a)` as `Figure` and 6.
    fn number(text: &str) -> Option<(String, u32)> {
        let (kind, rest) = text.split_once(' ')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((kind.to_owned(), digits.parse().ok()?)).filter(|(kind, _)| kind != "section")
    }

    fn listed(paper: &str) -> BTreeSet<(String, u32)> {
        all_of_the_papers()
            .iter()
            .filter(|one| one.paper == paper)
            .filter_map(|one| number(one.number))
            .collect()
    }

    #[test]
    fn each_figure_and_table_of_the_papers_is_listed() {
        for (paper, kinds) in COUNTS {
            let expected: BTreeSet<(String, u32)> =
                kinds.iter().flat_map(|(kind, n)| (1..=*n).map(|i| ((*kind).to_owned(), i))).collect();
            assert_eq!(listed(paper), expected, "{paper}");
        }
        let papers: BTreeSet<&str> = all_of_the_papers().iter().map(|one| one.paper).collect();
        assert_eq!(papers.len(), COUNTS.len());
    }

    #[test]
    fn what_is_reproduced_is_in_the_catalog_and_the_other_way_round() {
        let by: BTreeSet<&str> = all_of_the_papers()
            .iter()
            .filter_map(|one| if let By(id) = one.status { Some(id) } else { None })
            .collect();
        for id in &by {
            assert!(find(id).is_some(), "{id} is not in the catalog");
        }
        for figure in all() {
            assert!(by.contains(figure.id), "{} is of no figure or section of a paper", figure.id);
        }
    }

    /// The texts of the papers are not ours to keep. `DIVVY_PAPERS=DIR`, with gr3.txt and so on, compares with what they mention.
    #[test]
    fn what_the_texts_mention_is_listed() {
        let Some(dir) = std::env::var_os("DIVVY_PAPERS") else { return };
        for (paper, _) in COUNTS {
            let path = std::path::Path::new(&dir).join(format!("{paper}.txt"));
            let text =
                std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let missing: BTreeSet<_> = mentions(&text).difference(&listed(paper)).cloned().collect();
            assert!(missing.is_empty(), "{paper} mentions {missing:?}");
        }
    }

    fn mentions(text: &str) -> BTreeSet<(String, u32)> {
        let mut found = BTreeSet::new();
        for (word, kind) in [
            ("Figure ", "Figure"),
            ("Fig. ", "Figure"),
            ("Fig.", "Figure"),
            ("Table ", "Table"),
            ("Algorithm ", "Algorithm"),
        ] {
            for rest in text.split(word).skip(1) {
                let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
                found.extend(digits.parse().ok().map(|n| (kind.to_owned(), n)));
            }
        }
        found
    }

    #[test]
    fn mentions_are_found() {
        let found = mentions(
            "Figures 4 to 9. Figure 12 shows (see Fig.1 and Fig. 3). Table 2: the table 7. Algorithm 1",
        );
        let expected = [("Algorithm", 1), ("Figure", 1), ("Figure", 3), ("Figure", 12), ("Table", 2)];
        assert_eq!(found, expected.map(|(kind, n)| (kind.to_owned(), n)).into());
    }
}
