//! The command line, as clap reads it. In cli/, author.rs, built.rs, hub.rs and pins.rs have the
//! arguments of some commands, help.rs the ends of help texts. The commands themselves are in
//! src/commands/.

mod author;
mod built;
pub mod complete;
mod help;
mod hub;
mod pins;

use std::ffi::OsString;

use camino::Utf8PathBuf;
use clap::{ArgAction, Args, ColorChoice, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

pub use self::author::{
    BenchmarkArgs, CleanPyprojectArgs, CreatePyprojectArgs, FillCardArgs, InitArgs, NewFramework,
    SkillsAddArgs, SkillsArgs, SkillsCommand, TestArgs,
};
pub use self::built::{
    CheckAbiArgs, CheckBuildsArgs, DiffArgs, HashArgs, SignArgs, ToWheelArgs, VerifyArgs,
};
pub use self::hub::{
    BuildAndUploadArgs, DownloadArgs, LockArgs, RepositoryKind, ResolveArgs, ServeArgs, UploadArgs,
    UploadFlags,
};
pub use self::pins::{FetchArgs, PinArgs, PinProfile, PinPythonArgs, VerifyPinsArgs};

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// Builds PyTorch kernels for every torch, compute toolkit and CPU from one build.toml.
#[derive(Debug, Parser)]
#[command(version, after_help = help::PROGRAM)]
pub struct Cli {
    #[command(flatten)]
    pub global: GlobalArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure builds of a kernel with the scripts in its benchmarks folder
    #[command(after_help = help::BENCHMARK)]
    Benchmark(BenchmarkArgs),
    /// Build a kernel's variants into its build/ folder
    #[command(after_help = help::BUILD, visible_alias = "build-and-copy")]
    Build(BuildArgs),
    /// Build a kernel's variants, then upload them to the Hub
    #[command(after_help = help::BUILD_AND_UPLOAD)]
    BuildAndUpload(BuildAndUploadArgs),
    /// Check native files: whether they load where their variant promises, and disturb nobody
    #[command(after_help = help::CHECK_ABI)]
    CheckAbi(CheckAbiArgs),
    /// Check built variants: whole, unchanged, and what they say they are
    #[command(after_help = help::CHECK_BUILDS)]
    CheckBuilds(CheckBuildsArgs),
    /// Check build.toml and the files it names
    #[command(after_help = help::CHECK_CONFIG, visible_alias = "validate")]
    CheckConfig(CheckConfigArgs),
    /// Share a kernel's variants among jobs of about the same length, for a CI service
    #[command(after_help = help::CI_MATRIX)]
    CiMatrix(CiMatrixArgs),
    /// Remove the CMake project that create-pyproject wrote, and nothing else
    #[command(after_help = help::CLEAN_PYPROJECT, visible_alias = "clean")]
    CleanPyproject(CleanPyprojectArgs),
    /// Print shell completions
    #[command(after_help = help::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Write a CMake and setuptools project, to build the kernel without Nix
    #[command(after_help = help::CREATE_PYPROJECT, visible_alias = "generate-torch")]
    CreatePyproject(CreatePyprojectArgs),
    /// Open a shell with a variant's compilers, torch and tools
    #[command(after_help = help::DEVSHELL)]
    Devshell(ShellArgs),
    /// Compare two builds, to the section and symbol, and name the inputs that made them differ
    #[command(after_help = help::DIFF)]
    Diff(DiffArgs),
    /// Check that this machine can build kernels; say how to cure what is wrong
    #[command(after_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// Download locked kernels into the cache of the `kernels` client
    #[command(after_help = help::DOWNLOAD)]
    Download(DownloadArgs),
    /// Explain the code of a problem or of an error, or list all of them
    #[command(after_help = help::EXPLAIN)]
    Explain(ExplainArgs),
    /// Bring the toolchains of a kernel's variants into the Nix store
    #[command(after_help = help::FETCH)]
    Fetch(FetchArgs),
    /// Fill the kernel's model card, CARD.md, with its functions and its builds
    #[command(after_help = help::FILL_CARD)]
    FillCard(FillCardArgs),
    /// Format Nix files
    #[command(after_help = help::FORMAT)]
    Format(FormatArgs),
    /// Write build.nix, from which Nix builds
    #[command(after_help = help::GENERATE)]
    Generate(GenerateArgs),
    /// Print the steps of a build as a graph, without building
    #[command(after_help = help::GRAPH)]
    Graph(GraphArgs),
    /// Write the digests of built variants into their metadata.json again
    #[command(after_help = help::HASH)]
    Hash(HashArgs),
    /// Write a new kernel that builds and passes its tests, from an example
    #[command(after_help = help::INIT)]
    Init(InitArgs),
    /// List the variants that a kernel is built for on this system
    #[command(after_help = help::LIST_VARIANTS)]
    ListVariants(ListVariantsArgs),
    /// Lock the kernels that a project needs: commits and hashes of files
    #[command(after_help = help::LOCK)]
    Lock(LockArgs),
    /// Write manual pages to a folder, for `make install`
    #[command(after_help = help::MAN, hide = true)]
    Man(ManArgs),
    /// Look up the files of toolchains, for contributors; print what changed since
    #[command(after_help = help::PIN)]
    Pin(PinArgs),
    /// Pin Python packages that a kernel's checks and shells need, in its python-packages.json
    #[command(after_help = help::PIN_PYTHON)]
    PinPython(PinPythonArgs),
    /// Print the steps that a build would run, and the reasons, without building or fetching
    #[command(after_help = help::PLAN)]
    Plan(PlanArgs),
    /// Write a page about the variants and the last build, for a browser
    #[command(after_help = help::REPORT)]
    Report(ReportArgs),
    /// Say which variant of a kernel on the Hub this machine gets, and why each other is refused
    #[command(after_help = help::RESOLVE)]
    Resolve(ResolveArgs),
    /// Print the JSON Schema of build.toml, for editors
    #[command(after_help = help::SCHEMA)]
    Schema,
    /// Serve built kernels to clients of the Hub, from a folder of this machine
    #[command(after_help = help::SERVE)]
    Serve(ServeArgs),
    /// Sign built variants, or make a key for that
    #[command(after_help = help::SIGN)]
    Sign(SignArgs),
    /// Write guides for coding assistants
    #[command(after_help = help::SKILLS)]
    Skills(SkillsArgs),
    /// Build a variant and run the kernel's tests with it
    #[command(after_help = help::TEST)]
    Test(TestArgs),
    /// Open a shell with a built variant, to test it
    #[command(after_help = help::TESTSHELL)]
    Testshell(ShellArgs),
    /// Pack built variants as Python wheels, for pip and uv
    #[command(after_help = help::TO_WHEEL)]
    ToWheel(ToWheelArgs),
    /// Rewrite an older build.toml and flake.nix in their current form, with --sources also C++ and
    /// Python
    #[command(after_help = help::UPDATE_BUILD)]
    UpdateBuild(UpdateBuildArgs),
    /// Upload built variants to the Hugging Face Hub
    #[command(after_help = help::UPLOAD)]
    Upload(UploadArgs),
    /// Check variants that somebody else built, in folders or in the cache of a Hub client, offline
    #[command(after_help = help::VERIFY)]
    Verify(VerifyArgs),
    /// Check that the sources of toolchains still have the pinned files
    #[command(after_help = help::VERIFY_PINS)]
    VerifyPins(VerifyPinsArgs),
    /// Build every step of variants twice, in different folders, and compare
    #[command(after_help = help::VERIFY_REPRODUCIBLE)]
    VerifyReproducible(VerifyReproducibleArgs),
}

/// The arguments of `build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub variants: VariantArgs,
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Use no network: fail if something would have to be downloaded
    #[arg(long)]
    pub offline: bool,
    /// Build all steps that need no failed one, of every variant [default]
    #[arg(long, overrides_with = "fail_fast")]
    pub keep_going: bool,
    /// Start no further step after the first one that fails
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    /// Build nothing; print what `plan` prints
    #[arg(long)]
    pub dry_run: bool,
    /// Print events, one JSON object a line; the last one is the result
    #[arg(long)]
    pub json: bool,
    /// Build again whenever a file changes, until Ctrl-C; without --variant, the one for this
    /// machine
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    pub watch: bool,
    /// Print every line that compilers print
    #[arg(short = 'L', long)]
    pub print_build_logs: bool,
}

