//! Emitted text: build.nix as golden files, strings as Nix reads them back, and files that are
//! replaced.

mod common;

use camino::{Utf8Path, Utf8PathBuf};
use common::kernel::Sample;
use common::nix;
use kernel_builder::emit::{self, EmitError, Written, nix::build_nix, nix::string};
use kernel_builder::kernel::Kernel;
use kernel_builder::manifest::Manifest;
use kernel_builder::matrix::{matrix, table};
use kernel_builder::plan::{Plan, plan};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

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
    let text = build_nix(&plan_of(&kernel.kernel)).expect("build.nix");

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
        build_nix(&plan_of(&again.kernel)).expect("build.nix"),
        text,
        "not deterministic"
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

/// An emitted string is that string to Nix, also after the formatter has had its way with it. (Nix
/// turns a raw carriage return into a newline and reads `${`; other control characters it takes,
/// and its JSON escapes them.)
#[test]
fn strings_come_back_from_nix() {
    // NUL has no place in a Nix string; whoever emits text rules it out (KB0408).
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
    let plan = plan_of(&kernel);
    emit::write(
        &kernel.root.join("build.nix"),
        &build_nix(&plan).expect("build.nix"),
    )
    .expect("written");

    let back = nix::evaluate(&format!(
        "import (/. + {}) {{ kernelBuilder = {{
            kernel = kernel: kernel;
            torchExtension = common: variant: variant // {{ kernel = removeAttrs common [ \"root\" ]; }};
            torchNoarch = common: variant: variant // {{ kernel = removeAttrs common [ \"root\" ]; }};
        }}; }}",
        string(kernel.root.join("build.nix").as_str())
    ));
    let expected = serde_json::to_value(&plan).expect("JSON");
    let list = |name: &str| expected[name].as_array().expect("a list").clone();
    let mut variants = [list("variants"), list("noarch")].concat();
    assert!(variants.len() > 30);
    for variant in &mut variants {
        let keys = [
            "name", "manifest", "python", "listing", "searches", "objects",
        ];
        let common = keys.map(|key| (key.to_owned(), expected[key].clone()));
        variant["kernel"] = Value::Object(common.into_iter().collect());
    }
    assert_eq!(
        back,
        json!({ "name": "sample", "hub": {}, "variants": variants })
    );

    // The plan in turn holds the texts of build.toml.
    let variants = back["variants"].as_array().expect("a list");
    let at = |name: &str| {
        let name = format!("torch211-cxx11-{name}-x86_64-linux");
        let mut variants = variants.iter();
        variants
            .position(|variant| variant["variant"] == name)
            .expect("a variant")
    };
    let (cpu, cuda) = (at("cpu"), at("cu130"));
    // No unit includes a file.
    let units = |variant: usize, component: usize| {
        let variant = &variants[variant];
        let shared = &variant["components"][component]["shared"][0];
        &variant["kernel"]["objects"][shared.as_u64().expect("a place") as usize]["units"]
    };
    let flags = |variant: usize, component: usize| -> Vec<&Value> {
        let flags = units(variant, component)["flags"]
            .as_array()
            .expect("a list");
        flags[flags.len() - HOSTILE.len()..].iter().collect()
    };
    for (variant, component) in [(cpu, 0), (cpu, 1), (cuda, 0), (cuda, 1)] {
        assert_eq!(flags(variant, component), HOSTILE);
    }
    assert_eq!(variants[cpu]["metadata"]["license"], odd);
    assert_eq!(units(cuda, 1)["sources"], json!([format!("csrc/{odd}.cu")]));
}

/// Where free text has no business, build.toml is refused with the line that is wrong.
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

/// A folder that is in the way is neither replaced nor filled.
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

/// Values that variants share are written once, and Nix reads the same values.
#[test]
fn common_values_have_a_name() {
    let text = include_str!("../examples/relu/build.nix");
    assert_eq!(text.matches("GLIBCXX = ").count(), 1, "{text}");
}
