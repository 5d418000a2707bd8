//! `fetch` against an index on this machine that stalls, cuts, lies and refuses
//! (tests/loopback_index.py), with pins made up for the test. Pip, apt and Nix are real, with a
//! store of the test's own; no network is used.

#[path = "../common/mod.rs"]
mod common;
mod downloads;
mod index;
mod sharing;
mod silence;
