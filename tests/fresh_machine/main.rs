//! README.md's commands as a newcomer types them, in a fresh Debian 12: as root in a container, and
//! as an ordinary user whose administrator has set up Nix's daemon. The commands come from the
//! file, in its order. Needs root, debootstrap and 15 GB of disk.

#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use common::folder::{Folder, REPOSITORY, copy_tracked};

/// Commands that are left out, each with the reason.
const LEFT_OUT: [(&str, &str); 2] = [
    (
        "make demo",
        "it is the same build, with a torch of 2 GB; `make test` is given its result",
    ),
    (
        "make test",
        "an hour on a fresh machine; this test is part of it",
    ),
];

/// The commands of README.md: the lines of its code blocks, or those with a prompt in blocks that
/// show output too.
fn readme_commands() -> Vec<String> {
    let text = std::fs::read_to_string(format!("{REPOSITORY}/README.md")).expect("README.md");
    let mut commands = Vec::new();
    for block in text.split("\n\n") {
        let lines: Option<Vec<&str>> = block
            .lines()
            .map(|line| line.strip_prefix("    "))
            .collect();
        let Some(lines) = lines else { continue };
        let has_prompts = lines.iter().any(|line| line.starts_with("$ "));
        let lines = lines.into_iter().filter_map(|line| match has_prompts {
            true => line.strip_prefix("$ "),
            false => Some(line),
        });
        // A comment follows after two blanks or more.
        let typed = lines.map(|line| line.split("  #").next().unwrap_or(line).trim_end());
        commands.extend(typed.map(str::to_owned));
    }
    commands
}

/// A fresh machine with a clone of this repository.
struct Machine {
    folder: Folder,
    user: &'static str,
}

impl Machine {
    fn new(user: &'static str, packages: &[&str]) -> Self {
        let machine = Self {
            folder: Folder::new(),
            user,
        };
        let mut make = script("make-root.sh");
        succeed(make.arg(machine.root()).args(packages));
        machine
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Clones the repository into the user's home folder.
    fn clone_repository(&self) {
        let home = match self.user {
            "root" => "root".to_owned(),
            user => format!("home/{user}"),
        };
        let clone = self.root().join(home).join("kernel-builder");
        copy_tracked(Path::new(REPOSITORY), &[], &clone);
        let user = self.user;
        let identity = "-c user.name=test -c user.email=test@example.invalid";
        self.run_as_root(&format!("chown -R {user}: ~{user}/kernel-builder"));
        self.run(&format!(
            "cd kernel-builder && git init --quiet && git add --all && git {identity} commit --quiet --message all"
        ));
    }

    fn run_as_root(&self, line: &str) {
        succeed(
            script("enter-root.sh")
                .arg(self.root())
                .args(["root", line]),
        );
    }

    fn run(&self, line: &str) {
        succeed(
            script("enter-root.sh")
                .arg(self.root())
                .args([self.user, line]),
        );
    }

    /// Types the commands of README.md in the clone. Returns the number of commands.
    fn follow_readme(&self) -> usize {
        let mut typed = 0;
        // The folder that the last `cd` led to.
        let mut folder = "kernel-builder".to_owned();
        for command in readme_commands() {
            if LEFT_OUT.iter().any(|(name, _)| *name == command) {
                continue;
            }
            if let Some(to) = command.strip_prefix("cd ") {
                folder = format!("{folder}/{to}");
                continue;
            }
            let start = Instant::now();
            println!("{}$ {command}", self.user);
            self.run(&format!("cd {folder}; {command}"));
            println!("{:.0} s", start.elapsed().as_secs_f64());
            typed += 1;
        }
        typed
    }
}

fn script(name: &str) -> Command {
    Command::new(format!("{REPOSITORY}/tests/fresh_machine/{name}"))
}

/// Runs a program that must succeed; what it prints is shown.
fn succeed(command: &mut Command) {
    let status = command
        .stdin(Stdio::null())
        .status()
        .expect("start a program");
    assert!(status.success(), "{command:?} failed: {status}");
}

#[test]
fn the_commands_of_the_readme_are_found() {
    let commands = readme_commands();
    for known in [
        "scripts/install.sh",
        "scripts/fetch-tool.py",
        "kernel-builder doctor",
    ] {
        assert!(
            commands.iter().any(|command| command == known),
            "{known}: {commands:?}"
        );
    }
    for (left_out, _) in LEFT_OUT {
        assert!(
            commands.iter().any(|command| command == left_out),
            "{left_out}: {commands:?}"
        );
    }
    assert!(
        !commands.iter().any(|command| command.contains('<')),
        "{commands:?}"
    );
}

#[test]
#[ignore = "installs Debian twice, for half an hour: run by `make full-test`"]
fn readme_works_as_root_in_a_container() {
    let machine = Machine::new("root", &[]);
    machine.clone_repository();
    assert!(machine.follow_readme() > 8);
}

#[test]
#[ignore = "installs Debian twice, for half an hour: run by `make full-test`"]
fn readme_works_for_a_user_of_nix_daemon() {
    let machine = Machine::new("ada", &["nix-bin", "nix-setup-systemd", "sudo"]);
    machine.run_as_root(
        "useradd --create-home --shell /bin/bash --groups nix-users ada; \
         echo 'ada ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ada",
    );
    machine.clone_repository();
    assert!(machine.follow_readme() > 8);
}
