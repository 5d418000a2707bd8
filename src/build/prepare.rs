//! The first half of most commands: from a path to the plan of a kernel, to the wanted variants and
//! to build.nix.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use super::error::{EngineError, failed_to};
use super::git::hint_to_add_build_nix;
use crate::emit::{self, Written};
use crate::kernel::{Backend, Kernel, LoadedKernel};
use crate::machine::ThisMachine;
use crate::manifest::Edition;
use crate::matrix::{Matrix, Variant, matrix, select, table};
use crate::plan::{Plan, plan};
use crate::problem::Problems;
use crate::terminal::{count, detail, note, status};

/// A kernel with everything that follows from its build.toml.
pub struct Prepared {
    pub kernel: Kernel,
    pub matrix: Matrix,
    pub plan: Plan,
    build_nix: OnceCell<String>,
}

/// The reason why a command leaves out a variant that the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LeftOut {
    OtherSystem,
    NotBundled,
    /// It is bundled, and a pin of its toolchains does not exist.
    Unpinned,
    /// `--variant` names others.
    NotAskedFor,
}

impl LeftOut {
    /// The reason after a number of variants.
    pub fn words(self) -> &'static str {
        match self {
            Self::OtherSystem => "of other systems",
            Self::Unpinned => "without pins",
            Self::NotBundled => "not built by default",
            Self::NotAskedFor => "not asked for",
        }
    }
}

/// Reads, checks and plans a kernel. Prints notes, and a line about warnings, to standard error.
pub fn prepare(path: &Utf8Path) -> Result<Prepared, EngineError> {
    let loaded = Kernel::load(path, &table().toolkits)?;
    mention_warnings(path, &loaded);
    let kernel = loaded.kernel;
    let matrix = matrix(&kernel, table()).with_keys_of(loaded.edition);
    if matrix.variants.is_empty() {
        return Err(EngineError::NoVariants {
            why: matrix.reasons().join("; "),
            is_limited: matrix.is_limited(),
            help: match matrix.is_limited() {
                true => "change the bounds in build.toml, or its backends",
                false => "build.toml is right; what it asks for cannot be built yet",
            },
        });
    }
    if let Some(line) = matrix.left_out() {
        status(line);
    }
    let prepared = Prepared::new(kernel, matrix)?;
    mention_source_warnings(path, &prepared.plan.warnings);
    for text in &prepared.plan.notes {
        note(text);
    }
    Ok(prepared)
}

/// Prints one line about the warnings that `check-config` shows in full: the edition that the file
/// was read as, and the number of warnings.
pub fn mention_warnings(path: &Utf8Path, loaded: &LoadedKernel) {
    let warnings = &loaded.warnings;
    if warnings.is_empty() {
        return;
    }
    let path = path_argument(path);
    let mut number = warnings.warning_count();
    let mut line = warnings.name().to_owned();
    if loaded.edition != Edition::V5 {
        line += &format!(": {}, read as edition 5", loaded.edition);
        // The line itself says that the edition is old, so that warning does not count.
        number -= 1;
    }
    let (mark, them) = match (loaded.edition, number) {
        (Edition::V5, 1) => (":", "it"),
        (Edition::V5, _) => (":", "them"),
        (_, 1) => (";", "it"),
        _ => (";", "them"),
    };
    line += &match number {
        0 => format!(": `kernel-builder update-build{path}` rewrites it"),
        _ => format!(
            "{mark} {}: `kernel-builder check-config{path}` shows {them}",
            count(number, "warning")
        ),
    };
    status(line);
}

/// Prints one line about the warnings in sources, which `check-config` shows in full.
fn mention_source_warnings(path: &Utf8Path, warnings: &[Problems]) {
    let number = warnings.iter().map(Problems::warning_count).sum();
    let Some(first) = warnings.first().filter(|_| number > 0) else {
        return;
    };
    let files = match warnings.len() - 1 {
        0 => first.name().to_owned(),
        more => format!("{} and {}", first.name(), count(more, "other file")),
    };
    let them = if number == 1 { "it" } else { "them" };
    status(format_args!(
        "{files}: {}: `kernel-builder check-config{}` shows {them}",
        count(number, "warning"),
        path_argument(path)
    ));
}

