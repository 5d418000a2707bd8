//! The ends of help texts: examples, and what options do not say. tests/help.rs parses each
//! example, so a comment stands two spaces behind its command.

/// The end of the program's own help.
pub const PROGRAM: &str = "\
Examples:
  kernel-builder init --name acme/fast-relu      start a kernel
  kernel-builder check-config examples/relu      find mistakes in build.toml
  kernel-builder build examples/relu             build its bundled variants
  kernel-builder test examples/relu              run its tests
  kernel-builder testshell examples/relu         try the build in Python
  kernel-builder plan examples/relu              see what a build would do

Exit codes: 0 fine, 1 the kernel's files are wrong, 2 wrong usage, 3 the environment (Nix missing, \
download failed, disk full, no toolchain or machine for a variant).";

pub const BENCHMARK: &str = "\
Examples:
  kernel-builder benchmark                       the kernel in this folder
  kernel-builder benchmark relu --against ../relu-before --plot times.svg
  kernel-builder benchmark relu --against acme/relu@v1 --json

benchmarks/benchmark*.py have classes of the `kernels` client: `benchmark_*` is measured, `verify_*` gives the \
expected result and is measured as the reference. It exits with 1 if a result is wrong.";

pub const BUILD: &str = "\
Examples:
  kernel-builder build                           the kernel in this folder
  kernel-builder build relu --variant '*-cu130-*' --variant '*-cpu-*'
  kernel-builder build relu --dry-run            see what would be built
  kernel-builder build relu --json >events.json  for programs
  kernel-builder build relu --watch              again after each change

By default, everything is built that does not need a failed step, since a variant that fails says little \
about others; --fail-fast stops early. A build that was stopped goes on where it ended.";

pub const CHECK_ABI: &str = "\
Examples:
  kernel-builder check-abi                       every variant in build/
  kernel-builder check-abi lib.so --variant torch211-cxx11-cu130-x86_64-linux
  kernel-builder check-abi DIR --manylinux manylinux_2_34 --json";

pub const CHECK_BUILDS: &str = "\
Examples:
  kernel-builder check-builds                    the build/ of this folder
  kernel-builder check-builds result             what `nix build` made
  kernel-builder check-builds relu --json        for programs

It exits with 1 if a variant breaks a rule, and not for warnings. `verify` has the same rules for builds of \
others.";

pub const BUILD_AND_UPLOAD: &str = "\
Examples:
  kernel-builder build-and-upload relu --repo-id acme/relu

`kernel-builder upload --help` says how an upload works.";

pub const CHECK_CONFIG: &str = "\
Examples:
  kernel-builder check-config                    the kernel in this folder
  kernel-builder check-config relu/build.toml --json";

pub const CI_MATRIX: &str = "\
Examples:
  kernel-builder ci-matrix                       commands, one for each job
  kernel-builder ci-matrix --jobs 8 --json       for fromJSON of GitHub
  kernel-builder ci-matrix --write github        .github/workflows/kernel.yml
  kernel-builder ci-matrix --write gitlab        .gitlab-ci.yml

Without --variant, it takes the bundled variants of Linux, on x86_64 and aarch64. Jobs take about as long as each \
other, as earlier builds on this machine took or else by numbers of sources; variants of one compute stay together. \
The files build, test on a GPU runner if there is one, and sign and upload for tags (docs/continuous-integration.md).";

pub const CLEAN_PYPROJECT: &str = "\
Examples:
  kernel-builder clean-pyproject relu --dry-run  see what would be removed
  kernel-builder clean-pyproject relu

What builds of the project made, in build/, stays.";

pub const COMPLETIONS: &str = "\
Examples:
  kernel-builder completions bash                in ~/.bashrc: source <(...)
  kernel-builder completions zsh >~/.zfunc/_kernel-builder

The script asks this program for names of variants, families of pins, and codes: write it again after an update.";

pub const CREATE_PYPROJECT: &str = "\
Examples:
  kernel-builder create-pyproject relu           for CMake, for pip
  kernel-builder create-pyproject relu --force   replace edited files, too

Then, in that folder, with a Python that has torch, CMake and Ninja: `pip install --no-build-isolation -e .` to \
import the kernel, `python setup.py build_kernel` or `cmake -B build-ext && cmake --build build-ext` for \
build/<variant> (docs/local-development.md).";

pub const DEVSHELL: &str = "\
Examples:
  kernel-builder devshell relu                   the one for this machine
  kernel-builder devshell relu --variant torch211-cxx11-cpu-x86_64-linux -- make";

pub const DIFF: &str = "\
Examples:
  kernel-builder diff old/build build            every variant that either has
  kernel-builder diff old/build/torch-cuda build/torch-cuda --json

