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

/// The time and the bytes that a program without limits of its own may take.
#[derive(Clone, Copy, Debug)]
pub struct ProgramBounds {
    pub time: Duration,
    pub bytes: u64,
}

impl ProgramBounds {
    /// The bounds of a download of one file: twice its size, at 50 kB a second.
    pub fn of_download(size: Option<u64>) -> Self {
        const LARGEST: u64 = 1 << 33;
        const SLOWEST: u64 = 50_000;
        let bytes = size.map_or(LARGEST, |size| size.saturating_mul(2)) + (1 << 24);
        Self {
            time: Duration::from_secs(600 + bytes / SLOWEST),
            bytes,
        }
    }
}

/// Runs a program whose downloads answer a question. `size` returns the size of the folders that it
/// downloads to. A program that is ended says so on its standard error.
///
/// # Errors
/// An error if the program does not start.
pub fn run_watched(
    mut command: Command,
    question: &Question<'_>,
    bounds: Option<ProgramBounds>,
    size: impl Fn() -> u64,
) -> Result<Output> {
    // NB: files, not pipes: the programs that it starts may hold a pipe open after it was ended.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?);
    let mut child = end_with_this_program(&mut command).spawn()?;
    let began = Instant::now();
    let (mut before, mut heard) = (size(), began);
    let patience = PATIENCE * question.limit();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let now = size();
        if now > before {
            question.answered();
            heard = Instant::now();
        }
        let why = match bounds {
            _ if heard.elapsed() >= patience => {
                Some(format!("nothing came for {} s", patience.as_secs()))
            }
            Some(bounds) if began.elapsed() >= bounds.time => {
                Some(format!("it did not end in {} s", bounds.time.as_secs()))
            }
            Some(bounds) if now > bounds.bytes => {
                Some(format!("more than {} bytes came", bounds.bytes))
            }
            _ => None,
        };
        if let Some(why) = why {
            child.kill()?;
            let status = child.wait()?;
            writeln!(stderr, "{why}")?;
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
        let output = run_watched(sleep, &question, None, || 0).expect("a shell");
        assert!(!output.status.success());
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.starts_with("began\nnothing came for"), "{words}");
    }

    /// pip read an endless page until the machine's memory was full.
    #[test]
    fn a_program_beyond_its_bounds_is_ended() {
        let watch = SourceWatch::new(Duration::from_secs(1000));
        let question = watch.ask_program("a program").expect("a question");
        for (time, bytes, words) in [
            (Duration::ZERO, u64::MAX, "it did not end in 0 s\n"),
            (Duration::MAX, 7, "more than 7 bytes came\n"),
        ] {
            let mut sleep = Command::new("sleep");
            sleep.arg("1000");
            let bounds = Some(ProgramBounds { time, bytes });
            let output = run_watched(sleep, &question, bounds, || 8).expect("sleep");
            assert!(!output.status.success());
            assert_eq!(String::from_utf8_lossy(&output.stderr), words);
        }
    }

    #[test]
    fn a_program_that_receives_something_may_go_on() {
        let watch = SourceWatch::new(Duration::from_millis(50));
        let question = watch.ask_program("a program").expect("a question");
        let mut slow = Command::new("sh");
        slow.args(["-c", "sleep 1; echo end"]);
        let size = Cell::new(0);
        let grows = || size.replace(size.get() + 1);
        let output = run_watched(slow, &question, None, grows).expect("a shell");
        assert!(output.status.success());
        assert_eq!(output.stdout, b"end\n");
        assert!(question.was_answered());
    }
}