/// The path of a kernel as an argument of a command, with a blank before it; empty for the current
/// folder, which commands take by default.
pub fn path_argument(path: &Utf8Path) -> String {
    match path.as_str() {
        "" | "." => String::new(),
        path => format!(" {path}"),
    }
}

impl Prepared {
    /// Plans a kernel for the variants of its matrix. Prints nothing.
    ///
    /// # Errors
    /// `EngineError::Scan`
    pub fn new(kernel: Kernel, matrix: Matrix) -> Result<Self, EngineError> {
        let plan = plan(&kernel, &matrix, table())?;
        Ok(Self {
            kernel,
            matrix,
            plan,
            build_nix: OnceCell::new(),
        })
    }

    /// The variants that some names and globs match. Without names, the variants that are built by
    /// default: the bundled ones of this system. Never empty.
    ///
    /// # Errors
    /// `EngineError::UnknownVariant` for a name or glob without a match; `EngineError::NothingHere`
    /// if no variant is built by default on this system.
    pub fn select(&self, patterns: &[String]) -> Result<Vec<&Variant>, EngineError> {
        if !patterns.is_empty() {
            return Ok(select(&self.matrix, patterns)?);
        }
        let system = system();
        let chosen: Vec<&Variant> = self.matrix.bundled(&system).collect();
        if chosen.is_empty() {
            return Err(self.nothing_here_error(&system));
        }
        for line in self.lines_about_others(&system, &chosen) {
            status(line);
        }
        Ok(chosen)
    }

    /// The variants of `select` whose pins exist. Variants without pins that only a glob matches
    /// are left out, with a line for each.
    ///
    /// # Errors
    /// The errors of `select`; `EngineError::Unpinned` if a named variant, or every variant, lacks
    /// a pin.
    pub fn select_pinned(&self, patterns: &[String]) -> Result<Vec<&Variant>, EngineError> {
        let selected = self.select(patterns)?;
        let mut left_out = Vec::new();
        let mut kept = Vec::new();
        for variant in selected {
            match variant.unpinned() {
                Some(unpinned) => left_out.push((variant, unpinned)),
                None => kept.push(variant),
            }
        }
        let is_named = |(variant, _): &&(&Variant, _)| patterns.contains(&variant.name);
        let named = left_out.iter().find(is_named);
        let first = left_out.first().filter(|_| kept.is_empty());
        if let Some((variant, unpinned)) = named.or(first) {
            return Err(EngineError::Unpinned {
                variant: variant.name.clone(),
                family: unpinned.family.clone(),
                why: unpinned.why.clone(),
            });
        }
        for (variant, unpinned) in left_out {
            let (name, why) = (&variant.name, &unpinned.why);
            let family = &unpinned.family;
            status(format_args!(
                "left out: {name} cannot be built: {family}: {why}"
            ));
        }
        Ok(kept)
    }

    /// The variants of the kernel that are not among some, grouped by the reason.
    pub fn left_out(&self, chosen: &[&Variant]) -> BTreeMap<LeftOut, Vec<&str>> {
        let system = system();
        let names: BTreeSet<&str> = chosen.iter().map(|variant| &*variant.name).collect();
        let mut groups: BTreeMap<LeftOut, Vec<&str>> = BTreeMap::new();
        for variant in &self.matrix.variants {
            let reason = match variant {
                known if names.contains(&*known.name) => continue,
                foreign if !foreign.builds_on(&system) => LeftOut::OtherSystem,
                rare if !rare.bundle => LeftOut::NotBundled,
                vendor if vendor.unpinned().is_some() => LeftOut::Unpinned,
                _ => LeftOut::NotAskedFor,
            };
            groups.entry(reason).or_default().push(&variant.name);
        }
        groups
    }

    /// The text of build.nix.
    ///
    /// # Errors
    /// `EngineError::Emit` for a defect of this program.
    pub fn build_nix(&self) -> Result<&str, EngineError> {
        if let Some(text) = self.build_nix.get() {
            return Ok(text);
        }
        let text = emit::build_nix(&self.plan, table())?;
        Ok(self.build_nix.get_or_init(|| text))
    }

