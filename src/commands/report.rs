//! `report`: writes a page about a kernel's variants and its last build, and opens it. Does not ask
//! Nix.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};

use super::{CommandError, print};
use crate::build::{self, failed_to, pin_failed};
use crate::cli::ReportArgs;
use crate::emit;
use crate::kernel::Kernel;
use crate::matrix::{matrix, table};
use crate::pins::cache;
use crate::plan::plan;
use crate::report::{REPORT_MARKER, ReportFacts, ReportPage};
use crate::steps::history::BuildHistory;
use crate::steps::record::{BuildRecord, name_for_kernel};
use crate::terminal::note;

pub fn run(arguments: &ReportArgs) -> Result<(), CommandError> {
    let path = &arguments.kernel.path;
    // NB: a kernel without any variant has a report, too: it says why.
    let loaded = Kernel::load(path, &table().toolkits)?;
    build::mention_warnings(path, &loaded);
    let kernel = loaded.kernel;
    let matrix = matrix(&kernel, table());
    let plan = match matrix.variants.is_empty() {
        true => None,
        false => Some(plan(&kernel, &matrix, table()).map_err(build::EngineError::from)?),
    };
    let cache = cache::dir();
    let root = kernel.root.canonicalize_utf8();
    let root = root.map_err(failed_to("find the kernel's folder"))?;
    let history = BuildHistory::open(&cache, &root).unwrap_or_else(|error| {
        note(format_args!(
            "the history of builds cannot be read, so the report has no build: {error}"
        ));
        BuildHistory::default()
    });
    let record = BuildRecord::open(&cache, &root);
    let recorded: BTreeSet<String> = record.built_variants().map(str::to_owned).collect();
    let facts = ReportFacts {
        kernel: &kernel,
        matrix: &matrix,
        plan: plan.as_ref(),
        history: &history,
        recorded: &recorded,
    };
    let html = ReportPage::new(&facts).map_err(pin_failed)?.html()?;
    let file = match &arguments.output {
        Some(file) => file.clone(),
        None => {
            let folder = cache.join("reports");
            std::fs::create_dir_all(&folder).map_err(failed_to(format!("create {folder}")))?;
            let name = format!("{}-{}.html", kernel.name.as_str(), name_for_kernel(&root));
            folder.join(name)
        }
    };
    emit::write_marked(&file, &html, REPORT_MARKER)?;
    print(&format!("{file}\n"))?;
    if arguments.open {
        open(&file)?;
    }
    Ok(())
}

/// The program that opens a file with the user's browser.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else {
    "xdg-open"
};

fn open(file: &Utf8Path) -> Result<(), CommandError> {
    let failed = || CommandError::Open {
        file: Utf8PathBuf::from(file),
        opener: OPENER,
    };
    let status = Command::new(OPENER).arg(file).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err(failed()),
    }
}
