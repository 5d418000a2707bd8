//! The code that test files share: scratch folders, the program and other programs, an index on
//! this machine, and second readers to judge builds by. No test is in here.
#![expect(dead_code, reason = "each test file uses a part of it")]

pub mod agreement;
pub mod archives;
pub mod attested;
pub mod client;
pub mod clone;
pub mod findings;
pub mod folder;
pub mod kernel;
pub mod loopback;
pub mod nix;
pub mod numbers;
pub mod program;
pub mod world;
