//! Several machines, each a Nix store of its own here: one takes from a binary cache what another
//! built, one lets a builder work over ssh. Each test prints what was built where. `make full-test`
//! prepares what they need, with OpenSSH's server.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use common::folder::Folder;
use common::kernel::Sample;
use common::program::{run, store};
use serde_json::Value;

const VARIANT: &str = "torch211-cxx11-cu130-x86_64-linux";

/// Units of the kernel, by the names of their objects.
const BINDING: &str = "sample-torch-ext-binding.cpp.o";
const HEAVY: &str = "sample-csrc-heavy.cu.o";
const HEAVY_PARTS: [&str; 2] = [
    "sample-csrc-heavy.cu-host+sm_90.o",
    "sample-csrc-heavy.cu-sm_80.o",
];
const HOST: &str = "sample-csrc-host.cpp.o";
const LIGHT: &str = "sample-csrc-light.cu.o";
const LIGHT_PARTS: [&str; 2] = [
    "sample-csrc-light.cu-host+sm_80.o",
    "sample-csrc-light.cu-sm_90.o",
];
const LIBRARY: &str = "sample-torch211-cxx11-cu130-x86_64-linux-library";
const PACKAGE: &str = "sample-torch211-cxx11-cu130-x86_64-linux";

/// A kernel of one variant that compiles in seconds: it includes nothing of torch. Only `heavy.cu`
/// includes a library. `nonce` is in every file: what was built before would not be built again.
fn sample(nonce: &str) -> Sample {
    let build_toml = r#"
[general]
name = "sample"
version = 1
edition = 5
license = "Apache-2.0"
backends = ["cuda"]

[general.cuda]
minver = "13.0"
maxver = "13.0"

[torch]
src = ["torch-ext/binding.cpp"]
minver = "2.11"
maxver = "2.11"

[kernel.sample]
backend = "cuda"
depends = []
src = ["csrc/heavy.cu", "csrc/host.cpp", "csrc/light.cu"]
cuda-capabilities = ["8.0", "9.0"]
"#;
    let files = [
        (
            "csrc/heavy.cu",
            "#include <cub/version.cuh>\n__global__ void heavy(int *x) { *x = CUB_VERSION; }\n",
        ),
        ("csrc/host.cpp", "int host() { return 0; }\n"),
        (
            "csrc/light.cu",
            "__global__ void light(float *x) { *x += *x; }\n",
        ),
        ("torch-ext/binding.cpp", ""),
    ];
    let sample = Sample::new(build_toml, &[]);
    for (path, text) in files {
        sample.write(path, &format!("{text}// {nonce}\n"));
    }
    sample
}

/// A text that no other run of a test has.
fn nonce() -> String {
    format!("{:?}", std::time::SystemTime::now())
}

/// A machine: a store, caches and a configuration of Nix.
struct Machine {
    store: PathBuf,
    /// The folder of its caches; `None` for this machine's own.
    caches: Option<PathBuf>,
    settings: String,
}

impl Machine {
    /// The machine whose store all tests share, with toolchains.
    fn first() -> Self {
        Self {
            store: store().into(),
            caches: None,
            settings: String::new(),
        }
    }

    /// A machine with an empty store.
    fn new(dir: &Path, name: &str) -> Self {
        let store = dir.join(name);
        std::fs::create_dir(&store).expect("a folder");
        Self {
            store,
            caches: Some(dir.join(format!("{name}-caches"))),
            settings: String::new(),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("NIX_REMOTE", &self.store)
            .env("NIX_CONFIG", configuration(&self.settings));
        if let Some(caches) = &self.caches {
            command
                .env("XDG_CACHE_HOME", caches)
                .env_remove("KERNEL_BUILDER_CACHE");
        }
        command
    }

    fn build(&self, kernel: &Sample) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_kernel-builder"));
        command.arg("build").arg(kernel.path());
        command
    }

    /// Store paths that were built here, as Nix keeps account of it: not copied, not added.
    fn built(&self) -> BTreeSet<String> {
        let arguments = ["--extra-experimental-features", "nix-command"];
        let output =
            run(self
                .command("nix")
                .args(arguments)
                .args(["path-info", "--all", "--json"]));
        let paths: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let built = |info: &Value| info["ultimate"] == true;
        match paths {
            Value::Array(list) => (list.iter().filter(|info| built(info)))
                .filter_map(|info| Some(info["path"].as_str()?.to_owned()))
                .collect(),
            // Later releases of Nix print an object.
            Value::Object(map) => (map.into_iter().filter(|(_, info)| built(info)))
                .map(|(path, _)| path)
                .collect(),
            other => panic!("{other}"),
        }
    }

