//! The headers of torch that units were compiled with when they were last compiled here: lean
//! headers, or all of them for a reason. nix/kernel/compile.sh decides; this module tells the user.

use std::collections::BTreeMap;
use std::fmt::Write;

use camino::Utf8Path;
use serde::Serialize;

use super::record::{BuildRecord, HeaderUse};
use super::{Step, StepKind, Steps};
use crate::plan::{Driver, Plan};
use crate::scan::includes::{Include, includes};

/// The headers with which torch includes most of its other headers (`UMBRELLAS` of
/// templates/lean-headers/make.py, and the header that only includes one of them).
const UMBRELLAS: [&str; 6] = [
    "ATen/ATen.h",
    "ATen/Functions.h",
    "torch/all.h",
    "torch/extension.h",
    "torch/torch.h",
    "torch/types.h",
];

/// The hint after the lines about units that were compiled with all headers.
const HINT: &str = "hint: include the headers that such a unit needs by their own names, such as <ATen/core/Tensor.h>, \
                    <ATen/ops/relu.h>, <torch/library.h> or the header that its line names\n";

/// The most lines about units that were compiled with all headers.
const MAX_LINES: usize = 10;

/// The headers of torch of a unit that includes an umbrella header of torch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TorchHeaders {
    /// The place and text of the include: `csrc/a.cu:1: #include <torch/all.h>`.
    include: String,
    /// Whether lean headers were used when the unit was last compiled here; `None` if it was not.
    lean: Option<bool>,
    /// The reason why all headers were used; `None` if they were not.
    reason: Option<String>,
}

/// A unit of a variant that includes an umbrella header of torch.
struct UmbrellaUnit {
    /// As [`TorchHeaders::include`].
    include: String,
    /// Whether build.toml lets the unit get lean headers.
    lean_headers: bool,
}

/// The units that include umbrella headers of torch, by variant and source.
pub struct UmbrellaIncludes<'a>(BTreeMap<(&'a str, &'a str), UmbrellaUnit>);

impl<'a> UmbrellaIncludes<'a> {
    /// Finds the units of a plan whose own files include an umbrella header. `root` is the kernel's
    /// folder. Variants for macOS are left out: they have no lean headers.
    ///
    /// # Errors
    /// `std::io::Error` if a file of the kernel cannot be read.
    pub fn find(plan: &'a Plan, root: &Utf8Path) -> std::io::Result<Self> {
        let mut files: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let mut units = BTreeMap::new();
        let variants = plan.variants.iter().filter(|variant| {
            let toolchain = &variant.toolchain;
            toolchain.torch.is_some() && toolchain.interpreter.is_some()
        });
        for variant in variants {
            for component in &variant.components {
                let mut searches = plan.searches.iter();
                let search = searches.find(|search| search.include == component.include);
                let groups = component.units.iter();
                let groups = groups.filter(|group| {
                    group.framework && !matches!(group.driver, Driver::Gcc | Driver::Icx)
                });
                for (group, source) in groups.flat_map(|group| {
                    let sources = group.sources.iter();
                    sources.map(move |source| (group, source.as_str()))
                }) {
                    let reach = search.and_then(|search| search.reach(Utf8Path::new(source)));
                    let headers = reach.into_iter().flat_map(|reach| &reach.headers);
                    for file in std::iter::once(source).chain(headers.map(String::as_str)) {
                        if !files.contains_key(file) {
                            files.insert(file, umbrella_include(root, file)?);
                        }
                        if let Some(include) = &files[file] {
                            let unit = UmbrellaUnit {
                                include: include.clone(),
                                lean_headers: group.lean_headers,
                            };
                            units.insert((&*variant.variant, source), unit);
                            break;
                        }
                    }
                }
            }
        }
        Ok(Self(units))
    }

    /// The headers of torch of a step, with the facts that a record has of its last compilation.
    /// `None` if the step is no unit that includes an umbrella header.
    pub fn for_step(&self, step: &Step, record: &BuildRecord) -> Option<TorchHeaders> {
        let StepKind::Unit { source, .. } = &step.kind else {
            return None;
        };
        let variants = || step.variants.iter().map(String::as_str);
        let unit = variants().find_map(|variant| self.0.get(&(variant, source.as_str())))?;
        let (lean, reason) = match unit.lean_headers {
            false => (Some(false), Some("build.toml says `lean-headers = false`")),
            true => match variants().find_map(|variant| record.headers(variant, &step.kind)) {
                Some(HeaderUse::Lean) => (Some(true), None),
                Some(HeaderUse::All(reason)) => (Some(false), Some(reason.as_str())),
                None => (None, None),
            },
        };
        Some(TorchHeaders {
            include: unit.include.clone(),
            lean,
            reason: reason.map(str::to_owned),
        })
    }
}

