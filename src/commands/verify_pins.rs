//! `verify-pins`: checks that the sources of toolchains still have the pinned files.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{CommandError, count, print};
use crate::build::pin_failed;
use crate::cli::{PinProfile, VerifyPinsArgs};
use crate::matrix::{Profile, Table};
use crate::nix::Nix;
use crate::pins::refresh::spec::{self, FamilySpec};
use crate::pins::refresh::{RefreshError, Repository, unknown_family};
use crate::pins::verify::{CheckedPin, SystemFamily, Verdict, verify};
use crate::pins::{PinError, all_families};
use crate::terminal::{end_bars, new_bars};
use crate::{library, matrix};

pub fn run(arguments: &VerifyPinsArgs) -> Result<(), CommandError> {
    let (families, spec) = match &arguments.repository {
        Some(dir) => {
            let repository = Repository::find(dir)?;
            let families = select(repository.families()?, &repository.table()?, arguments)?;
            (families, repository.spec()?)
        }
        None => {
            let all = all_families()
                .map_err(PinError::from)
                .map_err(RefreshError::from)?;
            let text = library::text(spec::PATH).unwrap_or_default();
            (
                select(all, matrix::table(), arguments)?,
                FamilySpec::parse(&text)?,
            )
        }
    };
    let nix = arguments.deep.then(Nix::find).transpose()?;
    let bar = new_progress_bar();
    let checked = verify(&families, spec.debian_release(), nix.as_ref(), &bar);
    bar.finish_and_clear();
    end_bars();
    let checked = checked.map_err(pin_failed)?;
    print(&if arguments.json {
        pins_json(&checked)
    } else {
        pins_text(&checked)
    })?;
    let count_pins =
        |verdict: fn(&Verdict) -> bool| checked.iter().filter(|pin| verdict(&pin.verdict)).count();
    let wrong =
        count_pins(|verdict| matches!(verdict, Verdict::Changed { .. } | Verdict::Vanished { .. }));
    let unreached = count_pins(|verdict| matches!(verdict, Verdict::Unreached(_)));
    if wrong > 0 {
        return Err(CommandError::WrongPins(count(wrong, "pin")));
    }
    if unreached == checked.len() && unreached > 0 {
        return Err(CommandError::UnreachedPins);
    }
    Ok(())
}

/// The families that the arguments select.
fn select(
    all: Vec<SystemFamily>,
    table: &Table,
    arguments: &VerifyPinsArgs,
) -> Result<Vec<SystemFamily>, CommandError> {
    let names: BTreeSet<&str> = all
        .iter()
        .map(|(_, family)| family.family.as_str())
        .collect();
    for family in &arguments.families {
        if !names.contains(family.as_str()) {
            return Err(unknown_family(family, &names).into());
        }
    }
    let profile = arguments.profile.map(|profile| match profile {
        PinProfile::Registry => Profile::Registry,
        PinProfile::Vendor => Profile::Vendor,
    });
    let rows = table.rows.iter();
    let rows = rows.filter(|row| profile.is_none_or(|profile| row.profile == profile));
    let of_rows: BTreeSet<(String, String)> = rows
        .flat_map(|row| {
            row.families()
                .into_iter()
                .map(|family| (row.system.clone(), family))
        })
        .collect();
    let asked = |(system, family): &SystemFamily| {
        let name = &family.family;
        let of_profile = || of_rows.contains(&(system.clone(), name.clone()));
        (arguments.families.is_empty() || arguments.families.contains(name))
            && (profile.is_none() || of_profile())
    };
    Ok(all.into_iter().filter(asked).collect())
}

fn new_progress_bar() -> ProgressBar {
    let bar = new_bars().add(ProgressBar::no_length());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} pins, {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// The name of a verdict, and its details.
fn verdict_words(verdict: &Verdict) -> (&'static str, String) {
    match verdict {
        Verdict::Good(note) => ("good", note.clone().unwrap_or_default()),
        Verdict::Changed { pinned, found } => {
            ("changed", format!("pinned  {pinned}\n  found   {found}"))
        }
        Verdict::Vanished {
            newest: Some(newest),
        } => ("vanished", format!("its source has {newest}")),
        Verdict::Vanished { newest: None } => {
            ("vanished", "its source has no such file".to_owned())
        }
        Verdict::Unreached(why) => ("unreached", why.clone()),
    }
}

/// Text about wrong pins, then the number of pins with each verdict.
fn pins_text(checked: &[CheckedPin]) -> String {
    let mut text = String::new();
    for pin in checked {
        let (word, details) = verdict_words(&pin.verdict);
        if !details.is_empty() && !is_size_only(&pin.verdict) {
            let families: Vec<&str> = pin.families.iter().map(String::as_str).collect();
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{word}: {} ({})\n  {details}",
                pin.name,
                families.join(", ")
            );
        }
    }
    for word in ["good", "changed", "vanished", "unreached"] {
        let number = checked
            .iter()
            .filter(|pin| verdict_words(&pin.verdict).0 == word)
            .count();
        if number > 0 || word == "good" {
            let _ = writeln!(text, "{number:>6} {word}");
        }
    }
    text
}

/// Whether a verdict only says that the size is right. All pins with an URL have it, so it is not
/// printed for each.
fn is_size_only(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Good(Some(note)) if note == crate::pins::verify::SIZE_ONLY)
}

fn pins_json(checked: &[CheckedPin]) -> String {
    let pins = checked.iter().map(|pin| {
        let (word, details) = verdict_words(&pin.verdict);
        json!({"name": pin.name, "families": pin.families, "verdict": word, "details": details})
    });
    let pins: Vec<_> = pins.collect();
    format!("{:#}\n", json!({ "pins": pins }))
}
