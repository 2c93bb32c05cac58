use std::sync::OnceLock;

use proptest::prelude::*;

use super::*;
use crate::placement::Shards;

fn registry() -> &'static [PolicyInfo] {
    static REGISTRY: OnceLock<Vec<PolicyInfo>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let time = param("quantum", ParamKind::Time, "ns", 10_000_000, 1_000, 1_000_000_000);
        let alpha = param("alpha", ParamKind::Ratio, "", 65_536, 0, i64::MAX);
        let beta = param("beta", ParamKind::Ratio, "", 0, -i64::MAX, i64::MAX);
        let levels = param("levels", ParamKind::Integer, "levels", 8, 1, 64);
        let exact = param("exact", ParamKind::Switch, "", 0, 0, 1);
        vec![
            policy("fcfs", Kind::Selection, vec![]),
            policy("feasible", Kind::Modifier, vec![]),
            policy("gr3", Kind::Selection, vec![time, exact]),
            policy("pbs", Kind::Selection, vec![time, alpha, beta]),
            policy("procfair", Kind::Modifier, vec![levels]),
            policy("sfq", Kind::Selection, vec![]),
            policy("tfps", Kind::Modifier, vec![]),
        ]
    })
}

fn policy(name: &'static str, kind: Kind, params: Vec<ParamInfo>) -> PolicyInfo {
    PolicyInfo {
        name,
        kind,
        is_baseline: false,
        is_clairvoyant: false,
        simulator_only: None,
        linear: None,
        title: "",
        paper: "",
        guarantees: vec![],
        cost: "",
        deviations: vec![],
        params,
    }
}

fn param(
    name: &'static str,
    kind: ParamKind,
    unit: &'static str,
    default: i64,
    min: i64,
    max: i64,
) -> ParamInfo {
    ParamInfo { name, kind, unit, default, min, max, help: "" }
}

fn refusal(text: &str) -> String {
    parse(text, registry()).expect_err("must be refused").to_string()
}

#[test]
fn reads_a_selection_with_parameters_and_modifiers() {
    let spec = parse("pbs:alpha=0.4:beta=-3+procfair:levels=4+feasible", registry()).expect("valid");
    assert_eq!(spec.selection.name, "pbs");
    let raws: Vec<(&str, i64)> = spec.selection.settings.iter().map(|s| (s.param, s.raw)).collect();
    assert_eq!(raws, [("alpha", 26_214), ("beta", -196_608)]);
    assert_eq!(spec.modifiers[0].settings[0].raw, 4);
    assert_eq!(spec.modifiers[1].name, "feasible");
}

#[test]
fn canonical_form_orders_parameters_and_normalizes_values() {
    for (text, canonical) in [
        ("gr3:exact=yes:quantum=2000us", "gr3:quantum=2ms:exact=on"),
        ("pbs:beta=-inf:alpha=0.50", "pbs:alpha=0.5:beta=-inf"),
        (" sfq+procfair+feasible ", "sfq+procfair+feasible"),
        ("fifo+feasible", "fcfs+feasible"),
    ] {
        assert_eq!(parse(text, registry()).expect("valid").to_string(), canonical);
    }
}

#[test]
fn lists_split_at_commas_and_keep_their_order() {
    let lists = ["sfq,gr3:quantum=1ms".to_owned(), "fcfs".to_owned()];
    let names: Vec<String> =
        parse_list(&lists, registry()).expect("valid").iter().map(ToString::to_string).collect();
    assert_eq!(names, ["sfq", "gr3:quantum=1ms", "fcfs"]);
    assert!(parse_list(&[], registry()).is_err());
    assert!(parse_list(&["sfq,".to_owned()], registry()).is_err());
}

