//! `verify-reproducible`: builds every step of variants again, in another folder, and reports
//! differences.

use super::{CommandError, count, print};
use crate::build::{self, EngineError};
use crate::cli::VerifyReproducibleArgs;
use crate::nix::Nix;

pub fn run(arguments: &VerifyReproducibleArgs) -> Result<(), CommandError> {
    let prepared = build::prepare(&arguments.kernel.path)?;
    let variants = prepared.select_pinned(&arguments.variants.names)?;
    let nix = Nix::find()?;
    let limits = build::limits(&nix, arguments.jobs.max_jobs, arguments.jobs.cores, false);
    let found = build::reproduce(&nix, &prepared, &variants, &limits)?;
    print(&found.text)?;
    if found.unbuilt > 0 {
        return Err(EngineError::Build {
            failed: found.unbuilt,
            of: variants.len(),
            again: found.again,
        }
        .into());
    }
    if found.wrong > 0 {
        return Err(CommandError::Irreproducible {
            wrong: found.wrong,
            of: found.steps,
        });
    }
    let steps = count(found.steps, "step");
    let variants = count(variants.len(), "variant");
    print(&format!(
        "{steps} of {variants}: built twice, the same bytes, no path of the store in an object\n"
    ))
}
