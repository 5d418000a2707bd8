//! Rewrites a build.toml of any older edition as edition 5, and the call in flake.nix that goes
//! with it. Comments, order and layout stay where keys stay.
//!
//! [`Body::upgrade`] alone decides the content of the new file. [`target`] writes that content as
//! TOML, [`moves`] gives old keys their new names and places, so that their comments come along,
//! and [`sync`] makes the rest equal. The result is read again and compared before it is written.

pub mod cxx;
pub mod flake;
mod moves;
mod python;
pub mod sources;
mod sync;
mod target;

use thiserror::Error;
use toml_edit::DocumentMut;

use super::{Body, Edition, Manifest};
use crate::problem::Problems;

/// The reason why a file is not rewritten. The file stays as it is.
#[derive(Debug, Error)]
pub enum UpdateError {
    /// The file has errors, so its meaning is not known.
    #[error("{}", .0.summary())]
    Problems(Box<Problems>),
    /// The rewritten file would mean something else than the original.
    #[error("the rewritten {name} would not say the same as the original: {why}")]
    Defect {
        /// The file as given by the user.
        name: String,
        /// The difference.
        why: String,
    },
}

/// A rewritten build.toml.
#[derive(Debug, Clone)]
pub struct UpdatedManifest {
    /// The new text.
    pub text: String,
    /// Assumptions, and values that could not be kept, with places in the old text. No note is an
    /// error.
    pub notes: Problems,
}

/// A build.toml in edition 5; `None` if it is of that edition already. `manifest` was read from
/// `text`.
///
/// # Errors
/// `UpdateError::Problems` if the file cannot be read without errors, `UpdateError::Defect` if this
/// program is wrong.
pub fn update(manifest: &Manifest, text: &str) -> Result<Option<UpdatedManifest>, UpdateError> {
    let problems = &manifest.problems;
    let body = match &manifest.body {
        Some(body) if !problems.has_errors() => body,
        _ => return Err(UpdateError::Problems(Box::new(problems.clone()))),
    };
    if manifest
        .edition
        .as_ref()
        .is_some_and(|e| e.edition == Edition::V5)
    {
        return Ok(None);
    }
    let (file, found) = body.upgrade();
    let mut notes = Problems::new(problems.name(), text);
    for problem in found {
        notes.push(problem);
    }
    if notes.has_errors() {
        return Err(UpdateError::Problems(Box::new(notes)));
    }

    let defect = |why: String| UpdateError::Defect {
        name: problems.name().to_owned(),
        why,
    };
    let mut want = target::table(&file);
    let plain = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut document: DocumentMut = plain
        .parse()
        .map_err(|error: toml_edit::TomlError| defect(error.message().to_owned()))?;
    target::spell_as(&mut want, document.as_table());
    moves::rename(document.as_table_mut(), &want);
    sync::sync(document.as_item_mut(), &want);
    let updated = restore_layout(text, document.to_string());

    let again = Manifest::read(problems.name(), updated.as_bytes());
    let same = match &again.body {
        Some(Body::V5(read)) if !again.problems.has_errors() => {
            // NB: a table alone prints without the tables in it.
            let text = |file| DocumentMut::from(target::table(file)).to_string();
            text(read) == text(&file)
        }
        _ => return Err(defect(again.problems.render(Default::default()))),
    };
    match same {
        true => Ok(Some(UpdatedManifest {
            text: updated,
            notes,
        })),
        false => Err(defect("a value changed".to_owned())),
    }
}

/// The new text with the byte order mark and the line ends of the old one.
fn restore_layout(old: &str, new: String) -> String {
    let newlines = old.matches('\n').count();
    let windows = newlines > 0 && old.matches("\r\n").count() == newlines;
    let mark = if old.starts_with('\u{feff}') {
        "\u{feff}"
    } else {
        ""
    };
    let new = match windows {
        true => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => new,
    };
    format!("{mark}{new}")
}
