//! What several commands do first: from a path to the plan of the wanted variants.

use camino::Utf8Path;

use super::{CommandError, print_problems};
use crate::kernel::Kernel;
use crate::matrix::{Matrix, Variant, matrix, select, table};
use crate::plan::{Plan, plan};

/// A kernel with everything that follows from its build.toml.
pub struct Prepared {
    pub kernel: Kernel,
    pub matrix: Matrix,
    pub plan: Plan,
}

/// Reads, checks and plans a kernel; warnings and notes go to standard error.
pub fn prepare(path: &Utf8Path) -> Result<Prepared, CommandError> {
    let loaded = Kernel::load(path)?;
    print_problems(&loaded.warnings);
    let kernel = loaded.kernel;
    let matrix = matrix(&kernel, table());
    if matrix.variants.is_empty() {
        return Err(CommandError::NoVariants {
            why: matrix.reasons().join("; "),
            help: match matrix.is_limited() {
                true => "change the bounds in build.toml, or `general.backends`",
                false => "build.toml is right; what it asks for cannot be built yet",
            },
        });
    }
    for backend in &matrix.without_toolchain {
        anstream::eprintln!("note: {backend} is left out: there is no toolchain for it yet");
    }
    let plan = plan(&kernel, &matrix, table())?;
    for warnings in &plan.warnings {
        print_problems(warnings);
    }
    for note in &plan.notes {
        anstream::eprintln!("note: {note}");
    }
    Ok(Prepared {
        kernel,
        matrix,
        plan,
    })
}

impl Prepared {
    /// The variants that some names and globs stand for, or those that are built when none is named: the bundled ones of
    /// this system.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<&Variant>, CommandError> {
        if patterns.is_empty() {
            let (variants, system) = (self.matrix.variants.iter(), system());
            return Ok(variants
                .filter(|variant| variant.bundle && variant.builds_on(&system))
                .collect());
        }
        Ok(select(&self.matrix, patterns)?)
    }
}

/// Nix's name of the system that this program runs on.
pub fn system() -> String {
    let os = if cfg!(target_os = "macos") {
        "darwin"
    } else {
        std::env::consts::OS
    };
    format!("{}-{os}", std::env::consts::ARCH)
}
