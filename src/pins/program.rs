//! Runs programs that download, and ends a program that receives no byte for too long.

use std::io::{Read, Result, Seek, Write};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use walkdir::WalkDir;

use super::silence::Question;
use crate::process::end_with_this_program;

/// The time that a program may receive no byte, in times of the limit of other sources. Programs
/// have timeouts of their own, and work on what they received.
const PATIENCE: u32 = 4;

/// Runs a program whose downloads answer a question. `size` returns the size of the folders that it
/// downloads to. A program that is ended says so on its standard error.
///
/// # Errors
/// An error if the program does not start.
pub fn run_watched(
    mut command: Command,
    question: &Question<'_>,
    size: impl Fn() -> u64,
) -> Result<Output> {
    // NB: files, not pipes: the programs that it starts may hold a pipe open after it was ended.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = end_with_this_program(&mut command).spawn()?;
    let (mut before, mut heard) = (size(), Instant::now());
    let patience = PATIENCE * question.limit();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let now = size();
        if now > before {
            question.answered();
            heard = Instant::now();
        } else if heard.elapsed() >= patience {
            child.kill()?;
            let status = child.wait()?;
            writeln!(stderr, "nothing came for {} s", patience.as_secs())?;
            break status;
        }
        before = now;
        std::thread::sleep(Duration::from_millis(100));
    };
    let read = |file: &mut std::fs::File| -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    Ok(Output {
        status,
        stdout: read(&mut stdout)?,
        stderr: read(&mut stderr)?,
    })
}

/// The bytes of the files below a folder.
pub fn folder_size(folder: &Utf8Path) -> u64 {
    let files = WalkDir::new(folder).into_iter().flatten();
    files
        .filter_map(|entry| entry.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::silence::SourceWatch;
    use super::*;

    #[test]
    fn a_program_that_receives_nothing_is_ended() {
        let watch = SourceWatch::new(Duration::from_millis(50));
        let question = watch.ask_program("a program").expect("a question");
        let mut sleep = Command::new("sh");
        sleep.args(["-c", "echo began >&2; exec sleep 1000"]);
        let output = run_watched(sleep, &question, || 0).expect("a shell");
        assert!(!output.status.success());
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.starts_with("began\nnothing came for"), "{words}");
    }

    #[test]
    fn a_program_that_receives_something_may_go_on() {
        let watch = SourceWatch::new(Duration::from_millis(50));
        let question = watch.ask_program("a program").expect("a question");
        let mut slow = Command::new("sh");
        slow.args(["-c", "sleep 1; echo end"]);
        let size = Cell::new(0);
        let grows = || size.replace(size.get() + 1);
        let output = run_watched(slow, &question, grows).expect("a shell");
        assert!(output.status.success());
        assert_eq!(output.stdout, b"end\n");
        assert!(question.was_answered());
    }
}
