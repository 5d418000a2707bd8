//! The sections of build.nix: the sources, flags and architectures of the binding and of each
//! section of build.toml.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::{
    Attributes, Selectors, archs_by_compute, driver_name, factor_by_row, list_or_none,
    other_includes,
};
use crate::plan::{Component, Driver, Plan, UnitGroup, VariantPlan, flags_for_fatbinary};

/// A component in one of the variants that have it.
struct Occurrence<'a> {
    selectors: &'a Selectors,
    variant: &'a VariantPlan,
    component: &'a Component,
}

/// The binding, then the sections in the order of build.toml.
pub(super) fn sections(plan: &Plan, selectors: &[Selectors]) -> Vec<Attributes> {
    let mut binding = Vec::new();
    let mut sections: IndexMap<&str, Vec<Occurrence<'_>>> = plan
        .sections
        .iter()
        .map(|name| (name.as_str(), Vec::new()))
        .collect();
    for (selectors, variant) in selectors.iter().zip(&plan.variants) {
        for component in &variant.components {
            let occurrences = match component.backend {
                None => &mut binding,
                Some(_) => sections.entry(component.name.as_str()).or_default(),
            };
            occurrences.push(Occurrence {
                selectors,
                variant,
                component,
            });
        }
    }
    let all = std::iter::once(binding).chain(sections.into_values());
    all.filter(|occurrences| !occurrences.is_empty())
        .map(|occurrences| section_attributes(plan, &occurrences))
        .collect()
}

fn section_attributes(plan: &Plan, occurrences: &[Occurrence<'_>]) -> Attributes {
    let first = occurrences[0].component;
    let factor = |value: &dyn Fn(&Component) -> Option<Value>| {
        let values: Vec<_> = occurrences
            .iter()
            .map(|occurrence| (occurrence.selectors, value(occurrence.component)))
            .collect();
        factor_by_row(&values)
    };
    let mut section = Attributes::new();
    let mut put = |key: &'static str, value: Option<Value>| {
        section.extend(value.map(|value| (key, value)));
    };
    put("name", Some(json!(first.name)));
    put(
        "backend",
        first.backend.map(|backend| json!(backend.as_str())),
    );
    put("include", Some(json!(first.include)));
    let others = other_includes(plan, &first.include);
    put(
        "files",
        (!others.is_empty()).then_some(Value::Object(others)),
    );
    put("archs", own_archs(plan, occurrences));
    put("flags", own_flags(occurrences));
    put("fatbinary", fatbinary(occurrences));
    let whole: BTreeSet<String> = occurrences.iter().filter_map(reason_for_whole).collect();
    let whole: Vec<&str> = whole.iter().map(String::as_str).collect();
    put("whole", (!whole.is_empty()).then(|| json!(whole.join(" "))));
    let yes = |is: bool| is.then_some(json!(true));
    put(
        "moreArchs",
        factor(&|component| yes(component.more_archs && is_cuda(component))),
    );
    put("openmp", factor(&|component| yes(component.openmp)));
    put("leanHeaders", (!first.lean_headers).then_some(json!(false)));
    let groups = |component: &Component| component.units.first().cloned();
    put(
        "headerLibraries",
        factor(&|component| list_or_none(&groups(component)?.header_families)),
    );
    put(
        "headerArchives",
        factor(&|component| list_or_none(&groups(component)?.header_archives)),
    );
    put(
        "units",
        factor(&|component| {
            Some(json!(
                component
                    .units
                    .iter()
                    .map(group_attributes)
                    .collect::<Vec<_>>()
            ))
        }),
    );
    section
}

fn is_cuda(component: &Component) -> bool {
    let mut groups = component.units.iter();
    groups.any(|group| matches!(group.driver, Driver::Nvcc | Driver::Clang))
}

