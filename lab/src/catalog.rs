//! The list of what can be reproduced.

use crate::error::LabError;
use crate::figures::{costs, flow, gr3, pbs, pbs_users, procfair, sfs, sfs_heuristic, sfs_load, study, web};
use crate::measurements::Measurements;
use crate::setting::Setting;

/// A figure, a table or a worked example of a paper.
pub struct Figure {
    /// As `divvy paper ID` takes it: the paper's page, and the figure's number or name.
    pub id: &'static str,
    /// The claim, on one line.
    pub title: &'static str,
    /// Policies and modifiers that it runs.
    pub policies: &'static [&'static str],
    /// About how long it takes on two cores, in seconds: the small version, the full one.
    pub seconds: (u32, u32),
    pub(crate) table: &'static str,
    pub(crate) run: fn(&Setting) -> Result<Measurements, LabError>,
}

impl Figure {
    /// The page of `papers/` that it belongs to.
    #[must_use]
    pub fn page(&self) -> &'static str {
        page(self.id)
    }
}

/// The part of an ID before the number or name.
pub fn page(id: &'static str) -> &'static str {
    id.split_once('-').map_or(id, |(page, _)| page)
}

macro_rules! figure {
    ($id:literal, $title:literal, $policies:expr, $seconds:expr, $run:expr) => {
        Figure {
            id: $id,
            title: $title,
            policies: &$policies,
            seconds: $seconds,
            table: include_str!(concat!("../expected/", $id, ".toml")),
            run: $run,
        }
    };
}

/// All, paper by paper.
#[must_use]
pub fn all() -> &'static [Figure] {
    static ALL: &[Figure] = &[
        figure!(
            "gr3-1",
            "three clients of weights 5, 2, 1, quantum by quantum",
            ["gr3"],
            (0, 0),
            gr3::figure_1
        ),
        figure!("gr3-2", "six clients in two groups, 24 quanta", ["gr3"], (0, 0), gr3::figure_2),
        figure!("gr3-3", "weights 3, 2, 1 on two CPUs, with a frontlog", ["gr3"], (0, 0), gr3::figure_3),
        figure!("gr3-4", "service errors of weighted round-robin", ["wrr"], (0, 80), study::figure_4),
        figure!("gr3-5", "service errors of weighted fair queueing", ["wfq"], (0, 2), study::figure_5),
        figure!("gr3-6", "service errors of start-time fair queueing", ["sfq"], (0, 2), study::figure_6),
        figure!("gr3-7", "service errors of VTRR", ["vtrr"], (0, 185), study::figure_7),
        figure!("gr3-8", "service errors of smoothed round-robin", ["srr"], (0, 120), study::figure_8),
        figure!("gr3-9", "service errors of GR3", ["gr3"], (0, 220), study::figure_9),
        figure!("gr3-wf2q", "WF2Q is never a quantum from its due", ["wf2q"], (0, 3), study::wf2q),
        figure!(
            "gr3-skew",
            "a heavy client of 50 % instead of 10 %",
            ["gr3", "srr", "wrr", "vtrr", "wfq", "sfq"],
            (1, 1100),
            study::skew
        ),
        figure!(
            "gr3-10",
            "GR3MP on 8 CPUs, with Figure 11: errors, selections",
            ["gr3"],
            (1, 290),
            study::figures_10_11
        ),
        figure!(
            "gr3-12",
            "cost of a decision, natively, for 10 to 400 clients",
            ["gr3", "vtrr", "wfq", "linux24", "o1", "eevdf"],
            (1, 2),
            costs::gr3_figure_12
        ),
        figure!(
            "gr3-13",
            "the same with arrivals and departures (hackbench)",
            ["gr3", "vtrr", "wfq", "linux24", "o1", "eevdf"],
            (1, 15),
            costs::gr3_figure_13
        ),
        figure!(
            "gr3-14",
            "web servers, one CPU: smooth shares (Figures 14 to 17)",
            ["linux24", "wfq", "vtrr", "gr3", "o1", "eevdf"],
            (1, 2),
            web::figure_14
        ),
        figure!(
            "gr3-18",
            "the same on two CPUs (Figures 18 and 19)",
            ["linux24", "gr3", "o1", "eevdf"],
            (1, 2),
            web::figure_18
        ),
        figure!(
            "gr3-web",
            "the same with weights 1 to 5, and with random weights",
            ["linux24", "wfq", "vtrr", "gr3", "o1", "eevdf"],
            (1, 2),
            web::further
        ),
        figure!(
            "gr3-n1",
            "section 6: a client N times as heavy as N others",
            ["drr", "srr", "gr3"],
            (0, 0),
            study::heavy_and_light
        ),
        figure!(
            "gr3-rivals",
            "the study of section 5.1 for those that came after",
            ["gr3", "stride", "strr", "drr", "lottery", "bvt", "eevdf", "cfs", "qfq"],
            (1, 30),
            study::rivals
        ),
        figure!("pbs-2", "CPU shares of four tasks, from FCFS to LAS", ["pbs"], (0, 0), pbs::figure_2),
        figure!("pbs-3", "the oldest task is interrupted, and comes back", ["pbs"], (2, 2), pbs::figure_3),
        figure!(
            "pbs-7",
            "eight users: less additional delay than RR and Linux",
            ["pbs", "rr", "o1", "cfs", "eevdf"],
            (2, 60),
            pbs_users::figure_7
        ),
        figure!(
            "pbs-8",
            "a web server: a large alpha is good for small requests",
            ["pbs", "rr", "o1", "cfs", "eevdf"],
            (2, 60),
            pbs_users::figure_8
        ),
        figure!(
            "pbs-9",
            "three tiers (TPC-W): as RR and Linux for large alpha",
            ["pbs", "rr", "o1", "cfs", "eevdf"],
            (2, 60),
            pbs_users::figure_9
        ),
        figure!(
            "sfs-1",
            "Example 1: SFQ starves a thread on two CPUs",
            ["sfq", "feasible", "sfs"],
            (0, 0),
            sfs::figure_1
        ),
        figure!("sfs-3", "the heuristic's accuracy against k", ["sfs"], (2, 30), sfs_heuristic::figure_3),
        figure!(
            "sfs-4",
            "readjusted weights: 1:1, 1:2:1, 1:1",
            ["sfq", "feasible", "sfs"],
            (0, 0),
            sfs::figure_4
        ),
        figure!(
            "sfs-5",
            "short threads get 1/4 of T1's CPU time under SFS",
            ["sfq", "sfs"],
            (1, 5),
            sfs::figure_5
        ),
        figure!(
            "sfs-6a",
            "two web servers receive CPU time by their weights",
            ["sfs", "linux24"],
            (1, 2),
            sfs_load::figure_6a
        ),
        figure!(
            "sfs-6b",
            "a video decoder is not slowed down by compilations",
            ["sfs", "linux24"],
            (1, 2),
            sfs_load::figure_6b
        ),
        figure!(
            "sfs-6c",
            "an interactive program beside simulations",
            ["sfs", "linux24"],
            (1, 2),
            sfs_load::figure_6c
        ),
        figure!(
            "sfs-7",
            "cost of a decision against runnable threads, natively",
            ["sfs", "sfq", "linux24"],
            (1, 5),
            costs::sfs_figure_7
        ),
        figure!(
            "sfs-table-1",
            "cost of a decision when processes block and wake, natively",
            ["sfs", "sfq", "linux24", "eevdf"],
            (0, 1),
            costs::sfs_table_1
        ),
        figure!(
            "flow-1",
            "a switch is delayed until B blocks: 3.1 s instead of 4.1 s",
            ["rr", "flow"],
            (0, 0),
            flow::figure_1
        ),
        figure!(
            "flow-overhead",
            "logging and prediction: no difference that shows",
            ["rr", "flow"],
            (1, 1),
            costs::flow_overhead
        ),
        figure!(
            "flow-6",
            "processing time against the maximum dispatch delay",
            ["rr", "flow"],
            (0, 0),
            flow::figure_6
        ),
        figure!("procfair-3", "as many threads as CPUs are best", ["sfq", "cfs"], (0, 0), procfair::figure_3),
        figure!(
            "procfair-5",
            "a program of many threads starves one of few",
            ["sfq", "cfs"],
            (0, 0),
            procfair::figure_5
        ),
        figure!(
            "procfair-6",
            "more threads, more outputs in the same time",
            ["sfq", "cfs"],
            (0, 0),
            procfair::figure_6
        ),
        figure!(
            "procfair-8",
            "process-fair: both programs end together",
            ["sfq", "cfs", "procfair"],
            (0, 0),
            procfair::figure_8
        ),
        figure!(
            "procfair-9",
            "process-fair: no output at another's cost",
            ["sfq", "cfs", "procfair"],
            (0, 0),
            procfair::figure_9
        ),
        figure!(
            "tfps-10",
            "TFPS: CPU time 1:4:4 for 1, 4 and 16 threads",
            ["sfq", "cfs", "tfps"],
            (0, 0),
            procfair::tfps_figure_10
        ),
    ];
    ALL
}

/// The figure of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Figure> {
    all().iter().find(|figure| figure.id == id)
}
