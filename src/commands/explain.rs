//! `explain`: the long form of a problem code.

use super::{CommandError, print};
use crate::cli::ExplainArgs;
use crate::problem::code::{self, Code};
use crate::problem::suggest::nearest;

pub fn run(arguments: &ExplainArgs) -> Result<(), CommandError> {
    let Some(id) = arguments.code.as_deref() else {
        let lines = code::ALL
            .iter()
            .map(|code| format!("{code}  {}\n", code.title));
        return print(&lines.collect::<String>());
    };
    match Code::find(id.trim()) {
        Some(code) => print(&format!("{code}: {}\n\n{}", code.title, code.explanation)),
        None => Err(CommandError::UnknownCode {
            id: id.to_owned(),
            help: nearest_code_hint(id),
        }),
    }
}

/// A hint: the code that was probably meant, and how to list all codes.
fn nearest_code_hint(id: &str) -> String {
    let list = "`kernel-builder explain` lists all codes";
    // Digits without `KB` are understood, too.
    let full = match id.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("KB{id}"),
        false => id.to_owned(),
    };
    let ids: Vec<&str> = code::ALL.iter().map(|code| code.id).collect();
    match nearest(&full, &ids) {
        Some(near) => format!("did you mean {near}? {list}"),
        None => list.to_owned(),
    }
}
