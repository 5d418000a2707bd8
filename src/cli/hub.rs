//! The arguments of the commands of the Hub: `build-and-upload`, `download`, `lock`, `resolve`,
//! `serve` and `upload`.

use std::net::{IpAddr, SocketAddr};

use camino::Utf8PathBuf;
use clap::{Args, ValueEnum, ValueHint};

use super::{BuildArgs, KernelArgs};

/// The arguments of `build-and-upload`.
#[derive(Debug, Args)]
pub struct BuildAndUploadArgs {
    #[command(flatten)]
    pub build: BuildArgs,
    #[command(flatten)]
    pub flags: UploadFlags,
}

/// The arguments of `download`.
#[derive(Debug, Args)]
pub struct DownloadArgs {
    /// Folder of the project, with its kernel-builder.lock
    #[arg(value_name = "PROJECT_DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub project: Utf8PathBuf,
    /// Only this variant; may be given several times [default: the one for this machine]
    #[arg(long = "variant", value_name = "VARIANT")]
    pub variants: Vec<String>,
    /// Every variant
    #[arg(long, visible_alias = "all-variants", conflicts_with = "variants")]
    pub all: bool,
    /// The Python whose torch decides [default: python3]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<String>,
}

/// The arguments of `lock`.
#[derive(Debug, Args)]
pub struct LockArgs {
    /// Folder of the project, with its pyproject.toml
    #[arg(value_name = "PROJECT_DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub project: Utf8PathBuf,
}

/// The arguments of `resolve`.
#[derive(Debug, Args)]
pub struct ResolveArgs {
    /// The repository
    #[arg(value_name = "ORGANISATION/NAME")]
    pub repository: String,
    /// The version: an integer, or specifiers such as '>=1,<3' [default: the newest]
    #[arg(long, value_name = "SPECIFIERS")]
    pub version: Option<String>,
    /// The Python whose torch decides [default: python3]
    #[arg(long, value_name = "PROGRAM")]
    pub python: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `serve`.
#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Folder with kernels as OWNER/NAME/build/VARIANT in it, or the folder of one kernel
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub folder: Utf8PathBuf,
    /// The address and port; port 0 is any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8000", value_parser = read_address)]
    pub listen: SocketAddr,
    /// DIR is the folder of one kernel, with this name [default: `general.hub.repo-id` of
    /// build.toml]
    #[arg(long, value_name = "ORGANISATION/NAME")]
    pub repo_id: Option<String>,
    /// Print events, one JSON object a line: the address first, then every request
    #[arg(long)]
    pub json: bool,
}

/// Reads an address, with or without a port.
fn read_address(text: &str) -> Result<SocketAddr, std::net::AddrParseError> {
    const PORT: u16 = 8000;
    match text.parse::<IpAddr>() {
        Ok(address) => Ok(SocketAddr::new(address, PORT)),
        Err(_) => text.parse(),
    }
}

/// The arguments of `upload`.
#[derive(Debug, Args)]
pub struct UploadArgs {
    #[command(flatten)]
    pub kernel: KernelArgs,
    #[command(flatten)]
    pub flags: UploadFlags,
    /// Upload nothing; print each operation
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct UploadFlags {
    /// The repository [default: `general.hub.repo-id` of build.toml]
    #[arg(long, value_name = "ORGANISATION/NAME")]
    pub repo_id: Option<String>,
    /// The branch [default: `general.hub.branch` of build.toml, or v and the kernel's version]
    #[arg(long)]
    pub branch: Option<String>,
    /// Make the repository private if it is created
    #[arg(long)]
    pub private: bool,
    /// The kind of the repository
    #[arg(long, value_enum, default_value_t = RepositoryKind::Kernel)]
    pub repo_type: RepositoryKind,
    /// Open a pull request, and leave the branch as it is
    #[arg(long)]
    pub create_pr: bool,
    /// Refuse a build from files that git does not have, and one without some bundled variants
    #[arg(long)]
    pub strict: bool,
    /// Also write the result as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub output_json: Option<Utf8PathBuf>,
}

/// The kind of a repository of the Hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RepositoryKind {
    Kernel,
    /// The kind of kernels of 2025.
    Model,
}
