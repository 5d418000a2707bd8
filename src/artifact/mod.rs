//! Reads the files that a build made.

pub mod sections;
