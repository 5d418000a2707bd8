//! The arguments of the commands of a kernel's author: `benchmark`, `clean-pyproject`,
//! `create-pyproject`, `fill-card`, `init`, `skills` and `test`.

use camino::Utf8PathBuf;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::{JobArgs, KernelArgs, complete};
use crate::words::Backend;

/// The arguments of `benchmark`.
#[derive(Debug, Args)]
pub struct BenchmarkArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// The variant [default: the one that suits this machine]
    #[arg(long, value_name = "VARIANT", add = complete::variants())]
    pub variant: Option<String>,
    /// Measure this too: another variant, a folder with a build, or OWNER/NAME@REVISION from the
    /// cache of the Hub; may be given several times
    #[arg(long, value_name = "BUILD")]
    pub against: Vec<String>,
    /// Samples of each workload
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: u32,
    /// Calls before the first sample
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub warmup: u32,
    /// Also draw the times, as an SVG
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plot: Option<Utf8PathBuf>,
    /// Measure nothing; show what scripts/gpu_benchmark.py of kernel-builder measured on another
    /// machine
    #[arg(long, value_name = "FILE", conflicts_with_all = ["variant", "against"])]
    pub measured: Vec<Utf8PathBuf>,
    /// Use the Python of the test shell, even if this machine's has torch
    #[arg(long)]
    pub shell: bool,
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Print every line that compilers print
    #[arg(short = 'L', long)]
    pub print_build_logs: bool,
}

/// The arguments of `fill-card`.
#[derive(Debug, Args)]
pub struct FillCardArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Write the card to this file instead of standard output
    #[arg(value_name = "OUTPUT", value_hint = ValueHint::FilePath)]
    pub output: Option<Utf8PathBuf>,
}

/// The arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Folder of the new kernel [default: NAME]
    #[arg(value_name = "PATH", value_hint = ValueHint::DirPath)]
    pub path: Option<Utf8PathBuf>,
    /// Name of the kernel on the Hub [default: asked for on a terminal]
    #[arg(long, value_name = "OWNER/NAME")]
    pub name: Option<String>,
    /// Backends to keep of the example, or `all` [default: cpu and cuda; on macOS cpu and metal]
    #[arg(long, value_name = "BACKEND", num_args = 1.., value_delimiter = ',', value_parser = backend_words())]
    pub backends: Vec<String>,
    /// How the kernel is bound to Python [default: torch]
    #[arg(long, value_enum)]
    pub framework: Option<NewFramework>,
    /// Start from this example, not from the one of a framework
    #[arg(long, value_name = "EXAMPLE", conflicts_with = "framework", add = complete::examples())]
    pub example: Option<String>,
    /// Licence, as SPDX or the Hub names it [default: Apache-2.0]
    #[arg(long)]
    pub license: Option<String>,
    /// URL of kernel-builder's flake, for flake.nix
    #[arg(long, value_name = "URL")]
    pub builder: Option<String>,
}

/// The arguments of `skills`.
#[derive(Debug, Args)]
pub struct SkillsArgs {
    #[command(subcommand)]
    pub command: SkillsCommand,
}

#[derive(Debug, Subcommand)]
pub enum SkillsCommand {
    /// Write guides to a folder, never over a file; without a name, list them
    Add(SkillsAddArgs),
}

/// The arguments of `skills add`.
#[derive(Debug, Args)]
pub struct SkillsAddArgs {
    /// Names of guides
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Folder for them [default: skills in .claude, .codex and .opencode, as far as these exist]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub dest: Option<Utf8PathBuf>,
}

/// The arguments of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// The variant [default: the one that suits this machine]
    #[arg(long, value_name = "VARIANT", add = complete::variants())]
    pub variant: Option<String>,
    /// Use the Python of the test shell, even if this machine's has torch
    #[arg(long)]
    pub shell: bool,
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Print every line that compilers print
    #[arg(short = 'L', long)]
    pub print_build_logs: bool,
    /// Arguments for pytest
    #[arg(last = true, value_name = "PYTEST_ARGUMENT")]
    pub pytest: Vec<String>,
}

/// The framework of a new kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NewFramework {
    /// A C++ extension of torch.
    Torch,
    /// One that works with later torch releases too.
    TorchStableAbi,
    /// Python alone, such as Triton.
    TorchNoarch,
    /// A library behind TVM's foreign function interface, without C++ of torch.
    TvmFfi,
}

impl NewFramework {
    /// Every framework, the usual one first.
    pub const ALL: [Self; 4] = [
        Self::Torch,
        Self::TorchStableAbi,
        Self::TorchNoarch,
        Self::TvmFfi,
    ];

    /// The example that a new kernel starts from.
    pub fn example(self) -> &'static str {
        match self {
            Self::Torch => "relu-all-backends",
            Self::TorchStableAbi => "relu-stable-abi",
            Self::TorchNoarch => "silu-and-mul",
            Self::TvmFfi => "relu-tvm-ffi",
        }
    }

    /// Its name and its use.
    pub fn words(self) -> &'static str {
        match self {
            Self::Torch => "torch: C++ for each torch release",
            Self::TorchStableAbi => "torch-stable-abi: C++ for torch 2.11 and later",
            Self::TorchNoarch => "torch-noarch: Python alone, such as Triton",
            Self::TvmFfi => "tvm-ffi: C++ without torch",
        }
    }
}

/// The words of `init --backends`.
fn backend_words() -> PossibleValuesParser {
    let backends = Backend::ALL.iter().map(|backend| backend.as_str());
    backends.chain(["all"]).collect::<Vec<_>>().into()
}

/// The arguments of `clean-pyproject`.
#[derive(Debug, Args)]
pub struct CleanPyprojectArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// The folder that the project was written to [default: the kernel's]
    #[arg(value_hint = ValueHint::DirPath)]
    pub target_dir: Option<Utf8PathBuf>,
    /// Remove nothing; list the files
    #[arg(short, long)]
    pub dry_run: bool,
    /// Remove also files that somebody edited
    #[arg(short, long)]
    pub force: bool,
    /// Has no effect: other builders need it to find the files
    #[arg(long, hide = true, value_name = "ID")]
    pub ops_id: Option<String>,
}

/// The arguments of `create-pyproject`.
#[derive(Debug, Args)]
pub struct CreatePyprojectArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Another folder to write to, which has a copy of the kernel's files [default: the kernel's]
    #[arg(value_hint = ValueHint::DirPath)]
    pub target_dir: Option<Utf8PathBuf>,
    /// Replace also files that somebody edited
    #[arg(short, long)]
    pub force: bool,
    /// The end of build ids [default: a hash of the kernel's files, as in a build by Nix]
    #[arg(long, value_name = "ID", visible_alias = "ops-id")]
    pub unique_id: Option<String>,
    /// The commit of the kernel, whole, for metadata.json of builds [default: no commit]
    #[arg(long, value_name = "OID")]
    pub kernel_sha: Option<String>,
    /// The kernel's files differ from that commit
    #[arg(long, requires = "kernel_sha")]
    pub kernel_dirty: bool,
}
