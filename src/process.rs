//! How programs are started that may run for long.

use std::process::Command;

/// Makes a program get SIGTERM when this program ends, even by SIGKILL: nobody else would end the
/// compilers of a build or a download. The thread that starts it must wait for it, since Linux
/// looks at that thread. No effect on macOS, which has no such signal.
pub fn end_with_this_program(command: &mut Command) -> &mut Command {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;

        use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

        let parent = getpid();
        let ask = move || {
            set_parent_process_death_signal(Some(Signal::TERM))?;
            match getppid() == Some(parent) {
                true => Ok(()),
                // This program has ended already.
                false => Err(std::io::ErrorKind::Interrupted.into()),
            }
        };
        // SAFETY: between fork and exec, `ask` only makes two system calls. It takes no lock and no
        // memory.
        unsafe { command.pre_exec(ask) };
    }
    command
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_a_signal_when_its_starter_ends() {
        let start = || {
            let mut command = Command::new("sleep");
            end_with_this_program(command.arg("600")).spawn()
        };
        let child = std::thread::spawn(start).join().expect("a result");
        let mut child = child.expect("started");
        // The thread that started it has ended, which counts like the end of the program.
        let status = child.wait().expect("an end");
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(15)
        );
    }
}
