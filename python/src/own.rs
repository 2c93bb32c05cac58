//! Policies that are written in Python: the machine calls their methods for each decision.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use divvy_policy::called::{Author, Optional, Table, Why};
use divvy_policy::spec::{Part, Spec};
use divvy_policy::{CpuId, MAX_TASKS, Machine, TaskId, Weight};
use divvy_results::progress::Progress;
use divvy_sim::run::RunError;
use divvy_workload::Workload;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};

use crate::error::RunError as Broken;
use crate::input::policies;
use crate::tasks::Tasks;
use crate::work::Stop;
use crate::{error, sys};

/// A policy that a call names: a spec, or the name of a class and an object of it.
#[derive(FromPyObject)]
pub enum Asked {
    /// As the command takes it.
    Spec(String),
    /// A policy in Python.
    Own(String, Py<PyAny>),
}

/// The policies of a call, in their order.
pub struct Chosen {
    /// Each once.
    pub specs: Vec<Spec>,
    own: Vec<(&'static str, Py<PyAny>)>,
    failed: Arc<Failed>,
}

/// The first method that raised; then nothing is called any more.
#[derive(Default)]
pub struct Failed {
    is_set: AtomicBool,
    error: Mutex<Option<PyErr>>,
    /// The threads on which methods ran.
    threads: Mutex<Vec<u64>>,
}

impl Chosen {
    /// Reads the specs; their files are compiled.
    pub fn read(asked: Vec<Asked>, failed: &Arc<Failed>) -> PyResult<Chosen> {
        let mut chosen = Chosen { specs: Vec::new(), own: Vec::new(), failed: Arc::clone(failed) };
        for one in asked {
            match one {
                Asked::Spec(text) => {
                    policies(&[text], None)?.specs.into_iter().for_each(|spec| chosen.add(spec))
                }
                Asked::Own(name, object) => {
                    if divvy_policy::find(&name).is_some() {
                        return Err(error::usage(format!(
                            "class {name}: a policy of divvy has this name; give the class another one"
                        )));
                    }
                    let selection = Part { name: interned(name), settings: Vec::new() };
                    chosen.own.push((selection.name, object));
                    chosen.add(Spec { selection, modifiers: Vec::new(), placement: None });
                }
            }
        }
        Ok(chosen)
    }

    fn add(&mut self, spec: Spec) {
        if !self.specs.contains(&spec) {
            self.specs.push(spec);
        }
    }

    /// The machine of a repetition under a policy in Python: it has a copy of the object to itself. `None` for a policy in C.
    pub fn machine(&self, workload: &Workload, spec: &Spec) -> Result<Option<Machine>, RunError> {
        let Some((name, object)) = self.own.iter().find(|(name, _)| *name == spec.selection.name) else {
            return Ok(None);
        };
        let author = Python::attach(|py| Methods::of_copy(py, name, object.bind(py), &self.failed));
        let author = author.map_err(|error| {
            self.failed.set(error);
            RunError::Interrupted { policy: spec.to_string() }
        })?;
        let machine = Machine::of_author(Box::new(author), workload.cpus, workload.quantum_ns);
        machine.map(Some).map_err(|error| RunError::Machine { policy: spec.to_string(), error })
    }

    /// The result of a run, or what a method raised in it.
    pub fn outcome<T>(&self, result: Result<T, RunError>) -> PyResult<T> {
        let raised = self.failed.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        raised.map_or_else(|| result.map_err(error::raised), Err)
    }
}

/// A run goes on until the call is to end, or a method raised.
pub struct Progressing<'a>(pub &'a Stop, pub &'a Failed);

impl Progress for Progressing<'_> {
    fn begin(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) -> bool {
        self.0.goes_on() && !self.1.is_set.load(Ordering::Relaxed)
    }
}

impl Failed {
    /// Ends methods that run now, because the call is to end.
    pub fn interrupt(&self, py: Python<'_>) {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.iter().for_each(|thread| sys::interrupt(py, *thread));
    }

    fn set(&self, error: PyErr) {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_set.store(true, Ordering::Relaxed);
    }
}

/// Specs have names that live as long as the process; each is kept once.
fn interned(name: String) -> &'static str {
    static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.iter().find(|known| **known == name) {
        return known;
    }
    names.push(name.leak());
    names[names.len() - 1]
}

/// The methods of an object.
struct Methods {
    name: &'static str,
    object: Py<PyAny>,
    required: [Py<PyAny>; 4],
    optional: Vec<(Optional, Py<PyAny>)>,
    whys: Vec<Py<PyAny>>,
    failed: Arc<Failed>,
}

