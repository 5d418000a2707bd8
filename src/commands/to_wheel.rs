//! `to-wheel`: packs checked variants as Python wheels, into a folder or into an index.

use globset::Glob;
use serde_json::json;

use super::{CommandError, check_builds, print, print_json};
use crate::artifact::check::CheckedVariant;
use crate::cli::ToWheelArgs;
use crate::wheel::{WheelError, WheelPlan, plan_wheels, write_index};

pub fn run(arguments: &ToWheelArgs) -> Result<(), CommandError> {
    let checked = check_builds::check(&arguments.dir, true, None)?;
    let checked = select(checked, &arguments.variants.names)?;
    if checked.iter().any(CheckedVariant::is_wrong) {
        return check_builds::report(&checked, arguments.json);
    }
    let plans = plan_wheels(&checked, arguments.split)?;
    let write = |plan: &WheelPlan<'_>| match &arguments.index {
        Some(index) => plan.write(&index.join(plan.project()), false),
        None => plan.write(&arguments.out, true),
    };
    let wheels = plans.iter().map(write).collect::<Result<Vec<_>, _>>()?;
    if let Some(index) = &arguments.index {
        write_index(index)?;
    }
    if arguments.json {
        return print_json(&json!({ "wheels": wheels }));
    }
    for wheel in wheels {
        let variants = wheel.variants.join(" ");
        print(&format!("{}: {variants}\n", wheel.path))?;
    }
    Ok(())
}

/// The variants that some names and globs match, or all of them without any.
fn select(
    checked: Vec<CheckedVariant>,
    patterns: &[String],
) -> Result<Vec<CheckedVariant>, WheelError> {
    let mut wanted = vec![patterns.is_empty(); checked.len()];
    for pattern in patterns {
        let glob = Glob::new(pattern).map(|glob| glob.compile_matcher());
        let mut found = false;
        for (variant, wanted) in checked.iter().zip(&mut wanted) {
            if glob.as_ref().is_ok_and(|glob| glob.is_match(&variant.name)) {
                (found, *wanted) = (true, true);
            }
        }
        if !found {
            let names = checked.iter().map(|own| own.name.as_str());
            return Err(WheelError::UnknownVariant {
                pattern: pattern.clone(),
                names: names.collect::<Vec<_>>().join(", "),
            });
        }
    }
    let variants = checked.into_iter().zip(wanted);
    let wanted = variants.filter_map(|(variant, wanted)| wanted.then_some(variant));
    Ok(wanted.collect())
}
