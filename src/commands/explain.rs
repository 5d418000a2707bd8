//! `explain`: the long form of the code of a problem or of an error.

use super::{CommandError, print};
use crate::cli::ExplainArgs;
use crate::problem::code::{self, Code};
use crate::problem::errors::error_codes;
use crate::problem::suggest::nearest;

pub fn run(arguments: &ExplainArgs) -> Result<(), CommandError> {
    let codes: Vec<Code> = code::ALL.iter().copied().chain(error_codes()).collect();
    let Some(id) = arguments.code.as_deref() else {
        let width = codes.iter().map(|code| code.id.len()).max();
        let width = width.unwrap_or_default();
        let lines = codes.iter();
        let lines = lines.map(|code| format!("{:width$}  {}\n", code.id, code.title));
        return print(&lines.collect::<String>());
    };
    let mut found = codes.iter();
    match found.find(|code| code.id.eq_ignore_ascii_case(id.trim())) {
        Some(code) => print(&format!("{code}: {}\n\n{}", code.title, code.explanation)),
        None => Err(CommandError::UnknownCode {
            id: id.to_owned(),
            help: nearest_code_hint(id, &codes),
        }),
    }
}

/// A hint: the code that was probably meant, and how to list all codes.
fn nearest_code_hint(id: &str, codes: &[Code]) -> String {
    let list = "`kernel-builder explain` lists all codes";
    // Digits without `KB` are understood, too.
    let full = match id.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("KB{id}"),
        false => id.to_owned(),
    };
    let ids: Vec<&str> = codes.iter().map(|code| code.id).collect();
    match nearest(&full, &ids) {
        Some(near) => format!("did you mean {near}? {list}"),
        None => list.to_owned(),
    }
}
