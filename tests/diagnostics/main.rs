//! What users see when their build.toml is wrong, and what a kernel looks like when it is right.

mod cases;
mod fixture;
mod invalid;
mod loading;
mod property;
mod valid;
