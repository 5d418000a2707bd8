//! Built variants, read from their files: their checks, digests and differences.

pub mod check;
pub mod compare;
pub mod contents;
pub mod fatbin;
pub mod finding;
pub mod metadata;
pub mod native;
pub mod provenance;
pub mod python_files;
pub mod rehash;
pub mod sbom;
pub mod sections;
pub mod signature;
