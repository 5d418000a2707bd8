//! The flags of variants. Many variants share a set of flags, so a page has each set once.

use serde::Serialize;

use crate::plan::{Driver, VariantPlan};

/// The flags of the units and of the link of some variants.
#[derive(Serialize)]
pub struct FlagSet {
    /// The number of variants that have them.
    variants: usize,
    units: Vec<UnitFlags>,
    link: Vec<String>,
}

/// The flags of some units.
#[derive(PartialEq, Serialize)]
struct UnitFlags {
    driver: Driver,
    sources: Vec<String>,
    flags: Vec<String>,
    /// The architectures that are compiled apart.
    parts: Vec<String>,
}

/// Different sets of flags, in the order in which variants have them first.
#[derive(Default)]
pub struct FlagSets {
    pub all: Vec<FlagSet>,
}

impl FlagSets {
    /// The index of a variant's set of flags, which is added if it is new.
    pub fn number_of(&mut self, plan: &VariantPlan) -> usize {
        let components = plan.components.iter();
        let groups = components.flat_map(|component| &component.units);
        let units = groups.map(|group| {
            let parts = group.split.iter().flat_map(|split| &split.archs);
            UnitFlags {
                driver: group.driver,
                sources: group.sources.clone(),
                flags: group.flags.clone(),
                parts: parts.map(|part| part.sm.clone()).collect(),
            }
        });
        let link = [&plan.link.flags[..], &plan.link.libraries].concat();
        let units: Vec<UnitFlags> = units.collect();
        let mut known = self.all.iter();
        let known = known.position(|known| known.units == units && known.link == link);
        let number = known.unwrap_or_else(|| {
            self.all.push(FlagSet {
                variants: 0,
                units,
                link,
            });
            self.all.len() - 1
        });
        self.all[number].variants += 1;
        number
    }
}