const REQUIRED: [&str; 4] = ["join", "leave", "pick", "stop"];
const JOIN: usize = 0;
const LEAVE: usize = 1;
const PICK: usize = 2;
const STOP: usize = 3;

impl Methods {
    fn of_copy(
        py: Python<'_>,
        name: &'static str,
        object: &Bound<'_, PyAny>,
        failed: &Arc<Failed>,
    ) -> PyResult<Methods> {
        let thread = py.import("threading")?.call_method0("get_ident")?.extract()?;
        let mut threads = failed.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if !threads.contains(&thread) {
            threads.push(thread);
        }
        drop(threads);
        let copied = py.import("copy")?.call_method1("deepcopy", (object,));
        let object = copied.map_err(|cause| {
            because(py, format!("policy {name}: it cannot be copied, and each repetition has a copy"), cause)
        })?;
        let method = |name: &str| object.getattr(name).map(Bound::unbind);
        let required = [
            method(REQUIRED[JOIN])?,
            method(REQUIRED[LEAVE])?,
            method(REQUIRED[PICK])?,
            method(REQUIRED[STOP])?,
        ];
        let optional =
            Optional::ALL.iter().filter_map(|(name, one)| Some((*one, method(name).ok()?))).collect();
        let whys = py.import("divvy.own")?.getattr("Why")?.try_iter()?;
        let whys = whys.map(|why| why.map(Bound::unbind)).collect::<PyResult<_>>()?;
        Ok(Methods { name, required, optional, whys, failed: Arc::clone(failed), object: object.unbind() })
    }

    /// Calls a method; what it raises ends the run.
    fn call<T: Default>(
        &self,
        method: &Py<PyAny>,
        said: fmt::Arguments<'_>,
        arguments: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyTuple>>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> Result<T, &'static str>,
    ) -> T {
        if self.failed.is_set.load(Ordering::Relaxed) {
            return T::default();
        }
        let name = self.name;
        let answer = Python::attach(|py| {
            let answer = arguments(py).and_then(|arguments| method.bind(py).call1(arguments));
            let answer = answer.map_err(|cause| {
                let kind = cause.get_type(py).name().map(|kind| kind.to_string()).unwrap_or_default();
                let what = cause.value(py).str().map(|what| what.to_string()).unwrap_or_default();
                because(py, format!("policy {name}: {said} raised {kind}: {what}"), cause)
            })?;
            read(&answer).map_err(|expected| {
                let answer = answer.repr().map(|text| text.to_string()).unwrap_or_default();
                Broken::new_err(format!("policy {name}: {said} answered {answer}: {expected}"))
            })
        });
        answer.unwrap_or_else(|error| {
            self.failed.set(error);
            T::default()
        })
    }

    fn optional(&self, which: Optional) -> Option<&Py<PyAny>> {
        self.optional.iter().find(|(one, _)| *one == which).map(|(_, method)| method)
    }

    fn why(&self, why: Why) -> &Py<PyAny> {
        &self.whys[why as usize]
    }

    /// One of the methods that are told why, which answer nothing.
    fn tell_why(&self, method: usize, task: TaskId, now_ns: u64, why: Why) {
        let said = format_args!("{}({task}, {now_ns}, {})", REQUIRED[method], why.name());
        self.call(
            &self.required[method],
            said,
            |py| (task.get(), now_ns, self.why(why)).into_pyobject(py),
            nothing,
        );
    }
}

/// An error of divvy with Python's own as its cause.
fn because(py: Python<'_>, text: String, cause: PyErr) -> PyErr {
    let error = Broken::new_err(text);
    error.set_cause(py, Some(cause));
    error
}

