//! Measures how long it takes to read and check a large build.toml whose files all exist: `cargo
//! bench --bench manifest`. It prints figures and asserts none; docs/benchmarks.md keeps them.

use std::time::{Duration, Instant};

use camino::Utf8Path;
use kernel_builder::kernel::Kernel;
use kernel_builder::manifest::Manifest;
use kernel_builder::matrix::table;

const SOURCES: usize = 2000;
const SECTIONS_PER_BACKEND: usize = 8;
const ROUNDS: usize = 101;

/// Every backend that can have sections, the extension of its sources, and a line that only its
/// sections have.
const BACKENDS: [(&str, &str, &str); 5] = [
    ("cpu", "cpp", "cxx-flags = [\"-O3\"]"),
    ("cuda", "cu", "cuda-capabilities = [\"8.0\", \"9.0a\"]"),
    ("metal", "metal", ""),
    ("rocm", "hip", "rocm-archs = [\"gfx90a\", \"gfx942\"]"),
    ("xpu", "cpp", "sycl-flags = [\"-O3\"]"),
];

fn main() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let root = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    let text = write(root);
    Kernel::load(root, &table().toolkits).unwrap_or_else(|error| panic!("{error}"));
    let file = root.join("build.toml");
    let bytes = std::fs::read(&file).expect("the file just written");
    let read = times(|| drop(Manifest::read(file.as_str(), &bytes)));
    let all = times(|| drop(Kernel::load(root, &table().toolkits)));
    println!(
        "{SOURCES} sources, {} backends, {} sections, {} kB",
        BACKENDS.len(),
        BACKENDS.len() * SECTIONS_PER_BACKEND,
        text / 1000,
    );
    for (what, [min, median]) in [("read", read), ("read and check", all)] {
        println!("{what}: min {min:.1?}, median {median:.1?}");
    }
}

/// The shortest and the middle time of many runs.
fn times(run: impl Fn()) -> [Duration; 2] {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..ROUNDS).map(time).collect();
    times.sort();
    [times[0], times[ROUNDS / 2]]
}

/// Writes the kernel and returns the size of its build.toml.
fn write(root: &Utf8Path) -> usize {
    let file = |path: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("create a folder");
        std::fs::write(path, "").expect("write a file");
    };
    file("torch-ext/large/__init__.py");
    file("torch-ext/binding.cpp");
    let mut text =
        "[general]\nname = \"large\"\nversion = 1\nedition = 5\nlicense = \"Apache-2.0\"\n\
                    backends = [\"cpu\", \"cuda\", \"metal\", \"rocm\", \"xpu\"]\n\n\
                    [torch]\nsrc = [\"torch-ext/binding.cpp\"]\n"
            .to_owned();
    let per_section = SOURCES / BACKENDS.len() / SECTIONS_PER_BACKEND;
    for (backend, extension, line) in BACKENDS {
        for section in 0..SECTIONS_PER_BACKEND {
            text += &format!(
                "\n[kernel.{backend}-{section}]\nbackend = \"{backend}\"\ndepends = [\"torch\"]\n{line}\nsrc = [\n"
            );
            for source in 0..per_section {
                let path = format!("csrc/{backend}/section_{section}/source_{source}.{extension}");
                file(&path);
                text += &format!("  \"{path}\",\n");
            }
            text += "]\n";
        }
    }
    std::fs::write(root.join("build.toml"), &text).expect("write build.toml");
    text.len()
}
