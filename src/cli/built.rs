//! The arguments of the commands of built variants: `check-abi`, `check-builds`, `diff`, `hash`,
//! `sign`, `to-wheel` and `verify`.

use camino::Utf8PathBuf;
use clap::{Args, ValueHint};

use super::{VariantArgs, complete};

/// The arguments of `check-abi`.
#[derive(Debug, Args)]
pub struct CheckAbiArgs {
    /// Libraries (.so, .pyd, .dylib), or folders to look for them in
    #[arg(value_name = "PATH", default_value = "build", value_hint = ValueHint::AnyPath)]
    pub paths: Vec<Utf8PathBuf>,
    /// The variant that all files belong to [default: that of the folder around each]
    #[arg(long, value_name = "VARIANT", add = complete::variants())]
    pub variant: Option<String>,
    /// The policy for Linux, such as manylinux_2_28 or manylinux2014
    #[arg(long, value_name = "POLICY", default_value = "manylinux_2_28")]
    pub manylinux: String,
    /// The oldest Python that loads .abi3 files
    #[arg(long, value_name = "VERSION", default_value = "3.9")]
    pub python_abi: String,
    /// The oldest macOS
    #[arg(long, value_name = "VERSION", default_value = "15.0")]
    pub macos: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `check-builds`.
#[derive(Debug, Args)]
pub struct CheckBuildsArgs {
    /// Folder of the kernel, of several variants, or of one variant
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: Utf8PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Folder of a kernel, of several variants, or of one variant
    #[arg(value_name = "A", value_hint = ValueHint::DirPath)]
    pub first: Utf8PathBuf,
    /// The same of the other build
    #[arg(value_name = "B", value_hint = ValueHint::DirPath)]
    pub second: Utf8PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `hash`.
#[derive(Debug, Args)]
pub struct HashArgs {
    /// Folder of the kernel, of several variants, or of one variant
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: Utf8PathBuf,
}

/// The arguments of `sign`.
#[derive(Debug, Args)]
pub struct SignArgs {
    /// Folder of the kernel, of several variants, or of one variant
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub dir: Utf8PathBuf,
    /// The secret key: of `--generate-key`, or of minisign
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub secret_key: Option<Utf8PathBuf>,
    /// Instead, write a new secret key to FILE, and its public key to FILE.pub
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dir", "secret_key"])]
    pub generate_key: Option<Utf8PathBuf>,
}

/// The arguments of `to-wheel`.
#[derive(Debug, Args)]
pub struct ToWheelArgs {
    /// Folder of the kernel, of several variants, of one variant, or of a kernel in the cache of a
    /// Hub client; or a kernel on the Hub
    #[arg(value_name = "DIR|ORGANISATION/NAME[@VERSION]", default_value = ".", value_hint = ValueHint::DirPath)]
    pub kernel: Utf8PathBuf,
    #[command(flatten)]
    pub variants: VariantArgs,
    /// Write one wheel for each variant, with a local version such as 1+torch211.cxx11.cu130
    #[arg(long)]
    pub split: bool,
    /// Write the wheels into this folder
    #[arg(long, value_name = "DIR", default_value = "dist", value_hint = ValueHint::DirPath)]
    pub out: Utf8PathBuf,
    /// Instead, add the wheels to an index in this folder, for any web server to serve
    #[arg(long, value_name = "DIR", conflicts_with = "out", value_hint = ValueHint::DirPath)]
    pub index: Option<Utf8PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Folders: of a kernel, of several variants, of one variant, or a snapshot in the cache of a
    /// Hub client
    #[arg(value_name = "PATH", required = true, value_hint = ValueHint::DirPath)]
    pub paths: Vec<Utf8PathBuf>,
    /// Also check that each variant is signed with this key: a file, or the key itself
    #[arg(long, value_name = "KEY")]
    pub public_key: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