fn nothing(answer: &Bound<'_, PyAny>) -> Result<(), &'static str> {
    if answer.is_none() { Ok(()) } else { Err("it answers nothing: leave out `return`, `yield` and `async`") }
}

fn task(answer: &Bound<'_, PyAny>) -> Result<Option<TaskId>, &'static str> {
    if answer.is_none() {
        return Ok(None);
    }
    // True is 1 in Python, and a comparison that was meant for something else.
    let id = answer.extract::<u32>().ok().filter(|id| *id < MAX_TASKS && !answer.is_instance_of::<PyBool>());
    id.map(TaskId::from_raw).ok_or("it is the id of a task, or 0 if none waits")
}

fn length_ns(answer: &Bound<'_, PyAny>) -> Result<u64, &'static str> {
    if answer.extract::<f64>().is_ok_and(|length| length == f64::INFINITY) {
        return Ok(u64::MAX);
    }
    let length = answer.extract::<u64>().ok().filter(|length| *length > 0);
    length.ok_or("it is a whole number of ns above 0, or math.inf")
}

fn service_ns(answer: &Bound<'_, PyAny>) -> Result<u64, &'static str> {
    answer.extract().map_err(|_| "it is a whole number of ns")
}

fn truth(answer: &Bound<'_, PyAny>) -> Result<bool, &'static str> {
    answer.is_truthy().map_err(|_| "it is True or False")
}

impl Author for Methods {
    fn has(&self) -> Vec<Optional> {
        self.optional.iter().map(|(one, _)| *one).collect()
    }

    fn init(&mut self, table: &Table) {
        let table = table.clone();
        let begun = Python::attach(|py| {
            self.object.setattr(py, "_tasks", Tasks::new(table))?;
            self.object.getattr(py, "init")
        });
        match begun {
            Ok(init) => self.call(&init, format_args!("init()"), |py| Ok(PyTuple::empty(py)), nothing),
            Err(error) => self.failed.set(error),
        }
    }

    fn join(&mut self, task: TaskId, now_ns: u64, why: Why) {
        self.tell_why(JOIN, task, now_ns, why);
    }

    fn leave(&mut self, task: TaskId, now_ns: u64, why: Why) {
        self.tell_why(LEAVE, task, now_ns, why);
    }

    fn pick(&mut self, cpu: CpuId, now_ns: u64) -> Option<TaskId> {
        let said = format_args!("pick({cpu}, {now_ns})");
        self.call(&self.required[PICK], said, |py| (cpu.get(), now_ns).into_pyobject(py), task)
    }

    fn stop(&mut self, task: TaskId, now_ns: u64, why: Why) {
        self.tell_why(STOP, task, now_ns, why);
    }

    fn charge(&mut self, task: TaskId, ran_ns: u64, now_ns: u64) {
        let Some(method) = self.optional(Optional::Charge) else { return };
        let said = format_args!("charge({task}, {ran_ns}, {now_ns})");
        self.call(method, said, |py| (task.get(), ran_ns, now_ns).into_pyobject(py), nothing);
    }

    fn reweigh(&mut self, task: TaskId, weight: Weight, now_ns: u64) {
        let Some(method) = self.optional(Optional::Reweigh) else { return };
        let w = weight.fixed();
        let said = format_args!("reweigh({task}, {w}, {now_ns})");
        self.call(method, said, |py| (task.get(), w, now_ns).into_pyobject(py), nothing);
    }

    fn slice(&mut self, task: TaskId) -> u64 {
        let Some(method) = self.optional(Optional::Slice) else { return u64::MAX };
        self.call(method, format_args!("slice({task})"), |py| (task.get(),).into_pyobject(py), length_ns)
    }

    fn preempts(&mut self, woken: TaskId, running: TaskId, now_ns: u64) -> bool {
        let Some(method) = self.optional(Optional::Preempts) else { return false };
        let said = format_args!("preempts({woken}, {running}, {now_ns})");
        self.call(method, said, |py| (woken.get(), running.get(), now_ns).into_pyobject(py), truth)
    }

    fn fork(&mut self, task: TaskId, parent: Option<TaskId>, now_ns: u64) {
        let Some(method) = self.optional(Optional::Fork) else { return };
        let parent = parent.map_or(0, TaskId::get);
        let said = format_args!("fork({task}, {parent}, {now_ns})");
        self.call(method, said, |py| (task.get(), parent, now_ns).into_pyobject(py), nothing);
    }

    fn overdrawn(&mut self, task: TaskId) -> u64 {
        let Some(method) = self.optional(Optional::Overdrawn) else { return 0 };
        self.call(method, format_args!("overdrawn({task})"), |py| (task.get(),).into_pyobject(py), service_ns)
    }

    fn session(&mut self, task: TaskId, now_ns: u64) {
        let Some(method) = self.optional(Optional::Session) else { return };
        let said = format_args!("session({task}, {now_ns})");
        self.call(method, said, |py| (task.get(), now_ns).into_pyobject(py), nothing);
    }

    fn bring(&mut self, task: TaskId, work_ns: u64) {
        let Some(method) = self.optional(Optional::Bring) else { return };
        let said = format_args!("bring({task}, {work_ns})");
        self.call(method, said, |py| (task.get(), work_ns).into_pyobject(py), nothing);
    }
}
