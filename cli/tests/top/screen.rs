//! The screen on a pseudo-terminal, which `script` makes.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::fake::{self, Fake};

const ROWS: usize = 24;
const COLUMNS: usize = 80;

/// As much of a terminal as the screen needs.
struct Screen {
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    /// Changed and not put back.
    is_alternate: bool,
    is_cursor_hidden: bool,
    /// Text that was printed outside of the alternate screen.
    printed: String,
}

impl Screen {
    fn of(bytes: &[u8]) -> Self {
        let mut screen = Self {
            cells: vec![vec![' '; COLUMNS]; ROWS],
            at: (0, 0),
            is_alternate: false,
            is_cursor_hidden: false,
            printed: String::new(),
        };
        let text = String::from_utf8_lossy(bytes);
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\u{1b}' => screen.escape(&mut rest),
                c if !screen.is_alternate => screen.printed.push(c),
                c if !c.is_control() => screen.put(c),
                _ => {}
            }
        }
        screen
    }

    fn put(&mut self, c: char) {
        let (row, column) = self.at;
        if row < ROWS && column < COLUMNS {
            self.cells[row][column] = c;
        }
        self.at.1 += 1;
    }

    /// A sequence `ESC [ numbers letter`; of others the next character.
    fn escape(&mut self, rest: &mut std::str::Chars<'_>) {
        if rest.next() != Some('[') {
            return;
        }
        let mut numbers = String::new();
        for c in rest.by_ref() {
            if c.is_ascii_alphabetic() {
                return self.control(c, &numbers);
            }
            numbers.push(c);
        }
    }

    fn control(&mut self, letter: char, numbers: &str) {
        match (letter, numbers) {
            ('h' | 'l', "?1049") => self.is_alternate = letter == 'h',
            ('h' | 'l', "?25") => self.is_cursor_hidden = letter == 'l',
            ('J', _) => self.cells = vec![vec![' '; COLUMNS]; ROWS],
            ('H', _) => {
                let mut places = numbers.split(';').map(|number| number.parse().unwrap_or(1).max(1) - 1);
                self.at = (places.next().unwrap_or(0), places.next().unwrap_or(0));
            }
            _ => {}
        }
    }

    fn line(&self, row: usize) -> String {
        self.cells[row].iter().collect::<String>().trim_end().to_owned()
    }

    fn text(&self) -> String {
        (0..ROWS).map(|row| self.line(row) + "\n").collect()
    }
}

