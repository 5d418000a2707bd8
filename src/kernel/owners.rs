//! The check that no source is compiled twice into one library.

use std::collections::BTreeMap;
use std::sync::Arc;

use camino::Utf8PathBuf;

use super::Backend;
use super::check::Check;
use super::source::Language;
use crate::manifest::v5::BuildToml;
use crate::manifest::{List, Spanned};
use crate::problem::{Place, Problem, code};

/// Who compiles a source: every section of a backend and the binding end up in one library, so a
/// source compiled twice defines everything twice.
pub(super) struct Owners {
    /// By the text of the path: comparing paths part by part is slow.
    first: BTreeMap<String, Vec<Owner>>,
}

struct Owner {
    /// `None` for the binding, which is part of every library.
    backend: Option<Backend>,
    section: Arc<str>,
    place: Place,
}

impl Owners {
    pub fn new(check: &Check, file: &BuildToml) -> Self {
        let (name, src): (_, Option<&List<String>>) = match (&file.torch, &file.tvm_ffi) {
            (Some(torch), _) => ("[torch]", torch.value.src.as_ref()),
            (None, Some(tvm_ffi)) => ("[tvm-ffi]", tvm_ffi.value.src.as_ref()),
            (None, None) => ("", None),
        };
        let section: Arc<str> = Arc::from(name);
        let mut first: BTreeMap<String, Vec<Owner>> = BTreeMap::new();
        for written in src.map_or(&[][..], |list| &list.value) {
            if let Some(path) = check.source_path(written) {
                first.entry(path.into_string()).or_insert_with(|| {
                    vec![Owner {
                        backend: None,
                        section: section.clone(),
                        place: written.place.clone(),
                    }]
                });
            }
        }
        Self { first }
    }

    /// Notes what a section compiles, and reports what somebody else compiles too.
    pub fn claim(
        &mut self,
        check: &mut Check,
        backend: Backend,
        src: &[Spanned<Utf8PathBuf>],
        name: &Spanned<String>,
    ) {
        let section: Arc<str> = Arc::from(format!("[{}]", name.place.key));
        let compiled = src.iter().filter(|p| Language::of(&p.value).is_some());
        for Spanned { value, place } in compiled {
            let owners = self.first.entry(value.to_string()).or_default();
            let mut earlier = owners.iter();
            match earlier.find(|o| o.backend.is_none_or(|of| of == backend)) {
                Some(other) if other.section != section => {
                    let message = format!(
                        "`{value}` is compiled by `{}` and by `{section}`",
                        other.section
                    );
                    check.report(
                        Problem::error(code::SOURCE_IN_TWO_SECTIONS, place, message)
                            .label("again here")
                            .related(&other.place, "first here")
                            .help("remove it from one of them: both go into the same library"),
                    );
                }
                Some(_) => {}
                None => owners.push(Owner {
                    backend: Some(backend),
                    section: section.clone(),
                    place: place.clone(),
                }),
            }
        }
    }
}
