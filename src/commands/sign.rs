//! `sign`: signs built variants, or makes the key to sign them with.

use super::check_builds::{check, report};
use super::{CommandError, print};
use crate::artifact::check::CheckedVariant;
use crate::artifact::signature::{generate_key, read_secret_key, sign_variant};
use crate::cli::SignArgs;

pub fn run(arguments: &SignArgs) -> Result<(), CommandError> {
    if let Some(file) = &arguments.generate_key {
        let public = generate_key(file)?;
        return print(&format!(
            "{file}: the secret key, for you alone\n{public}: the public key, for `kernel-builder verify --public-key`\n"
        ));
    }
    let Some(file) = &arguments.secret_key else {
        return Err(CommandError::NoKey);
    };
    let checked = check(&arguments.dir, false, None)?;
    // NB: a signature says that a build is as its author made it.
    if checked.iter().any(CheckedVariant::is_wrong) {
        return report(&checked, false);
    }
    let key = read_secret_key(file)?;
    for variant in &checked {
        let signature = sign_variant(&variant.folder, &variant.name, &key)?;
        print(&format!("{signature}\n"))?;
    }
    Ok(())
}
