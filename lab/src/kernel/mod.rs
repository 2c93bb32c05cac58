//! The papers' experiments in a running kernel: the policies are loaded through sched_ext, and the workloads are played with
//! real threads.
//!
//! 1. [`figures`] lists what can be run, [`find`] finds one by its ID.
//! 2. [`Machine`] is where it runs: this machine, or the virtual one of `kernel/vm`.
//! 3. [`Kept`] has the values of figures that an interrupted run measured.
//! 4. [`compare()`] simulates the cases of a figure, plays the same cases there, and judges what the kernel did by a table of
//!    `expected/kernel/`. Each claim has the simulation's value beside it, and a limit for the difference. A figure of costs is counted in
//!    instructions instead (`count.rs`), in the virtual machine only, and has nothing beside it. Figures of web servers have real ones, there as well (`web.rs`,
//!    `pbs_clients.rs`), and so have those of real programs beside each other (`mix.rs`) or executed again and again (`flow_programs.rs`).
//!
//! # How to add a figure
//! Write the driver here: the cases, and the values of a run of all of them; or what is counted, and the values of the counts. Write
//! the table in `expected/kernel/ID.toml`, and which values are drawn (`drawing.rs`). Add a line to the list below.

mod case;
mod compare;
mod costs;
mod count;
mod flow;
mod flow_programs;
mod kept;
mod machine;
mod mix;
mod pbs;
mod pbs_clients;
mod pbs_shop;
mod pbs_users;
mod pbs_web;
mod procfair;
mod procfair_programs;
mod sfs;
mod sfs_load;
mod sfs_programs;
mod web;

use divvy_results::report::Run;

use crate::catalog::page;
use crate::error::LabError;
use case::{Case, Values};
use count::{Counting, Counts};
use machine::Clock;
use mix::Mix;
use pbs_clients::Site;

pub use case::Also;
pub use compare::{Compared, KernelClaim, compare};
pub use kept::Kept;
pub use machine::{Machine, Play};

/// A figure that can be run in a kernel.
pub struct KernelFigure {
    /// That of the simulated figure; with `-real` behind it if real programs do what tasks do there.
    pub id: &'static str,
    /// Number of CPUs of the machine: the whole of it, as policies divide among all CPUs.
    pub cpus: u32,
    /// About how long it takes in the virtual machine, in seconds: the small version, the full one.
    pub seconds: (u32, u32),
    /// Its claim and policies, if the simulated figure of this ID does not say them: there is none.
    pub real: Option<RealPrograms>,
    table: &'static str,
    kind: Kind,
}

/// Real programs run, which nothing simulates, so `divvy_lab::find` does not know the figure.
pub struct RealPrograms {
    /// The claim, on one line.
    pub title: &'static str,
    /// Policies and modifiers that it runs.
    pub policies: &'static [&'static str],
}

impl KernelFigure {
    /// The page of `papers/` that it belongs to.
    #[must_use]
    pub fn page(&self) -> &'static str {
        page(self.id)
    }

    /// `1 CPU`, `2 CPUs`
    #[must_use]
    pub fn cpus_text(&self) -> String {
        if self.cpus == 1 { "1 CPU".to_owned() } else { format!("{} CPUs", self.cpus) }
    }

    /// Whether it counts instructions, as only the virtual machine does.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        matches!(self.kind, Kind::Counted(_))
    }

    /// Whether its numbers stay the same beside other work of this machine: the virtual one has a single thread, and counts its instructions as time.
    #[must_use]
    pub fn repeats_beside_other_work(&self) -> bool {
        match &self.kind {
            Kind::Counted(_) | Kind::Asked(_) | Kind::Executed => true,
            Kind::Served(_) => self.cpus == 1,
            Kind::Mixed(mix) => mix.clock == Clock::Instructions,
            Kind::Played(played) => played.clock == Clock::Instructions,
        }
    }

    /// Whether scripts of the source tree do it, which start the virtual machine.
    #[must_use]
    pub fn is_virtual_only(&self) -> bool {
        !matches!(self.kind, Kind::Played(_))
    }
}

