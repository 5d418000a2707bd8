//! Backends and build dependencies: the fixed words of build.toml. What can be built for them
//! is decided elsewhere.

use std::fmt;

use super::dependency::Dependency;
use super::reader::Reader;
use super::value::{FromValue, Value, one_of};
use crate::problem::{Place, Problem, code};

macro_rules! words {
    ($(#[$doc:meta])* $type:ident, $what:literal $(, renamed $old:literal => $new:literal)*; $(#[doc = $variant_doc:literal] $variant:ident = $word:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $(#[doc = $variant_doc] $variant,)*
        }

        impl $type {
            /// Every value, in order.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The word used in build.toml.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($type))
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "enum": [$($word),*],
                    // What Even Better TOML shows beside each word.
                    "x-taplo": { "docs": { "enumValues": [$($variant_doc.trim()),*] } },
                })
            }
        }

        impl FromValue for $type {
            fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
                let text = String::from_value(value, reader)?;
                $(if text == $old {
                    reader.report(renamed($what, $old, $new, &value.place));
                    return None;
                })*
                let words = [$(($word, $type::$variant)),*];
                one_of(&text, &value.place, reader, $what, &words)
            }
        }
    };
}

pub(super) use words;

words! {
    /// What a kernel runs on.
    Backend, "backend";
    /// Huawei Ascend, through CANN.
    Cann = "cann",
    /// The host processor.
    Cpu = "cpu",
    /// NVIDIA GPUs.
    Cuda = "cuda",
    /// Apple GPUs.
    Metal = "metal",
    /// AWS Trainium and Inferentia.
    Neuron = "neuron",
    /// AMD GPUs.
    Rocm = "rocm",
    /// Google TPUs.
    Tpu = "tpu",
    /// Intel GPUs.
    Xpu = "xpu",
}

words! {
    /// A library that a kernel section compiles against, by a fixed word.
    KnownDependency, "dependency", renamed "cutlass_sycl" => "sycl_tla";
    /// CUTLASS 2.10.
    Cutlass2_10 = "cutlass_2_10",
    /// CUTLASS 3.5.
    Cutlass3_5 = "cutlass_3_5",
    /// CUTLASS 3.6.
    Cutlass3_6 = "cutlass_3_6",
    /// CUTLASS 3.8.
    Cutlass3_8 = "cutlass_3_8",
    /// CUTLASS 3.9.
    Cutlass3_9 = "cutlass_3_9",
    /// CUTLASS 4.0.
    Cutlass4_0 = "cutlass_4_0",
    /// CUTLASS 4.4.
    Cutlass4_4 = "cutlass_4_4",
    /// CUTLASS 4.5.
    Cutlass4_5 = "cutlass_4_5",
    /// SYCL*TLA, the CUTLASS of Intel GPUs.
    SyclTla = "sycl_tla",
    /// Apple's C++ interface to Metal.
    MetalCpp = "metal-cpp",
    /// The headers of PyTorch.
    Torch = "torch",
}

impl KnownDependency {
    /// Whether it is a release of NVIDIA's CUTLASS.
    pub fn is_cutlass(self) -> bool {
        self.as_str().starts_with("cutlass_")
    }
}

/// The name of `sycl_tla` before v4.
pub(super) const OLD_SYCL_TLA: &str = "cutlass_sycl";

/// The problem that a word has another name since v4.
fn renamed(what: &str, old: &str, new: &str, place: &Place) -> Problem {
    let message = format!("the {what} `{old}` is called `{new}` now");
    Problem::error(code::UNKNOWN_VALUE, place, message)
        .label("old name")
        .help(format!("write \"{new}\""))
}

/// A dependency in the words of the formats before v4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OldDependency(pub Dependency);

impl FromValue for OldDependency {
    fn from_value(value: &Value<'_>, reader: &Reader) -> Option<Self> {
        match value.as_str() {
            // Renamed in v4.
            Some(OLD_SYCL_TLA) => Some(Self(Dependency::Known(KnownDependency::SyclTla))),
            _ => Dependency::from_value(value, reader).map(Self),
        }
    }
}

impl From<OldDependency> for Dependency {
    fn from(old: OldDependency) -> Self {
        old.0
    }
}
