//! build.toml as written, with the place of every value. This module does not look at other files
//! and does not decide whether a value makes sense; [`crate::kernel`] does.
//!
//! Each edition of the format is a sibling module with its own types and its own variant of
//! [`Body`]; [`detect`] chooses. What editions have in common is read by the same code.
//! [`Body::upgrade`] gives the form of edition 5, which is all that later stages look at.

pub mod backend;
pub mod dependency;
pub mod detect;
pub mod framework;
pub mod reader;
pub mod schema;
pub mod section;
mod syntax;
pub mod table;
pub mod update;
pub mod upgrade;
pub mod v1;
pub mod v2;
pub mod v3;
pub mod v4;
pub mod v5;
pub mod value;

use camino::{Utf8Path, Utf8PathBuf};
use sha2::{Digest, Sha256};
use toml::de::DeTable;

pub use self::dependency::{Dependency, WrittenHeaderArchive};
pub use self::detect::{DetectedEdition, Edition};
pub use self::value::{List, Spanned};

use self::detect::detect;
use self::reader::Reader;
use self::table::TomlTable;
pub use crate::words::{Backend, KnownDependency};

use crate::problem::suggest::nearest;
use crate::problem::{Place, Problem, Problems, code};

/// Name of the file in a kernel's directory.
pub const FILE_NAME: &str = "build.toml";

/// One build.toml: its content and its problems.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The content, as far as it could be read. `None` if the text is not TOML or of an edition
    /// that cannot be read; [`Manifest::problems`] then says why.
    pub body: Option<Body>,
    /// The edition that the file was read as, with the reason; `None` if it is not known.
    pub edition: Option<DetectedEdition>,
    /// Problems of the form of the file.
    pub problems: Problems,
    /// SHA-256 of the exact bytes of the file, in lower-case hexadecimal.
    pub sha256: String,
}

/// The content of a build.toml, by edition.
#[derive(Debug, Clone)]
pub enum Body {
    /// Spring 2025 and before.
    V1(Box<v1::BuildTomlV1>),
    /// Most of 2025.
    V2(Box<v2::BuildTomlV2>),
    /// Early 2026.
    V3(Box<v3::BuildTomlV3>),
    /// Spring 2026.
    V4(Box<v4::BuildTomlV4>),
    /// Edition 5.
    V5(Box<v5::BuildToml>),
}

impl Manifest {
    /// Reads the bytes of a file that is shown to the user as `name`. Never fails: every mistake is
    /// in [`Manifest::problems`].
    pub fn read(name: &str, bytes: &[u8]) -> Self {
        let sha256 = crate::hex(&Sha256::digest(bytes));
        let text = String::from_utf8_lossy(bytes);
        let mut problems = Problems::new(name, text.as_ref());
        let mut edition = None;
        let body = match std::str::from_utf8(bytes) {
            Ok(text) => parse(text, &mut problems, &mut edition),
            Err(error) => {
                // The replacement character stands at the same offset as the first bad byte.
                let start = error.valid_up_to();
                let place = Place {
                    key: String::new(),
                    span: start..start + '\u{fffd}'.len_utf8(),
                };
                problems.push(
                    Problem::error(code::ENCODING, &place, "the file is not UTF-8 text")
                        .label("the first byte that is not UTF-8")
                        .help("save the file as UTF-8"),
                );
                None
            }
        };
        Self {
            body,
            edition,
            problems,
            sha256,
        }
    }
}

/// The directory of a kernel and its build.toml, from either of them.
pub fn locate(path: &Utf8Path) -> (Utf8PathBuf, Utf8PathBuf) {
    let path = match path.as_str() {
        "" => Utf8Path::new("."),
        _ => path,
    };
    if path.is_dir() || path.as_str().ends_with('/') {
        let file = match path.as_str() {
            "." => Utf8PathBuf::from(FILE_NAME),
            _ => path.join(FILE_NAME),
        };
        return (path.to_owned(), file);
    }
    let root = match path.parent() {
        Some(parent) if !parent.as_str().is_empty() => parent.to_owned(),
        _ => Utf8PathBuf::from("."),
    };
    (root, path.to_owned())
}

fn parse(
    text: &str,
    problems: &mut Problems,
    edition: &mut Option<DetectedEdition>,
) -> Option<Body> {
    let parsed = syntax::parse(text, problems)?;
    let reader = Reader::new(parsed.broken_lines);
    let (table, errors) = DeTable::parse_recoverable(&parsed.text);
    let body = match errors.is_empty() {
        true => read_body(table.get_ref(), &reader, edition),
        false => None,
    };
    for problem in reader.into_problems() {
        problems.push(problem);
    }
    // Checks that compare several values would report the lines that are missing.
    body.filter(|_| parsed.whole)
}

fn read_body<'t>(
    toml: &'t DeTable<'t>,
    reader: &Reader,
    edition: &mut Option<DetectedEdition>,
) -> Option<Body> {
    let root = TomlTable::new(toml, Place::default(), reader);
    let Some(general) = root.peek("general") else {
        reader.report(no_general(&root));
        return None;
    };
    general.table(reader)?;
    let detected = detect(&root, &general.place, reader)?;
    if detected.edition != Edition::V5 {
        reader.report(detected.warning());
        reader.set_format(detected.edition.name());
    }
    let body = match detected.edition {
        Edition::V1 => Body::V1(Box::new(v1::BuildTomlV1::read(root, reader))),
        Edition::V2 => Body::V2(Box::new(v2::BuildTomlV2::read(root, reader))),
        Edition::V3 => Body::V3(Box::new(v3::BuildTomlV3::read(root, reader))),
        Edition::V4 => Body::V4(Box::new(v4::BuildTomlV4::read(root, reader))),
        Edition::V5 => Body::V5(Box::new(v5::BuildToml::read(root, reader))),
    };
    *edition = Some(detected);
    Some(body)
}

/// The problem that `[general]` is missing: without it, the edition and so every other key is
/// unknown.
fn no_general(root: &TomlTable<'_, '_>) -> Problem {
    let names: Vec<_> = root.entries().map(|(name, _)| name).collect();
    let words: Vec<_> = names.iter().map(|name| name.value.as_str()).collect();
    let near = nearest("general", &words);
    match names.iter().find(|name| near == Some(name.value.as_str())) {
        Some(name) => {
            let message = format!("there is no section `{}`", name.value);
            Problem::error(code::UNKNOWN_KEY, &name.place, message)
                .label("unknown section")
                .help("did you mean `general`?")
        }
        None => {
            let place = Place {
                key: "general".to_owned(),
                span: 0..0,
            };
            let cure =
                "add a `[general]` section with name, version, edition, license and backends";
            table::missing("general", &place, cure)
        }
    }
}
