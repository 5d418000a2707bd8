//! Which edition a file is taken for, and why: files with as little as possible, right or not.

use kernel_builder::manifest::Manifest;

const SECTION: &str = "[kernel.relu]\nsrc = []\ndepends = []\n";

#[test]
fn the_key_that_decides_is_named() {
    let general = |lines: &str| format!("[general]\nname = \"relu\"\n{lines}\n");
    let files = [
        general(""),
        general("edition = 5"),
        general("edition = 5\nuniversal = true"),
        general("version = 1"),
        general("license = \"MIT\""),
        general("source = \"https://example.org/a\""),
        general("backends = []"),
        general("backends = []\nversion = 1"),
        general("backends = []\nversion = 1\nlicense = \"MIT\""),
        general("backends = []\nversion = 1\nlicense = \"MIT\"\n[torch]"),
        general("backends = []\nuniversal = true"),
        general("universal = true\nlicense = \"MIT\""),
        general("universal = true\n[torch]\ncxx-flags = []"),
        general("cuda-maxver = \"13.0\""),
        general("cuda.maxver = \"13.0\""),
        general("tpu.python-depends = []"),
        general("[torch]\nuniversal = false"),
        general("[torch]\nuniversal = false\nstable-abi = \"2.9\""),
        general("[torch-noarch]"),
        general("[tvm-ffi]"),
        general(&format!("[torch]\n{SECTION}")),
        general(&format!("[torch]\nmaxver = \"2.9\"\n{SECTION}")),
        general(&format!("[torch]\n{SECTION}language = \"metal\"")),
        general(&format!("[torch]\n{SECTION}backend = \"cuda\"")),
    ];
    let mut shown = String::new();
    for file in files {
        let manifest = Manifest::read("build.toml", file.as_bytes());
        let detected = manifest.edition.expect("a known edition");
        let lines = file.lines().skip(2).collect::<Vec<_>>().join(" ");
        shown += &format!(
            "{}, because {}\n    {lines}\n",
            detected.edition, detected.because
        );
    }
    insta::assert_snapshot!("detection", shown);
}