/// The architectures of a section by compute; `None` if they are those of the kernel.
fn own_archs(plan: &Plan, occurrences: &[Occurrence<'_>]) -> Option<Value> {
    let backend = occurrences[0].component.backend?;
    let by_compute = |occurrence: &Occurrence<'_>| {
        let archs: Vec<String> = occurrence
            .component
            .archs
            .iter()
            .map(ToString::to_string)
            .collect();
        (occurrence.variant.row.compute_name(), archs)
    };
    let section_archs: BTreeMap<String, Vec<String>> = occurrences.iter().map(by_compute).collect();
    let all = plan
        .variants
        .iter()
        .filter(|variant| variant.row.backend == backend);
    let all: BTreeMap<String, Vec<String>> = all
        .map(|variant| {
            (
                variant.row.compute_name(),
                variant.metadata.backend.archs.clone(),
            )
        })
        .collect();
    let archs = section_archs
        .iter()
        .map(|(compute, archs)| (compute.clone(), &archs[..]));
    (section_archs != all).then(|| json!(archs_by_compute(archs)))
}

/// Flags of build.toml by driver.
fn own_flags(occurrences: &[Occurrence<'_>]) -> Option<Value> {
    let drivers: BTreeSet<Driver> = occurrences
        .iter()
        .flat_map(|own| own.component.own_flags.keys().copied())
        .collect();
    let flags = drivers.into_iter().filter_map(|driver| {
        let values: Vec<_> = occurrences
            .iter()
            .filter_map(|own| Some((own.selectors, own.component.own_flags.get(&driver)?)))
            .map(|(selectors, flags)| (selectors, list_or_none(flags)))
            .collect();
        Some((driver_name(driver), factor_by_row(&values)?))
    });
    let flags: Map<String, Value> = flags.collect();
    (!flags.is_empty()).then_some(Value::Object(flags))
}

/// Options of fatbinary by driver.
fn fatbinary(occurrences: &[Occurrence<'_>]) -> Option<Value> {
    let options = occurrences.iter().flat_map(|occurrence| {
        occurrence
            .component
            .own_flags
            .iter()
            .filter_map(|(driver, flags)| {
                let options = flags_for_fatbinary(*driver, flags)?;
                Some((driver_name(*driver), list_or_none(&options)?))
            })
    });
    let options: Map<String, Value> = options.collect();
    (!options.is_empty()).then_some(Value::Object(options))
}

/// The reason why units for several CUDA architectures are compiled in one piece: the name of the
/// driver whose flags do not allow parts, or of the compute whose architectures do not. `None` if
/// the units are compiled in parts, or have one architecture.
fn reason_for_whole(occurrence: &Occurrence<'_>) -> Option<String> {
    let component = occurrence.component;
    let is_whole = |group: &&UnitGroup| group.split.is_none();
    let mut groups = component.units.iter().filter(is_whole);
    let group = groups.find(|group| matches!(group.driver, Driver::Nvcc | Driver::Clang))?;
    if component.archs.len() < 2 {
        return None;
    }
    let flags = component.own_flags.get(&group.driver)?;
    Some(match flags_for_fatbinary(group.driver, flags) {
        None => driver_name(group.driver),
        Some(_) => occurrence.variant.row.compute_name(),
    })
}

/// The attributes of units that are compiled alike, without those that follow from a row.
fn group_attributes(group: &UnitGroup) -> Attributes {
    let mut attributes = Attributes::new();
    let mut put = |key: &'static str, value: Value| attributes.insert(key, value);
    put("kind", json!(group.kind));
    let namespace = json!(group.namespace);
    if namespace != json!("none") {
        put("namespace", namespace);
    }
    let marks = [
        ("framework", group.framework),
        ("heavy", group.heavy),
        ("dependsOnArch", group.depends_on_arch),
        ("listsArchs", group.lists_archs),
    ];
    for (key, _) in marks.iter().filter(|(_, is)| *is) {
        put(key, json!(true));
    }
    put("sources", json!(group.sources));
    attributes
}
