//! What would make a step cheaper, as far as its plan shows. Not whether it is to be built.

use std::collections::BTreeSet;

use super::{Kind, Step};
use crate::plan::{Driver, Plan, UnitGroup};

/// Hints for a step of a kernel.
pub fn hints(plan: &Plan, step: &Step) -> Vec<String> {
    let hint = "its device code includes headers of torch, which takes some 80 times as long to compile: let it take \
                pointers and sizes, and call it from a .cpp file that includes torch, as examples/relu does";
    match slow_source(plan, step) {
        Some(_) => vec![hint.to_owned()],
        None => Vec::new(),
    }
}

/// The same for all units that are to be compiled, in one line; `None` if nothing would make any cheaper.
pub fn of_all<'a>(plan: &Plan, steps: impl Iterator<Item = &'a Step>) -> Option<String> {
    let slow = steps.filter_map(|step| slow_source(plan, step));
    let slow: BTreeSet<&str> = slow.collect();
    let first = slow.first()?;
    let (subject, verb, them) = match slow.len() - 1 {
        0 => ((*first).to_owned(), "includes", "it"),
        more => (format!("{first} and {more} more"), "include", "them"),
    };
    Some(format!(
        "hint: {subject} {verb} headers of torch in device code, which takes some 80 times as long to compile: move what \
         needs torch to a .cpp file, and declare the functions that launch kernels in a header without torch, for both \
         to include (examples/relu); `kernel-builder plan` names all of {them}"
    ))
}

/// The source of a unit whose device code includes headers of torch.
fn slow_source<'a>(plan: &Plan, step: &'a Step) -> Option<&'a str> {
    let Kind::Unit { source, .. } = &step.kind else {
        return None;
    };
    // NB: what is translated for AMD GPUs needs torch to be translated, whether or not it includes its headers.
    let translated = |group: &UnitGroup| group.driver == Driver::Hip && source.ends_with(".cu");
    let variants = plan.variants.iter().filter(|_| !plan.tvm_ffi);
    let mut groups = variants
        .filter(|variant| step.variants.contains(&variant.variant))
        .flat_map(|variant| &variant.components)
        .flat_map(|component| &component.units);
    let slow =
        groups.any(|group| group.is_slow() && !translated(group) && group.sources.contains(source));
    slow.then_some(source)
}