#[test]
fn refusals_say_what_to_do() {
    for (text, expected) in [
        ("", "policy ``: a selection policy is missing; write one first, as in `sfq` or `sfq+feasible`"),
        (
            "+feasible",
            "policy `+feasible`: a selection policy is missing; write one first, as in `sfq` or `sfq+feasible`",
        ),
        (
            "feasible",
            "policy `feasible`: `feasible` is a modifier; put a selection policy before it, as in `sfq+feasible`",
        ),
        ("sfq+", "policy `sfq+`: a modifier is missing after `+`"),
        (
            "gr33",
            "policy `gr33`: there is no selection policy `gr33`; did you mean `gr3`? (`divvy policies` lists them)",
        ),
        ("zebra", "policy `zebra`: there is no selection policy `zebra` (`divvy policies` lists them)"),
        (
            "sfq+profcair",
            "policy `sfq+profcair`: there is no modifier `profcair`; did you mean `procfair`? (`divvy policies` lists them)",
        ),
        (
            "sfq+procfair+tfps",
            "policy `sfq+procfair+tfps`: `procfair` and `tfps` both divide weights by threads; leave out one of them",
        ),
        (
            "sfq+gr3",
            "policy `sfq+gr3`: `gr3` is a selection policy, and a spec has one; to compare policies write `A,B`",
        ),
        ("sfq+feasible+feasible", "policy `sfq+feasible+feasible`: modifier `feasible` is there twice"),
        (
            "gr3:quantom=2ms",
            "policy `gr3:quantom=2ms`: `gr3` has no parameter `quantom`; did you mean `quantum`?",
        ),
        ("gr3:zebra=2ms", "policy `gr3:zebra=2ms`: `gr3` has no parameter `zebra`; it has quantum, exact"),
        ("sfq:zebra=2ms", "policy `sfq:zebra=2ms`: `sfq` has no parameter `zebra`; it takes none"),
        ("gr3:quantum", "policy `gr3:quantum`: `quantum` needs a value, as in `quantum=10ms`"),
        ("gr3:quantum=", "policy `gr3:quantum=`: `quantum` needs a value, as in `quantum=10ms`"),
        (
            "gr3:quantum=2",
            "policy `gr3:quantum=2`: `quantum=2`: `2` has no unit: the units are ns, us, ms, s, min, h, as in \"75ms\" or \"1.5s\"",
        ),
        ("gr3:quantum=1ns", "policy `gr3:quantum=1ns`: `quantum=1ns` is out of range: 1us to 1s"),
        (
            "gr3:quantum=1ms:quantum=2ms",
            "policy `gr3:quantum=1ms:quantum=2ms`: parameter `quantum` is set twice",
        ),
        ("pbs:alpha=-1", "policy `pbs:alpha=-1`: `alpha=-1` is out of range: 0 to inf"),
        (
            "sfq+procfair:levels=65",
            "policy `sfq+procfair:levels=65`: `levels=65` is out of range: 1 to 64 levels",
        ),
        ("gr3:exact=maybe", "policy `gr3:exact=maybe`: `exact=maybe`: expected `on` or `off`"),
    ] {
        assert_eq!(refusal(text), expected);
    }
}

#[test]
fn hostile_specs_are_escaped_and_bounded() {
    assert!(!refusal("gr3\x1b[2J\n").contains('\x1b'));
    assert!(refusal(&"x".repeat(1_000_000)).contains("there is no selection policy"));
}

/// Any value that the parameter's range allows.
fn setting(param: &'static ParamInfo) -> impl Strategy<Value = Setting> {
    prop_oneof![param.min..=param.max, Just(param.min), Just(param.max), Just(param.default)]
        .prop_map(move |raw| Setting { param: param.name, kind: param.kind, raw })
}

fn part(policy: &'static PolicyInfo) -> impl Strategy<Value = Part> {
    let settings: Vec<_> = policy.params.iter().map(|param| proptest::option::of(setting(param))).collect();
    settings
        .prop_map(|settings| Part { name: policy.name, settings: settings.into_iter().flatten().collect() })
}

fn any_spec() -> impl Strategy<Value = Spec> {
    let of_kind = |kind| registry().iter().filter(move |policy| policy.kind == kind).collect::<Vec<_>>();
    let modifiers: Vec<_> =
        of_kind(Kind::Modifier).into_iter().map(|policy| proptest::option::of(part(policy))).collect();
    let selection = proptest::sample::select(of_kind(Kind::Selection)).prop_flat_map(part);
    let shards = proptest::prop_oneof![
        Just(Shards::EachCpu),
        Just(Shards::EachLlc),
        Just(Shards::EachNode),
        (1_u32..=64).prop_map(Shards::OfSize),
    ];
    let placement = (shards, 0_u32..=1000, any::<bool>())
        .prop_map(|(shards, skew_quanta, steal)| Placement { shards, skew_quanta, steal });
    let placement = proptest::option::of(placement);
    (selection, modifiers, any::<bool>(), placement).prop_map(
        |(selection, modifiers, reversed, placement)| {
            let mut modifiers: Vec<Part> = modifiers.into_iter().flatten().collect();
            if modifiers.iter().any(|part| part.name == "procfair") {
                modifiers.retain(|part| part.name != "tfps");
            }
            if reversed {
                modifiers.reverse();
            }
            Spec { selection, modifiers, placement }
        },
    )
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(spec in any_spec()) {
        prop_assert_eq!(parse(&spec.to_string(), registry()), Ok(spec));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-z0-9:=+@,.\u{0}-\u{2f} -]{0,40}") {
        if let Ok(spec) = parse(&text, registry()) {
            prop_assert_eq!(parse(&spec.to_string(), registry()), Ok(spec));
        }
    }
}
