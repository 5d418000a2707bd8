//! Wheels through the machine's own pip configuration: its index, mirrors, proxies and credentials.

use std::process::{Command, Stdio};

use camino::Utf8Path;

use super::{Archive, PinError, Source};

/// Fetches parts of wheels by HTTP ranges, which pip itself cannot.
const WHEELS: &str = include_str!("wheels.py");

/// Downloads one wheel to `dir`, which must be its own: pip's temporary files lie there too, so that the folder's size
/// shows progress.
///
/// # Errors
/// `PinError::Program` where there is no pip, `PinError::Download` with pip's own words.
pub fn download(archive: &Archive, dir: &Utf8Path) -> Result<(), PinError> {
    let mut command = python()?;
    command.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
    ]);
    command.args([
        "--no-deps",
        "--no-cache-dir",
        "--only-binary",
        ":all:",
        "--dest",
        dir.as_str(),
    ]);
    command.args(platform_arguments(&archive.file));
    command.arg(format!("{}=={}", archive.name, archive.version));
    command.env("TMPDIR", dir);
    run(command, &archive.file)
}

/// Downloads one wheel to `target`, from where an earlier run ended.
///
/// # Errors
/// `PinError::Download` when the index does not serve ranges; `download` is then the way.
pub fn resume(archive: &Archive, target: &Utf8Path) -> Result<(), PinError> {
    let mut command = python()?;
    command.args([
        "-c",
        WHEELS,
        "whole",
        &archive.name,
        &archive.file,
        target.as_str(),
    ]);
    run(command, &archive.file)
}

/// Takes the wanted members of a wheel into `dir` without downloading the whole wheel.
///
/// # Errors
/// `PinError::Download` when the index does not serve ranges; the whole wheel is then the way.
pub fn members(source: &Source, dir: &Utf8Path) -> Result<(), PinError> {
    let archive = &source.archive;
    let mut command = python()?;
    command.args([
        "-c",
        WHEELS,
        "members",
        &archive.name,
        &archive.file,
        dir.as_str(),
    ]);
    command.args(source.take.iter().map(|take| take.glob.as_str()));
    run(command, &archive.file)
}

fn python() -> Result<Command, PinError> {
    let program = which::which("python3").map_err(|_| PinError::Program {
        program: "python3",
        what: "the Python wheels that hold torch and CUDA",
        help: "install Python and pip, e.g. `apt-get install python3-pip`",
    })?;
    Ok(Command::new(program))
}

fn run(mut command: Command, file: &str) -> Result<(), PinError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(PinError::io("start", "python3"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(PinError::download(file, &output, |why| {
        if why.contains("No module named pip") {
            "install pip, e.g. `apt-get install python3-pip`"
        } else {
            "check the network and pip's configuration (`pip config list`); then run the command again: what was \
             fetched is kept"
        }
    }))
}

/// pip's words for "the wheel of this name": its Python, ABI and platform tags (PEP 427, PEP 425).
fn platform_arguments(file: &str) -> Vec<String> {
    let stem = file.strip_suffix(".whl").unwrap_or(file);
    let tags: Vec<&str> = stem.rsplitn(4, '-').collect();
    let [platforms, abi, python, _] = tags[..] else {
        return Vec::new();
    };
    let mut arguments = Vec::new();
    if let Some(version) = python.strip_prefix("cp") {
        arguments
            .extend(["--implementation", "cp", "--python-version", version].map(str::to_owned));
        arguments.extend(["--abi".to_owned(), abi.to_owned()]);
    }
    for platform in platforms.split('.').filter(|platform| *platform != "any") {
        arguments.extend(["--platform".to_owned(), platform.to_owned()]);
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::platform_arguments;

    #[test]
    fn tags_of_a_wheel_become_arguments() {
        let torch =
            platform_arguments("torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl").join(" ");
        assert_eq!(
            torch,
            "--implementation cp --python-version 311 --abi cp311 --platform manylinux_2_28_x86_64"
        );
        let several =
            platform_arguments("a_b-1-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl")
                .join(" ");
        assert_eq!(
            several,
            "--platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64"
        );
        assert!(platform_arguments("a-1-py3-none-any.whl").is_empty());
    }
}
