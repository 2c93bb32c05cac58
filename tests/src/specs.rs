//! The policies that there are.
use divvy_policy::Kind;
use divvy_policy::spec;

/// Every selection policy there is.
pub fn selections() -> impl Iterator<Item = &'static str> {
    divvy_policy::all().iter().filter(|p| p.kind == Kind::Selection).map(|p| p.name)
}

/// Every selection policy with every set of modifiers that compose.
pub fn specs() -> Vec<String> {
    let modifiers: Vec<&str> =
        divvy_policy::all().iter().filter(|p| p.kind == Kind::Modifier).map(|p| p.name).collect();
    let sets = 0..1_usize << modifiers.len();
    let with = |name: &str, set: usize| {
        let chosen = modifiers.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
        chosen.fold(name.to_owned(), |spec, (_, modifier)| spec + "+" + modifier)
    };
    let all = selections().flat_map(|name| sets.clone().map(move |set| (name, set))).map(|(n, s)| with(n, s));
    all.filter(|spec| spec::parse(spec, divvy_policy::all()).is_ok()).collect()
}
