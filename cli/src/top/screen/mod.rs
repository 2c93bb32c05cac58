//! `divvy top` on a terminal. Keys are answered at once: another thread asks the scheduler.

mod draw;
mod keys;
mod model;

use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use divvy_kernel::load::{self, Reply, Request, Signals};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use rustix::process::{Signal, getpid, kill_process};

use super::metrics;
use super::options::Options;
use super::poller::{Observation, Poller};
use crate::output::Output;
use draw::Theme;
use model::{Effect, Model};

/// Longest time before a signal is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// The same while an answer is expected.
const SOON: Duration = Duration::from_millis(20);

/// Runs until the user quits, or the scheduler is unloaded.
pub fn run(options: Options, output: Output) -> anyhow::Result<()> {
    // This comes before the other threads, and before the screen changes.
    let mut signals = Signals::block().context("cannot wait for signals")?;
    let mut poller = Poller::default();
    let first = poller.poll()?;
    let (tell_problem, problems) = channel();
    if let Some(server) = options.metrics.map(metrics::listen).transpose()? {
        thread::spawn(move || {
            if let Err(error) = server.serve_forever() {
                let _ = tell_problem.send(format!("{error:#}"));
            }
        });
    }
    let mut model = Model::new(options.query, options.every);
    model.update(first);
    let asker = Asker::start(poller);
    let mut screen = Screen::open()?;
    watch(&mut screen, &mut model, &asker, &problems, &mut signals, &Theme::new(output.is_styled(None)))
}

fn watch(
    screen: &mut Screen,
    model: &mut Model,
    asker: &Asker,
    problems: &Receiver<String>,
    signals: &mut Signals,
    theme: &Theme,
) -> anyhow::Result<()> {
    let mut last_look = Instant::now();
    let mut is_looking = false;
    loop {
        screen.terminal.draw(|frame| draw::draw(frame, model, theme)).context("cannot draw")?;
        let until_next = model.every.saturating_sub(last_look.elapsed());
        let wait = if is_looking { SOON } else { until_next.clamp(Duration::from_millis(1), LOOK) };
        if event::poll(wait).context("the terminal is gone")?
            && let Some(effect) = react(model, &event::read().context("the terminal is gone")?)
            && !obey(effect, screen, asker)?
        {
            return Ok(());
        }
        if signals.take().is_some() {
            return Ok(());
        }
        while let Some(told) = asker.answer()? {
            match told {
                Answer::Look(observation) => {
                    is_looking = false;
                    let observation = observation?;
                    if !model.is_paused {
                        model.update(*observation);
                    }
                }
                Answer::Set(result) => model.tell(result),
            }
        }
        if let Ok(problem) = problems.try_recv() {
            model.tell(Ok(problem));
        }
        if !is_looking && !model.is_paused && last_look.elapsed() >= model.every {
            (is_looking, last_look) = (true, Instant::now());
            asker.ask(Ask::Look);
        }
    }
}

fn react(model: &mut Model, event: &Event) -> Option<Effect> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => {
            keys::action(model.mode(), *key).and_then(|action| model.apply(action))
        }
        _ => None,
    }
}

/// Performs an effect; false ends the program.
fn obey(effect: Effect, screen: &mut Screen, asker: &Asker) -> anyhow::Result<bool> {
    match effect {
        Effect::Quit => return Ok(false),
        Effect::Redraw => screen.terminal.clear().context("cannot draw")?,
        Effect::Suspend => screen.suspend()?,
        Effect::SetWeight { pid, weight } => asker.ask(Ask::SetWeight { pid, weight }),
    }
    Ok(true)
}

/// The terminal while the screen uses it. It is restored whatever happens: when this is dropped, and by a hook
/// when the program panics.
struct Screen {
    terminal: DefaultTerminal,
}

impl Screen {
    fn open() -> anyhow::Result<Self> {
        Ok(Self { terminal: ratatui::try_init().context("cannot use the terminal")? })
    }

    /// Stops as Ctrl-Z does elsewhere; fg continues.
    fn suspend(&mut self) -> anyhow::Result<()> {
        let _ = self.terminal.show_cursor();
        ratatui::restore();
        kill_process(getpid(), Signal::STOP).map_err(io::Error::from).context("cannot stop")?;
        self.terminal = ratatui::try_init().context("cannot use the terminal")?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.terminal.show_cursor();
        ratatui::restore();
    }
}

/// A request to the scheduler.
enum Ask {
    Look,
    SetWeight { pid: u32, weight: u64 },
}

enum Answer {
    Look(anyhow::Result<Box<Observation>>),
    /// The new value, or why it was not set.
    Set(Result<String, String>),
}

/// Asks the scheduler in a thread of its own.
struct Asker {
    asks: Sender<Ask>,
    told: Receiver<Answer>,
}

impl Asker {
    fn start(mut poller: Poller) -> Self {
        let (asks, asked) = channel();
        let (tell, told) = channel();
        thread::spawn(move || {
            for ask in asked {
                let answer = match ask {
                    Ask::Look => Answer::Look(poller.poll().map(Box::new)),
                    Ask::SetWeight { pid, weight } => Answer::Set(set_weight(pid, weight)),
                };
                if tell.send(answer).is_err() {
                    return;
                }
            }
        });
        Self { asks, told }
    }

    fn ask(&self, ask: Ask) {
        // If the thread has ended, `answer` fails.
        let _ = self.asks.send(ask);
    }

    fn answer(&self) -> anyhow::Result<Option<Answer>> {
        match self.told.try_recv() {
            Ok(told) => Ok(Some(told)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => anyhow::bail!("the thread that fetches statistics has ended"),
        }
    }
}

fn set_weight(pid: u32, weight: u64) -> Result<String, String> {
    match load::ask(&Request::SetWeight { pid, weight }) {
        Ok(Reply::Weight { weight }) => Ok(model::weight_text(pid, weight)),
        Ok(Reply::NoTask) => Err(format!("the scheduler has no thread {pid} any more")),
        Ok(Reply::Bad { problem } | Reply::Failed { problem }) => Err(problem),
        Ok(_) => Err("unexpected answer: load the scheduler with this version of divvy".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
