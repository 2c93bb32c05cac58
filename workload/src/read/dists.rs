//! Distributions in TOML: `"75ms"`, `{ exp = "3s" }`, `{ pareto = { shape = 1.2, scale = "1ms" } }`...

use super::fields::Field;
use crate::dist::{Dist, MAX_PHASES};
use crate::error::WorkloadError;

const KINDS: [&str; 8] =
    ["exp", "uniform", "pareto", "bounded_pareto", "hyper", "erlang", "lognormal", "choice"];

/// Reads a distribution of times.
pub(super) fn dist(field: Field) -> Result<Dist, WorkloadError> {
    if field.value.get_ref().as_str().is_some() {
        return field.duration().map(Dist::Constant);
    }
    if field.value.get_ref().as_table().is_none() {
        return Err(field.mistyped("a duration such as \"75ms\" or a distribution such as { exp = \"3s\" }"));
    }
    let kind = field.variant("a distribution", &KINDS)?;
    let dist = match kind.key {
        "exp" => Dist::Exp(kind.duration()?),
        "uniform" => uniform(kind)?,
        "pareto" => pareto(kind)?,
        "bounded_pareto" => bounded_pareto(kind)?,
        "hyper" => hyper(kind)?,
        "erlang" => erlang(kind)?,
        "lognormal" => lognormal(kind)?,
        _ => choice(kind)?,
    };
    dist.check().map_err(|problem| refused(kind, problem))?;
    Ok(dist)
}

fn refused(field: Field, problem: String) -> WorkloadError {
    field.error(format!("`{}`: {problem}", field.key), "")
}

fn uniform(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("a uniform distribution", &["lo", "hi"])?;
    let lo = fields.require("lo", "\"1ms\"")?.duration()?;
    Ok(Dist::Uniform { lo, hi: fields.require("hi", "\"5ms\"")?.duration()? })
}

fn pareto(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("a Pareto distribution", &["shape", "scale"])?;
    let shape = fields.require("shape", "1.5")?.number()?;
    Ok(Dist::Pareto { shape, scale: fields.require("scale", "\"1ms\"")?.duration()? })
}

fn bounded_pareto(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("a bounded Pareto distribution", &["shape", "lo", "hi"])?;
    let shape = fields.require("shape", "1.5")?.number()?;
    let lo = fields.require("lo", "\"1ms\"")?.duration()?;
    Ok(Dist::BoundedPareto { shape, lo, hi: fields.require("hi", "\"10s\"")?.duration()? })
}

/// Either `p` and `means`, or `mean` and `scv`.
fn hyper(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("a hyperexponential distribution", &["p", "means", "mean", "scv"])?;
    let dist = if let Some(mean) = fields.get("mean") {
        if let Some(extra) = fields.get("p").or_else(|| fields.get("means")) {
            let help = "give either mean and scv, or p and means";
            return Err(extra.error(format!("`mean` and `{}` together", extra.key), help));
        }
        Dist::hyper2(mean.duration()?, fields.require("scv", "5")?.number()?)
    } else {
        let p: Vec<f64> =
            fields.require("p", "[0.9, 0.1]")?.list()?.map(|x| x.number()).collect::<Result<_, _>>()?;
        let means = fields.require("means", "[\"1ms\", \"10ms\"]")?.list()?;
        Dist::hyper(&p, means.map(|x| x.duration()).collect::<Result<_, _>>()?)
    };
    dist.map_err(|problem| refused(field, problem))
}

fn erlang(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("an Erlang distribution", &["k", "mean"])?;
    let k = fields.require("k", "4")?.unsigned(1, MAX_PHASES.into())?;
    Ok(Dist::Erlang { k: k as u32, mean: fields.require("mean", "\"10ms\"")?.duration()? })
}

fn lognormal(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("a lognormal distribution", &["median", "sigma"])?;
    let median = fields.require("median", "\"10ms\"")?.duration()?;
    Ok(Dist::LogNormal { median, sigma: fields.require("sigma", "0.5")?.number()? })
}

/// `weights` may be left out: all alike.
fn choice(field: Field) -> Result<Dist, WorkloadError> {
    let fields = field.fields("a choice", &["values", "weights"])?;
    let list = fields.require("values", "[\"1ms\", \"10ms\"]")?.list()?;
    let values: Vec<u64> = list.map(|x| x.duration()).collect::<Result<_, _>>()?;
    let weights = match fields.get("weights") {
        Some(weights) => weights.list()?.map(|x| x.number()).collect::<Result<Vec<f64>, _>>()?,
        None => vec![1.0; values.len()],
    };
    Dist::choice(values, &weights).map_err(|problem| refused(field, problem))
}