/// The first include of an umbrella header in a file, with its line: `a.h:3: #include
/// <torch/all.h>`.
fn umbrella_include(root: &Utf8Path, file: &str) -> std::io::Result<Option<String>> {
    let text = std::fs::read(root.join(file))?;
    let umbrella = |include: Include| {
        let (written, name) = match include {
            Include::Angle(name) => (format!("<{name}>"), name),
            Include::Quoted(name) => (format!("\"{name}\""), name),
            Include::Computed => return None,
        };
        UMBRELLAS.contains(&name.as_str()).then_some(written)
    };
    let mut lines = text.split(|byte| *byte == b'\n').zip(1..);
    Ok(lines.find_map(|(line, number)| {
        let written = includes(line).into_iter().find_map(umbrella)?;
        Some(format!("{file}:{number}: #include {written}"))
    }))
}

/// The steps of one source together.
struct SourceSummary<'a> {
    source: &'a str,
    /// The headers of the step with the most of them: all, then unknown, then lean headers.
    headers: &'a TorchHeaders,
    /// The seconds that the steps took, as far as they were measured.
    seconds: f64,
}

impl Steps {
    /// Lines that count the units by the headers of torch that they were last compiled with, and
    /// name the units that had all headers, the slowest first. Empty if no unit includes an
    /// umbrella header of torch.
    pub fn torch_headers_text(&self) -> String {
        let mut sources: BTreeMap<&str, SourceSummary<'_>> = BTreeMap::new();
        for step in &self.all {
            let Some(headers) = &step.torch_headers else {
                continue;
            };
            let source = step.source();
            let summary = sources.entry(source).or_insert(SourceSummary {
                source,
                headers,
                seconds: 0.0,
            });
            if let (Some(_), true, Some(seconds)) = (headers.lean, step.measured, step.seconds) {
                summary.seconds += seconds;
            }
            summary.headers = std::cmp::max_by_key(summary.headers, headers, |headers| {
                [Some(true), None, Some(false)]
                    .iter()
                    .position(|lean| *lean == headers.lean)
            });
        }
        if sources.is_empty() {
            return String::new();
        }
        let (mut full, others): (Vec<_>, Vec<_>) = sources
            .into_values()
            .partition(|summary| summary.headers.lean == Some(false));
        full.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let (lean, unknown): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|summary| summary.headers.lean.is_some());
        let counts = [
            (&lean, "with lean headers"),
            (&full, "with all headers"),
            (&unknown, "not compiled here yet"),
        ];
        let counts = counts.iter().filter(|(units, _)| !units.is_empty());
        let counts = counts.map(|(units, how)| {
            let seconds = units.iter().map(|summary| summary.seconds).sum();
            format!("{} {how}{}", units.len(), seconds_in_words(" in ", seconds))
        });
        let counts: Vec<String> = counts.collect();
        let counts = counts.join(", ");
        let mut text = format!("\nunits with an umbrella header of torch: {counts}\n");
        for summary in full.iter().take(MAX_LINES) {
            let TorchHeaders {
                include, reason, ..
            } = summary.headers;
            let _ = writeln!(
                text,
                "  {}{}: {}; {include}",
                summary.source,
                seconds_in_words(": ", summary.seconds),
                reason.as_deref().unwrap_or_default()
            );
        }
        if full.len() > MAX_LINES {
            let _ = writeln!(text, "  and {} more", full.len() - MAX_LINES);
        }
        if !full.is_empty() {
            text += HINT;
        }
        text
    }
}

/// Seconds as text after some words; empty if no time is known.
fn seconds_in_words(before: &str, seconds: f64) -> String {
    match seconds > 0.0 {
        true => format!("{before}{seconds:.1} s"),
        false => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn make_py_makes_lean_headers_of_the_same_umbrellas() {
        let text = include_str!("../../templates/lean-headers/make.py");
        let (_, list) = text.split_once("\nUMBRELLAS = [\n").expect("the list");
        let (list, _) = list.split_once("]").expect("its end");
        let mut names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        names.push("torch/torch.h");
        names.sort_unstable();
        assert_eq!(names, UMBRELLAS);
    }
}
