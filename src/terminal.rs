//! Standard output and standard error: how results, problems and errors are printed for a person.
//! Their words come from elsewhere.

use std::io::Write;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use crate::problem::{Problems, RenderOptions};

/// Prints problems of a user's file, on standard error.
pub fn print_problems(problems: &Problems) {
    let color = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    anstream::eprint!("{}", problems.render(RenderOptions { width: 100, color }));
}

/// Prints an error with its code and its help, on standard error.
pub fn print_diagnostic(diagnostic: &dyn Diagnostic) {
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode())
        .with_width(100)
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

/// "1 variant", "2 variants".
pub fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
