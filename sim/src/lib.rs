//! Runs divvy's scheduling policies against workloads, and measures what each task got.
//!
//! | module | what it does |
//! |---|---|
//! | [`run`] | simulates a workload under several policies, with repetitions, on all cores: the entry point |
//! | [`engine`] | the machine model: CPUs, time, tasks that run their programs under one policy |
//! | [`entitlement`] | the fluid model beside it: the service to which each task is entitled |
//! | [`placement`] | several machines that share the CPUs: `SPEC@PLACEMENT` |
//! | [`sharing`] | the meaning of weights under the modifiers of a spec |
//! | [`replay`] | a recorded workload under other policies |
//! | [`theory`] | what queueing theory says of a workload's mean response |
//! | [`oracle`] | definitions from papers and textbooks in exact arithmetic, to test all of the above |
//!
//! Time is integer nanoseconds, and a run depends on nothing but the workload, the spec and the seed: two runs are the
//! same to the bit, on any machine and any number of cores.
//!
//! ```
//! use divvy_policy::spec;
//! use divvy_sim::run::{Options, simulate};
//! use divvy_workload::Workload;
//!
//! let text = "cpus = 1\nduration = \"1s\"\n[[task]]\nname = \"hog\"\ncount = 2\nprogram = [{ run = \"forever\" }]\n";
//! let workload = Workload::parse(text, "hogs.toml")?;
//! let specs = [spec::parse("rr", divvy_policy::all())?];
//! let report = simulate(&workload, &specs, &Options::default(), &())?;
//! assert_eq!(report.runs[0].tasks.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod engine;
pub mod entitlement;
pub mod oracle;
pub mod placement;
pub mod replay;
pub mod run;
pub mod sharing;
pub mod theory;
