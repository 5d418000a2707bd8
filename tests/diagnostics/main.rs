//! The messages that users see when their build.toml is wrong, and the kernel when it is right.

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod compact;
mod conformance;
mod detection;
mod fixture;
mod invalid;
mod large;
mod loading;
mod old_cases;
mod property;
mod python;
mod valid;
mod valid_cases;
