//! The parts that the upgrades of the older formats to edition 5 share. Values keep their place in
//! the older file, so that every later check points into the file that its author wrote.

use std::borrow::Cow;

use super::Body;
use super::framework::{WrittenTorch, WrittenTorchNoarch, no_framework};
use super::section::WrittenSection;
use super::table::TomlTable;
use super::v5;
use super::value::{List, Spanned};
use crate::problem::{Place, Problem, code};
use crate::words::Backend;

/// The version of a kernel whose format had none.
pub const DEFAULT_VERSION: u64 = 1;

/// The licence of a kernel whose format had none: the Hub's word for a licence that was not stated.
/// NB: any other word would make a claim in the author's name.
pub const DEFAULT_LICENSE: &str = "unknown";

/// The backends of a `universal` kernel of 2025.
pub const UNIVERSAL_BACKENDS: [Backend; 5] = [
    Backend::Cpu,
    Backend::Cuda,
    Backend::Metal,
    Backend::Rocm,
    Backend::Xpu,
];

/// The Python packages that v2 listed with all others and that only CUDA kernels need.
const CUDA_PACKAGES: [&str; 1] = ["nvidia-cutlass-dsl"];

impl Body {
    /// The same kernel in edition 5, with the assumptions and losses of the upgrade as problems. A
    /// value that the older format does not have gets the place of the value that it follows from.
    pub fn upgrade(&self) -> (Cow<'_, v5::BuildToml>, Vec<Problem>) {
        let mut upgrade = Upgrade::default();
        let file = match self {
            Body::V1(file) => file.upgrade(&mut upgrade),
            Body::V2(file) => file.upgrade(&mut upgrade),
            Body::V3(file) => file.upgrade(&mut upgrade),
            Body::V4(file) => file.upgrade(),
            Body::V5(file) => return (Cow::Borrowed(file), Vec::new()),
        };
        (Cow::Owned(file), upgrade.problems)
    }
}

/// `universal` of v1 and v2: whether a kernel is Python-only and for every backend.
#[derive(Debug, Clone, Default)]
pub struct Universal {
    /// The value as written.
    pub written: Option<Spanned<bool>>,
    /// Whether the key is there but cannot be read.
    pub unread: bool,
}

impl Universal {
    pub(super) fn read(table: &mut TomlTable<'_, '_>) -> Self {
        let written = table.optional("universal");
        Self {
            unread: written.is_none() && table.has_key("universal"),
            written,
        }
    }
}

/// The parts of edition 5 that follow from `universal` and from the sections.
pub(super) struct BodyParts {
    pub backends: Option<List<Backend>>,
    pub torch: Option<Spanned<WrittenTorch>>,
    pub torch_noarch: Option<Spanned<WrittenTorchNoarch>>,
    pub kernel: Vec<WrittenSection>,
}

/// One upgrade, with its problems.
#[derive(Default)]
pub(super) struct Upgrade {
    problems: Vec<Problem>,
}

