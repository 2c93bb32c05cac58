//! Commands to a loaded scheduler: what can be asked, and what is answered.

use std::rc::Rc;

use divvy_policy::spec::{self, Setting, Spec};
use divvy_policy::{Weight, quantity};

use super::host::Command;
use super::peer::Rights;
use super::protocol::{Reply, Request};

/// Where commands take effect.
pub(super) trait Backend {
    /// Runs one of the host's programs. Returns the value that it left, or None if there is no such task.
    fn run(&self, program: &str, command: Command) -> Result<Option<u64>, String>;
    /// The lines of the reply to a look.
    fn look(&mut self, policy: &str) -> Result<Rc<[u8]>, String>;
}

/// The answer for the client.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Reply(Reply),
    /// Lines of JSON.
    Look(Rc<[u8]>),
    /// Comes later, when the policy of these words schedules.
    Replace(Vec<String>),
}

/// The weights that the machine accepts.
const WEIGHTS: std::ops::RangeInclusive<u64> = Weight::MIN.fixed()..=Weight::MAX_GIVEN.fixed();

/// Answers a line.
pub(super) fn answer(line: &str, rights: Rights, spec: &mut Spec, backend: &mut impl Backend) -> Answer {
    match serde_json::from_str(line) {
        Ok(request) => obey(request, rights, spec, backend).unwrap_or_else(Answer::Reply),
        Err(error) => Answer::Reply(bad(format!("this is no request: {error}"))),
    }
}

fn obey(
    request: Request,
    rights: Rights,
    spec: &mut Spec,
    backend: &mut impl Backend,
) -> Result<Answer, Reply> {
    let reply = match request {
        Request::Look => {
            let look = backend.look(&spec.to_string());
            return look.map(Answer::Look).map_err(|problem| Reply::Failed { problem });
        }
        Request::Replace { words, version } => {
            rights.may_replace().map_err(forbidden)?;
            if version != env!("CARGO_PKG_VERSION") {
                return Err(bad(format!("this loader is divvy {}", env!("CARGO_PKG_VERSION"))));
            }
            return Ok(Answer::Replace(words));
        }
        Request::SetWeight { pid, weight } => {
            if !WEIGHTS.contains(&weight) {
                return Err(bad("a weight is at least 1/1024 and at most 100000000".to_owned()));
            }
            rights.may_weigh(pid).map_err(forbidden)?;
            run(backend, "command_set_weight", Command { pid, value: weight, ..Command::default() })?;
            Reply::Weight { weight }
        }
        Request::GetWeight { pid } => {
            let weight = run(backend, "command_get_weight", Command { pid, ..Command::default() })?;
            Reply::Weight { weight }
        }
        Request::SetParam { name, value } => {
            rights.may_tune().map_err(forbidden)?;
            let (index, setting) = setting(spec, &name, &value)?;
            let value = setting.raw.cast_unsigned();
            run(backend, "command_set_param", Command { index, value, ..Command::default() })?;
            remember(spec, setting);
            param(spec, index)
        }
        Request::GetParam { name } => {
            let (index, _) = setting(spec, &name, &example(spec, &name))?;
            param(spec, index)
        }
    };
    Ok(Answer::Reply(reply))
}

fn forbidden(problem: String) -> Reply {
    Reply::Forbidden { problem }
}

fn bad(problem: String) -> Reply {
    Reply::Bad { problem }
}

fn run(backend: &impl Backend, program: &str, command: Command) -> Result<u64, Reply> {
    match backend.run(program, command) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(Reply::NoTask),
        Err(problem) => Err(Reply::Failed { problem }),
    }
}

/// Reads a parameter as a spec of the policy alone would be read: the same names, values and errors.
fn setting(spec: &Spec, name: &str, value: &str) -> Result<(u32, Setting), Reply> {
    if let Some(modifier) = modifier_with(spec, name) {
        return Err(bad(format!(
            "`{name}` is a parameter of the modifier `{modifier}`, whose parameters stay as they were loaded"
        )));
    }
    if [name, value].iter().any(|text| text.contains([':', '+', '='])) {
        return Err(bad(format!("`{}={}` is not one parameter", name.escape_debug(), value.escape_debug())));
    }
    let policy = spec.selection.name;
    let read = spec::parse(&format!("{policy}:{name}={value}"), divvy_policy::all());
    let read = read.map_err(|error| bad(error.problem.to_string()))?;
    let setting = read.selection.settings.into_iter().next();
    let setting = setting.ok_or_else(|| bad("no parameter is named".to_owned()))?;
    let index =
        divvy_policy::find(policy).and_then(|info| info.params.iter().position(|p| p.name == setting.param));
    index.map(|index| (index as u32, setting)).ok_or_else(|| bad("no such parameter".to_owned()))
}