It exits with 1 if they differ. The inputs are those that the builds' statements name (provenance.intoto.json): \
sources, flags, pins, the revision.";

pub const DOCTOR: &str = "\
Examples:
  kernel-builder doctor                          what is wrong, with cures
  kernel-builder doctor --json                   for programs

It asks pip and apt for little, and adds some bytes to the store. It exits with 0 if builds will work, with 3 \
if not. A warning names something else that will not work.";

pub const DOWNLOAD: &str = "\
Examples:
  kernel-builder download                        the variant for this machine
  kernel-builder download app --all              every variant

Files go into the cache of the `kernels` client (KERNELS_CACHE, HF_HUB_CACHE or HF_HOME), each with its locked hash: \
get_kernel, get_locked_kernel and load_kernel then need no network (HF_HUB_OFFLINE=1).";

pub const EXPLAIN: &str = "\
Examples:
  kernel-builder explain KB0101                  the meaning and the cure
  kernel-builder explain variants::unknown       the same of an error
  kernel-builder explain                         all codes";

pub const FETCH: &str = "\
Examples:
  kernel-builder fetch relu                      what the bundled variants need
  kernel-builder fetch relu --to usb             also write it to a folder
  kernel-builder fetch relu --from usb --offline
  kernel-builder fetch --image                   parts of the container image

Files come from --from, the download cache (KERNEL_BUILDER_CACHE), the machine's own pip and apt, and the \
URLs of vendors, in this order. A download that brings nothing for KERNEL_BUILDER_STALL_SECONDS (15) is \
tried again from where it was; a source that is silent for twice that time is given up. A killed fetch goes on \
where it ended.";

pub const FILL_CARD: &str = "\
Examples:
  kernel-builder fill-card                       print the card of this folder
  kernel-builder fill-card relu relu/build/CARD.md

CARD.md in the kernel's folder is a template of Jinja, and stays as it is; without one, there is a usual one. \
`upload` makes build/CARD.md the README.md of the repository. A file that was not filled before is not replaced.";

pub const FORMAT: &str = "\
Examples:
  kernel-builder format                          every Nix file in this folder
  kernel-builder format flake.nix --check";

pub const GENERATE: &str = "\
Examples:
  kernel-builder generate relu                   then commit relu/build.nix
  kernel-builder generate relu --check           for continuous integration";

pub const GRAPH: &str = "\
Examples:
  kernel-builder graph relu >graph.dot           then: dot -Tsvg graph.dot
  kernel-builder graph relu --json

docs/plan.md of kernel-builder's repository describes the JSON.";

pub const HASH: &str = "\
Examples:
  kernel-builder hash                            the build/ of this folder
  kernel-builder hash build/torch-cuda           one variant

Builds have their digests already: this accepts later changes of their files. It keeps every other key of \
metadata.json.";

pub const INIT: &str = "\
Examples:
  kernel-builder init --name acme/fast-relu      in ./fast-relu
  kernel-builder init relu --name acme/relu --backends cpu cuda rocm
  kernel-builder init --name acme/op --framework tvm-ffi --license MIT
  kernel-builder init --name acme/op --example cutlass-gemm

Without --name it asks, on a terminal. It needs no network, and never writes over a file.";

pub const LIST_VARIANTS: &str = "\
Examples:
  kernel-builder list-variants relu              names alone in a pipe
  kernel-builder list-variants relu --all --why  what is excluded, and why
  kernel-builder list-variants relu --json";

pub const LOCK: &str = "\
Examples:
  kernel-builder lock                            the project in this folder

It reads [tool.kernels.dependencies] of pyproject.toml, such as \"acme/relu\" = \">=1,<3\", and chooses the newest \
branch vN or tag vX.Y.Z that fits. It writes kernel-builder.lock, with the hash of each file, and the client's \
kernels.lock.";

pub const MAN: &str = "\
Examples:
  kernel-builder man share/man/man1              a page for each command";

pub const PIN: &str = "\
Examples:
  kernel-builder pin                             compare all with the indexes
  kernel-builder pin cuda-13.0 --write
  kernel-builder pin --torch 2.16.0              what a new release would add";

pub const PIN_PYTHON: &str = "\
Examples:
  kernel-builder pin-python rich 'einops>=0.8'   add packages
  kernel-builder pin-python                      look for newer versions

pip chooses the wheels and those that they require, for the Python that checks and shells run with. \
Packages that are pinned already keep their version if others are added.";

pub const PLAN: &str = "\
Examples:
  kernel-builder plan relu                       steps, reasons, times
  kernel-builder plan relu --variant '*-cpu-*' --json

docs/plan.md of kernel-builder's repository describes the JSON.";

pub const REPORT: &str = "\
Examples:
  kernel-builder report relu --open              see it in the browser
  kernel-builder report relu --output relu.html  keep it with a release

