//! What several commands do first: from a path to the plan of the wanted variants.

use camino::Utf8Path;

use super::{CommandError, print_problems};
use crate::kernel::Kernel;
use crate::matrix::{Matrix, Variant, matrix, table};
use crate::plan::{Plan, plan};
use crate::problem::suggest;

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
    /// The variants of some names, or those that are built when none is named: the bundled ones of this system.
    pub fn select(&self, names: &[String]) -> Result<Vec<&Variant>, CommandError> {
        let variants = &self.matrix.variants;
        if names.is_empty() {
            let system = system();
            return Ok(variants
                .iter()
                .filter(|variant| variant.row.bundle && variant.row.system == system)
                .collect());
        }
        let find = |name: &String| {
            let found = variants.iter().find(|variant| &variant.name == name);
            found.ok_or_else(|| CommandError::UnknownVariant {
                name: name.clone(),
                help: self.help(name),
            })
        };
        names.iter().map(find).collect()
    }

    fn help(&self, name: &str) -> String {
        if let Some(excluded) = self
            .matrix
            .excluded
            .iter()
            .find(|excluded| excluded.name == name)
        {
            return format!("this kernel is not built for it: {}", excluded.why);
        }
        let names: Vec<&str> = self
            .matrix
            .variants
            .iter()
            .map(|variant| variant.name.as_str())
            .collect();
        match suggest::nearest(name, &names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the variants are:\n{}", names.join("\n")),
        }
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
