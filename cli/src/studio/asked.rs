//! Checks the question of a page: the workload, the policies, and whether the studio runs as much.

use divvy_policy::spec::{self, Spec};
use divvy_sweep::{offered, toml_value, with_load};
use divvy_workload::{Workload, WorkloadError};
use serde::Deserialize;

use super::refusal::{Place, Refusal};

/// A workload to look at is far below these; more is for `divvy sim`.
const MOST_TEXT: usize = 256 << 10;
const MOST_POLICIES: usize = 8;
const MOST_CPUS: u32 = 256;
const MOST_TASKS: u64 = 10_000;
const MOST_EDITS: usize = 64;

/// The body of a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Which page asks: its newer question takes the place of an older one.
    pub viewer: u64,
    /// The workload, in TOML.
    pub text: String,
    /// Keys and values to set in the text first.
    #[serde(default)]
    pub edits: Vec<(String, String)>,
    /// Specs.
    pub policies: Vec<String>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Offered load; `None` is what the text has.
    #[serde(default)]
    pub load: Option<f64>,
}

/// A question that can be answered.
pub struct Checked {
    /// The text with its edits.
    pub text: String,
    /// As the text has it, but for the load.
    pub workload: Workload,
    /// Whether it has the load that the question asks for, and not the text's.
    pub is_scaled: bool,
    /// The load that the text has, if it has one.
    pub load: Option<f64>,
    /// Each once.
    pub specs: Vec<Spec>,
}

impl Asked {
    /// Reads workload and specs. Neither names a file: a spec with one is refused unless the command line named that file.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn check(&self) -> Result<Checked, Refusal> {
        let text = self.edited()?;
        let parsed = Workload::parse(&text, "workload").map_err(|error| of_workload(&error))?;
        let specs = self.specs()?;
        check_size(&parsed, specs.len())?;
        let load = offered(&parsed).ok();
        let asked = self.load.filter(|_| load.is_some());
        let workload = match asked {
            Some(asked) => with_load(&parsed, asked).map_err(Refusal::new)?,
            None => parsed,
        };
        Ok(Checked { text, workload, is_scaled: asked.is_some(), load, specs })
    }

    fn edited(&self) -> Result<String, Refusal> {
        if self.text.len() > MOST_TEXT || self.edits.len() > MOST_EDITS {
            return Err(too_large(&format!("the text has more than {} KiB", MOST_TEXT >> 10)));
        }
        let mut text = self.text.clone();
        for (key, value) in &self.edits {
            // Values of sliders: anything else could end the value and begin another.
            if value.is_empty() || !value.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c)) {
                return Err(Refusal::new(format!("{} is no value of a slider", value.escape_debug())));
            }
            let position = toml_value::find(&text, key).map_err(Refusal::new)?;
            text = toml_value::replaced(&text, &[(&position, value)]);
        }
        Ok(text)
    }

    fn specs(&self) -> Result<Vec<Spec>, Refusal> {
        if self.policies.is_empty() || self.policies.len() > MOST_POLICIES {
            return Err(Refusal::new(format!("there are 1 to {MOST_POLICIES} policies")));
        }
        let mut specs: Vec<Spec> = Vec::new();
        for (at, text) in self.policies.iter().enumerate() {
            let spec = spec::parse(text, divvy_policy::all())
                .map_err(|error| Refusal { policy: Some(at), ..Refusal::new(error.to_string()) })?;
            if !specs.contains(&spec) {
                specs.push(spec);
            }
        }
        Ok(specs)
    }
}

fn check_size(workload: &Workload, policies: usize) -> Result<(), Refusal> {
    if workload.cpus > MOST_CPUS {
        return Err(too_large(&format!(
            "the workload has {} CPUs; the studio simulates up to {MOST_CPUS}",
            workload.cpus
        )));
    }
    let tasks: u64 = workload.tasks.iter().map(|task| u64::from(task.count)).sum();
    if tasks.saturating_mul(policies as u64) > MOST_TASKS {
        return Err(too_large(&format!(
            "{tasks} tasks under {policies} policies; the studio simulates up to {MOST_TASKS}"
        )));
    }
    Ok(())
}

