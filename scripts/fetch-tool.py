#!/usr/bin/env python3
"""Brings the files that kernel-builder is built from into the Nix store, for those who lack the
program: a C compiler, Rust, and the crates of Cargo.lock. It needs Nix, pip and apt. After it,
`nix run . -- build DIR` works. `kernel-builder fetch --tool` does the same.
"""

import fnmatch
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SYSTEM = f"{platform.machine()}-{platform.system().lower()}"


def say(text):
    print(f"==> {text}", file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"error: {text}")


def run(command, **options):
    """The standard output of a program that must succeed; its errors go to the terminal."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options)
    except FileNotFoundError:
        fail(f"{command[0]} is missing: install it, then run this again")
    except subprocess.CalledProcessError as error:
        fail(f"{command[0]} ended with {error.returncode}; what was fetched before is kept")
    return done.stdout


class Nix:
    """Nix's older commands, which need no experimental feature."""

    def __init__(self):
        # A container has no users for builds, and a cache has none of these files.
        self.options = ["--option", "substituters", ""]
        self.lacking = run([ROOT / "scripts/nix-settings.sh"])
        if "build-users-group" in self.lacking:
            self.options += ["--option", "build-users-group", ""]

    def paths(self, file, **arguments):
        """The store paths of files, by name, that a file of nix/ computes."""
        command = ["nix-instantiate", "--eval", "--strict", "--json", ROOT / "nix" / file]
        command += ["-A", "paths", "--argstr", "system", SYSTEM]
        for name, value in arguments.items():
            command += ["--argstr", name, value]
        return json.loads(run(command + self.options))

    def absent(self, paths):
        """The names of paths that are not in the store."""
        command = ["nix-store", "--check-validity", "--print-invalid", *paths.values()]
        invalid = set(run(command + self.options).split())
        return {name for name, path in paths.items() if path in invalid}

    def add(self, files, paths, *options):
        """Adds files or a tree under their own names, which must get the paths of these names."""
        command = ["nix-store", "--add-fixed", *options, "sha256", *files]
        for file, path in zip(files, run(command + self.options).split()):
            if path != paths[file.name]:
                fail(f"{file.name} is not the file that is pinned")


def store_name(file):
    """The store takes fewer characters than names of packages have (nix/pins.nix)."""
    return file.replace("%3a", "_").replace("~", "-").replace("%", "_").replace("!", "_")


def download_debs(debs, folder):
    """Debian packages, through apt's own sources. Its lists and cache here are our own."""
    state = folder / "apt"
    for name in ["lists/partial", "archives/partial"]:
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    settings = [f"Dir::State={state}", f"Dir::State::status={state}/status"]
    settings += [f"Dir::State::lists={state}/lists", f"Dir::Cache={state}"]
    settings += ["APT::Sandbox::User=root", "Debug::NoLocking=1", "Acquire::Languages=none"]
    apt = ["apt-get", "-qq", *(word for setting in settings for word in ["-o", setting])]
    run([*apt, "update"])
    run([*apt, "download", *(f"{deb['name']}={deb['version']}" for deb in debs)], cwd=folder)


def download_wheel(wheel, folder):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", "--dest", folder]
    run([*command, f"{wheel['name']}=={wheel['version']}"])


def members(archive, file):
    """The names and contents of an archive's files."""
    if archive["kind"] == "wheel":
        with zipfile.ZipFile(file) as wheel:
            for name in wheel.namelist():
                yield name, wheel.read(name)
        return
    data = subprocess.run(["dpkg-deb", "--fsys-tarfile", file], stdout=subprocess.PIPE, check=True)
    with tempfile.TemporaryFile() as unpacked:
        unpacked.write(data.stdout)
        unpacked.seek(0)
        with tarfile.open(fileobj=unpacked) as package:
            for member in package:
                if member.isfile():
                    yield member.name.removeprefix("./"), package.extractfile(member).read()


def build_tree(tree, folder):
    """A tree of members of archives (modes: 755 below bin/, else 644)."""
    root = folder / "trees" / tree["name"]
    for source in tree["sources"]:
        contents = list(members(source["archive"], folder / source["archive"]["file"]))
        for take in source["take"]:
            [content] = [content for name, content in contents if fnmatch.fnmatch(name, take["glob"])]
            target = root / take["to"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if take["to"].startswith("bin/") else 0o644)
    return root