/// How its values come about.
enum Kind {
    Played(Played),
    Counted(Counted),
    /// Web servers, simulated and real: the small version or the full one, in so many windows.
    Served(fn(small: bool, windows: u32) -> Vec<crate::web::Site>),
    /// Servers and clients who think, simulated and real.
    Asked(&'static Site),
    /// Real programs beside each other, and tasks that stand for them in the simulator.
    Mixed(Mix),
    /// Programs that are executed again and again beside a loop, in the kernel and then simulated.
    Executed,
}

/// Workloads are simulated, and played by real threads.
struct Played {
    cases: fn(small: bool) -> Result<Vec<Case>, LabError>,
    /// Takes a run of each case.
    values: fn(&[Case], &[Run]) -> Values,
    /// That of the virtual machine.
    clock: Clock,
    /// Nothing in it is random: on a clock that counts instructions a run says all.
    is_constant: bool,
}

/// Instructions of decisions are counted.
struct Counted {
    runs: fn(small: bool) -> Vec<Counting>,
    values: fn(&Counts) -> Values,
}

macro_rules! figure {
    ($id:literal, $cpus:literal, $seconds:expr, $kind:expr) => {
        KernelFigure {
            id: $id,
            cpus: $cpus,
            seconds: $seconds,
            real: None,
            table: include_str!(concat!("../../expected/kernel/", $id, ".toml")),
            kind: $kind,
        }
    };
    ($id:literal, $title:literal, $policies:expr, $cpus:literal, $seconds:expr, $kind:expr) => {
        KernelFigure {
            real: Some(RealPrograms { title: $title, policies: &$policies }),
            ..figure!($id, $cpus, $seconds, $kind)
        }
    };
}

const fn played(
    cases: fn(bool) -> Result<Vec<Case>, LabError>,
    values: fn(&[Case], &[Run]) -> Values,
) -> Kind {
    Kind::Played(Played { cases, values, clock: Clock::Real, is_constant: false })
}

/// On one CPU, on the clock that counts instructions.
const fn timed(
    cases: fn(bool) -> Result<Vec<Case>, LabError>,
    values: fn(&[Case], &[Run]) -> Values,
) -> Kind {
    Kind::Played(Played { cases, values, clock: Clock::Instructions, is_constant: false })
}

/// The same of a workload in which nothing is random.
const fn timed_once(
    cases: fn(bool) -> Result<Vec<Case>, LabError>,
    values: fn(&[Case], &[Run]) -> Values,
) -> Kind {
    Kind::Played(Played { cases, values, clock: Clock::Instructions, is_constant: true })
}

const fn counted(runs: fn(bool) -> Vec<Counting>, values: fn(&Counts) -> Values) -> Kind {
    Kind::Counted(Counted { runs, values })
}

/// All, paper by paper.
#[must_use]
pub fn figures() -> &'static [KernelFigure] {
    static ALL: &[KernelFigure] = &[
        figure!("gr3-12", 1, (15, 120), counted(costs::runs_of_gr3_12, costs::values_of_gr3_12)),
        figure!("gr3-13", 1, (15, 300), counted(costs::runs_of_gr3_13, costs::values_of_gr3_13)),
        figure!("gr3-14", 1, (25, 250), Kind::Served(web::sites_of_gr3_14)),
        figure!("gr3-18", 2, (10, 80), Kind::Served(web::sites_of_gr3_18)),
        figure!("gr3-web", 1, (15, 300), Kind::Served(web::sites_of_gr3_web)),
        figure!("pbs-2", 1, (12, 100), timed_once(pbs::cases_4, pbs::values_4)),
        figure!("pbs-7", 1, (10, 250), timed(pbs_users::cases_7, pbs_users::values_7)),
        figure!("pbs-8", 1, (18, 500), Kind::Asked(&pbs_web::CGI)),
        figure!("pbs-9", 1, (28, 450), Kind::Asked(&pbs_shop::SHOP)),
        figure!("sfs-1", 2, (16, 70), played(sfs::cases_1, sfs::values_1)),
        figure!("sfs-4", 2, (16, 220), played(sfs::cases_4, sfs::values_4)),
        figure!("sfs-5", 2, (11, 80), played(sfs::cases_5, sfs::values_5)),
        figure!("sfs-6a", 2, (15, 100), played(sfs_load::cases_6a, sfs_load::values_6a)),
        figure!(
            "sfs-6a-real",
            "Apache and PostgreSQL receive CPU time by their weights",
            ["sfs"],
            2,
            (25, 280),
            Kind::Mixed(sfs_programs::MIX_6A)
        ),
        figure!("sfs-6b", 2, (20, 320), played(sfs_load::cases_6b, sfs_load::values_6b)),
        figure!(
            "sfs-6b-real",
            "ffmpeg is not slowed down by a parallel make",
            ["sfs", "linux24"],
            2,
            (22, 350),
            Kind::Mixed(sfs_programs::MIX_6B)
        ),
        figure!("sfs-6c", 2, (25, 520), played(sfs_load::cases_6c, sfs_load::values_6c)),
        figure!(
            "sfs-6c-real",
            "a shell that responds beside simulations",
            ["sfs", "linux24"],
            2,
            (18, 520),
            Kind::Mixed(sfs_programs::MIX_6C)
        ),
        figure!("sfs-7", 2, (15, 60), counted(costs::runs_of_sfs_7, costs::values_of_sfs_7)),
        figure!(
            "sfs-table-1",
            1,
            (15, 90),
            counted(costs::runs_of_sfs_table_1, costs::values_of_sfs_table_1)
        ),
        figure!("flow-1", 1, (15, 15), timed_once(flow::cases_1, flow::values_1)),
        figure!("flow-overhead", 1, (15, 15), timed_once(flow::cases_of_overhead, flow::values_of_overhead)),
        figure!("flow-6", 1, (10, 80), timed_once(flow::cases_6, flow::values_6)),
        figure!(
            "flow-real",
            "cc1, gzip and grep end sooner if their rest is known",
            ["rr", "flow"],
            1,
            (24, 200),
            Kind::Executed
        ),
        figure!("procfair-3", 4, (15, 450), played(procfair::cases_3, procfair::values_3)),
        figure!("procfair-5", 4, (12, 370), played(procfair::cases_5, procfair::values_of_b)),
        figure!("procfair-6", 4, (8, 215), played(procfair::cases_6, procfair::values_of_outputs)),
        figure!("procfair-8", 4, (12, 280), played(procfair::cases_8, procfair::values_of_b)),
        figure!("procfair-9", 4, (8, 215), played(procfair::cases_9, procfair::values_of_outputs)),
        figure!(
            "procfair-real",
            "ffmpeg, make and a shell beside a program of 16 threads",
            ["sfq", "cfs", "procfair"],
            4,
            (32, 350),
            Kind::Mixed(procfair_programs::MIX)
        ),
        figure!("tfps-10", 4, (30, 60), played(procfair::tfps_cases_10, procfair::tfps_values_10)),
    ];
    ALL
}

/// The figure of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static KernelFigure> {
    figures().iter().find(|figure| figure.id == id)
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::catalog::find;

    #[test]
    fn each_figure_is_simulated_or_has_real_programs() {
        for figure in figures() {
            assert_eq!(find(figure.id).is_some(), figure.real.is_none(), "{}", figure.id);
        }
    }
}
