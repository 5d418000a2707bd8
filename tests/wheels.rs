//! `to-wheel`: the bytes of wheels and of indexes, and the variant that a wheel takes when it is
//! imported. Real builds are installed with the real pip and uv.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::folder::{Folder, REPOSITORY, example};
use common::program::{build, kernel_builder, printed, python, run, venv, words};
use serde_json::{Value, json};

const CPU: &str = "torch211-cxx11-cpu-x86_64-linux";
const CUDA: &str = "torch211-cxx11-cu130-x86_64-linux";

/// A folder with variants of Python alone in `build/`, and a licence.
fn made_up(variants: &[&str], version: u64) -> Folder {
    let folder = Folder::new();
    for variant in variants {
        let metadata = json!({
            "name": "made-up", "id": format!("_made_up_{}", variant.replace('-', "_")), "version": version,
            "license": "mit", "python-depends": ["einops"], "backend": { "type": "cpu" },
        });
        for (path, text) in [
            ("__init__.py", format!("VARIANT = {variant:?}\n")),
            ("data/a,b.txt", variant.repeat(1000)),
            ("metadata.json", metadata.to_string()),
        ] {
            folder.write(&format!("build/{variant}/{path}"), text);
        }
    }
    folder.write("LICENSE", "the licence\n");
    run_on("hash", folder.path(), &[]);
    folder
}