/// `divvy top` in `script` in a shell.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(fake: &Fake, environment: &[(&str, &str)]) -> Self {
        let shell = format!(
            "stty rows {ROWS} cols {COLUMNS}; echo \"mode $(stty -g)\"; sh -c 'echo \"pid $$\"; exec {} top -d 100ms'; \
             echo \"code $?\"; echo \"mode $(stty -g)\"",
            env!("CARGO_BIN_EXE_divvy")
        );
        let mut command = Command::new("script");
        command
            .args(["-qfec", &shell, "/dev/null"])
            .env("DIVVY_SOCKET", fake.path())
            .env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR").envs(environment.iter().copied());
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child
            .unwrap_or_else(|error| panic!("script: {error}: these tests need it: apt-get install bsdutils"));
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (mut out, copy) = (child.stdout.take().expect("a pipe"), Arc::clone(&bytes));
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(size @ 1..) = out.read(&mut piece) {
                copy.lock().expect("the bytes").extend(&piece[..size]);
            }
        });
        let keys = child.stdin.take();
        Self { child, keys, bytes }
    }

    fn screen(&self) -> Screen {
        Screen::of(&self.bytes.lock().expect("the bytes"))
    }

    fn press(&mut self, keys: &str) {
        let stdin = self.keys.as_mut().expect("it is open");
        stdin.write_all(keys.as_bytes()).and_then(|()| stdin.flush()).expect("written");
    }

    /// Waits until the screen is so.
    fn until(&self, what: &str, is_so: impl Fn(&Screen) -> bool) -> Screen {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < deadline, "not so: {what}\n{}\n{}", screen.text(), screen.printed);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// It has ended with this code, and the terminal is as it was.
    fn assert_restored(&self, code: i32) -> String {
        let has_ended =
            |screen: &Screen| screen.printed.matches("mode ").count() == 2 && screen.printed.ends_with('\n');
        let screen = self.until("it ends", has_ended);
        assert!(!screen.is_alternate && !screen.is_cursor_hidden, "{}", screen.printed);
        assert!(screen.printed.contains(&format!("code {code}\r\n")), "{}", screen.printed);
        let modes: Vec<&str> = screen.printed.lines().filter(|line| line.starts_with("mode ")).collect();
        assert_eq!(modes[0], modes[1], "the modes are back");
        screen.printed
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.keys = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn it_shows_sorts_filters_pauses_and_quits() {
    let fake = Fake::start("screen", None);
    let mut terminal = Terminal::start(&fake, &[]);
    let first = terminal.until("the table", |screen| screen.line(5).contains("75.00"));
    assert!(first.line(0).starts_with("gr3 on 1 CPU, "), "{}", first.text());
    assert!(first.line(1).ends_with("received 100.0%, entitled 100.0%"), "{}", first.text());
    assert!(first.line(2).starts_with("300 decisions/s"), "{}", first.text());
    assert!(first.line(3).starts_with("3 tasks, 2 runnable;"), "{}", first.text());
    assert!(first.line(3).ends_with("2 fallbacks"), "{}", first.text());
    assert!(first.line(4).contains("WEIGHT  EFFECT  ENTL% *RECV%"), "{}", first.text());
    assert!(first.line(23).ends_with("F10Quit"), "{}", first.text());
    terminal.press("I");
    terminal
        .until("inverted", |screen| screen.line(5).contains(" 0.00 ") && screen.line(7).contains("75.00"));
    terminal.press("I\\");
    terminal.press("90000000");
    terminal.until("filtered", |screen| screen.line(6).contains("25.00") && screen.line(7).is_empty());
    terminal.press("\r ");
    terminal.until("paused", |screen| screen.line(0).ends_with("PAUSED"));
    terminal.press("p");
    terminal.until("processes", |screen| screen.line(4).contains("PROCESS"));
    terminal.press("h");
    terminal.until("help", |screen| screen.line(0).starts_with("divvy top: "));
    terminal.press("x");
    terminal.until("no help", |screen| screen.line(0).starts_with("gr3 on 1 CPU"));
    terminal.press("q");
    terminal.assert_restored(0);
}

#[test]
fn weights_are_set_in_place() {
    let fake = Fake::start("weight", None);
    let mut terminal = Terminal::start(&fake, &[("NO_COLOR", "1")]);
    terminal.until("the table", |screen| screen.line(5).contains("75.00"));
    terminal.press("\u{1b}[B"); // down
    terminal.press("w2.5\r");
    terminal.until("set", |screen| screen.line(23) == format!("weight of {} is 2.50", fake::LIGHT));
    assert_eq!(*fake.weights.lock().expect("the weights"), [(u64::from(fake::LIGHT), 2560)]);
    terminal.press("\u{1b}[19~"); // F8
    terminal.until("stepped", |_| fake.weights.lock().expect("the weights").len() == 2);
    let bytes = terminal.bytes.lock().expect("the bytes").clone();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(!text.contains("\u{1b}[38;") && !text.contains("\u{1b}[48;"), "NO_COLOR");
    terminal.press("\u{3}");
    terminal.assert_restored(0);
}

#[test]
fn it_gives_the_terminal_back_however_it_ends() {
    let mut fake = Fake::start("ends", None);
    let terminal = Terminal::start(&fake, &[]);
    let screen = terminal.until("the table", |screen| screen.line(5).contains("75.00"));
    let pid = screen.printed.lines().find_map(|line| line.strip_prefix("pid ")).expect("a number");
    assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().expect("kill runs").success());
    terminal.assert_restored(0);

    let terminal = Terminal::start(&fake, &[]);
    terminal.until("the table", |screen| screen.line(5).contains("75.00"));
    fake.stop();
    let printed = terminal.assert_restored(5);
    assert!(printed.contains("the scheduler was unloaded"), "{printed}");
}
