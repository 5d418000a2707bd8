//! The arguments of the commands that fetch pinned files, and of those that look them up.

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum, ValueHint};

use super::{KernelArgs, VariantArgs, complete};
use crate::pins::packages::PackageRequest;

/// The arguments of `fetch`.
#[derive(Debug, Args)]
pub struct FetchArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub variants: VariantArgs,
    /// Also the files that checks need: Python, torch, the `kernels` client
    #[arg(long)]
    pub check: bool,
    /// Also the files that a shell needs; without --variant, for the variant that suits this
    /// machine
    #[arg(long, conflicts_with = "check")]
    pub shell: bool,
    /// Instead, the files that Nix needs to build this program from its sources
    #[arg(long, conflicts_with_all = ["path", "names", "check", "shell", "json"])]
    pub tool: bool,
    /// Instead, the files that Nix needs to build the container image of this program
    #[arg(long, conflicts_with_all = ["path", "names", "check", "shell", "json", "tool"])]
    pub image: bool,
    /// Use no network: only the store, the download cache and --from
    #[arg(long)]
    pub offline: bool,
    /// Take files from a folder that --to wrote, before any other source
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub from: Option<Utf8PathBuf>,
    /// Also write all files to a folder, for a machine without a network
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub to: Option<Utf8PathBuf>,
    /// Print events, one JSON object a line; the last has the outcome
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `pin`.
#[derive(Debug, Args)]
pub struct PinArgs {
    /// Only these families of pins, such as cuda-13.0 [default: all]
    #[arg(value_name = "FAMILY", add = complete::families())]
    pub families: Vec<String>,
    /// Add this torch release: its variants and the pins that they need
    #[arg(long, value_name = "RELEASE", conflicts_with = "families")]
    pub torch: Option<String>,
    /// Only this system, such as x86_64-linux
    #[arg(long, conflicts_with = "torch")]
    pub system: Option<String>,
    /// Write the changes
    #[arg(long)]
    pub write: bool,
    /// Take new content of this file, though its name is the same; may be given several times
    #[arg(long, value_name = "FILE")]
    pub accept: Vec<String>,
    /// A checkout of kernel-builder [default: the one around the current folder]
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    pub repository: Utf8PathBuf,
}

/// The arguments of `pin-python`.
#[derive(Debug, Args)]
pub struct PinPythonArgs {
    /// Packages of pip's index to add, such as rich or 'rich>=14,<16'; without any, newer versions
    /// of those pinned
    #[arg(value_name = "NAME")]
    pub names: Vec<PackageRequest>,
    /// Folder of the kernel
    #[arg(
        long,
        value_name = "KERNEL_DIR",
        default_value = ".",
        hide_default_value = true
    )]
    pub kernel: Utf8PathBuf,
}

/// The arguments of `verify-pins`.
#[derive(Debug, Args)]
pub struct VerifyPinsArgs {
    /// Only these families of pins, such as cuda-13.0 [default: all]
    #[arg(value_name = "FAMILY", add = complete::families())]
    pub families: Vec<String>,
    /// Only the pins that variants of this profile need
    #[arg(long, value_enum)]
    pub profile: Option<PinProfile>,
    /// Read also the files taken from archives, and compare them
    #[arg(long)]
    pub deep: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// A checkout of kernel-builder whose pins to check [default: those of this program]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub repository: Option<Utf8PathBuf>,
}

/// The profile of pins, as a person writes it.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PinProfile {
    /// Package indexes, through the machine's own pip and apt.
    Registry,
    /// The vendors' own archives, by URL.
    Vendor,
}