/// The arguments of `check-config`.
#[derive(Debug, Args)]
pub struct CheckConfigArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Print problems as JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `ci-matrix`.
#[derive(Debug, Args)]
pub struct CiMatrixArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub variants: VariantArgs,
    /// The most jobs of a system
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: u16,
    /// Print a matrix of GitHub's, in one line
    #[arg(long)]
    pub json: bool,
    /// Write the service's file into the kernel's folder, over none but one that this wrote
    #[arg(long, value_name = "SERVICE", conflicts_with = "json")]
    pub write: Option<CiWord>,
    /// The repository that the service clones kernel-builder from
    #[arg(long, value_name = "URL", requires = "write", value_parser = read_source)]
    pub source: Option<String>,
}

/// A service for continuous integration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CiWord {
    /// .github/workflows/kernel.yml
    Github,
    /// .gitlab-ci.yml
    Gitlab,
}

/// Reads a URL. NB: it becomes a part of YAML and of an expression.
fn read_source(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/?&=@+%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("it has characters that no URL of a repository needs".to_owned()),
    }
}

/// The arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    pub shell: Shell,
}

/// The arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The code, such as KB0101 or variants::unknown
    #[arg(add = complete::codes())]
    pub code: Option<String>,
}

/// The arguments of `format`.
#[derive(Debug, Args)]
pub struct FormatArgs {
    /// Files, or folders to look for them in
    #[arg(value_name = "PATH", default_value = ".", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<Utf8PathBuf>,
    /// Write nothing; exit 1 if a file would change
    #[arg(long)]
    pub check: bool,
}

