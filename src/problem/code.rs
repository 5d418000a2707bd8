//! The table of problem codes. A code never changes its meaning once released; a retired code
//! is not used again.

use std::fmt;

/// A stable name for one kind of mistake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    /// `KB` and four digits.
    pub id: &'static str,
    /// One line for lists and for `explain`.
    pub title: &'static str,
    /// The meaning of the mistake, an example and the cure, in Markdown: the file of that name in
    /// explain/.
    pub explanation: &'static str,
}

impl Code {
    /// The code called `id`, in whatever case.
    pub fn find(id: &str) -> Option<Code> {
        let mut all = ALL.iter().copied();
        all.find(|code| code.id.eq_ignore_ascii_case(id))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id)
    }
}

macro_rules! codes {
    ($($name:ident = $id:literal, $title:literal;)*) => {
        $(
            #[doc = $title]
            pub const $name: Code = Code {
                id: $id,
                title: $title,
                explanation: include_str!(concat!("explain/", $id, ".md")),
            };
        )*
        /// Every code, in the order of the table.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

// KB00xx the file and its shape, KB01xx [general], KB02xx the framework section, KB03xx [kernel.*],
// KB04xx paths and other strings that reach the file system; KB10xx flake.nix, KB11xx sources.
codes! {
    SYNTAX = "KB0001", "the file is not valid TOML";
    ENCODING = "KB0002", "the file is not UTF-8";
    EDITION = "KB0003", "the edition of the file cannot be read";
    UNKNOWN_KEY = "KB0004", "a key that does not exist here";
    MISSING_KEY = "KB0005", "a required key is missing";
    WRONG_TYPE = "KB0006", "a value has the wrong type";
    UNKNOWN_VALUE = "KB0007", "a value is not one of those allowed";
    VERSION_FORMAT = "KB0008", "a version is not made of numbers and dots";
    NUMBER_RANGE = "KB0009", "a number is out of range";
    KEY_OF_OTHER_BACKEND = "KB0010", "a key belongs to sections of another backend";
    NO_FRAMEWORK = "KB0011", "the file has no framework section";
    TWO_FRAMEWORKS = "KB0012", "the file has more than one framework section";
    KERNEL_DEPENDENCY_PIN = "KB0013", "a kernel dependency needs exactly one of version and revision";
    OLD_EDITION = "KB0014", "the file is of an old edition";
    ASSUMED = "KB0015", "a version or a license is assumed";
    NO_EFFECT = "KB0016", "a value has no effect";
    NAME_DASHES = "KB0017", "underscores in the name became dashes";
    HIPIFY_NAME = "KB0018", "a kernel section has the name of another one's ROCm half";
    LISTED_TWICE = "KB0019", "something is listed twice, which does no harm";

    KERNEL_NAME = "KB0101", "the kernel name is not allowed";
    LICENSE_EMPTY = "KB0102", "the license is empty";
    LICENSE_ODD = "KB0103", "neither SPDX nor the Hub knows the license";
    GIT_URL = "KB0104", "a Git URL cannot be used";
    NO_BACKENDS = "KB0105", "the list of backends is empty";
    BACKEND_TWICE = "KB0106", "a backend is listed twice";
    BACKEND_WITHOUT_SECTION = "KB0108", "a backend has no kernel section";
    PYTHON_DEPENDENCY = "KB0109", "a Python dependency is not known";
    REPO_ID = "KB0110", "a repository id is not of the form organisation/name";
    VERSION_COMPONENTS = "KB0111", "a version needs exactly two components";
    BOUNDS = "KB0112", "a minimum version is above the maximum version";

    FRAMEWORK_BACKEND = "KB0201", "a backend that the framework does not exist for";
    NO_BINDING = "KB0202", "the framework section has no source to compile";
    STABLE_ABI_UNUSED = "KB0203", "a stable ABI is set for a backend that is not listed";
    NO_PYTHON_PACKAGE = "KB0204", "the Python package of the kernel is missing";
    PYEXT = "KB0205", "an extension of Python files is not one";

    SECTION_NAME = "KB0301", "a kernel section name cannot be a file name";
    SECTION_BACKEND_UNLISTED = "KB0302", "a kernel section is for a backend that is not listed";
    NO_SOURCE = "KB0303", "a kernel section has no source to compile";
    SOURCE_TWICE = "KB0304", "a source is listed twice";
    SOURCE_IN_TWO_SECTIONS = "KB0305", "a source is in two sections";
    CANNOT_COMPILE = "KB0306", "a source that the backend cannot compile";
    NOT_COMPILED = "KB0307", "a file that is not compiled";
    CAPABILITY = "KB0308", "a GPU capability is not known";
    DEPENDENCY = "KB0309", "a dependency that cannot be used here";
    SECTIONS_OF_NOARCH = "KB0310", "a Python-only kernel has kernel sections";
    ROCM_ARCH = "KB0311", "an AMD GPU architecture is not known";
    SECTION_OUT_OF_REACH = "KB0312", "a kernel section is never compiled";
    DEPENDENCY_ARCHIVE = "KB0320", "an archive of headers is not described as it must be";

    PATH_EMPTY = "KB0401", "a path is empty";
    PATH_CONTROL = "KB0402", "a path contains a control character";
    PATH_ABSOLUTE = "KB0403", "a path is absolute";
    PATH_ESCAPES = "KB0404", "a path leads out of the kernel";
    PATH_MISSING = "KB0405", "a path does not exist";
    PATH_IS_DIRECTORY = "KB0406", "a path is a directory where a file is needed";
    PATH_IS_FILE = "KB0407", "a path is a file where a directory is needed";
    FLAG_NUL = "KB0408", "a flag contains a NUL character";
    PYTHON_LINK = "KB0409", "a file of the Python package is a symbolic link";
    PATH_SPECIAL = "KB0410", "a path is neither a file nor a folder";
    TEXT_CONTROL = "KB0411", "a text contains a control character";
    FLAG_NATIVE = "KB0412", "a flag asks for the processor of the machine that builds";

    FLAKE_SELF = "KB1001", "flake.nix makes its outputs without self";
    FLAKE_SYNTAX = "KB1002", "flake.nix is not valid Nix";

    FIXED_NAMESPACE = "KB1101", "operators are registered under a name that is the same in every build";
    PYTHON_NAMESPACE = "KB1102", "an operator that Python registers has a fixed namespace";
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(ALL.windows(2).all(|pair| pair[0].id < pair[1].id));
        for code in ALL {
            assert!(code.id.len() == 6 && code.id.starts_with("KB"), "{code}");
            assert!(!code.title.is_empty() && !code.title.ends_with('.'));
        }
    }

    #[test]
    fn a_code_is_found_in_any_case() {
        assert_eq!(Code::find("kb0101"), Some(KERNEL_NAME));
        assert_eq!(Code::find("KB0101"), Some(KERNEL_NAME));
        assert_eq!(Code::find("KB010"), None);
    }

    /// Each explanation has the meaning, an example and the cure. Lines are wrapped, since
    /// terminals do not wrap at words.
    #[test]
    fn every_code_is_explained() {
        for code in ALL {
            let text = code.explanation;
            let parts: Vec<&str> = text.split("\n```").collect();
            let [meaning, example, cure] = parts[..] else {
                panic!("{code}: not one example between two texts");
            };
            assert!(meaning.matches('.').count() >= 2, "{code}: {meaning}");
            assert!(cure.trim().len() > 40, "{code}: {cure}");
            let (language, example) = example.split_once('\n').expect("a language");
            assert!(!example.trim().is_empty(), "{code}");
            if language == "toml" && *code != SYNTAX {
                let parsed = toml::Table::from_str(example);
                assert!(parsed.is_ok(), "{code}: {parsed:?}");
            }
            assert!(
                text.lines().all(|line| line.chars().count() <= 120),
                "{code}"
            );
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{code}");
        }
    }

    /// An explanation without a code would never be shown.
    #[test]
    fn every_explanation_has_a_code() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/src/problem/explain");
        for entry in std::fs::read_dir(dir).expect("a folder") {
            let name = entry.expect("an entry").file_name();
            let name = name.to_string_lossy();
            let code = name.strip_suffix(".md").and_then(Code::find);
            assert!(code.is_some_and(|code| name.starts_with(code.id)), "{name}");
        }
    }
}
