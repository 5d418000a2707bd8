//! The check that no source is compiled twice into one library.

use std::collections::BTreeMap;

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
    first: BTreeMap<(Option<Backend>, Utf8PathBuf), (String, Place)>,
}

impl Owners {
    pub fn new(check: &Check, file: &BuildToml) -> Self {
        let mut first = BTreeMap::new();
        let (name, src): (_, Option<&List<String>>) = match (&file.torch, &file.tvm_ffi) {
            (Some(torch), _) => ("[torch]", torch.value.src.as_ref()),
            (None, Some(tvm_ffi)) => ("[tvm-ffi]", tvm_ffi.value.src.as_ref()),
            (None, None) => ("", None),
        };
        for written in src.map_or(&[][..], |list| &list.value) {
            if let Some(path) = check.source_path(written) {
                let owner = (name.to_owned(), written.place.clone());
                first.entry((None, path)).or_insert(owner);
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
        let owner = format!("[{}]", name.place.key);
        let compiled = src.iter().filter(|p| Language::of(&p.value).is_some());
        for Spanned { value, place } in compiled {
            let own = (Some(backend), value.clone());
            let earlier = self.first.get(&(None, value.clone()));
            match earlier.or_else(|| self.first.get(&own)) {
                Some((other, at)) if *other != owner => {
                    let problem = Problem::error(
                        code::SOURCE_IN_TWO_SECTIONS,
                        place,
                        format!("`{value}` is compiled by `{other}` and by `{owner}`"),
                    )
                    .label("again here")
                    .related(at, "first here")
                    .help("remove it from one of them: both go into the same library");
                    check.report(problem);
                }
                Some(_) => {}
                None => {
                    self.first.insert(own, (owner.clone(), place.clone()));
                }
            }
        }
    }
}
