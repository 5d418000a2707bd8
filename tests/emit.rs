//! Emitted text: build.nix as golden files, strings as Nix reads them back, and files that are
//! replaced.

mod common;
#[path = "../benches/builds/synthetic.rs"]
#[expect(dead_code, reason = "benches use more of it")]
mod synthetic;

use camino::{Utf8Path, Utf8PathBuf};
use common::kernel::Sample;
use common::{agreement, nix};
use kernel_builder::emit::release_table::{self, ReleaseTable};
use kernel_builder::emit::{self, EmitError, Written, build_nix, nix::string};
use kernel_builder::kernel::Kernel;
use kernel_builder::manifest::Manifest;
use kernel_builder::matrix::{matrix, table};
use kernel_builder::plan::{Plan, plan};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;

/// Texts that have a meaning to Nix somewhere in a string, or had one to a program that wrote Nix.
const HOSTILE: &[&str] = &[
    "",
    r#"${builtins.abort "x"}"#,
    r#"$${builtins.abort "x"}"#,
    r#"\${builtins.abort "x"}"#,
    r#"\\${builtins.abort "x"}"#,
    r#""; boom = builtins.abort "x"; a = ""#,
    "''",
    "'''",
    "''${1}''\\n''$",
    "two\nlines\n",
    "\r\n",
    "\r",
    "\t \\t \\n \\r \\\\",
    "$",
    "$$",
    "$\"",
    "$\\",
    "{ } {{ name }} {% raw %} {# no comment #}",
    "/* no comment */ # neither",
    "<nixpkgs> ./. ~/x https://example.org",
    "\u{1}\u{8}\u{b}\u{c}\u{1b}[31m\u{7f}\u{80}\u{85}",
    "\u{feff}ä\u{2028}\u{2029}\u{10ffff}🦀",
];

fn plan_of(kernel: &Kernel) -> Plan {
    plan(kernel, &matrix(kernel, table()), table()).expect("a plan")
}

fn golden(example: &str) {
    let repository = Utf8Path::new(env!("CARGO_MANIFEST_DIR"));
    let kernel = Kernel::load(
        &repository.join("examples").join(example),
        &table().toolkits,
    )
    .expect("an example");
    let text = build_nix(&plan_of(&kernel.kernel), table()).expect("build.nix");

    let path = repository.join(format!("examples/{example}/build.nix"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("write the golden file");
    }
    let expected = std::fs::read_to_string(&path).expect("a golden file");
    assert!(
        text == expected,
        "build.nix of {example} is not {path}: if it should not be, run this test with UPDATE_GOLDEN=1\n{text}"
    );

    assert_eq!(rnix::Root::parse(&text).errors(), []);
    assert_eq!(nixfmt_rs::format(&text).as_ref(), Ok(&text));
    let again = Kernel::load(
        &repository.join("examples").join(example),
        &table().toolkits,
    )
    .expect("an example");
    assert_eq!(
        build_nix(&plan_of(&again.kernel), table()).expect("build.nix"),
        text,
        "not deterministic"
    );
}

/// Nix reads names and flags of releases from a file that Rust makes of its own table.
#[test]
fn the_release_table_of_nix_is_golden() {
    let text = ReleaseTable::new(table()).text();
    let path = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join(release_table::PATH);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).expect("write the golden file");
    }
    let expected = std::fs::read_to_string(&path).expect("a golden file");
    assert!(
        text == expected,
        "{path} is not made of src/matrix/toolchains.toml: run this test with UPDATE_GOLDEN=1"
    );
}

#[test]
fn relu_is_golden() {
    golden("relu");
}

#[test]
fn img2gray_is_golden() {
    golden("img2gray");
}

#[test]
fn relu_tvm_ffi_is_golden() {
    golden("relu-tvm-ffi");
}

#[test]
fn silu_and_mul_is_golden() {
    golden("silu-and-mul");
}

#[test]
fn examples_for_one_subject_are_golden() {
    for example in [
        "compiler-flags",
        "cutlass-gemm",
        "extra-data",
        "gemm",
        "leaky-relu",
        "relu-all-backends",
        "relu-stable-abi",
    ] {
        golden(example);
    }
}

