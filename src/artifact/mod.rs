//! Reads the files that a build made.

pub mod metadata;
pub mod sections;
