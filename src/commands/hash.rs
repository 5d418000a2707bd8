//! `hash`: writes the digests of built variants into their metadata.json again.

use super::{CommandError, count, print};
use crate::artifact::check::find_variants;
use crate::artifact::metadata::SIGNATURE;
use crate::artifact::rehash::rehash;
use crate::artifact::signature::signature_file;
use crate::cli::HashArgs;
use crate::terminal::note;

pub fn run(arguments: &HashArgs) -> Result<(), CommandError> {
    let path = &arguments.dir;
    let folders = find_variants(path).map_err(|source| CommandError::Io {
        action: format!("read the builds in {path}"),
        source,
    })?;
    if folders.is_empty() {
        return Err(CommandError::NoBuilds(path.clone()));
    }
    for folder in folders {
        let (files, is_changed) = rehash(&folder)?;
        let files = count(files, "file");
        let state = match is_changed {
            true => "metadata.json has new digests",
            false => "the digests were right",
        };
        print(&format!("{folder}: {files}: {state}\n"))?;
        let signatures = [Ok(folder.join(SIGNATURE)), signature_file(&folder)];
        let there = signatures
            .into_iter()
            .flatten()
            .filter(|file| file.exists());
        for signature in there.filter(|_| is_changed) {
            note(format_args!(
                "{signature} signs the metadata.json before: sign it again"
            ));
        }
    }
    Ok(())
}
