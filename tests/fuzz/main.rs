//! Changed copies of files that come from others: archives, native files, and the files beside a
//! build. Reading one of them ends with a result or an error, in bounded time and memory: no panic,
//! no case of more than five minutes, no more than 64 MB beyond what the unchanged files took and
//! the size of the case. `make fuzz` reads them for FUZZ_MINUTES each; without it, each kind has a
//! second. build.toml is in tests/update/fuzz.rs.

mod archives;
#[path = "../common/mod.rs"]
mod common;
mod mutation;
#[cfg(target_os = "linux")]
mod native;
mod rpms;
mod variants;
#[cfg(target_os = "linux")]
mod worker;

use std::path::Path;

/// A kind of file. Each of its seeds is changed, then put into its wrapping.
pub struct Kind {
    pub seeds: Vec<Seed>,
    /// Words that are put into files.
    pub words: &'static [&'static [u8]],
    /// Reads a file in a folder, which may hold the files of the case before. Returns whether the
    /// file was taken for a good one.
    pub read: Box<ReadCase>,
}

/// Reads a file, whose bytes are given, in a folder.
type ReadCase = dyn FnMut(&Path, &[u8]) -> bool;

/// A good file, and the function that wraps its changed content.
pub struct Seed {
    pub content: Vec<u8>,
    pub wrap: fn(Vec<u8>) -> Vec<u8>,
}

impl Seed {
    /// A file that is changed as it is.
    pub fn plain(content: impl Into<Vec<u8>>) -> Self {
        Self {
            content: content.into(),
            wrap: |content| content,
        }
    }
}

#[cfg(target_os = "linux")]
macro_rules! tests {
    ($($name:ident: $run:expr,)*) => {
        /// A second of each kind, for every day.
        mod briefly {
            $(
                #[test]
                fn $name() {
                    ($run)(concat!("briefly::", stringify!($name)), 1);
                }
            )*
        }

        mod for_minutes {
            $(
                #[test]
                #[ignore = "as long as FUZZ_MINUTES says: `make fuzz`"]
                fn $name() {
                    let seconds = crate::worker::seconds_of_minutes();
                    ($run)(concat!("for_minutes::", stringify!($name)), seconds);
                }
            )*
        }
    };
}

#[cfg(target_os = "linux")]
tests! {
    deb: |test, seconds| crate::worker::fuzz(test, crate::archives::deb, seconds),
    elf: |test, seconds| crate::native::fuzz(test, ".so", seconds),
    library: |test, seconds| crate::worker::fuzz(test, crate::variants::library, seconds),
    mach_o: |test, seconds| crate::native::fuzz(test, ".dylib", seconds),
    metadata: |test, seconds| crate::worker::fuzz(test, crate::variants::metadata, seconds),
    pe: |test, seconds| crate::native::fuzz(test, ".pyd", seconds),
    sdist: |test, seconds| crate::worker::fuzz(test, crate::archives::sdist, seconds),
    signature: |test, seconds| crate::worker::fuzz(test, crate::variants::signature, seconds),
    statement: |test, seconds| crate::worker::fuzz(test, crate::variants::statement_file, seconds),
    tarball: |test, seconds| crate::worker::fuzz(test, crate::archives::tarball, seconds),
    wheel: |test, seconds| crate::worker::fuzz(test, crate::archives::wheel, seconds),
}

/// An RPM package is unpacked by the programs of the seed, which a store holds.
#[cfg(target_os = "linux")]
mod packages {
    #[test]
    #[ignore = "needs the seed in a store: run by `make test`"]
    fn rpm() {
        crate::worker::fuzz("packages::rpm", crate::rpms::rpm, 2);
    }

    #[test]
    #[ignore = "as long as FUZZ_MINUTES says: `make fuzz`"]
    fn rpm_for_minutes() {
        let seconds = crate::worker::seconds_of_minutes();
        crate::worker::fuzz("packages::rpm_for_minutes", crate::rpms::rpm, seconds);
    }
}