/// The modifier of the spec that has such a parameter, if the policy has none.
fn modifier_with(spec: &Spec, name: &str) -> Option<&'static str> {
    let has = |policy: &str| {
        divvy_policy::find(policy).is_some_and(|info| info.params.iter().any(|p| p.name == name))
    };
    let of_modifier = spec.modifiers.iter().map(|part| part.name).find(|modifier| has(modifier));
    of_modifier.filter(|_| !has(spec.selection.name))
}

/// A value that the parameter accepts, so that only its name can be wrong.
fn example(spec: &Spec, name: &str) -> String {
    let info = divvy_policy::find(spec.selection.name);
    let param = info.and_then(|info| info.params.iter().find(|param| param.name == name));
    param.map_or_else(|| "0".to_owned(), |param| quantity::format(param.kind, param.default))
}

/// Keeps the setting in the spec, which is loaded again when CPUs come or go.
fn remember(spec: &mut Spec, setting: Setting) {
    let settings = &mut spec.selection.settings;
    match settings.iter_mut().find(|earlier| earlier.param == setting.param) {
        Some(earlier) => *earlier = setting,
        None => settings.push(setting),
    }
}

fn param(spec: &Spec, index: u32) -> Reply {
    let policy = spec.selection.name;
    let info = divvy_policy::find(policy).and_then(|info| info.params.get(index as usize));
    let Some(info) = info else { return bad("no such parameter".to_owned()) };
    let set = spec.selection.settings.iter().find(|setting| setting.param == info.name);
    let raw = set.map_or(info.default, |setting| setting.raw);
    Reply::Param {
        policy: policy.to_owned(),
        name: info.name.to_owned(),
        value: quantity::format(info.kind, raw),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::load::look::Looks;
    use crate::load::statistics::Sample;

    /// A backend with one thread, 7. It keeps the commands that it was told.
    #[derive(Default)]
    pub struct Fake {
        pub told: RefCell<Vec<(String, Command)>>,
        pub is_broken: bool,
        pub sample: Sample,
    }

    impl Backend for Fake {
        fn run(&self, program: &str, command: Command) -> Result<Option<u64>, String> {
            if self.is_broken {
                return Err("out of order".to_owned());
            }
            self.told.borrow_mut().push((program.to_owned(), command));
            let is_there = program == "command_set_param" || command.pid == 7;
            Ok(is_there.then_some(1 << 20))
        }

        fn look(&mut self, policy: &str) -> Result<Rc<[u8]>, String> {
            Looks::default().answer(policy, 1, || Ok(self.sample.clone()))
        }
    }

    fn ask(request: &str, spec: &str) -> (Reply, Vec<(String, Command)>, String) {
        ask_as(Rights::All, request, spec)
    }

    fn ask_as(rights: Rights, request: &str, spec: &str) -> (Reply, Vec<(String, Command)>, String) {
        let mut spec = spec::parse(spec, divvy_policy::all()).expect("a spec");
        let mut backend = Fake::default();
        let Answer::Reply(reply) = answer(request, rights, &mut spec, &mut backend) else {
            panic!("{request}")
        };
        (reply, backend.told.into_inner(), spec.to_string())
    }

    fn problem(reply: Reply) -> String {
        match reply {
            Reply::Bad { problem } => problem,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn weights_are_set_and_asked_for() {
        let (reply, told, _) = ask(r#"{"command":"set_weight","pid":7,"weight":512}"#, "rr");
        assert_eq!(reply, Reply::Weight { weight: 512 });
        let expected = Command { pid: 7, value: 512, ..Command::default() };
        assert_eq!(told, [("command_set_weight".to_owned(), expected)]);
        let (reply, ..) = ask(r#"{"command":"get_weight","pid":7}"#, "rr");
        assert_eq!(reply, Reply::Weight { weight: 1 << 20 });
        assert_eq!(ask(r#"{"command":"get_weight","pid":8}"#, "rr").0, Reply::NoTask);
    }

    #[test]
    fn a_member_changes_what_is_theirs_and_sees_the_rest() {
        let (this, me) = (std::process::id(), rustix::process::geteuid().as_raw());
        let own = format!(r#"{{"command":"set_weight","pid":{this},"weight":512}}"#);
        // The fake backend knows thread 7 only; what counts is that it was told.
        assert_eq!(ask_as(Rights::Own(me), &own, "rr").1.len(), 1);
        let get = [r#"{"command":"get_weight","pid":7}"#, r#"{"command":"get_param","name":"alpha"}"#];
        for rights in [Rights::Own(me + 1), Rights::Watch] {
            let (reply, told, _) = ask_as(rights, &own, "rr");
            assert!(matches!(reply, Reply::Forbidden { .. }) && told.is_empty(), "{reply:?}");
            let set = r#"{"command":"set_param","name":"alpha","value":"0.5"}"#;
            let (reply, told, spec) = ask_as(rights, set, "pbs");
            assert!(matches!(reply, Reply::Forbidden { .. }) && told.is_empty() && spec == "pbs");
            for request in get {
                let (reply, ..) = ask_as(rights, request, "pbs");
                assert!(matches!(reply, Reply::Weight { .. } | Reply::Param { .. }), "{reply:?}");
            }
        }
    }

    /// Its options name files, which the loader opens as root.
    #[test]
    fn only_root_puts_another_policy_in_place() {
        let ask = |version: &str| {
            format!(r#"{{"command":"replace","words":["sfq","--db=/etc/shadow"],"version":"{version}"}}"#)
        };
        let request = &ask(env!("CARGO_PKG_VERSION"));
        for rights in [Rights::All, Rights::Own(7), Rights::Watch] {
            let (reply, told, spec) = ask_as(rights, request, "rr");
            assert!(
                matches!(reply, Reply::Forbidden { .. }) && told.is_empty() && spec == "rr",
                "{rights:?}"
            );
        }
        let mut spec = spec::parse("rr", divvy_policy::all()).expect("a spec");
        let words = vec!["sfq".to_owned(), "--db=/etc/shadow".to_owned()];
        assert_eq!(answer(request, Rights::Owner, &mut spec, &mut Fake::default()), Answer::Replace(words));
        // A loader of another version has other programs.
        assert_eq!(problem(ask_as(Rights::Owner, &ask("0.0.1"), "rr").0), "this loader is divvy 0.1.0");
    }

    #[test]
    fn weights_out_of_range_are_not_told() {
        for weight in ["0", "102400000001"] {
            let request = format!(r#"{{"command":"set_weight","pid":7,"weight":{weight}}}"#);
            let (reply, told, _) = ask(&request, "rr");
            assert!(problem(reply).starts_with("a weight is at least 1/1024"));
            assert!(told.is_empty());
        }
    }

    #[test]
    fn parameters_are_read_as_in_specs_and_remembered() {
        let (reply, told, spec) =
            ask(r#"{"command":"set_param","name":"alpha","value":"0.5"}"#, "pbs:alpha=2+procfair");
        let value = "0.5".to_owned();
        assert_eq!(reply, Reply::Param { policy: "pbs".to_owned(), name: "alpha".to_owned(), value });
        assert_eq!(told[0].0, "command_set_param");
        assert_eq!((told[0].1.owner, told[0].1.index, told[0].1.value), (0, 0, 1 << 15));
        assert_eq!(spec, "pbs:alpha=0.5+procfair");
    }

    #[test]
    fn a_parameter_that_was_not_set_has_its_default() {
        let (reply, told, _) = ask(r#"{"command":"get_param","name":"alpha"}"#, "pbs");
        assert!(matches!(reply, Reply::Param { value, .. } if value == "1"));
        assert!(told.is_empty());
    }

    #[test]
    fn wrong_parameters_say_what_a_spec_would() {
        let wrong = |name: &str, value: &str| {
            let request = Request::SetParam { name: name.to_owned(), value: value.to_owned() };
            let (reply, told, spec) = ask(&serde_json::to_string(&request).expect("JSON"), "pbs+procfair");
            assert!(told.is_empty() && spec == "pbs+procfair");
            problem(reply)
        };
        assert_eq!(wrong("alhpa", "1"), "`pbs` has no parameter `alhpa`; did you mean `alpha`?");
        assert!(wrong("alpha", "many").starts_with("`alpha=many`: "));
        assert!(wrong("gamma", "99").contains("out of range"));
        assert!(wrong("all", "on").starts_with("`all` is a parameter of the modifier `procfair`"));
        assert!(wrong("alpha", "1+feasible").contains("not one parameter"));
        assert!(wrong("alpha", "1:beta=2").contains("not one parameter"));
    }

    #[test]
    fn what_is_no_request_is_answered_too() {
        for line in
            ["", "{}", "[]", "null", r#"{"command":"reboot"}"#, r#"{"command":"get_weight","pid":-1}"#]
        {
            assert!(problem(ask(line, "rr").0).starts_with("this is no request"), "{line}");
        }
        let mut spec = spec::parse("rr", divvy_policy::all()).expect("a spec");
        let mut broken = Fake { is_broken: true, ..Fake::default() };
        let answer = answer(r#"{"command":"get_weight","pid":7}"#, Rights::All, &mut spec, &mut broken);
        assert_eq!(answer, Answer::Reply(Reply::Failed { problem: "out of order".to_owned() }));
    }
}
