//! The words of build.toml that several stages know: backends, libraries, GPU architectures, Python
//! packages. The release table says what can be built for them.

pub mod python_depends;
pub mod rocm_arch;

pub use self::python_depends::PythonDependency;
pub use self::rocm_arch::RocmArch;

/// One of some fixed words.
pub trait Word: Copy + 'static {
    /// The noun for such a word in messages, e.g. "backend".
    const NOUN: &'static str;
    /// Every value, in order.
    const ALL: &'static [Self];

    /// The word in build.toml.
    fn word(self) -> &'static str;
}

/// Declares an enum whose values are words of build.toml. A word's comment is its documentation in
/// the JSON Schema.
macro_rules! words {
    ($(#[$doc:meta])* $type:ident, $noun:literal; $(#[doc = $variant_doc:literal] $variant:ident = $word:literal,)*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $type {
            $(#[doc = $variant_doc] $variant,)*
        }

        impl $type {
            /// Every value, in order.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// The word in build.toml.
            pub fn as_str(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)*
                }
            }
        }

        impl $crate::words::Word for $type {
            const NOUN: &'static str = $noun;
            const ALL: &'static [Self] = $type::ALL;

            fn word(self) -> &'static str {
                self.as_str()
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
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
                    // Even Better TOML shows these beside the words.
                    "x-taplo": { "docs": { "enumValues": [$($variant_doc.trim()),*] } },
                })
            }
        }
    };
}

pub(crate) use words;

words! {
    /// The device or processor that a kernel runs on.
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
    KnownDependency, "dependency";
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
