//! The lines that the plan goes by: src/scan/includes.rs and the awk of nix/kernel/includes.sh must
//! make the same digests of them, or a build would refuse a file that nobody has changed.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::program::store;
use kernel_builder::scan::includes::digest;

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// Files for one run of the shell: a command line takes so many.
const BATCH: usize = 5000;

/// Bytes that are read in different ways easily.
const NASTY: &[&[u8]] = &[
    b"",
    b"\n",
    b"\\",
    b"\\\n",
    b"\r\n",
    b"#include \"a.h\"",
    b"#include \"a.h\"\n",
    b"#include \"a.h\"\r\n\r\n",
    b"#include \"a.h\" \t\x0c\r\n",
    b"#include \"a.h\" \x0b\n",
    b"#include \"a.h\"\x0b\\\n\"b.h\"\n",
    b"#inc\\\nlude \"a.h\"\n#include \\ \t\r\n <b.h>\n",
    b"#include \\ \x0b\n<b.h>\n",
    b"#include \"a.h\"\\\\\n<b.h>\n",
    b"// a \\\\\n\n#include <c>\n\\",
    b"int x; /* #include */ // ends in \\\n #include <d>  \t\r\x0c\nint include;\n",
    b"\\\n\\\n#include <a>\\\n\\\n",
    b"include #\n# include\n%: import\n%:% include\n#\n%\n:\n",
    b"int x # y %: include\n",
    b"__has_include\n__has_includes\nhas_include\nasm(\".incbin\");\nincbin\n",
    b"#embed \"a\"\n#pragma embed\n",
    b"TORCH_EXTENSION_NAME\nTORCH_EXTENSION\n_EXPAND\nTORCH_LIBRARY\nUSE_CUDA\nUSE\nPy_LIMITED_API\n",
    b"TORCH_\\\nLIBRARY(a, b)\nUSE\\\n_CUDA\n",
    b"\xff\xfe#include <a>\n\xc3\x28 include #\n\x80USE_\xff\n",
    "#include <\u{e4}>\u{a0}\n\u{2028}#include <b>\u{2028}\n\u{85}USE_\u{85}\n".as_bytes(),
    b"\xef\xbb\xbf#include <bom>\n",
    b"#include <a>\r#include <b>\r\n",
    b"#include <a> \n \n\t#\tinclude <b>\t",
    b"#include <=>\n#include \"a=b\"\n#include \"$&\\n\"\n",
];

/// Runs nix/kernel/includes.sh on files with digests that were recorded. It sees links to them,
/// with names that awk could take for assignments.
fn check(recorded: &[(PathBuf, String)]) -> Output {
    // The script writes to a folder beside that of the files.
    let work = tempfile::tempdir().expect("a temporary folder");
    let folder = work.path().join("kernel");
    std::fs::create_dir(&folder).expect("a folder");
    let name = |at: usize| format!("a {at}=$.cpp");
    let mut lines = String::new();
    for (at, (path, digest)) in recorded.iter().enumerate() {
        std::os::unix::fs::symlink(path, folder.join(name(at))).expect("a link");
        if at > 0 {
            lines += &format!("{digest} - {}\n", name(at));
        }
    }
    let list = work.path().join("list");
    std::fs::write(&list, lines).expect("written");
    Command::new("bash")
        .args(["-euo", "pipefail", "-c"])
        .arg("fail() { printf '%s\n' \"$*\" && exit 1; }; . \"$0\"")
        .arg(format!("{REPOSITORY}/nix/kernel/includes.sh"))
        .current_dir(folder)
        .env("source", name(0))
        .env("digest", &recorded[0].1)
        .env("headers", list)
        .output()
        .expect("bash")
}

/// Compares the digests of files.
fn assert_digests_agree(files: &[PathBuf]) {
    for batch in files.chunks(BATCH) {
        let digest = |file: &PathBuf| digest(&std::fs::read(file).expect("a file"));
        let recorded: Vec<(PathBuf, String)> = batch
            .iter()
            .map(|file| (file.clone(), digest(file)))
            .collect();
        let output = check(&recorded);
        let words = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        // `a 7=$.cpp` is the file with that number.
        let number = words
            .split(['=', ' '])
            .nth(1)
            .and_then(|at| at.parse().ok());
        let file = number.and_then(|at: usize| batch.get(at));
        assert!(output.status.success(), "{file:?}: {words}");
    }
}

/// The files below a folder that may be sources or headers. Those with a zero byte are left out: no
/// unit may reach one (`Search::binary`).
fn sources(folder: &Path) -> Vec<PathBuf> {
    const EXTENSIONS: [&str; 15] = [
        "c", "cc", "cpp", "cu", "cuh", "cxx", "h", "hip", "hpp", "hxx", "inc", "inl", "ipp",
        "metal", "mm",
    ];
    let entries = walkdir::WalkDir::new(folder).sort_by_file_name();
    let files = entries.into_iter().map(|entry| entry.expect("a file"));
    let files = files.filter(|entry| entry.file_type().is_file());
    files
        .filter_map(|entry| {
            let path = entry.path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            // Headers of C++ and CCCL have none.
            let may_be_source = extension.is_none_or(|extension| EXTENSIONS.contains(&extension));
            let text = std::fs::read(path).expect("a file");
            (may_be_source && !text.contains(&0)).then(|| path.to_owned())
        })
        .collect()
}

#[test]
fn nasty_lines_count_alike() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut files = Vec::new();
    let pairs = NASTY
        .iter()
        .flat_map(|a| NASTY.iter().map(move |b| [*a, *b]));
    for (at, pair) in pairs.enumerate() {
        let file = folder.path().join(at.to_string());
        std::fs::write(&file, pair.concat()).expect("written");
        files.push(file);
    }
    assert_digests_agree(&files);

    let output = check(&[(files[3].clone(), "0000000000000000".to_owned())]);
    assert_eq!(output.status.code(), Some(1), "another digest is refused");
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("kernel-builder generate"), "{words}");
}

#[test]
fn sources_of_this_repository_count_alike() {
    for folder in ["examples", "tests/fixtures", "templates", "nix"] {
        let files = sources(&Path::new(REPOSITORY).join(folder));
        assert!(!files.is_empty(), "{folder}");
        assert_digests_agree(&files);
    }
}

#[test]
#[ignore = "reads headers of torch and CUDA: run by `make test`"]
fn headers_of_torch_and_cuda_count_alike() {
    let store = Path::new(&store()).join("nix/store");
    let paths = std::fs::read_dir(&store).expect("a store");
    let paths: Vec<PathBuf> = paths.map(|path| path.expect("a path").path()).collect();
    let is_named = |path: &&PathBuf, name: &str| path.to_string_lossy().ends_with(name);
    let torch = paths
        .iter()
        .find(|path| is_named(path, "-torch-2.11.0-headers"));
    // Made by the first build that needs it, which another test may be.
    let cuda = paths.iter().find(|path| is_named(path, "-cuda-13.0"));
    for folder in [torch.expect("`make test` fetches torch's headers")]
        .into_iter()
        .chain(cuda)
    {
        let files = sources(folder);
        assert!(
            files.len() > 100,
            "{} has {} headers",
            folder.display(),
            files.len()
        );
        assert_digests_agree(&files);
    }
}
