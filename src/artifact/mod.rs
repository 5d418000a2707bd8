//! What a build made: reads compiled files. Not how they are made.

pub mod sections;