impl Upgrade {
    pub fn report(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    pub fn ignored(&mut self, place: &Place, why: &str) {
        let message = format!("`{}` has no effect: {why}", place.key);
        self.report(
            Problem::warning(code::NO_EFFECT, place, message)
                .label("ignored")
                .help("remove it"),
        );
    }

    /// The name with dashes instead of underscores, which is now the name of the same package.
    pub fn name(&mut self, name: Option<Spanned<String>>) -> Option<Spanned<String>> {
        let mut name = name?;
        let dashed = name.value.replace('_', "-");
        if dashed != name.value && dashed.trim_matches('-') == dashed {
            let message = format!("`{}` is named `{dashed}` from now on", name.value);
            self.report(
                Problem::warning(code::NAME_DASHES, &name.place, message)
                    .label("underscores became dashes")
                    .help(format!(
                        "write `{dashed}`; the Python package keeps its name"
                    )),
            );
            name.value = dashed;
        }
        Some(name)
    }

    /// Version and licence, which older files could leave out.
    pub fn defaults(
        &mut self,
        general: &Place,
        version: Option<Spanned<u64>>,
        license: Option<Spanned<String>>,
    ) -> (Option<Spanned<u64>>, Option<Spanned<String>>) {
        let at = |key: &str| Place {
            key: format!("general.{key}"),
            span: general.span.clone(),
        };
        let assumed = match (&version, &license) {
            (Some(_), Some(_)) => return (version, license),
            (None, None) => format!(
                "the kernel has no version and no license: {DEFAULT_VERSION} and \"{DEFAULT_LICENSE}\" are assumed"
            ),
            (None, Some(_)) => {
                format!("the kernel has no version: {DEFAULT_VERSION} is assumed")
            }
            (Some(_), None) => {
                format!("the kernel has no license: \"{DEFAULT_LICENSE}\" is assumed")
            }
        };
        self.report(
            Problem::warning(code::ASSUMED, general, assumed)
                .label("not said here")
                .help("`kernel-builder update-build` writes what is assumed into the file, where you can correct it"),
        );
        let version = version.unwrap_or_else(|| Spanned {
            value: DEFAULT_VERSION,
            place: at("version"),
        });
        let license = license.unwrap_or_else(|| Spanned {
            value: DEFAULT_LICENSE.to_owned(),
            place: at("license"),
        });
        (Some(version), Some(license))
    }

    /// The binding of a kernel with sections, which must have one.
    pub fn torch(
        &mut self,
        torch: Option<Spanned<WrittenTorch>>,
        sections: &[WrittenSection],
    ) -> Option<Spanned<WrittenTorch>> {
        if torch.is_none()
            && let Some(first) = sections.first()
        {
            let problem = no_framework(&first.name.place);
            self.report(problem.label("without a binding, Python does not reach it"));
        }
        torch
    }

    /// The framework of a Python-only kernel, of whose `[torch]` only the extensions matter.
    pub fn noarch(
        &mut self,
        torch: Option<&Spanned<WrittenTorch>>,
        general: &Place,
    ) -> Spanned<WrittenTorchNoarch> {
        let place = torch.map_or(general, |torch| &torch.place).clone();
        let src = torch.and_then(|torch| torch.value.src.as_ref());
        if let Some(src) = src.filter(|src| !src.value.is_empty()) {
            self.ignored(
                &src.place,
                "without a kernel section the kernel is Python-only",
            );
        }
        Spanned {
            value: WrittenTorchNoarch {
                pyext: torch.and_then(|torch| torch.value.pyext.clone()),
                cuda_capabilities: None,
                rocm_archs: None,
            },
            place,
        }
    }

    /// Backends, framework and sections of v1 and v2.
    pub fn body(
        &mut self,
        universal: &Universal,
        torch: Option<Spanned<WrittenTorch>>,
        sections: Vec<WrittenSection>,
        general: &Place,
    ) -> BodyParts {
        let unread = universal.unread;
        let Some(universal) = universal.written.as_ref().filter(|written| written.value) else {
            let known = !(unread && sections.is_empty());
            return BodyParts {
                backends: known.then(|| self.backends(&sections, general)).flatten(),
                torch: self.torch(torch, &sections),
                torch_noarch: None,
                kernel: sections,
            };
        };
        let mut torch = torch;
        if let Some(section) = sections.first() {
            // Either of the two may be the mistake.
            torch = None;
            self.report(
                Problem::error(
                    code::SECTIONS_OF_NOARCH,
                    &section.name.place,
                    "a universal kernel has no kernel sections",
                )
                .label("compiled")
                .related(&universal.place, "says that nothing is compiled")
                .help("remove `universal = true`, or the sections"),
            );
        }
        let at = |value: Backend| Spanned {
            value,
            place: universal.place.clone(),
        };
        BodyParts {
            backends: Some(Spanned {
                value: UNIVERSAL_BACKENDS.map(at).to_vec(),
                place: universal.place.clone(),
            }),
            torch_noarch: Some(self.noarch(torch.as_ref(), general)),
            torch: None,
            kernel: Vec::new(),
        }
    }

    /// The backends of the sections; `None` if they are not known.
    fn backends(&mut self, sections: &[WrittenSection], general: &Place) -> Option<List<Backend>> {
        if sections.is_empty() {
            self.report(
                Problem::error(code::NO_BACKENDS, general, "there is nothing to build")
                    .label("neither kernel sections nor `universal = true`")
                    .help("add a `[kernel.<name>]` section"),
            );
            return None;
        }
        let mut backends: Vec<Spanned<Backend>> = Vec::new();
        for section in sections {
            let Spanned { value, place } = section.backend.as_ref()?;
            let value = value.backend();
            if backends.iter().all(|backend| backend.value != value) {
                let place = place.clone();
                backends.push(Spanned { value, place });
            }
        }
        backends.sort_by_key(|backend| backend.value);
        Some(Spanned {
            value: backends,
            place: Place {
                key: "general.backends".to_owned(),
                span: general.span.clone(),
            },
        })
    }
}

/// The Python packages of v2, sorted into those for every backend and those for CUDA.
pub(super) fn python_depends(
    list: Option<List<String>>,
) -> (Option<List<String>>, Option<List<String>>) {
    let Some(Spanned { value, place }) = list else {
        return (None, None);
    };
    let for_cuda = |name: &Spanned<String>| CUDA_PACKAGES.contains(&name.value.as_str());
    let (cuda, general): (Vec<_>, Vec<_>) = value.into_iter().partition(for_cuda);
    let some = |list: Vec<Spanned<String>>| {
        let place = place.clone();
        (!list.is_empty()).then_some(Spanned { value: list, place })
    };
    (some(general), some(cuda))
}
