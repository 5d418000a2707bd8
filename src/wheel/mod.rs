//! Python wheels of built variants, and static indexes of wheels. Checks no builds, and asks
//! no network.

mod archive;
mod index;
mod metadata;
mod plan;
mod variant;

use std::fs::Permissions;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;
use serde::Serialize;
use thiserror::Error;

use self::archive::write_members;
pub use self::index::write_index;
use self::metadata::GENERATOR;
pub use self::plan::{WheelPlan, plan_wheels};
use crate::emit::EmitError;
use crate::file::{create_beside, help_for_io, rename_into_place, sha256_of};

/// The reason why there is no wheel.
#[derive(Debug, Diagnostic, Error)]
pub enum WheelError {
    #[error("{folder} cannot be in a wheel: {why}")]
    #[diagnostic(
        code(wheel::variant),
        help("leave it out: --variant names the variants that a wheel gets")
    )]
    Variant { folder: Utf8PathBuf, why: String },

    #[error("{folder} cannot be in a wheel: it loads other kernels through the `kernels` client")]
    #[diagnostic(
        code(wheel::client),
        help("publish it on the Hub: `get_kernel` brings the kernels that it needs")
    )]
    NeedsClient { folder: Utf8PathBuf },

    #[error("these builds are no single kernel: {what}")]
    #[diagnostic(
        code(wheel::mixed),
        help("name a folder with one version of one kernel, such as one snapshot of a cache")
    )]
    Mixed { what: String },

    #[error("no variant is called {pattern}")]
    #[diagnostic(code(wheel::unknown), help("the built variants are {names}"))]
    UnknownVariant { pattern: String, names: String },

    #[error("{path} is there, with another content")]
    #[diagnostic(
        code(wheel::exists),
        help(
            "whoever has locked that file by its hash would get an error: raise the kernel's version, or delete the file first"
        )
    )]
    Exists { path: Utf8PathBuf },

    #[error("{path} is no wheel that an index can list: {why}")]
    #[diagnostic(code(wheel::unreadable), help("move it out of the index"))]
    Unreadable { path: Utf8PathBuf, why: String },

    #[error("the library has no {0}")]
    #[diagnostic(
        code(wheel::library),
        help(
            "KERNEL_BUILDER_LIBRARY names the folder of the library: unset it, or complete that folder"
        )
    )]
    Template(&'static str),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Emit(#[from] EmitError),

    #[error("failed to {action}")]
    #[diagnostic(code(wheel::io), help("{}", help_for_io(source)))]
    Io {
        action: String,
        source: std::io::Error,
    },
}

impl WheelError {
    /// 1 if the user's files are wrong, 2 for wrong usage, 3 for the environment.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownVariant { .. } => 2,
            Self::Template(_) | Self::Io { .. } => 3,
            Self::Emit(error) => match error {
                EmitError::Foreign { .. } => 1,
                _ => 3,
            },
            _ => 1,
        }
    }

    /// Makes an error of an I/O error, with the action that failed; for `map_err`.
    fn io(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}

/// A wheel that was written, or was there with the same bytes.
#[derive(Debug, Serialize)]
pub struct WrittenWheel {
    pub path: Utf8PathBuf,
    /// The name of the project on an index.
    pub name: String,
    pub version: String,
    pub tag: String,
    pub variants: Vec<String>,
    pub size: u64,
    pub sha256: String,
}

impl WheelPlan<'_> {
    /// Writes the wheel into a folder. `may_replace`: whether it may take the place of another
    /// wheel of this program.
    ///
    /// # Errors
    /// `WheelError`
    pub fn write(&self, folder: &Utf8Path, may_replace: bool) -> Result<WrittenWheel, WheelError> {
        let failed = |action: &str, path: &Utf8Path| WheelError::io(format!("{action} {path}"));
        let members = self.members()?;
        std::fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let path = folder.join(self.file_name());
        let mut file = create_beside(&path).map_err(failed("write", &path))?;
        write_members(&mut file, &members, &self.record()).map_err(failed("write", &path))?;
        let temporary = Utf8Path::from_path(file.path()).unwrap_or(&path);
        let sha256 = sha256_of(temporary).map_err(failed("read", &path))?;
        let size = temporary.metadata().map_err(failed("read", &path))?.len();
        if path.exists() {
            let is_same = sha256_of(&path).map_err(failed("read", &path))? == sha256;
            if !(is_same || may_replace && is_own(&path)) {
                return Err(WheelError::Exists { path });
            }
        }
        let permissions = Permissions::from_mode(0o644);
        let everybody = file.as_file().set_permissions(permissions);
        everybody.map_err(failed("write", &path))?;
        rename_into_place(file, &path).map_err(failed("write", &path))?;
        Ok(WrittenWheel {
            path,
            name: self.project(),
            version: self.version(),
            tag: self.tag.clone(),
            variants: self.variant_names().map(str::to_owned).collect(),
            size,
            sha256,
        })
    }
}

/// Whether a file is a wheel of this program.
fn is_own(path: &Utf8Path) -> bool {
    let text = read_of_dist_info(path, "WHEEL");
    text.is_ok_and(|text| text.contains(&format!("\nGenerator: {GENERATOR} ")))
}

/// A file of the `.dist-info` of a wheel.
fn read_of_dist_info(wheel: &Utf8Path, name: &str) -> Result<String, WheelError> {
    const MAX_SIZE: u64 = 10 << 20;
    let unreadable = |why: String| WheelError::Unreadable {
        path: wheel.to_owned(),
        why,
    };
    let file = std::fs::File::open(wheel).map_err(WheelError::io(format!("read {wheel}")))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| unreadable(error.to_string()))?;
    let is_it = |path: &str| {
        path.split_once('/')
            .is_some_and(|(folder, file)| folder.ends_with(".dist-info") && file == name)
    };
    let path = archive
        .file_names()
        .flatten()
        .find(|path| is_it(path))
        .map(|path| path.into_owned());
    let path = path.ok_or_else(|| unreadable(format!("it has no {name}")))?;
    let member = archive.by_name(&path);
    let member = member.map_err(|error| unreadable(error.to_string()))?;
    let mut text = String::new();
    let read = member.take(MAX_SIZE).read_to_string(&mut text);
    read.map_err(|error| unreadable(error.to_string()))?;
    Ok(text)
}