The page is one HTML file without scripts, which needs no network; its path is printed. It shows the last \
`kernel-builder build` in this folder (docs/report.md).";

pub const RESOLVE: &str = "\
Examples:
  kernel-builder resolve acme/relu               of the newest version
  kernel-builder resolve acme/relu --version '>=1,<3' --json

The rules are those of the `kernels` client; it exits with 1 if no variant fits.";

pub const SCHEMA: &str = "\
Examples:
  kernel-builder schema >build.schema.json       for an editor";

pub const SERVE: &str = "\
Examples:
  kernel-builder serve kernels                   kernels/acme/relu/build/...
  kernel-builder serve relu --repo-id acme/relu  the one kernel in relu
  kernel-builder serve kernels --listen 0.0.0.0:8000 -v

Clients load from there with HF_ENDPOINT=http://127.0.0.1:8000. A variant is on the branch of its version, builds in \
NAME/v1/build on branch v1; main is the newest. The folder is only read, changes count within a second, and links \
that lead out of it are not followed. -v prints requests; Ctrl-C ends.";

pub const SKILLS: &str = "\
Examples:
  kernel-builder skills add                      list them
  kernel-builder skills add cuda-kernels         for the assistants used here
  kernel-builder skills add cuda-kernels --dest .claude/skills";

pub const TEST: &str = "\
Examples:
  kernel-builder test                            the kernel in this folder
  kernel-builder test relu -- -k dtype -x        arguments of pytest
  kernel-builder test relu --shell               with the pinned torch

The tests in tests/ load the build with the `kernels` client of this machine's Python, if that has torch and \
pytest, and otherwise in the test shell. It exits as pytest does, and with 5 if every test was skipped.";

pub const TESTSHELL: &str = "\
Examples:
  kernel-builder testshell relu                  the one for this machine
  kernel-builder testshell relu -- pytest tests";

pub const UPLOAD: &str = "\
Examples:
  kernel-builder upload relu --repo-id acme/relu --dry-run
  kernel-builder upload relu                     to hub.repo-id of build.toml
  kernel-builder upload relu --strict --json >upload.json

The folder result/, build/ or the kernel's own is uploaded: variants to the branch of the version, CARD.md as the \
README.md of main. Only new and changed files are sent, and one commit at the end switches the branch, so an upload \
that was stopped leaves the old build, and sends the rest when it is run again. HF_TOKEN or `hf auth login` gives \
the token, HF_ENDPOINT names another Hub.";

pub const TO_WHEEL: &str = "\
Examples:
  kernel-builder to-wheel                        the build/ here, into dist/
  kernel-builder to-wheel relu --index /srv/wheels
  kernel-builder to-wheel relu --split --variant '*-cu130-*'
  kernel-builder to-wheel 'kernels-community/activation@>=1,<3'

A kernel that is no folder here is downloaded into the cache of the Hub's clients, as `download` does; VERSION is an integer, \
specifiers, a branch, a tag or a commit, and the newest version without it. DIR may be a snapshot in the cache of a Hub client. A wheel holds the variants of one platform; `import` takes the one that fits torch. The builds are checked as \
`verify` does. SOURCE_DATE_EPOCH sets the time of files, which is 1980 otherwise.";

pub const UPDATE_BUILD: &str = "\
Examples:
  kernel-builder update-build relu --diff        see what would change
  kernel-builder update-build relu --sources     rewrite C++ and Python, too";

pub const SIGN: &str = "\
Examples:
  kernel-builder sign --generate-key relu.key    a key, and relu.key.pub
  kernel-builder sign --secret-key relu.key      the build/ of this folder

It signs metadata.json, which has the digest of every other file, in minisign's format. The signature of \
build/NAME is build/NAME.minisig, and `verify --public-key` checks it. A key of --generate-key has no password: keep it for yourself.";

pub const VERIFY: &str = "\
Examples:
  kernel-builder verify build                    every variant in a folder
  kernel-builder verify build --public-key relu.key.pub
  kernel-builder verify ~/.cache/huggingface/hub/kernels--org--relu/snapshots/*

In the cache of a Hub client, files are links: they may lead to its own folder of files alone.";

pub const VERIFY_PINS: &str = "\
Examples:
  kernel-builder verify-pins                     ask for every pinned file
  kernel-builder verify-pins cuda-13.0 --deep";

pub const VERIFY_REPRODUCIBLE: &str = "\
Examples:
  kernel-builder verify-reproducible relu --variant '*-cpu-*'

Of each step that differs, this names the first file and section, and where both results lie. It also names \
sections of objects that hold a path of the store. What is compressed, as device code of nvcc is, it cannot \
look into. Toolchains are unpacked archives and are not built again.";
