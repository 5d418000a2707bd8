//! What would make a step cheaper, as far as its plan shows. Not whether it is to be built.

use super::{Kind, Step};
use crate::plan::Plan;

/// Hints for a step of a kernel.
pub fn hints(plan: &Plan, step: &Step) -> Vec<String> {
    let Kind::Unit { source, .. } = &step.kind else {
        return Vec::new();
    };
    let variants = plan.variants.iter();
    let mut groups = variants
        .filter(|variant| step.variants.contains(&variant.variant))
        .flat_map(|variant| &variant.components)
        .flat_map(|component| &component.units);
    let slow = groups.any(|group| group.is_slow() && group.sources.contains(source));
    let hint = "its device code includes headers of torch, which takes some 80 times as long to compile: let it take \
                pointers and sizes, and call it from a .cpp file that includes torch, as examples/relu does";
    match slow {
        true => vec![hint.to_owned()],
        false => Vec::new(),
    }
}
