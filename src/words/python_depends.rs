//! The Python packages that a kernel may need at run time. The names are those of build.toml;
//! they are agreed with the `kernels` client, which checks them when it loads a kernel.

use std::fmt;

use super::Backend;

/// A Python package under the name it has in build.toml.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PythonDependency {
    /// Name in build.toml and in the metadata.
    pub name: &'static str,
    /// Name on the package index.
    pub package: &'static str,
    /// The module to import; `None` if there is nothing to import.
    pub import: Option<&'static str>,
}

impl fmt::Debug for PythonDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PythonDependency({})", self.name)
    }
}

const fn package(
    name: &'static str,
    package: &'static str,
    import: Option<&'static str>,
) -> PythonDependency {
    PythonDependency {
        name,
        package,
        import,
    }
}

const GENERAL: &[PythonDependency] = &[
    package("einops", "einops", Some("einops")),
    package("helion", "helion", Some("helion")),
    package("tvm-ffi", "apache-tvm-ffi", Some("tvm_ffi")),
];

const BACKENDS: &[(Backend, &[PythonDependency])] = &[
    (
        Backend::Cuda,
        &[package(
            "nvidia-cutlass-dsl",
            "nvidia-cutlass-dsl",
            Some("cutlass"),
        )],
    ),
    (Backend::Neuron, &[package("nki", "nki", Some("nki"))]),
    (Backend::Xpu, &[package("onednn", "onednn-devel", None)]),
];

/// The packages known for every backend (`None`), or the further ones of one backend.
pub fn known_packages(backend: Option<Backend>) -> &'static [PythonDependency] {
    match backend {
        None => GENERAL,
        Some(backend) => BACKENDS
            .iter()
            .find(|(of, _)| *of == backend)
            .map_or(&[], |(_, packages)| packages),
    }
}

/// The table that has a package: `Some(None)` stands for the general one, `None` for no table.
pub fn table_of_package(name: &str) -> Option<Option<Backend>> {
    let places = std::iter::once(None).chain(BACKENDS.iter().map(|(backend, _)| Some(*backend)));
    let mut places = places.filter(|place| known_packages(*place).iter().any(|p| p.name == name));
    places.next()
}

/// The name on the package index of a package that some table has.
pub fn package_of(name: &str) -> Option<&'static str> {
    let tables = std::iter::once(GENERAL).chain(BACKENDS.iter().map(|(_, packages)| *packages));
    let mut packages = tables.flatten();
    Some(packages.find(|own| own.name == name)?.package)
}