/// Runs a command on a folder, and returns its exit code and its words in one line.
fn run_on(command: &str, path: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = kernel_builder(command)
        .env_remove("SOURCE_DATE_EPOCH")
        .arg(path)
        .args(arguments)
        .output();
    let output: Output = output.expect("start the program");
    let said = words(&output).replace('│', " ");
    (
        output.status.code(),
        said.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

/// Writes wheels, and returns their paths.
fn wheels(kernel: &Path, out: &Path, arguments: &[&str]) -> Vec<PathBuf> {
    let mut command = kernel_builder("to-wheel");
    command.env_remove("SOURCE_DATE_EPOCH").arg(kernel);
    command.arg("--json").args(arguments);
    if !arguments.contains(&"--index") {
        command.arg("--out").arg(out);
    }
    let output = command.output().expect("start the program");
    assert!(output.status.success(), "{}", words(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let wheels = answer["wheels"].as_array().expect("wheels").iter();
    let path = |wheel: &Value| wheel["path"].as_str().expect("a path").into();
    wheels.map(path).collect()
}

/// The name of a file.
fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .expect("a name")
}

/// The members of a wheel after a check of RECORD, and its METADATA, as Python's zipfile and csv
/// read them.
fn members(wheel: &Path) -> (Vec<String>, String) {
    let script = "\
import base64, csv, hashlib, json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
rows = list(csv.reader(archive.read(names[-1]).decode().splitlines()))
assert [row[0] for row in rows] == names, rows
for name, digest, size in rows[:-1]:
    content = archive.read(name)
    own = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
    assert (digest, int(size)) == (f'sha256={own}', len(content)), name
assert len({info.date_time for info in archive.infolist()}) == 1
metadata = next(name for name in names if name.endswith('/METADATA'))
print(json.dumps([names, archive.read(metadata).decode()]))
";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(wheel)
        .output();
    let output = output.expect("python3 on the PATH");
    assert!(output.status.success(), "{}", words(&output));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_wheel_holds_all_variants_and_has_the_same_bytes_each_time() {
    let kernel = made_up(&["torch-cpu", "torch-cuda"], 3);
    let out = Folder::new();
    let [one, other] = ["one", "other"].map(|name| {
        let wheels = wheels(kernel.path(), &out.path().join(name), &[]);
        assert_eq!(wheels.len(), 1);
        std::fs::read(&wheels[0]).expect("a wheel")
    });
    assert_eq!(one, other);
    let wheel = out.path().join("one/made_up-3-py3-none-any.whl");
    let (names, metadata) = members(&wheel);
    let modules = &names[..names.len() - 4];
    assert!(modules.is_sorted(), "{names:?}");
    assert!(names.contains(&"made_up/torch_cuda/data/a,b.txt".to_owned()));
    assert!(names.contains(&"made_up-3.dist-info/licenses/LICENSE".to_owned()));
    for line in [
        "Metadata-Version: 2.4",
        "License-Expression: MIT",
        "License-File: LICENSE",
        "Requires-Dist: torch",
        "Requires-Dist: einops",
    ] {
        assert!(metadata.lines().any(|own| own == line), "{metadata}");
    }

    // The time of members is the user's, if there is one.
    let output = kernel_builder("to-wheel")
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .arg(kernel.path())
        .arg("--out")
        .arg(out.path().join("one"))
        .output();
    assert!(output.expect("run").status.success());
    assert_ne!(std::fs::read(&wheel).expect("a wheel"), one);
    members(&wheel);

    let split = wheels(kernel.path(), &out.path().join("split"), &["--split"]);
    let names: Vec<&str> = split.iter().map(|path| name(path)).collect();
    let expected = ["cpu", "cuda"].map(|own| format!("made_up-3+torch.{own}-py3-none-any.whl"));
    assert_eq!(names, expected);
}

/// A build that was changed, or that no wheel can hold, must not become one.
#[test]
fn wrong_builds_give_no_wheel() {
    let out = Folder::new();
    let target = out.path().join("dist");
    let target = ["--out", target.to_str().expect("UTF-8")];
    let kernel = made_up(&["torch-cpu"], 1);
    let two = made_up(&["torch-cuda"], 2);
    let variant = "build/torch-cpu";
    let cases: [(&dyn Fn(), &str, i32); 4] = [
        (
            &|| kernel.write("build/torch-cpu/__init__.py", "changed = True\n"),
            "artifact::wrong",
            1,
        ),
        (
            &|| {
                run_on("hash", kernel.path(), &[]);
                kernel.replace("build/torch-cpu/metadata.json", "einops", "unheard-of");
            },
            "wheel::variant",
            1,
        ),
        (
            &|| {
                kernel.replace("build/torch-cpu/metadata.json", "unheard-of", "einops");
                let depends =
                    r#""kernel-depends": [{"repo-id": "acme/other", "version": 1}], "license""#;
                kernel.replace("build/torch-cpu/metadata.json", r#""license""#, depends);
            },
            "wheel::client",
            1,
        ),
        (
            &|| {
                let metadata = kernel.read("build/torch-cpu/metadata.json");
                let metadata = metadata.replace("kernel-depends", "other");
                kernel.write(&format!("{variant}/metadata.json"), metadata);
                let from = two.path().join("build/torch-cuda");
                common::folder::copy(&from, &kernel.path().join("build/torch-cuda"));
            },
            "wheel::mixed",
            1,
        ),
    ];
    for (change, expected, code) in cases {
        change();
        let (found, said) = run_on("to-wheel", kernel.path(), &target);
        assert_eq!(found, Some(code), "{expected}: {said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(!out.path().join("dist").exists());
    let unknown = [&target[..], &["--variant", "torch-rocm"]].concat();
    let (code, said) = run_on("to-wheel", kernel.path(), &unknown);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("torch-cpu, torch-cuda"), "{said}");
}

/// A file of the user's in `dist`, and a wheel that others may have locked by its hash, stay.
#[test]
fn wheels_of_others_and_of_an_index_are_not_replaced() {
    let kernel = made_up(&["torch-cpu"], 1);
    let out = Folder::new();
    let dist = out.path().join("dist");
    let file = "made_up-1-py3-none-any.whl";
    out.write(&format!("dist/{file}"), "mine");
    let to_dist = ["--out", dist.to_str().expect("UTF-8")];
    let (code, said) = run_on("to-wheel", kernel.path(), &to_dist);
    assert_eq!(
        (code, said.contains("wheel::exists")),
        (Some(1), true),
        "{said}"
    );
    assert_eq!(out.read(&format!("dist/{file}")), "mine");

    let index = out.path().join("index");
    let to_index = ["--index", index.to_str().expect("UTF-8")];
    for _ in 0..2 {
        wheels(kernel.path(), out.path(), &to_index);
    }
    let page = out.read("index/made-up/index.html");
    kernel.write("build/torch-cpu/__init__.py", "VARIANT = 'new'\n");
    run_on("hash", kernel.path(), &[]);
    let (code, said) = run_on("to-wheel", kernel.path(), &to_index);
    assert_eq!(
        (code, said.contains("wheel::exists")),
        (Some(1), true),
        "{said}"
    );
    assert_eq!(out.read("index/made-up/index.html"), page);
    // In dist, a wheel of ours is replaced.
    std::fs::remove_file(dist.join(file)).expect("removed");
    let first = wheels(kernel.path(), &dist, &[]);
    kernel.write("LICENSE", "another licence\n");
    let before = std::fs::read(&first[0]).expect("a wheel");
    wheels(kernel.path(), &dist, &[]);
    assert_ne!(std::fs::read(&first[0]).expect("a wheel"), before);
}

#[test]
fn an_index_lists_every_wheel_with_its_hashes() {
    let out = Folder::new();
    let index = out.path().join("index");
    let to_index = ["--index", index.to_str().expect("UTF-8")];
    for version in [1, 2] {
        let kernel = made_up(&["torch-cpu"], version);
        wheels(kernel.path(), out.path(), &to_index);
    }
    let list: Value = serde_json::from_str(&out.read("index/index.json")).expect("JSON");
    assert_eq!(list["projects"], json!([{ "name": "made-up" }]));
    let page: Value = serde_json::from_str(&out.read("index/made-up/index.json")).expect("JSON");
    assert_eq!(page["versions"], json!(["1", "2"]));
    let html = out.read("index/made-up/index.html");
    for file in page["files"].as_array().expect("files") {
        let name = file["filename"].as_str().expect("a name");
        let read = |name: &str| std::fs::read(index.join("made-up").join(name)).expect("a file");
        let sha256 = |name: &str| common::archives::sha256(&read(name));
        assert_eq!(file["hashes"]["sha256"], json!(sha256(name)));
        assert_eq!(file["size"], json!(read(name).len()));
        let beside = format!("{name}.metadata");
        assert_eq!(file["core-metadata"]["sha256"], json!(sha256(&beside)));
        let (_, metadata) = members(&index.join("made-up").join(name));
        assert_eq!(read(&beside), metadata.into_bytes());
        let link = format!("href=\"{name}#sha256={}\"", sha256(name));
        assert!(html.contains(&link), "{html}");
    }
    assert!(html.contains("data-requires-python=\"&gt;=3.9\""), "{html}");
    // A page of the user's is not replaced.
    out.write("index/index.html", "mine");
    let kernel = made_up(&["torch-cpu"], 3);
    let (code, said) = run_on("to-wheel", kernel.path(), &to_index);
    assert_eq!(
        (code, said.contains("emit::foreign")),
        (Some(1), true),
        "{said}"
    );
    assert_eq!(out.read("index/index.html"), "mine");
}

/// A wheel takes the variant that the client would take. The client takes none where a kernel has
/// code for CPUs alone and torch is for a GPU: there the wheel takes that of CPUs.
#[test]
#[ignore = "needs the client: run by `make test`"]
fn a_wheel_chooses_as_the_client_does() {
    let script = "\
import importlib.util, itertools, json, logging, sys
from packaging.version import Version
from kernels import backends, variants
logging.disable()
spec = importlib.util.spec_from_file_location('choose', sys.argv[1])
choose = importlib.util.module_from_spec(spec)
spec.loader.exec_module(choose)
frameworks = ['torch26-cxx98', 'torch27-cxx11', 'torch210-cxx11', 'torch211', 'torch211-cxx11', 'torch-stable-abi29',
              'torch-stable-abi211', 'tvm-ffi01']
computes = ['cpu', 'cu118', 'cu126', 'cu128', 'cu130', 'rocm71', 'xpu20253']
names = [f'{f}-{c}-x86_64-linux' for f in frameworks for c in computes]
names += ['torch211-cxx11-cu130-aarch64-linux', 'torch-cpu', 'torch-cuda', 'torch-rocm', 'torch-universal', 'torch-npu']
version = lambda pair: pair and Version('.'.join(map(str, pair)))
compared = 0
for (kind, pair), (torch, cxx11), tvm in itertools.product(
    [('CPU', None), ('CUDA', (12, 6)), ('CUDA', (13, 0)), ('ROCm', (7, 1)), ('XPU', (2025, 3)), ('CANN', (8, 3))],
    [((2, 6), False), ((2, 11), True), ((2, 12), True), (None, None)],
    [None, (0, 1)],
):
    backend = getattr(backends, kind)(*([version(pair)] if pair else []))
    for wanted in (names, *([n for n in names if n.startswith(f)] for f in (*frameworks, 'torch-'))):
        parsed = [variants.parse_variant(name) for name in sorted(wanted)]
        accepted, _ = variants._resolve_variant_for_system(
            parsed, backend, 'x86_64', 'linux', version(torch), cxx11, version(tvm)
        )
        machine = object.__new__(choose.Machine)
        machine.cpu, machine.os, machine.torch, machine.cxx11, machine.tvm_ffi = 'x86_64', 'linux', torch, cxx11, tvm
        word = {'CUDA': 'cu'}.get(kind, kind.lower())
        machine.backend, machine.toolkit = word, ''.join(map(str, pair or ()))
        try:
            chosen = machine.choose([name.replace('-', '_') for name in wanted])
        except ImportError as error:
            chosen = None
        expected = accepted and accepted[0].variant_str.replace('-', '_')
        if not accepted and chosen is not None:
            kinds = {choose.backend_in(name.replace('-', '_')) for name in wanted}
            assert word not in kinds and 'universal' not in kinds and '_cpu' in chosen, (machine, chosen)
        else:
            assert chosen == (expected or None), (str(machine), wanted, chosen, expected)
        compared += 1
print(compared)
";
    let choose = Path::new(REPOSITORY).join("templates/wheel/choose.py");
    let count = printed(python().args(["-c", script]).arg(choose));
    assert_eq!(count.trim(), "480");
}

/// The environment with uv and the programs that judge wheels.
fn tools() -> PathBuf {
    let folder = Path::new(REPOSITORY).join("target/wheel-venv");
    let script = Path::new(REPOSITORY).join("scripts/wheel-venv.sh");
    run(Command::new(script).arg(&folder));
    folder
}

/// A fresh environment that finds torch, and tvm-ffi behind it, in others.
fn fresh_environment(folder: &Path, tools: &Path) -> PathBuf {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder));
    let site = |venv: &Path| {
        let found = printed(Command::new(venv.join("bin/python")).args([
            "-c",
            "import sysconfig; print(sysconfig.get_path('purelib'))",
        ]));
        found.trim().to_owned()
    };
    let others = format!("{}\n{}\n", site(&venv()), site(tools));
    std::fs::write(Path::new(&site(folder)).join("others.pth"), others).expect("written");
    folder.join("bin/python")
}

/// The judges of wheels: those of upload, of content and of Linux.
fn judge(tools: &Path, wheels: &[PathBuf]) {
    let program = |name: &str| Command::new(tools.join("bin").join(name));
    run(program("twine").args(["check", "--strict"]).args(wheels));
    for wheel in wheels {
        // NB: W002 is two files with the same content, which variants of one kernel have.
        run(program("check-wheel-contents")
            .args(["--ignore", "W002"])
            .arg(wheel));
    }
    let script = "\
import pathlib, sys
from auditwheel.wheel_abi import analyze_wheel_abi
exclude = frozenset(['libtorch*', 'libc10*', 'libcudart*', 'libtvm_ffi*'])
for wheel in map(pathlib.Path, sys.argv[1:]):
    found = analyze_wheel_abi(None, None, wheel, exclude, disable_isa_ext_check=False, allow_graft=False)
    highest = found.policies.get_policy_by_name('manylinux_2_28_x86_64')
    assert found.overall_policy.priority >= highest.priority, (wheel, found.overall_policy)
";
    let native = wheels
        .iter()
        .filter(|wheel| !name(wheel).ends_with("-any.whl"));
    run(program("python").args(["-c", script]).args(native));
}

/// Wheels of real builds: judged, installed by pip and uv from an index, imported and run.
#[test]
#[ignore = "builds and installs wheels for two minutes: run by `make full-test`"]
fn wheels_of_every_framework_install_and_run() {
    let tools = tools();
    let out = Folder::new();
    let index = out.path().join("index");
    let to_index = ["--index", index.to_str().expect("UTF-8")];
    let mut written = Vec::new();
    for (kernel, variants, arguments) in [
        ("relu", &[CPU, CUDA][..], &["--variant", "*-cpu-*"][..]),
        ("silu-and-mul", &["torch-cpu", "torch-cuda"], &[]),
        ("relu-tvm-ffi", &["tvm-ffi01-cpu-x86_64-linux"], &[]),
        (
            "relu-stable-abi",
            &["torch-stable-abi211-cpu-x86_64-linux"],
            &[],
        ),
    ] {
        let folder = example(kernel);
        run(&mut build(folder.path(), variants));
        let arguments = [&to_index[..], arguments].concat();
        written.extend(wheels(folder.path(), out.path(), &arguments));
        if kernel == "relu" {
            let split = wheels(folder.path(), &out.path().join("split"), &["--split"]);
            judge(&tools, &split);
            written.push(split[1].clone());
        }
    }
    let cuda = written.remove(1);
    judge(&tools, &written);
    let names: Vec<&str> = written.iter().map(|path| name(path)).collect();
    assert_eq!(
        names,
        [
            "relu-1-cp39-abi3-manylinux_2_28_x86_64.whl",
            "silu_and_mul-1-py3-none-any.whl",
            "relu_tvm_ffi-1-py3-none-manylinux_2_28_x86_64.whl",
            "relu_stable_abi-1-cp39-abi3-manylinux_2_28_x86_64.whl",
        ]
    );

    let projects = ["relu", "silu-and-mul", "relu-tvm-ffi", "relu-stable-abi"];
    let html = serve(&index, "html");
    let json = serve(&index, "json");
    for (installer, server) in [("pip", &html), ("uv", &html), ("pip", &json), ("uv", &json)] {
        let folder = out.path().join(format!("{installer}-{}", server.page));
        let python = fresh_environment(&folder, &tools);
        let mut install = match installer {
            "pip" => Command::new(&python),
            _ => Command::new(tools.join("bin/uv")),
        };
        match installer {
            "pip" => install.args(["-m", "pip", "--isolated", "install", "--no-cache-dir"]),
            _ => install
                .args(["pip", "install", "--no-cache", "--no-config", "--python"])
                .arg(&python),
        };
        for variable in ["UV_INDEX_URL", "UV_DEFAULT_INDEX", "PIP_INDEX_URL"] {
            install.env_remove(variable);
        }
        install.args(["--no-deps", "--index-url", &server.url]);
        run(install.args(projects));
        let script = "\
import relu, relu_stable_abi, relu_tvm_ffi, silu_and_mul, torch
import relu.layers
x = torch.randn(5)
for kernel in (relu, relu_stable_abi, relu_tvm_ffi):
    assert 'x86_64_linux' in kernel.__file__ and '_cpu_' in kernel.__file__, kernel.__file__
    assert torch.equal(kernel.relu(x, torch.empty_like(x)), torch.relu(x)), kernel
pair = torch.tensor([0.0, 1.0, 5.0, 2.0])
assert silu_and_mul.silu_and_mul(pair).shape == (2,)
";
        run(Command::new(&python).args(["-c", script]));
    }

    // The CUDA wheel is at least imported: this machine has no GPU to run it.
    let python = fresh_environment(&out.path().join("cuda"), &tools);
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--no-deps"])
        .arg(cuda));
    let found = printed(Command::new(&python).args(["-c", "import relu; print(relu.__file__)"]));
    assert!(
        found.contains("torch211_cxx11_cu130_x86_64_linux"),
        "{found}"
    );
}

/// A server of an index, which is stopped in the end.
struct IndexServer {
    process: std::process::Child,
    url: String,
    page: &'static str,
}

impl Drop for IndexServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves a folder with Python's own server: pages in HTML, or those in JSON with their type.
fn serve(folder: &Path, page: &'static str) -> IndexServer {
    let script = "\
import functools, http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    index_pages = ['index.' + sys.argv[2]]
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map,
                      '.json': 'application/vnd.pypi.simple.v1+json'}
    def translate_path(self, path):
        return super().translate_path(path + self.index_pages[0] if path.endswith('/') else path)
    def log_message(self, *_):
        pass
handler = functools.partial(Handler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
print(server.server_port, flush=True)
server.serve_forever()
";
    let mut process = Command::new("python3")
        .args(["-c", script])
        .arg(folder)
        .arg(page)
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 on the PATH");
    let mut line = String::new();
    let output = process.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a port");
    IndexServer {
        process,
        url: format!("http://127.0.0.1:{}/", line.trim()),
        page,
    }
}
