//! The commands of Nix as `-v` prints them.

use std::process::Command;

use crate::terminal::is_verbose;

/// The line that `-v` prints about a command before it runs; `None` without `-v`.
pub fn verbose_line(command: &Command) -> Option<String> {
    let program = command.get_program().to_string_lossy();
    let words = command.get_args();
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    is_verbose(1).then(|| {
        let words = match is_verbose(2) {
            true => words,
            false => abbreviate(&words),
        };
        let program = program.rsplit('/').next().unwrap_or_default();
        format!("running: {program} {}", words.join(" "))
    })
}

/// Arguments without settings of Nix, and with a number in place of several store paths.
fn abbreviate(words: &[String]) -> Vec<String> {
    let mut shown = Vec::new();
    let mut paths = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--option" => {
                words.next();
                words.next();
            }
            "--extra-experimental-features" => {
                words.next();
            }
            path if path.starts_with("/nix/store/") => paths.push(path.to_owned()),
            _ => shown.push(word.clone()),
        }
    }
    match paths.len() {
        0 | 1 => shown.extend(paths),
        number => shown.push(format!("({number} paths)")),
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_paths_are_a_number() {
        let abbreviated = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            abbreviate(&words).join(" ")
        };
        assert_eq!(
            abbreviated("--realise --option sandbox true /nix/store/a.drv /nix/store/b.drv -v"),
            "--realise -v (2 paths)"
        );
        assert_eq!(
            abbreviated("--extra-experimental-features nix-command show-config --json"),
            "show-config --json"
        );
        assert_eq!(abbreviated("--dump /nix/store/a"), "--dump /nix/store/a");
    }
}
