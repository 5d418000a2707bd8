//! Requirements of Python packages as text (PEP 508), such as `torch[opt] (>=2,<3) ; python_version
//! > "3.9"`. pip evaluates the conditions (pip_requirements.py).

/// The parts of a requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenRequirement<'a> {
    /// The project, not normalized; empty if the text does not begin with a name.
    pub name: &'a str,
    /// The names in square brackets.
    pub extras: Option<&'a str>,
    /// Version specifiers without their parentheses; empty if any version fits.
    pub versions: &'a str,
    /// The condition behind the semicolon.
    pub condition: Option<&'a str>,
}

/// Splits a requirement into its parts. Versions and condition may have any form.
pub fn read_requirement(text: &str) -> WrittenRequirement<'_> {
    let (text, condition) = match text.split_once(';') {
        Some((text, condition)) => (text.trim(), Some(condition.trim())),
        None => (text.trim(), None),
    };
    let in_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let (name, rest) = text.split_at(text.find(|c| !in_name(c)).unwrap_or(text.len()));
    let bare = |c: char| c.is_ascii_alphanumeric();
    let (name, rest) = match name.starts_with(bare) && name.ends_with(bare) {
        true => (name, rest.trim_start()),
        false => ("", text),
    };
    let (extras, versions) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((extras, versions)) => (Some(extras), versions),
        None => (None, rest),
    };
    WrittenRequirement {
        name,
        extras,
        versions: versions.trim().trim_matches(['(', ')']).trim(),
        condition,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_requirement_are_told_apart() {
        for (text, name, extras, versions, condition) in [
            ("torch", "torch", None, "", None),
            (" A_b.c (>=1,<2) ", "A_b.c", None, ">=1,<2", None),
            (
                "cuda-toolkit[cublas,cudart]==13.0.3; platform_system == \"Linux\"",
                "cuda-toolkit",
                Some("cublas,cudart"),
                "==13.0.3",
                Some("platform_system == \"Linux\""),
            ),
            (
                "c==1.2.*;extra == 'all'",
                "c",
                None,
                "==1.2.*",
                Some("extra == 'all'"),
            ),
            ("rich >=14,<16", "rich", None, ">=14,<16", None),
            ("--index-url=x", "", None, "--index-url=x", None),
            ("./wheel", "", None, "./wheel", None),
            ("a-", "", None, "a-", None),
            ("", "", None, "", None),
        ] {
            let expected = WrittenRequirement {
                name,
                extras,
                versions,
                condition,
            };
            assert_eq!(read_requirement(text), expected, "{text}");
        }
    }
}
