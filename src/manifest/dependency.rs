//! Libraries that sections compile against: the elements of `depends`, and the `[dependencies.*]`
//! that they may name.

use schemars::JsonSchema;

use super::backend::{OLD_SYCL_TLA, renamed_sycl_tla};
use super::reader::Reader;
use super::value::{FromValue, List, Spanned, Value};
use crate::words::KnownDependency;

/// An element of a section's `depends`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dependency {
    /// A library that the program knows.
    Known(KnownDependency),
    /// The name of a `[dependencies.*]`. The checks after reading report a name without a table.
    Own(String),
}

impl Dependency {
    /// Whether the dependency is torch, whose headers are part of the toolchain.
    pub fn is_torch(&self) -> bool {
        *self == Dependency::Known(KnownDependency::Torch)
    }

    /// The word in build.toml.
    pub fn as_str(&self) -> &str {
        match self {
            Dependency::Known(known) => known.as_str(),
            Dependency::Own(name) => name,
        }
    }
}

impl std::fmt::Display for Dependency {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromValue for Dependency {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        let text = String::from_value(value, reader)?;
        if text == OLD_SYCL_TLA {
            reader.report(renamed_sycl_tla(&value.place));
            return None;
        }
        let mut known = KnownDependency::ALL.iter();
        let known = known.find(|known| known.as_str() == text);
        Some(known.map_or(Self::Own(text), |known| Self::Known(*known)))
    }
}

impl JsonSchema for Dependency {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::borrow::Cow::Borrowed("Dependency")
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let known = KnownDependency::json_schema(generator);
        schemars::json_schema!({
            "anyOf": [
                known,
                {
                    "type": "string",
                    "description": "The name of a table below `dependencies`.",
                    "pattern": NAME_PATTERN,
                },
            ],
        })
    }
}

/// Names of `[dependencies.*]`.
const NAME_PATTERN: &str = "^[A-Za-z0-9_][A-Za-z0-9_.+-]*$";

/// One `[dependencies.<name>]`: an archive of headers, from the package index or by URL.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "kebab-case", deny_unknown_fields, extend(
    "required" = ["sha256", "include"],
    "oneOf" = [{ "required": ["url"] }, { "required": ["package", "file"] }],
))]
pub struct WrittenHeaderArchive {
    /// The name in the header.
    #[schemars(skip)]
    pub name: Spanned<String>,
    /// Where the archive is served: a wheel, a zip file or a tar file.
    pub url: Option<Spanned<String>>,
    /// The project of the Python package index that has the archive.
    pub package: Option<Spanned<String>>,
    /// The name of the archive there: a wheel, or a source distribution (`.tar.gz`).
    pub file: Option<Spanned<String>>,
    /// SHA-256 of the archive, in hexadecimal.
    #[schemars(extend("pattern" = "^[0-9a-fA-F]{64}$"))]
    pub sha256: Option<Spanned<String>>,
    /// The folders of the archive that hold headers, as paths in it.
    #[schemars(extend("minItems" = 1))]
    pub include: Option<List<String>>,
}

/// Reads `[dependencies]`: a table from names to archives.
pub(super) fn read_dependencies(
    value: Option<&Value<'_>>,
    reader: &Reader,
) -> Vec<WrittenHeaderArchive> {
    let Some(table) = value.and_then(|value| value.table(reader)) else {
        return Vec::new();
    };
    let read = |(name, value): (Spanned<String>, Value<'_>)| {
        let mut table = value.table(reader)?;
        let archive = WrittenHeaderArchive {
            name,
            url: table.optional("url"),
            package: table.optional("package"),
            file: table.optional("file"),
            sha256: table.required(
                "sha256",
                "add `sha256 = \"…\"`: `sha256sum FILE` prints it for a downloaded archive",
            ),
            include: table.required(
                "include",
                "add `include = [\"folder/include\"]`: folders of the archive that hold headers",
            ),
        };
        table.finish();
        Some(archive)
    };
    table.entries().filter_map(read).collect()
}

/// The `[dependencies]` of the schema: any name, and the keys of an archive.
pub(super) fn schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let archive = WrittenHeaderArchive::json_schema(generator);
    schemars::json_schema!({
        "type": "object",
        "description": "Libraries of headers that sections name in `depends`.",
        "propertyNames": { "pattern": NAME_PATTERN },
        "additionalProperties": archive,
    })
}
