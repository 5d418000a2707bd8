//! Brings pins into the store: the archives that toolchains are made of. The recipes that unpack
//! them are Nix (nix/toolchains).

pub mod apt;
mod apt_output;
pub mod cache;
pub mod carry;
pub mod crates;
pub mod error;
pub mod fetch;
pub mod http;
pub mod locks;
pub mod members;
pub mod packages;
pub mod pip;
mod program;
pub mod progress;
pub mod ranges;
pub mod refresh;
pub mod requirement;
mod run;
pub mod runtime;
pub mod silence;
pub mod simple;
pub mod sources;
pub mod space;
pub mod tree;
pub mod unpack;
pub mod verify;
mod worker;

pub use self::error::{MissingFiles, PinError};
pub use crate::families::{
    Archive, ArchiveKind, Family, FamilyError, Pin, TakenMembers, Tree, TreeSource, UnpinnedFamily,
    all_families, family_pins, find_family, unpinned,
};