/// An emitted string is that string to Nix, also after the formatter has had its way with it. (Nix
/// turns a raw carriage return into a newline and reads `${`; other control characters it takes,
/// and its JSON escapes them.)
#[test]
fn strings_come_back_from_nix() {
    // A Nix string cannot hold NUL; callers of the emitter refuse it (KB0408).
    let piece = prop_oneof![
        3 => prop::sample::select(HOSTILE).prop_map(str::to_owned),
        2 => "[^\\x00]{0,6}",
        1 => "[\\x01-\\x20\\x7f$\\\\{}\"'a]{0,6}",
    ];
    let pieces = prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat());
    // NB: one call of Nix for all strings. One for each, as `proptest!` would have it, takes a
    // minute.
    let mut runner = TestRunner::default();
    let mut tree = prop::collection::vec(pieces, 2000)
        .new_tree(&mut runner)
        .expect("strings")
        .current();
    tree.extend(HOSTILE.iter().map(ToString::to_string));

    let literals: Vec<_> = tree.iter().map(|text| string(text)).collect();
    let list = format!("[\n{}\n]", literals.join("\n"));
    let formatted = nixfmt_rs::format(&list).expect("valid Nix");
    for expression in [list, formatted] {
        let back = nix::evaluate(&expression);
        let back = back.as_array().expect("a list");
        assert_eq!(back.len(), tree.len());
        for ((text, back), literal) in tree.iter().zip(back).zip(&literals) {
            assert_eq!(back, text, "emitted as {literal}");
        }
    }
}

/// Text of build.toml once ended up in generated files as code. Here every place that takes free
/// text holds hostile one, and Nix must get the plan back from build.nix as plain data.
#[test]
fn hostile_text_is_data_to_nix() {
    let quoted: Vec<_> = HOSTILE.iter().map(|text| json!(text).to_string()).collect();
    // TOML's escapes are JSON's, except for DEL, which it wants escaped.
    let list = format!("[{}]", quoted.join(", ")).replace('\u{7f}', "\\u007f");
    let odd = r#"${builtins.abort "x"}''$$ {{ name }}"#;
    let name = json!(odd);
    let path = |suffix: &str| json!(format!("csrc/{odd}{suffix}"));
    let sample = Sample::new(
        &format!(
            r#"
[general]
name = "sample"
edition = 5
version = 9223372036854775807
license = {name}
backends = ["cpu", "cuda", "tpu"]
kernel-depends = [{{ repo-id = "a/b", revision = {name} }}]

[torch]
src = ["torch-ext/binding.cpp", {header}]
include = [{dir}]
pyext = ["py", {name}]
cxx-flags = {list}

[kernel.gpu]
backend = "cuda"
depends = []
src = [{cuda}]
cuda-flags = {list}
cxx-flags = {list}

[kernel.host]
backend = "cpu"
depends = []
src = [{host}]
cxx-flags = {list}
"#,
            header = path(".h"),
            dir = path(""),
            cuda = path(".cu"),
            host = path(".cpp"),
        ),
        &[
            (&format!("csrc/{odd}.h"), ""),
            (&format!("csrc/{odd}.cu"), ""),
            (&format!("csrc/{odd}.cpp"), ""),
            (&format!("csrc/{odd}/inner.h"), ""),
        ],
    );
    let kernel = sample.kernel();
    agreement::assert_nix_gets_the_plan(&kernel);

    // The plan in turn holds the texts of build.toml.
    let plan = plan_of(&kernel);
    for name in ["cpu", "cu130"] {
        let name = format!("torch211-cxx11-{name}-x86_64-linux");
        let mut variants = plan.variants.iter();
        let variant = variants.find(|variant| variant.variant == name);
        let variant = variant.expect("a variant");
        assert_eq!(variant.metadata.license, odd);
        for component in &variant.components {
            // No unit includes a header, so its own flags come last.
            let flags = &component.units[0].flags;
            assert_eq!(flags[flags.len() - HOSTILE.len()..], *HOSTILE);
        }
        let sources = &variant.components[1].units[0].sources;
        assert!(sources[0].starts_with(&format!("csrc/{odd}.c")));
    }
}