    /// The names of the steps that were built since, sorted.
    fn built_since(&self, before: &BTreeSet<String>) -> Vec<String> {
        let new = self.built();
        let new = new.difference(before);
        let mut names: Vec<String> = new
            .map(|path| kernel_builder::nix::name_of(path).to_owned())
            .collect();
        names.sort();
        names
    }
}

/// Nix's settings: those that the test runs with, and more.
fn configuration(more: &str) -> String {
    let outer = std::env::var("NIX_CONFIG").unwrap_or_default();
    format!("substituters =\n{outer}\n{more}")
}

/// Every file of a build, with its content.
fn files(kernel: &Sample) -> Vec<(String, Vec<u8>)> {
    let root = kernel.path().join("build").join(VARIANT);
    walkdir::WalkDir::new(&root)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let name = entry.path().strip_prefix(&root).expect("below");
            let content = std::fs::read(entry.path()).expect("a file");
            (name.display().to_string(), content)
        })
        .collect()
}

/// The commands of docs/distribution.md that fill a cache.
fn documented_commands() -> String {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/distribution.md"));
    let page = page.expect("docs/distribution.md");
    let block = page.split("```sh\n").nth(1).expect("a block");
    block.split("```").next().expect("its end").to_owned()
}

#[test]
#[ignore = "builds with Nix: run by `make full-test`"]
fn a_second_machine_takes_from_a_cache_what_the_first_one_built() {
    let dir = Folder::new();
    let nonce = nonce();
    let (mine, theirs) = (sample(&nonce), sample(&nonce));

    let first = Machine::first();
    let before = first.built();
    run(&mut first.build(&mine));
    let built = first.built_since(&before);
    println!("cache: built on the first machine: {built:?}");
    let all = [BINDING, HEAVY, HOST, LIBRARY, LIGHT, PACKAGE];
    for name in all.iter().chain(&HEAVY_PARTS).chain(&LIGHT_PARTS) {
        assert!(built.iter().any(|own| own == name), "{built:?}");
    }

    let cache = format!("file://{}/cache", dir.path().display());
    let commands = documented_commands();
    let replaced = commands.replace("file:///srv/cache", &cache).replace(
        "kernel-builder graph",
        &format!(
            "{} graph {}",
            env!("CARGO_BIN_EXE_kernel-builder"),
            mine.path().display()
        ),
    );
    assert_eq!(replaced.matches(&cache).count(), 1, "{commands}");
    run(first
        .command("bash")
        .args(["-euo", "pipefail", "-c", &replaced])
        .current_dir(dir.path()));
    let key = std::fs::read_to_string(dir.path().join("public-key")).expect("a key");

    let mut second = Machine::new(dir.path(), "second");
    second.settings = format!("substituters = {cache}\ntrusted-public-keys = {key}\n");
    let output = run(&mut second.build(&theirs));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("copied"), "{table}");
    let built = second.built_since(&BTreeSet::new());
    println!("cache: built on the second machine: {built:?}");
    assert_eq!(built, [""; 0]);
    assert_eq!(files(&theirs), files(&mine));

    // One unit, its parts and the steps after it are built. The toolchain and the other objects
    // come from the cache.
    theirs.write(
        "csrc/light.cu",
        &format!("// other than {nonce}\n__global__ void light(float *x) {{ *x = 0; }}\n"),
    );
    let output = run(&mut second.build(&theirs));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let built = second.built_since(&BTreeSet::new());
    println!("cache: built on the second machine after csrc/light.cu changed: {built:?}");
    assert_eq!(
        built,
        [&LIGHT_PARTS[..], &[LIGHT, PACKAGE, LIBRARY]].concat()
    );
    for object in [BINDING, HEAVY, HOST, "cuda-13.0"] {
        assert!(words.contains(&format!("copied {object} from {cache}")));
    }
    assert!(!words.contains("fetching"), "{words}");
}

