//! Runs programs that may hang, with a time limit.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The time between two looks at a running program.
const PAUSE: Duration = Duration::from_millis(10);

/// Runs a program without input to its end. After the limit, kills it with everything that it
/// started, and returns `None`.
///
/// # Errors
/// The errors of starting the program.
pub fn output_within(command: &mut Command, limit: Duration) -> io::Result<Option<Output>> {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // NB: a group of its own, which can be killed whole.
    let mut child = command.process_group(0).spawn()?;
    let start = Instant::now();
    let stdout = child.stdout.take().map(read_in_background);
    let stderr = child.stderr.take().map(read_in_background);
    loop {
        if let Some(status) = child.try_wait()? {
            let text = |reader: Option<JoinHandle<Vec<u8>>>| {
                let text = reader.and_then(|reader| reader.join().ok());
                text.unwrap_or_default()
            };
            return Ok(Some(Output {
                status,
                stdout: text(stdout),
                stderr: text(stderr),
            }));
        }
        if start.elapsed() > limit {
            kill_process_group(Pid::from_child(&child), Signal::KILL)?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

fn read_in_background(mut pipe: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // A pipe that breaks ends the text.
        let _ = pipe.read_to_end(&mut text);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that fills a pipe must not wait for a reader for ever.
    #[test]
    fn long_output_is_read_while_the_program_runs() {
        let mut program = Command::new("sh");
        program.args(["-c", "head -c 1000000 /dev/zero; echo words >&2; exit 3"]);
        let output = output_within(&mut program, Duration::from_secs(60)).expect("sh");
        let output = output.expect("an end");
        assert_eq!(output.stdout.len(), 1_000_000);
        assert_eq!(output.stderr, b"words\n");
        assert_eq!(output.status.code(), Some(3));
    }

    /// A child of a hanging program must not outlive it.
    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let file = dir.path().join("pid");
        let mut program = Command::new("sh");
        program
            .args(["-c", "sleep 600 & echo $! >$0; wait"])
            .arg(&file);
        let ended = output_within(&mut program, Duration::from_secs(1)).expect("sh");
        assert!(ended.is_none());
        let child = std::fs::read_to_string(file).expect("written in a second");
        let state = format!("/proc/{}/stat", child.trim());
        // A killed process may wait for its parent to look at it.
        let is_gone = || match std::fs::read_to_string(&state) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        let looks = std::iter::repeat_with(is_gone).take(1000);
        assert!(
            looks
                .inspect(|_| std::thread::sleep(PAUSE))
                .any(|gone| gone)
        );
    }
}