/// A key that takes no free text refuses it, with the line that is wrong.
#[test]
fn hostile_names_are_refused_where_they_stand() {
    let good = r#"[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["cpu"]
[torch]
src = ["torch-ext/binding.cpp"]
include = []
[kernel.host]
backend = "cpu"
depends = []
src = ["csrc/host.cpp"]
cxx-flags = []
"#;
    let sample = Sample::new(good, &[("csrc/host.cpp", "")]);
    let root = sample.kernel().root;
    for (line, hostile, code) in [
        (2, r#"name = "${builtins.abort 1}""#, "KB0101"),
        (2, r#"name = "sample\"''""#, "KB0101"),
        (6, r#"backends = ["cpu", "${x}"]"#, "KB0007"),
        (9, r#"include = ["torch-ext\n"]"#, "KB0402"),
        (9, r#"include = ["${builtins.abort 1}"]"#, "KB0405"),
        (10, r#"[kernel."${builtins.abort 1}"]"#, "KB0301"),
        (10, r#"[kernel."a\nb"]"#, "KB0301"),
        (12, r#"depends = ["''"]"#, "KB0007"),
        (14, r#"cxx-flags = ["-DX=\u0000"]"#, "KB0408"),
    ] {
        let mut lines: Vec<&str> = good.lines().collect();
        lines[line - 1] = hostile;
        let (kernel, problems) = Kernel::check(
            &Manifest::read("build.toml", lines.join("\n").as_bytes()),
            &root,
            &table().toolkits,
        );
        assert!(kernel.is_none(), "{hostile}");
        let found: Vec<_> = problems
            .iter()
            .map(|problem| {
                (
                    problem.code.id,
                    problems.line_column(problem.place.span.start).0,
                )
            })
            .collect();
        assert_eq!(found, [(code, line)], "{hostile}");
    }
}

/// A folder for `emit::write`.
struct Target {
    dir: tempfile::TempDir,
}

impl Target {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        Self { dir }
    }

    fn file(&self) -> Utf8PathBuf {
        let dir = Utf8Path::from_path(self.dir.path()).expect("a UTF-8 path");
        dir.join("build.nix")
    }

    fn names(&self) -> Vec<String> {
        let entries = self.dir.path().read_dir().expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect()
    }
}

fn generated(body: &str) -> String {
    format!("# {} generate`\n{body}\n", emit::MARKER)
}

#[test]
fn a_generated_file_is_replaced_and_nothing_else_is_left() {
    let target = Target::new();
    let path = target.file();
    assert_eq!(
        emit::write(&path, &generated("1")).expect("written"),
        Written::Created
    );
    assert_eq!(
        emit::write(&path, &generated("2")).expect("written"),
        Written::Updated
    );
    assert_eq!(
        std::fs::read_to_string(&path).expect("a file"),
        generated("2")
    );
    assert_eq!(target.names(), ["build.nix"]);
}

/// Rewriting a file with the same content made every tool that looks at times start over.
#[test]
fn an_equal_file_is_not_written() {
    let target = Target::new();
    let path = target.file();
    emit::write(&path, &generated("1")).expect("written");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1);
    let file = std::fs::File::options()
        .append(true)
        .open(&path)
        .expect("a file");
    file.set_modified(long_ago).expect("set the time");
    assert_eq!(
        emit::write(&path, &generated("1")).expect("written"),
        Written::Unchanged
    );
    let modified = path.metadata().expect("a file").modified();
    assert_eq!(modified.expect("a time"), long_ago);
}

#[test]
fn a_file_of_the_user_is_never_touched() {
    for own in ["", "{ }\n", &format!("{{ }}\n{}", generated("1"))] {
        let target = Target::new();
        let path = target.file();
        std::fs::write(&path, own).expect("write a file");
        let error = emit::write(&path, &generated("1")).expect_err("a foreign file");
        assert!(matches!(error, EmitError::Foreign { .. }), "{error}");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), own);
        assert_eq!(target.names(), ["build.nix"]);
    }
}

/// A folder under the name of the file is neither replaced nor filled.
#[test]
fn a_folder_in_the_way_stays() {
    let target = Target::new();
    std::fs::create_dir(target.file()).expect("create a folder");
    let error = emit::write(&target.file(), &generated("1")).expect_err("a folder in the way");
    assert!(matches!(error, EmitError::Write { .. }), "{error}");
    assert!(target.file().is_dir());
    assert_eq!(target.names(), ["build.nix"]);
}

/// A file of the user's keeps its mode, and a link to it stays a link.
#[test]
fn a_users_file_is_replaced_in_place() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let dir = tempfile::tempdir().expect("a temporary folder");
    let dir = Utf8Path::from_path(dir.path()).expect("a UTF-8 path");
    let (file, link) = (dir.join("real.toml"), dir.join("build.toml"));
    std::fs::write(&file, "old").expect("written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("a mode");
    symlink("real.toml", &link).expect("a link");
    emit::replace(&link, "new").expect("replaced");
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "new");
    let mode = file.metadata().expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(dir.read_dir_utf8().expect("a folder").count(), 2);
}

/// People review build.nix. It once had 2,437 lines for the three sources of relu.
#[test]
fn build_nix_is_short_enough_to_review() {
    let lines = |root: &Utf8Path| {
        let kernel = Kernel::load(root, &table().toolkits)
            .expect("a kernel")
            .kernel;
        let text = build_nix(&plan_of(&kernel), table()).expect("build.nix");
        text.lines().count()
    };
    let relu = lines(&Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu"));
    assert!(relu <= 250, "{relu} lines");

    let folder = tempfile::tempdir().expect("a temporary folder");
    for cuda in [0, 60] {
        let kernel = synthetic::Synthetic {
            units: 60,
            cuda,
            torch: false,
            instances: 1,
        };
        synthetic::write(folder.path(), kernel, "");
        let sixty = lines(Utf8Path::from_path(folder.path()).expect("a UTF-8 path"));
        assert!(sixty <= 450, "{sixty} lines");
    }

    let sources: Vec<String> = (0..2816).map(|at| format!("csrc/unit_{at}.hip")).collect();
    let sample = Sample::new(
        &format!(
            r#"
[general]
name = "sample"
edition = 5
version = 1
license = "MIT"
backends = ["rocm"]

[torch]
src = ["torch-ext/binding.cpp"]

[kernel.gpu]
backend = "rocm"
depends = []
src = {sources:?}
"#
        ),
        &[("csrc/a.h", ""), ("csrc/b.h", "#include \"a.h\"\n")],
    );
    for source in &sources {
        sample.write(source, "#include \"a.h\"\n#include \"b.h\"\n");
    }
    let many = lines(&sample.kernel().root);
    assert!(many <= 4 * sources.len(), "{many} lines");
}

/// Lines that come and go between two texts.
fn changed_lines(old: &str, new: &str) -> Vec<String> {
    let diff = similar::TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes();
    let changed = changes.filter(|change| change.tag() != similar::ChangeTag::Equal);
    changed.map(|change| change.to_string()).collect()
}

/// CONTRIBUTING.md shows these three diffs.
#[test]
fn a_small_change_is_a_small_diff_of_build_nix() {
    let examples = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relu");
    let read = |path: &str| std::fs::read_to_string(examples.join(path)).expect(path);
    let build_toml = read("build.toml");
    let device = read("csrc/relu_cuda.cu");
    let text_of = |build_toml: &str, table: &kernel_builder::matrix::Table| {
        let paths =
            ["relu_cpu.cpp", "relu_cuda.cu", "relu_cuda.h"].map(|name| format!("csrc/{name}"));
        let binding = ["cpp", "h"].map(|end| format!("torch-ext/torch_binding.{end}"));
        let paths = [
            &paths[..],
            &binding[..],
            &["torch-ext/relu/__init__.py".to_owned()],
        ]
        .concat();
        let files: Vec<_> = paths
            .iter()
            .map(|path| (path.as_str(), read(path)))
            .collect();
        let mut files: Vec<_> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        if build_toml.contains("gelu_cuda.cu") {
            files.push(("csrc/gelu_cuda.cu", &device));
        }
        let sample = Sample::new(build_toml, &files);
        let kernel = sample.kernel();
        let plan = plan(&kernel, &matrix(&kernel, table), table).expect("a plan");
        build_nix(&plan, table).expect("build.nix")
    };

    let section = "src = [\"csrc/relu_cuda.cu\"";
    let source = build_toml.replace(section, &format!("{section}, \"csrc/gelu_cuda.cu\""));
    let device = "backend = \"cuda\"";
    let capabilities = |list: &str| {
        let list = format!("{device}\ncuda-capabilities = [{list}]");
        text_of(&build_toml.replace(device, &list), table())
    };
    let toolchains = include_str!("../src/matrix/toolchains.toml");
    let row =
        "torch = \"2.16.0\", backend = \"cuda\", compute = \"13.2\", system = \"x86_64-linux\"";
    let facts = "cxx = 20\ndefines = [\"USE_C10D_GLOO\"]\ncuda-defines = []\n";
    let newer = toolchains.replacen(
        "rows = [",
        &format!("rows = [\n{{ {row}, profile = \"registry\", bundle = true }},"),
        1,
    );
    let newer = toml::from_str(&format!("{newer}\n[torch.\"2.16\"]\n{facts}")).expect("a table");

    let before = text_of(&build_toml, table());
    for (what, before, after) in [
        ("source", &before, &text_of(&source, table())),
        (
            "capability",
            &capabilities("\"8.0\", \"9.0\""),
            &capabilities("\"8.0\", \"9.0\", \"10.0\""),
        ),
        ("row", &before, &text_of(&build_toml, &newer)),
    ] {
        let lines = changed_lines(before, after);
        assert!(
            (1..=8).contains(&lines.len()),
            "one more {what}:\n{}",
            lines.concat()
        );
    }
}