/// OpenSSH's server on a port of this machine, with keys of its own.
struct SshServer {
    process: Child,
    /// NB: kept open, or the server would end when it writes.
    _log: BufReader<ChildStderr>,
    /// The configuration of `ssh`.
    client: PathBuf,
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl SshServer {
    /// Nix behind it has the settings of a test.
    fn start(dir: &Path) -> Self {
        let place = |name: &str| dir.join(name).display().to_string();
        for name in ["host-key", "user-key"] {
            run(Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(dir.join(name)));
        }
        let host = std::fs::read_to_string(dir.join("host-key.pub")).expect("a key");
        std::fs::write(dir.join("known-hosts"), format!("builder {host}")).expect("written");
        std::fs::write(dir.join("nix.conf"), configuration("")).expect("written");
        // The port is free now, and no other program here takes ports.
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let server = [
            format!("Port {port}"),
            "ListenAddress 127.0.0.1".to_owned(),
            format!("HostKey {}", place("host-key")),
            format!("AuthorizedKeysFile {}", place("user-key.pub")),
            "PasswordAuthentication no".to_owned(),
            "PidFile none".to_owned(),
            // Temporary folders are below one that everybody may write to.
            "StrictModes no".to_owned(),
            format!("SetEnv NIX_CONF_DIR={}", dir.display()),
        ];
        std::fs::write(dir.join("sshd_config"), server.join("\n") + "\n").expect("written");
        let client = [
            "Host builder".to_owned(),
            "HostName 127.0.0.1".to_owned(),
            format!("Port {port}"),
            "HostKeyAlias builder".to_owned(),
            "BatchMode yes".to_owned(),
            "IdentitiesOnly yes".to_owned(),
            format!("IdentityFile {}", place("user-key")),
            "StrictHostKeyChecking yes".to_owned(),
            format!("UserKnownHostsFile {}", place("known-hosts")),
        ];
        std::fs::write(dir.join("ssh_config"), client.join("\n") + "\n").expect("written");

        // A service of the system makes this folder; here root starts the server.
        let _ = std::fs::create_dir("/run/sshd");
        // NB: it starts itself again, by its full path.
        let mut process = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(dir.join("sshd_config"))
            .stderr(Stdio::piped())
            .spawn()
            .expect("start sshd: scripts/full-test.sh installs it");
        let mut log = BufReader::new(process.stderr.take().expect("stderr"));
        let mut words = String::new();
        while !words.contains("Server listening") {
            let read = log.read_line(&mut words).expect("its log");
            assert!(read > 0, "{words}");
        }
        Self {
            process,
            _log: log,
            client: dir.join("ssh_config"),
        }
    }
}

/// The line of Nix's `builders` for a store behind a server, with its features.
fn builder(store: &Path, features: &str) -> String {
    let program = which::which("nix-store").expect("Nix on the PATH");
    format!(
        "builders = ssh://builder?remote-store={}&remote-program={} x86_64-linux - 2 1 {features}\n",
        store.display(),
        program.display()
    )
}

#[test]
#[ignore = "starts sshd, builds with Nix: run by `make full-test`"]
fn a_builder_over_ssh_compiles_and_heavy_units_go_where_big_parallel_is() {
    let dir = Folder::new();
    let server = SshServer::start(dir.path());
    let first = Machine::first();
    // Toolchains, which the client then copies.
    run(&mut first.build(&sample(&nonce())));

    let mut client = Machine::new(dir.path(), "client");
    let remote = Machine::new(dir.path(), "builder");
    let build = |client: &Machine, kernel: &Sample| {
        let mut command = client.build(kernel);
        let options = format!("-F {}", server.client.display());
        command
            .env("NIX_SSHOPTS", options)
            .output()
            .expect("start a program")
    };
    let mut settings = String::new();
    writeln!(
        settings,
        "substituters = {}?trusted=true",
        first.store.display()
    )
    .expect("text");
    let only_builder = "max-jobs = 0\n";

    let kernel = sample(&nonce());
    client.settings = format!(
        "{settings}{only_builder}{}",
        builder(&remote.store, "big-parallel")
    );
    let words = successful(build(&client, &kernel));
    let (here, there) = (
        client.built_since(&BTreeSet::new()),
        remote.built_since(&BTreeSet::new()),
    );
    println!("builder: built by it: {there:?}\nbuilder: built by the client: {here:?}");
    let heavy = [&HEAVY_PARTS[..], &[HEAVY]].concat();
    let light = [&[HOST][..], &LIGHT_PARTS, &[LIGHT, BINDING]].concat();
    let rest = [PACKAGE, LIBRARY];
    assert_eq!(there, [&heavy, &light[..], &rest].concat());
    assert_eq!(here, [""; 0]);
    assert!(
        words.contains("10 steps built on ssh://builder\n"),
        "{words}"
    );

    // A small builder gets everything but the heavy unit, which then is for nobody.
    let kernel = sample(&nonce());
    let before = remote.built();
    client.settings = format!("{settings}{only_builder}{}", builder(&remote.store, "-"));
    let output = build(&client, &kernel);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{words}");
    assert!(words.contains("required system features"), "{words}");
    assert_eq!(remote.built_since(&before), light);
    assert_eq!(client.built_since(&BTreeSet::new()), [""; 0]);

    // Unless this machine may build too. It packs the library itself, since that takes no time.
    client.settings = format!("{settings}max-jobs = 1\n{}", builder(&remote.store, "-"));
    successful(build(&client, &kernel));
    let (here, there) = (
        client.built_since(&BTreeSet::new()),
        remote.built_since(&before),
    );
    println!("small builder: built by it: {there:?}\nsmall builder: built by the client: {here:?}");
    assert_eq!(here, [&heavy[..], &[PACKAGE]].concat());
    assert_eq!(there, [&light[..], &[LIBRARY]].concat());
}

/// The standard error of a program that must succeed.
fn successful(output: Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    words
}