def fetch_pins(nix, families, folder):
    """The archives and trees of families of pins (nix/pins)."""
    pins = []
    for family in families:
        file = ROOT / "nix/pins" / SYSTEM / f"{family}.json"
        if not file.exists():
            fail(f"Nix does not build kernel-builder on {SYSTEM}: build it with cargo")
        pins.append(json.loads(file.read_text()))
    paths = nix.paths("cli-pins.nix", families=" ".join(families))
    absent = nix.absent(paths)
    archives = [archive for family in pins for archive in family["archives"]]
    archives = [archive for archive in archives if store_name(archive["file"]) in absent]
    trees = [tree for family in pins for tree in family["trees"] if tree["name"] in absent]
    sources = [source["archive"] for tree in trees for source in tree["sources"]]
    wanted = {archive["file"]: archive for archive in archives + sources}.values()
    if not wanted:
        return 0

    size = sum(archive["size"] for archive in wanted) / 1e6
    say(f"fetching {len(wanted)} files of the compilers with apt and pip: {size:.0f} MB")
    debs = [archive for archive in wanted if archive["kind"] == "deb"]
    if debs:
        download_debs(debs, folder)
    for archive in wanted:
        if archive["kind"] == "wheel":
            download_wheel(archive, folder)
        file = folder / archive["file"]
        if hashlib.sha256(file.read_bytes()).hexdigest() != archive["sha256"]:
            fail(f"{archive['file']}: the index has another file than was pinned")
    named = folder / "named"
    named.mkdir()
    files = [named / store_name(archive["file"]) for archive in archives]
    for archive, file in zip(archives, files):
        os.link(folder / archive["file"], file)
    if files:
        nix.add(files, paths)
    for tree in trees:
        nix.add([build_tree(tree, folder)], paths, "--recursive")
    return len(archives) + len(trees)


def find_cargo(nix, environment):
    """A cargo that reads Cargo.lock: the machine's own, else the pinned one, which Nix unpacks."""
    needed = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    own = shutil.which("cargo")
    if own:
        done = subprocess.run([own, "--version"], stdout=subprocess.PIPE, text=True)
        version = re.match(r"cargo (\d+)\.(\d+)", done.stdout)
        if version and [int(part) for part in version.groups()] >= [int(n) for n in needed.split(".")]:
            return own
    say("unpacking the pinned Rust, for its cargo")
    command = ["nix-build", "--no-out-link", "--expr", f"(import {ROOT}/nix/recipes.nix).{SYSTEM}.rust"]
    rust = Path(run(command + nix.options).strip())
    if not rust.exists():
        fail("the store is not in /nix: install cargo, or unset NIX_REMOTE")
    # cargo asks the rustc of the PATH.
    environment["PATH"] = f"{rust}/bin:{environment['PATH']}"
    return rust / "bin/cargo"


def fetch_crates(nix, folder):
    """The crates of Cargo.lock, through cargo's own configuration."""
    paths = nix.paths("cli-crates.nix", lock=str(ROOT / "Cargo.lock"))
    absent = sorted(nix.absent(paths))
    if not absent:
        return 0
    environment = dict(os.environ)
    cargo = find_cargo(nix, environment)
    # cargo requires the targets of a manifest to exist; benchmarks use the crates of tests.
    paragraphs = (ROOT / "Cargo.toml").read_text().split("\n\n")
    manifest = "\n\n".join(text for text in paragraphs if not text.startswith("[[bench]]"))
    package = folder / "package"
    (package / "src").mkdir(parents=True)
    (package / "Cargo.toml").write_text(manifest)
    shutil.copy(ROOT / "Cargo.lock", package)
    for name in ["src/lib.rs", "build.rs"]:
        (package / name).touch()
    say(f"fetching {len(absent)} crates with cargo")
    command = [cargo, "fetch", "--quiet", "--locked", "--manifest-path", package / "Cargo.toml"]
    run(command, env=environment)
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    files = []
    for name in absent:
        found = next(home.glob(f"registry/cache/*/{name}"), None)
        if found is None:
            fail(f"cargo left no {name} in {home}/registry/cache: does it use vendored sources?")
        files.append(found)
    nix.add(files, paths)
    return len(files)


def main():
    if sys.argv[1:]:
        sys.exit(__doc__.strip())
    tool = json.loads((ROOT / "nix/tool/toolchain.json").read_text())
    nix = Nix()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        new = fetch_pins(nix, ["seed", tool["host"], tool["rust"]], folder)
        new += fetch_crates(nix, folder)
    print(f"{new} new files in the store; everything that kernel-builder is built from is there")
    if nix.lacking:
        print("for `nix run` and `nix build`, add to ~/.config/nix/nix.conf:\n")
        print(nix.lacking)


if __name__ == "__main__":
    main()