/// The arguments of `generate`.
#[derive(Debug, Args)]
pub struct GenerateArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Only say whether build.nix is up to date; exit 1 if it is not
    #[arg(long)]
    pub check: bool,
    /// Write it to this file, not into the kernel's folder
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub output: Option<Utf8PathBuf>,
}

/// The arguments of `graph`.
#[derive(Debug, Args)]
pub struct GraphArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub variants: VariantArgs,
    /// Print JSON: the steps of `plan --json`, each with the steps that it needs
    #[arg(long, conflicts_with = "dot")]
    pub json: bool,
    /// Print Graphviz's language, for `dot -Tsvg` [default]
    #[arg(long)]
    pub dot: bool,
}

/// The arguments of `list-variants`.
#[derive(Debug, Args)]
pub struct ListVariantsArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// List the variants of every system
    #[arg(long)]
    pub all: bool,
    /// List the builds that development shells are for: for a kernel of Python alone, each torch
    /// and compute
    #[arg(long)]
    pub arch: bool,
    /// List the variants that are not built, and which rule and key of build.toml excludes them
    #[arg(long)]
    pub why: bool,
    /// Mark the variants that are bundled, built, cached, or without pins [default on a terminal]
    #[arg(short, long, conflicts_with_all = ["why", "json"])]
    pub long: bool,
    /// Print a JSON array of objects
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// The folder, which must exist
    #[arg(value_name = "DIR")]
    pub dir: Utf8PathBuf,
}

/// The arguments of `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub variants: VariantArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Write it to this file, not into the cache
    #[arg(long, value_name = "FILE")]
    pub output: Option<Utf8PathBuf>,
    /// Open it in the browser
    #[arg(long)]
    pub open: bool,
}

/// The arguments of `devshell` and of `testshell`.
#[derive(Debug, Args)]
pub struct ShellArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// The variant [default: the one that suits this machine]
    #[arg(long, value_name = "VARIANT", add = complete::variants())]
    pub variant: Option<String>,
    #[command(flatten)]
    pub jobs: JobArgs,
    /// Print every line that compilers print
    #[arg(short = 'L', long)]
    pub print_build_logs: bool,
    /// Run this instead of an interactive shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// The arguments of `update-build`.
#[derive(Debug, Args)]
pub struct UpdateBuildArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    /// Write nothing; exit 1 if something would change
    #[arg(long)]
    pub check: bool,
    /// Write nothing; print what would change, in sources too
    #[arg(long)]
    pub diff: bool,
    /// Also rewrite sources that register operators under a namespace which all builds of the
    /// kernel have: builds that register under their own can be loaded together
    #[arg(long)]
    pub sources: bool,
}

/// The arguments of `verify-reproducible`.
#[derive(Debug, Args)]
pub struct VerifyReproducibleArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub variants: VariantArgs,
    #[command(flatten)]
    pub jobs: JobArgs,
}

// NB: types that are flattened have no doc comment: clap would take it for the command's own text.

#[derive(Debug, Args)]
pub struct GlobalArgs {
    /// Print only results and errors
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
    /// Print also the places of files and the commands of Nix; -vv prints these whole
    #[arg(short, long, global = true, help_heading = GLOBAL, action = ArgAction::Count)]
    pub verbose: u8,
    /// Use colours; `auto` uses them on terminals, unless NO_COLOR is set
    #[arg(long, value_name = "WHEN", global = true, help_heading = GLOBAL)]
    #[arg(default_value_t)]
    pub color: ColorChoice,
    /// Change to this folder first; given before the command, also several times
    // NB: clap forgets the values before a command if there are others behind it.
    #[arg(short = 'C', value_name = "DIR", help_heading = GLOBAL, value_hint = ValueHint::DirPath)]
    pub folders: Vec<Utf8PathBuf>,
}

#[derive(Debug, Args)]
pub struct KernelArgs {
    /// Folder of the kernel, or its build.toml
    #[arg(value_name = "KERNEL_DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub path: Utf8PathBuf,
}

#[derive(Debug, Args)]
pub struct VariantArgs {
    /// Only this variant, or those that a glob such as 'torch21?-*-cu130-*' matches; may be given
    /// several times
    #[arg(long = "variant", value_name = "VARIANT", add = complete::variants())]
    pub names: Vec<String>,
}

#[derive(Debug, Args)]
pub struct JobArgs {
    /// Compilations at a time [default: cores, as far as memory allows]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub max_jobs: Option<u16>,
    /// Cores that one compilation may use
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub cores: u16,
}

/// The value of `--color` among arguments, which need not be right otherwise.
pub fn color_of_arguments(arguments: impl Iterator<Item = OsString>) -> anstream::ColorChoice {
    let mut choice = ColorChoice::Auto;
    let mut is_next = false;
    for argument in arguments.filter_map(|argument| argument.into_string().ok()) {
        let value = match is_next {
            true => Some(argument.as_str()),
            false => argument.strip_prefix("--color="),
        };
        if let Some(known) = value.and_then(|value| value.parse().ok()) {
            choice = known;
        }
        is_next = argument == "--color";
        if argument == "--" {
            break;
        }
    }
    match choice {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
}