    /// Writes build.nix beside build.toml. Prints a hint if the file changed and git does not know
    /// it.
    ///
    /// # Errors
    /// `EngineError::Emit`, for example if build.nix is the user's own.
    pub fn write_build_nix(&self) -> Result<Written, EngineError> {
        let file = self.kernel.root.join("build.nix");
        detail(format_args!("build.nix: {file}"));
        let written = emit::write(&file, self.build_nix()?)?;
        if written != Written::Unchanged
            && let Some(hint) = hint_to_add_build_nix(&self.kernel.root)
        {
            status(hint);
        }
        Ok(written)
    }

    /// The absolute path of the kernel's folder, as Nix needs it.
    ///
    /// # Errors
    /// `EngineError::Io`
    pub fn root(&self) -> Result<Utf8PathBuf, EngineError> {
        let root = self.kernel.root.canonicalize_utf8();
        root.map_err(failed_to("find the kernel's folder"))
    }

    /// The variant that suits this machine best. Prints the reason.
    ///
    /// # Errors
    /// `EngineError::NothingHere` if no variant can be built on this system.
    pub fn choose_for_this_machine(&self) -> Result<&Variant, EngineError> {
        let system = system();
        let here: Vec<&Variant> = self
            .matrix
            .variants
            .iter()
            .filter(|variant| variant.builds_on(&system) && variant.unpinned().is_none())
            .collect();
        let (variant, why) = ThisMachine::find()
            .choose(&here)
            .ok_or_else(|| self.nothing_here_error(&system))?;
        status(format_args!("{}: {why}", variant.name));
        Ok(variant)
    }

    /// The error for a system on which no variant is built by default.
    fn nothing_here_error(&self, system: &str) -> EngineError {
        let variants = self.matrix.variants.iter();
        let (here, elsewhere): (Vec<_>, Vec<_>) =
            variants.partition(|variant| variant.builds_on(system));
        let unpinned = here.iter().find_map(|variant| variant.unpinned());
        let why = match unpinned {
            Some(unpinned) => format!("{}: {}", unpinned.family, unpinned.why),
            None => {
                let rows = elsewhere.iter().filter_map(|variant| variant.row());
                let systems: BTreeSet<&str> = rows.map(|row| row.system.as_str()).collect();
                let systems: Vec<&str> = systems.into_iter().collect();
                let number = count(elsewhere.len(), "variant");
                format!("the kernel has {number}, for {}", systems.join(" and "))
            }
        };
        EngineError::NothingHere {
            system: system.to_owned(),
            why,
        }
    }

    /// Lines about variants that are not built by default: those of whole backends, and all but the
    /// best of a kernel without bundled variants.
    fn lines_about_others(&self, system: &str, chosen: &[&Variant]) -> Vec<String> {
        const CURE: &str = "`kernel-builder list-variants` shows them, `--variant` builds them";
        let others = |backend: Backend| {
            let variants = self.matrix.variants.iter();
            let built_here =
                variants.filter(|variant| variant.backend == backend && variant.builds_on(system));
            built_here.filter(|variant| !variant.bundle).count()
        };
        let is_best = |variant: &Variant| variant.row().is_some_and(|row| !row.bundle);
        let mut lines = Vec::new();
        for variant in chosen.iter().filter(|variant| is_best(variant)) {
            let number = others(variant.backend);
            if number > 0 {
                let of = count(number + 1, &format!("{} variant", variant.backend));
                lines.push(format!(
                    "built by default: {}, the best of {of}; {CURE}",
                    variant.name
                ));
            }
        }
        let missing = self.kernel.backends.iter().filter_map(|backend| {
            let number = others(*backend);
            let is_built = chosen.iter().any(|variant| variant.backend == *backend);
            (!is_built && number > 0).then(|| count(number, &format!("{backend} variant")))
        });
        let missing: Vec<String> = missing.collect();
        if !missing.is_empty() {
            lines.push(format!(
                "not built by default: {}: {CURE}",
                missing.join(", ")
            ));
        }
        lines
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
