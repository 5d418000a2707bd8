//! What a build made: reads compiled files. Not how they are made.

pub mod fatbin;
pub mod sections;
