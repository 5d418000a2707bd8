//! The command line, as clap reads it. What the commands do is in commands/.

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use crate::matrix::Profile;
use crate::pins::packages::PackageRequest;

const EXIT_CODES: &str = "Exit codes: 0 fine, 1 the kernel's files are wrong, 2 wrong usage, 3 the environment \
(Nix missing, download failed, disk full, no toolchain or machine for a variant).";

const FETCH: &str = "Files come from --from, the download cache (KERNEL_BUILDER_CACHE), the machine's own pip and apt, \
and the URLs of vendors, in this order. A download that brings nothing for KERNEL_BUILDER_STALL_SECONDS (30) is tried again \
from where it was; a killed fetch goes on where it ended.";

const PACKAGES: &str = "pip chooses the wheels and those that they require, for the Python that checks and shells run with. \
Packages that are pinned already keep their version if others are added.";

const SHAPE: &str = "docs/plan.md of kernel-builder's repository describes the JSON.";

const TWICE: &str = "Of each step that differs, this names the first file and section, and where both results lie. It also \
names sections of objects that hold a path of the store. What is compressed, as device code of nvcc is, it cannot look into. \
Toolchains are unpacked archives and are not built again.";

/// Builds PyTorch kernels for every torch, compute toolkit and CPU from one build.toml.
#[derive(Debug, Parser)]
#[command(version, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Build a kernel's variants into its build/ folder
    Build {
        #[command(flatten)]
        kernel: KernelDir,
        #[command(flatten)]
        variants: Variants,
        /// Compilations at a time [default: cores, as far as memory allows]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        max_jobs: Option<u16>,
        /// Cores that one compilation may use
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
        cores: u16,
        /// Use no network: fail if something would have to be downloaded
        #[arg(long)]
        offline: bool,
        /// Print every line that compilers print
        #[arg(short = 'L', long)]
        print_build_logs: bool,
    },
    /// Check build.toml and the files it names
    #[command(alias = "validate")]
    CheckConfig {
        #[command(flatten)]
        kernel: KernelDir,
        /// Print problems as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print shell completions
    Completions { shell: Shell },
    /// Open a shell with a variant's compilers, torch and tools
    Devshell {
        #[command(flatten)]
        shell: Shelled,
    },
    /// Explain a problem code such as KB0101, or list all of them
    Explain {
        /// The code, in upper or lower case
        code: Option<String>,
    },
    /// Bring the toolchains of a kernel's variants into the Nix store
    #[command(after_help = FETCH)]
    Fetch {
        #[command(flatten)]
        kernel: KernelDir,
        #[command(flatten)]
        variants: Variants,
        /// Also what checks need: Python, torch, the `kernels` client
        #[arg(long)]
        check: bool,
        /// Also what a shell needs; without --variant, of the one that suits this machine
        #[arg(long, conflicts_with = "check")]
        shell: bool,
        /// Instead, what Nix needs to build this program from its sources
        #[arg(long, conflicts_with_all = ["path", "names", "check", "shell"])]
        tool: bool,
        /// Use no network: only the store, the download cache and --from
        #[arg(long)]
        offline: bool,
        /// Take files from a folder that --to wrote, before any other source
        #[arg(long, value_name = "DIR")]
        from: Option<Utf8PathBuf>,
        /// Also write all files to a folder, for a machine without a network
        #[arg(long, value_name = "DIR")]
        to: Option<Utf8PathBuf>,
        /// Print what was done as JSON
        #[arg(long)]
        json: bool,
    },
    /// Format Nix files
    Format {
        /// Files, or folders to look for them in
        #[arg(value_name = "PATH", default_value = ".")]
        paths: Vec<Utf8PathBuf>,
        /// Write nothing; exit 1 if a file would change
        #[arg(long)]
        check: bool,
    },
    /// Write build.nix, from which Nix builds
    Generate {
        #[command(flatten)]
        kernel: KernelDir,
        /// Only say whether build.nix is up to date; exit 1 if it is not
        #[arg(long)]
        check: bool,
        /// Write it to this file, not into the kernel's folder
        #[arg(long, value_name = "FILE", conflicts_with = "check")]
        output: Option<Utf8PathBuf>,
    },
    /// Print the steps of a build as a graph, without building
    #[command(after_help = SHAPE)]
    Graph {
        #[command(flatten)]
        kernel: KernelDir,
        #[command(flatten)]
        variants: Variants,
        /// Print JSON: the steps of `plan --json`, each with what it needs
        #[arg(long, conflicts_with = "dot")]
        json: bool,
        /// Print Graphviz's language, for `dot -Tsvg` [default]
        #[arg(long)]
        dot: bool,
    },
    /// List the variants that a kernel is built for on this system
    ListVariants {
        #[command(flatten)]
        kernel: KernelDir,
        /// Those of every system
        #[arg(long)]
        all: bool,
        /// The builds that development shells are for: for a kernel of Python alone, each torch and compute
        #[arg(long)]
        arch: bool,
        /// List what is not built, and which rule and key of build.toml excludes it
        #[arg(long)]
        why: bool,
        /// Print a JSON array of objects
        #[arg(long)]
        json: bool,
    },
    /// Look up what toolchains are made of, for contributors; print what changed since
    Pin {
        /// Only these families of pins, such as cuda-13.0 [default: all]
        #[arg(value_name = "FAMILY")]
        families: Vec<String>,
        /// Add this torch release: its variants and what they need
        #[arg(long, value_name = "RELEASE", conflicts_with = "families")]
        torch: Option<String>,
        /// Only this system, such as x86_64-linux
        #[arg(long, conflicts_with = "torch")]
        system: Option<String>,
        /// Write the changes
        #[arg(long)]
        write: bool,
        /// Take new content of this file, though its name is the same; may be given several times
        #[arg(long, value_name = "FILE")]
        accept: Vec<String>,
        /// A checkout of kernel-builder [default: the one around the current folder]
        #[arg(
            long,
            value_name = "DIR",
            default_value = ".",
            hide_default_value = true
        )]
        repository: Utf8PathBuf,
    },
    /// Pin Python packages that a kernel's checks and shells need, in its python-packages.json
    #[command(after_help = PACKAGES)]
    PinPython {
        /// Packages of pip's index to add, such as rich or 'rich>=14,<16'; without any, newer versions of those pinned
        #[arg(value_name = "NAME")]
        names: Vec<PackageRequest>,
        /// Folder of the kernel
        #[arg(
            long,
            value_name = "KERNEL_DIR",
            default_value = ".",
            hide_default_value = true
        )]
        kernel: Utf8PathBuf,
    },
    /// Say what a build would do, and why, without building or fetching
    #[command(after_help = SHAPE)]
    Plan {
        #[command(flatten)]
        kernel: KernelDir,
        #[command(flatten)]
        variants: Variants,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON Schema of build.toml, for editors
    Schema,
    /// Open a shell with a built variant, to test it
    Testshell {
        #[command(flatten)]
        shell: Shelled,
    },
    /// Rewrite an older build.toml and flake.nix in their current form, with --sources also C++ and Python
    UpdateBuild {
        #[command(flatten)]
        kernel: KernelDir,
        /// Write nothing; exit 1 if something would change
        #[arg(long)]
        check: bool,
        /// Write nothing; print what would change, in sources too
        #[arg(long)]
        diff: bool,
        /// Also rewrite sources that register operators under a namespace which all builds of the kernel have: builds
        /// that register under their own can be loaded together
        #[arg(long)]
        sources: bool,
    },
    /// Check that the sources of toolchains still have what is pinned
    VerifyPins {
        /// Only these families of pins, such as cuda-13.0 [default: all]
        #[arg(value_name = "FAMILY")]
        families: Vec<String>,
        /// Only what variants of this profile need
        #[arg(long, value_enum)]
        profile: Option<Profile>,
        /// Read also what is taken of archives, and compare it
        #[arg(long)]
        deep: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// A checkout of kernel-builder whose pins to check [default: those of this program]
        #[arg(long, value_name = "DIR")]
        repository: Option<Utf8PathBuf>,
    },
    /// Build every step of variants twice, in different folders, and compare
    #[command(after_help = TWICE)]
    VerifyReproducible {
        #[command(flatten)]
        kernel: KernelDir,
        #[command(flatten)]
        variants: Variants,
        /// Compilations at a time [default: cores, as far as memory allows]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        max_jobs: Option<u16>,
        /// Cores that one compilation may use
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
        cores: u16,
    },
}

#[derive(Debug, Args)]
pub struct KernelDir {
    /// Folder of the kernel, or its build.toml
    #[arg(value_name = "KERNEL_DIR", default_value = ".")]
    pub path: Utf8PathBuf,
}

#[derive(Debug, Args)]
pub struct Variants {
    /// Only this variant, or those that a glob such as 'torch21?-*-cu130-*' matches; may be given several times
    #[arg(long = "variant", value_name = "VARIANT")]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct Shelled {
    #[command(flatten)]
    pub kernel: KernelDir,
    /// The variant [default: the one that suits this machine]
    #[arg(long, value_name = "VARIANT")]
    pub variant: Option<String>,
    /// Compilations at a time [default: cores, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_jobs: Option<u16>,
    /// Cores that one compilation may use
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub cores: u16,
    /// Print every line that compilers print
    #[arg(short = 'L', long)]
    pub print_build_logs: bool,
    /// Run this instead of an interactive shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}
