//! The two C++ ABIs of libstdc++. Extensions must have the one that their torch was built with.

use std::fmt;

use serde::Deserialize;

/// A C++ ABI of libstdc++: the layout of std::string and std::list, and the names of functions that
/// take them. Only Linux ever had two; other systems ignore it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum CxxAbi {
    /// The ABI of GCC 4, which torch's wheels had up to 2.6.
    Cxx98,
    /// The ABI of GCC 5 and newer, which is the compilers' default.
    #[default]
    Cxx11,
}

impl CxxAbi {
    /// The macro, with its value, that makes a C++ compiler use this ABI; `None` for the compilers'
    /// own choice.
    pub fn define(self) -> Option<&'static str> {
        match self {
            CxxAbi::Cxx98 => Some("_GLIBCXX_USE_CXX11_ABI=0"),
            CxxAbi::Cxx11 => None,
        }
    }
}

/// The word in names of variants.
impl fmt::Display for CxxAbi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CxxAbi::Cxx98 => "cxx98",
            CxxAbi::Cxx11 => "cxx11",
        })
    }
}
