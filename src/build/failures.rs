//! The report of failed builds: the words of compilers, once for each source, and those of Nix that
//! say more.

use camino::Utf8Path;

use super::error::EngineError;
use super::prepare::path_argument;
use crate::nix::{Built, Finished, Nix, NixTrouble};
use crate::steps::{Step, Steps};
use crate::terminal::{count, error_text, print_diagnostic};

/// The most lines of one of Nix's errors.
const MAX_LINES: usize = 8;

/// Prints the reason why builds failed: the trouble that the machine shows, Nix's errors that no
/// log tells, then the last lines of the first failed step of each source. If `print_logs` says
/// that the lines of builds were printed before, only the names of these steps. Returns a variant
/// that needs the first failed step; `None` if none is known.
///
/// # Errors
/// `EngineError::Nix`
pub fn report_failures(
    nix: &Nix,
    steps: &Steps,
    built: &Built,
    print_logs: bool,
) -> Result<Option<String>, EngineError> {
    if built.errors.is_empty() {
        return Ok(None);
    }
    let unbuilt = nix.unbuilt(built.finished.iter().map(|step| &step.derivation))?;
    let is_failed = |finished: &&Finished| unbuilt.contains(&finished.derivation);
    let failed: Vec<&Finished> = built.finished.iter().filter(is_failed).collect();
    let is_told = !failed.is_empty() && failed.iter().all(|finished| tells_why(finished));
    let is_cause = |trouble: &NixTrouble| !is_told || matches!(trouble, NixTrouble::Full { .. });
    if let Some(trouble) = nix.trouble_of_builds().filter(is_cause) {
        print_diagnostic(&trouble);
    }
    for error in built
        .errors
        .iter()
        .filter(|error| says_more(error, &failed))
    {
        let lines: Vec<&str> = error.lines().take(MAX_LINES).collect();
        error_text(lines.join("\n"));
    }
    let failures = failures(steps, &failed);
    for failure in &failures {
        error_text(format_args!("failed: {}", failure.title()));
        if !print_logs {
            for line in without_repeats(&failure.finished.last_lines) {
                error_text(format_args!("  {line}"));
            }
        }
    }
    let first = failures.iter().find_map(|failure| failure.step);
    Ok(first.and_then(|step| step.variants.first().cloned()))
}

/// The command that prints every line of the compilers of a failed build. `path` is the kernel's
/// folder as it was given.
pub fn command_with_logs(command: &str, path: &Utf8Path, variant: Option<&str>) -> String {
    let path = path_argument(path);
    let variant = variant.map_or_else(String::new, |name| format!(" --variant {name}"));
    format!("kernel-builder {command}{path}{variant} -L")
}

/// The lines, with each block of them once that follows itself, and its number below it. A compiler
/// prints an error in an argument of a macro as often as the macro names the argument: torch's
/// dispatch macros do so for each data type.
fn without_repeats(lines: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut rest = lines;
    while !rest.is_empty() {
        let repeats = |length: &usize| {
            let mut blocks = rest.chunks_exact(*length);
            let first = blocks.next();
            1 + blocks.take_while(|block| Some(*block) == first).count()
        };
        let length = (1..=rest.len() / 2).find(|length| repeats(length) > 1);
        let number = length.as_ref().map_or(1, repeats);
        let (block, _) = rest.split_at(length.unwrap_or(1));
        kept.extend_from_slice(block);
        if number > 1 {
            kept.push(format!("({number} times)"));
        }
        rest = &rest[block.len() * number..];
    }
    kept
}

/// Whether the log of a failed step tells the reason.
fn tells_why(finished: &Finished) -> bool {
    !finished.last_lines.is_empty()
}

/// Whether an error of Nix says more than the logs of failed steps. NB: Nix repeats there that a
/// step failed, and that others need it. Its log names no derivation with an error (checked for 2.8
/// to 2.26), so the text is searched. Only the choice of errors to show depends on it.
fn says_more(error: &str, failed: &[&Finished]) -> bool {
    let about = failed
        .iter()
        .find(|finished| error.contains(&finished.derivation));
    match about {
        Some(finished) => !tells_why(finished),
        None => failed.is_empty() || !error.contains(".drv"),
    }
}

/// The failed steps of one source, which a compiler mostly refuses for one reason.
struct Failure<'a> {
    /// The first of the steps; `None` for the build of a shell, whose steps are not known.
    step: Option<&'a Step>,
    finished: &'a Finished,
    /// The number of further steps.
    others: usize,
}

impl Failure<'_> {
    fn title(&self) -> String {
        let title = &self.finished.title;
        match self.others {
            0 => title.clone(),
            others => format!(
                "{title} and {}",
                count(others, "other step") + " of the same source"
            ),
        }
    }
}

/// The failed steps that tell why, those of one source together.
fn failures<'a>(steps: &'a Steps, failed: &[&'a Finished]) -> Vec<Failure<'a>> {
    let mut failures: Vec<Failure<'a>> = Vec::new();
    for finished in failed.iter().filter(|finished| tells_why(finished)) {
        let step = steps.step(&finished.derivation);
        let is_again = |other: &Failure<'_>| other.finished.derivation == finished.derivation;
        let is_same = |other: &&mut Failure<'_>| {
            let sources = other.step.zip(step);
            is_again(other) || sources.is_some_and(|(other, step)| other.source() == step.source())
        };
        match failures.iter_mut().find(is_same) {
            // A step that ran out of memory ran again.
            Some(known) if is_again(known) => known.finished = finished,
            Some(known) => known.others += 1,
            None => failures.push(Failure {
                step,
                finished,
                others: 0,
            }),
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(derivation: &str, line: Option<&str>) -> Finished {
        Finished {
            derivation: derivation.to_owned(),
            title: derivation.to_owned(),
            machine: None,
            started: std::time::Instant::now(),
            seconds: 1.0,
            peak: None,
            all_headers: None,
            last_lines: line.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Nix's error about a compilation is noise beside the compiler's own words; that of a build
    /// without any word, or of no build, is all there is.
    #[test]
    fn nix_is_quoted_where_no_log_tells_why() {
        let (told, silent) = (
            finished("/nix/store/a.drv", Some("error: x")),
            finished("/nix/store/b.drv", None),
        );
        let failed = [&told, &silent];
        for (error, more) in [
            ("builder for '/nix/store/a.drv' failed", false),
            (
                "builder for '/nix/store/b.drv' failed due to signal 9",
                true,
            ),
            (
                "1 dependencies of derivation '/nix/store/c.drv' failed",
                false,
            ),
            ("output '/nix/store/a' is not allowed to refer to", true),
        ] {
            assert_eq!(says_more(error, &failed), more, "{error}");
        }
        assert!(says_more("cannot build '/nix/store/c.drv'", &[]));
    }

    #[test]
    fn an_error_that_a_macro_repeats_is_shown_once() {
        let shown = |text: &str| {
            let lines: Vec<String> = text.split(' ').map(str::to_owned).collect();
            without_repeats(&lines).join(" ")
        };
        assert_eq!(
            shown("from in error in error in error end"),
            "from in error (3 times) end"
        );
        assert_eq!(shown("a a b b b c"), "a (2 times) b (3 times) c");
        assert_eq!(shown("a b c a"), "a b c a");
    }

    #[test]
    fn the_command_is_the_one_that_was_given() {
        let with = |path: &str, variant| command_with_logs("build", Utf8Path::new(path), variant);
        assert_eq!(with(".", None), "kernel-builder build -L");
        assert_eq!(
            with("a", Some("v")),
            "kernel-builder build a --variant v -L"
        );
    }
}
