//! Titles of steps, by which a person tells the steps of a build apart: the name of a step, for
//! steps of one name the words of variants that differ, else a step that needs it.

use std::collections::{BTreeMap, BTreeSet};

use super::Step;

/// Titles of steps by derivation, such as "csrc/relu.cu" if one step compiles it, or
/// "csrc/relu.cu (torch211 cu130)".
pub fn titles_by_derivation(steps: &[Step]) -> BTreeMap<String, String> {
    let mut groups: BTreeMap<&str, Vec<&Step>> = BTreeMap::new();
    for step in steps {
        groups.entry(&step.name).or_default().push(step);
    }
    let mut titles = BTreeMap::new();
    for (name, group) in groups {
        for (step, words) in group.iter().zip(distinct_words(&group)) {
            let user = || {
                steps
                    .iter()
                    .find(|user| user.needs.contains(&step.derivation))
            };
            let title = match (words.as_str(), group.len()) {
                ("", 1) => name.to_owned(),
                ("", _) => {
                    user().map_or(name.to_owned(), |user| format!("{name} for {}", user.name))
                }
                (words, _) => format!("{name} ({words})"),
            };
            titles.insert(step.derivation.clone(), title);
        }
    }
    titles
}

/// Words of variant names that tell steps of one name apart; empty for a step that is alone.
fn distinct_words(group: &[&Step]) -> Vec<String> {
    let everywhere = shared_words(group.iter().flat_map(|step| &step.variants));
    let told = |words: Vec<&str>| {
        let words = words.into_iter().filter(|word| !everywhere.contains(word));
        words.collect::<Vec<_>>().join(" ")
    };
    let of_all_variants = |step: &&Step| told(shared_words(&step.variants));
    let of_first_variant = |step: &&Step| told(shared_words(step.variants.first()));
    let labels: Vec<String> = group.iter().map(of_all_variants).collect();
    let different: BTreeSet<&String> = labels.iter().collect();
    if group.len() == 1 || (different.len() == group.len() && !different.contains(&String::new())) {
        return labels;
    }
    let labels: Vec<String> = group.iter().map(of_first_variant).collect();
    let different: BTreeSet<&String> = labels.iter().collect();
    match different.len() == group.len() {
        true => labels,
        // Several steps of one variant have one name.
        false => vec![String::new(); group.len()],
    }
}

/// The words that all of some variant names have, in the order of the first name.
fn shared_words<'a>(variants: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    let mut variants = variants.into_iter().map(|name| name.split('-'));
    let mut words: Vec<&str> = variants.next().into_iter().flatten().collect();
    for name in variants {
        let name: Vec<&str> = name.collect();
        words.retain(|word| name.contains(word));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{StepKind, StepState};

    fn step(derivation: &str, name: &str, variants: &[&str]) -> Step {
        Step {
            derivation: derivation.to_owned(),
            kind: StepKind::Library,
            name: name.to_owned(),
            variants: variants.iter().map(|name| (*name).to_owned()).collect(),
            needs: Vec::new(),
            state: StepState::Build,
            reasons: Vec::new(),
            seconds: None,
            measured: false,
            hints: Vec::new(),
            torch_headers: None,
        }
    }

    /// Two steps that ran at a time had one name, as had the lines of two finished ones.
    #[test]
    fn steps_of_one_source_have_different_titles() {
        let (cpu11, cuda11) = (
            "torch211-cxx11-cpu-x86_64-linux",
            "torch211-cxx11-cu130-x86_64-linux",
        );
        let (cuda12, old) = (
            "torch212-cxx11-cu130-x86_64-linux",
            "torch26-cxx98-cu126-x86_64-linux",
        );
        let steps = [
            step("a", "binding.cpp", &[cpu11]),
            step("b", "binding.cpp", &[cuda11]),
            step("c", "binding.cpp", &[cuda12]),
            step("d", "relu.cu", &[cuda11, cuda12]),
            step("e", "relu.cu", &[old]),
            step("f", "relu.cpp", &[cpu11]),
            // No word is shared by the variants of the first, so that of its first variant counts.
            step("g", "gelu.cu", &[cpu11, old]),
            step("h", "gelu.cu", &[cuda11]),
        ];
        let mut user = step("k", "dual.cpp", &[cpu11]);
        user.needs = vec!["i".to_owned()];
        let environments =
            ["i", "j"].map(|derivation| step(derivation, "g++-environment", &[cpu11]));
        let steps: Vec<Step> = steps
            .into_iter()
            .chain(environments)
            .chain([user])
            .collect();
        let titles = titles_by_derivation(&steps);
        let titles: Vec<&str> = titles.values().map(String::as_str).collect();
        assert_eq!(
            titles,
            [
                "binding.cpp (torch211 cpu)",
                "binding.cpp (torch211 cu130)",
                "binding.cpp (torch212 cu130)",
                "relu.cu (cxx11 cu130)",
                "relu.cu (torch26 cxx98 cu126)",
                "relu.cpp",
                "gelu.cu (torch211 cxx11 cpu)",
                "gelu.cu (torch211 cxx11 cu130)",
                "g++-environment for dual.cpp",
                "g++-environment",
                "dual.cpp",
            ]
        );
    }
}