fn too_large(what: &str) -> Refusal {
    Refusal { help: "Make it smaller, or run `divvy sim`.".to_owned(), ..Refusal::new(what.to_owned()) }
}

fn of_workload(error: &WorkloadError) -> Refusal {
    match error {
        WorkloadError::Text(error) => Refusal {
            message: error.message.clone(),
            help: error.help.clone(),
            place: Some(Box::new(Place {
                line: error.line,
                column: error.column,
                width: error.width,
                excerpt: error.excerpt.clone(),
            })),
            policy: None,
        },
        WorkloadError::File { .. } => Refusal::new(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "cpus = 2\nduration = \"1s\"\n[[task]]\nname = \"a\"\nprogram = [ { run = \"forever\" } ]\n";

    fn asked(text: &str, policies: &[&str]) -> Asked {
        let policies = policies.iter().map(|&policy| policy.to_owned()).collect();
        Asked { viewer: 1, text: text.to_owned(), edits: Vec::new(), policies, seed: 1, load: None }
    }

    #[test]
    fn sliders_change_the_text_and_nothing_else_does() {
        let edit = |key: &str, value: &str| {
            Asked { edits: vec![(key.to_owned(), value.to_owned())], ..asked(TEXT, &["rr"]) }.check()
        };
        let heavy = edit("task.a.weight", "2.5").unwrap_or_else(|_| panic!("a weight"));
        assert_eq!(heavy.text, TEXT.replace("name = \"a\"", "name = \"a\"\nweight = 2.5"));
        assert_eq!(heavy.workload.tasks[0].weight.units(), 2.5);
        for hostile in ["1\ncpus = 9", "\"", "[1]", "", "1 # x"] {
            assert!(edit("task.a.weight", hostile).is_err(), "{hostile}");
        }
        assert!(edit("task.b.weight", "2").is_err_and(|refusal| refusal.message.contains("no task named")));
    }

    #[test]
    fn a_load_scales_open_arrivals_only() {
        let at = |text: &str| {
            Asked { load: Some(0.5), ..asked(text, &["rr"]) }.check().unwrap_or_else(|_| panic!("{text}"))
        };
        assert!(!at(TEXT).is_scaled, "nothing arrives");
        let text =
            TEXT.replace("forever", "10ms").replace("program", "arrivals = { open = \"100ms\" }\nprogram");
        let scaled = at(&text);
        assert!(scaled.is_scaled && scaled.load == Some(0.05), "{:?}", scaled.load);
        // A saved file has the load.
        let saved = Workload::parse(&scaled.workload.to_toml(), "saved").expect("a workload");
        assert_eq!(offered(&saved).ok(), Some(0.5));
        assert_eq!(scaled.text, text, "the text stays");
    }

    #[test]
    fn errors_have_their_place() {
        let refused = |text: &str, policies: &[&str]| asked(text, policies).check().err().expect("refused");
        let wrong = refused(&TEXT.replace("forever", "soon"), &["rr"]);
        let place = wrong.place.expect("a place");
        assert_eq!((place.line, place.column), (5, 21), "{place:?}");
        assert_eq!(refused(TEXT, &["rr", "nothing"]).policy, Some(1));
        assert!(refused(TEXT, &["./mine.h"]).message.contains("is a policy file"));
        assert!(refused(&TEXT.replace("= 2", "= 4096"), &["rr"]).message.contains("4096 CPUs"));
        assert!(
            refused(&TEXT.replace("name", "count = 5001\nname"), &["rr", "sfq"])
                .message
                .contains("5001 tasks")
        );
        assert!(refused(&"#".repeat(MOST_TEXT + 1), &["rr"]).message.contains("KiB"));
    }
}
