//! Standard output and standard error: how results, notes, problems and errors are printed, and how
//! much of them. The one place that knows `-q`, `-v` and `--color`. The words come from elsewhere.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicI8, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use anstream::ColorChoice;
use indicatif::{MultiProgress, ProgressDrawTarget};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use terminal_size::{Width, terminal_size_of};

use crate::problem::{Problems, RenderOptions};

/// The columns of messages; a narrow terminal has fewer.
const COLUMNS: usize = 100;

/// -1 with `-q`, otherwise the number of `-v`.
static VERBOSITY: AtomicI8 = AtomicI8::new(0);

/// Whether events are printed.
static EVENTS: AtomicBool = AtomicBool::new(false);

/// Whether the program goes on after a signal, for a command that ends by itself.
static KEEPS_RUNNING: AtomicBool = AtomicBool::new(false);

/// The bars that are drawn now.
static BARS: Mutex<Option<MultiProgress>> = Mutex::new(None);

/// Sets how much is printed: with `quiet` only results and errors, with `verbose` also details.
pub fn set_verbosity(quiet: bool, verbose: u8) {
    let level = match quiet {
        true => -1,
        false => i8::try_from(verbose).unwrap_or(i8::MAX),
    };
    VERBOSITY.store(level, Ordering::Relaxed);
}

/// Sets when colours are used, for this program's messages and clap's. `ColorChoice::Auto` asks the
/// terminal and the variables NO_COLOR and CLICOLOR_FORCE.
pub fn set_color(choice: ColorChoice) {
    choice.write_global();
}

/// Whether only results and errors are printed.
pub fn is_quiet() -> bool {
    VERBOSITY.load(Ordering::Relaxed) < 0
}

/// Whether details of a level are printed: 1 with `-v`, 2 with `-vv`.
pub fn is_verbose(level: i8) -> bool {
    VERBOSITY.load(Ordering::Relaxed) >= level
}

/// Prints a step of the work or a finding, on standard error. Silent with `-q`.
pub fn status(text: impl Display) {
    if !is_quiet() {
        print_line(&text.to_string());
    }
}

/// Prints a fact that the user may want to change, on standard error. Silent with `-q`.
pub fn note(text: impl Display) {
    status(format_args!("note: {text}"));
}

/// Prints a detail that only `-v` shows, on standard error: the place of a file, a command of Nix.
pub fn detail(text: impl Display) {
    if is_verbose(1) {
        print_line(&text.to_string());
    }
}

/// Prints a part of an error as it is, on standard error, for example the words of another program.
pub fn error_text(text: impl Display) {
    anstream::eprintln!("{text}");
}

/// Prints lines, broken at spaces if the terminal is narrower.
fn print_line(text: &str) {
    let Some(columns) = columns_of_terminal() else {
        anstream::eprintln!("{text}");
        return;
    };
    let options = textwrap::Options::new(columns)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .subsequent_indent("  ");
    anstream::eprintln!("{}", textwrap::fill(text, options));
}

/// The columns of standard error; `None` if it is no terminal.
fn columns_of_terminal() -> Option<usize> {
    let (Width(columns), _) = terminal_size_of(std::io::stderr())?;
    Some(usize::from(columns).max(40))
}

/// The columns of messages in boxes.
fn columns_of_messages() -> usize {
    columns_of_terminal().map_or(COLUMNS, |columns| columns.min(COLUMNS))
}

/// Prints problems of a user's file, on standard error.
pub fn print_problems(problems: &Problems) {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != ColorChoice::Never;
    let width = columns_of_messages();
    anstream::eprint!("{}", problems.render(RenderOptions { width, color }));
}

/// Prints warnings about a user's file, on standard error. Silent with `-q`.
pub fn print_warnings(warnings: &Problems) {
    if !is_quiet() {
        print_problems(warnings);
    }
}

/// Prints an error with its code and its help, on standard error.
pub fn print_diagnostic(diagnostic: &dyn Diagnostic) {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode())
        .with_width(columns_of_messages())
        // Commands and names of variants, which are copied, stay whole.
        .with_word_splitter(textwrap::WordSplitter::NoHyphenation)
        .with_links(false);
    let mut text = String::new();
    if handler.render_report(&mut text, diagnostic).is_err() {
        text = format!("error: {diagnostic}\n");
    }
    anstream::eprint!("{text}");
}

/// Writes a result to standard output.
///
/// # Errors
/// The error of standard output, which may be a closed pipe.
pub fn write_result(text: &str) -> std::io::Result<()> {
    let mut output = anstream::stdout();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Prints events from now on.
pub fn start_events() {
    EVENTS.store(true, Ordering::Relaxed);
}

/// Writes an event as one line of JSON to standard output, if events are printed. `event` is an
/// object whose key `event` names its kind.
pub fn print_event(event: &impl Serialize) {
    if EVENTS.load(Ordering::Relaxed)
        && let Ok(json) = serde_json::to_string(event)
    {
        // NB: if the reader has gone away, the work goes on. The result of the command is written
        // in the same way, and fails then.
        let _ = write_result(&(json + "\n"));
    }
}

/// An empty display of bars on standard error. Nothing of it is drawn if standard error is no
/// terminal, with `-q`, and beside events. Ctrl-C wipes it off the terminal.
pub fn new_bars() -> MultiProgress {
    let is_drawn =
        !is_quiet() && !EVENTS.load(Ordering::Relaxed) && std::io::stderr().is_terminal();
    if !is_drawn {
        return MultiProgress::with_draw_target(ProgressDrawTarget::hidden());
    }
    let bars = MultiProgress::new();
    *BARS.lock().unwrap_or_else(PoisonError::into_inner) = Some(bars.clone());
    static WATCH: Once = Once::new();
    WATCH.call_once(wipe_bars_before_the_end);
    bars
}

/// Ends the display of bars: Ctrl-C has nothing to wipe any more.
pub fn end_bars() {
    *BARS.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Lets the program go on after Ctrl-C and other requests to end, which a command then follows by
/// itself.
pub fn keep_running_on_signals() {
    KEEPS_RUNNING.store(true, Ordering::Relaxed);
}

/// Waits in a thread for Ctrl-C and other requests to end. It wipes the bars, then lets the signal
/// do its work. Without the thread, the bars would stay on the terminal.
fn wipe_bars_before_the_end() {
    let Ok(mut signals) = Signals::new([SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let bars = BARS.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(bars) = bars {
                let _ = bars.clear();
                bars.set_draw_target(ProgressDrawTarget::hidden());
                anstream::eprintln!("interrupted: finished steps and downloads are kept");
            }
            if !KEEPS_RUNNING.load(Ordering::Relaxed) {
                let _ = emulate_default_handler(signal);
            }
        }
    });
}

/// "1 variant", "2 variants".
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
