//! The texts of a wheel's `.dist-info`: METADATA (version 2.4, with the licence as PEP 639 has it)
//! and WHEEL.

use super::plan::WheelPlan;
use super::variant::requirements;
use crate::abi::AbiPromises;
use crate::kernel::spdx_expression;
use crate::terminal::count;

/// The first word of the generator's name in WHEEL.
pub(super) const GENERATOR: &str = "kernel-builder";

/// The text of METADATA.
pub(super) fn metadata_text(plan: &WheelPlan<'_>) -> String {
    let first = plan.variants[0].metadata;
    let number = count(plan.variants.len(), "build");
    let mut headers = vec![
        ("Metadata-Version", "2.4".to_owned()),
        ("Name", first.name.clone()),
        ("Version", plan.version()),
        (
            "Summary",
            format!("The compute kernel {} in {number}", first.name),
        ),
        ("Description-Content-Type", "text/markdown".to_owned()),
    ];
    match spdx_expression(&first.license) {
        Some(expression) => headers.push(("License-Expression", expression)),
        // An id that the Hub alone knows.
        None => headers.push(("License", first.license.clone())),
    }
    for (name, _) in &plan.licenses {
        headers.push(("License-File", name.clone()));
    }
    for (label, url) in [("Source", &first.source), ("Upstream", &first.upstream)] {
        // A URL of git over ssh is none for a browser.
        if let Some(url) = url.as_ref().filter(|url| url.starts_with("https://")) {
            headers.push(("Project-URL", format!("{label}, {url}")));
        }
    }
    let python = AbiPromises::default().python;
    headers.push(("Requires-Python", format!(">={python}")));
    let (required, extras) = requirements(&plan.variants);
    headers.extend(required.into_iter().map(|line| ("Requires-Dist", line)));
    headers.extend(extras.into_iter().map(|extra| ("Provides-Extra", extra)));
    let mut text = String::new();
    for (name, value) in headers {
        // NB: a line break in a value would begin another header.
        let value: String = value
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        text += &format!("{name}: {value}\n");
    }
    let package = first.python_name();
    text += &format!(
        "\n# {}\n\n`import {package}` takes the build that fits the installed torch and this machine, out of:\n\n",
        first.name
    );
    for variant in &plan.variants {
        text += &format!("- {}\n", variant.checked.name);
    }
    text
}

/// The text of WHEEL.
pub(super) fn wheel_text(plan: &WheelPlan<'_>) -> String {
    let is_pure = plan.platform.is_none();
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "Wheel-Version: 1.0\nGenerator: {GENERATOR} ({version})\nRoot-Is-Purelib: {is_pure}\nTag: {}\n",
        plan.tag
    )
}
