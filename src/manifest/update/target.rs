//! A manifest of edition 5 as plain TOML: the content of the rewritten file. Two manifests are
//! compared in this form too, because it holds every value as written and no places.

use toml_edit::{Array, InlineTable, Item, Table, Value};

use crate::manifest::framework::StableAbi;
use crate::manifest::section::{WrittenBackend, WrittenSection};
use crate::manifest::v5::{
    self, BackendOptions, BuildToml, General, KernelPin, WrittenKernelDependency,
};
use crate::manifest::{List, Spanned};
use crate::version::Version;

/// The file, with its keys in the usual order.
pub fn table(file: &BuildToml) -> Table {
    let mut root = Table::new();
    root.insert("general", Item::Table(general(&file.general)));
    if let Some(torch) = &file.torch {
        let torch = &torch.value;
        let mut table = Table::new();
        put(&mut table, "src", strings(torch.src.as_ref()));
        put(&mut table, "pyext", strings(torch.pyext.as_ref()));
        put(&mut table, "include", strings(torch.include.as_ref()));
        put(&mut table, "minver", version(torch.minver.as_ref()));
        put(&mut table, "maxver", version(torch.maxver.as_ref()));
        let abi = torch.stable_abi.as_ref();
        put(
            &mut table,
            "stable-abi",
            abi.map(|abi| stable_abi(&abi.value)),
        );
        put(&mut table, "cxx-flags", strings(torch.cxx_flags.as_ref()));
        put(
            &mut table,
            "lean-headers",
            boolean(torch.lean_headers.as_ref()),
        );
        root.insert("torch", Item::Table(table));
    }
    if let Some(noarch) = &file.torch_noarch {
        let noarch = &noarch.value;
        let mut table = Table::new();
        put(&mut table, "pyext", strings(noarch.pyext.as_ref()));
        put(
            &mut table,
            "cuda_capabilities",
            strings(noarch.cuda_capabilities.as_ref()),
        );
        put(
            &mut table,
            "rocm_archs",
            strings(noarch.rocm_archs.as_ref()),
        );
        root.insert("torch-noarch", Item::Table(table));
    }
    if let Some(tvm_ffi) = &file.tvm_ffi {
        let tvm_ffi = &tvm_ffi.value;
        let mut table = Table::new();
        put(&mut table, "src", strings(tvm_ffi.src.as_ref()));
        put(&mut table, "include", strings(tvm_ffi.include.as_ref()));
        put(&mut table, "pyext", strings(tvm_ffi.pyext.as_ref()));
        put(&mut table, "cxx-flags", strings(tvm_ffi.cxx_flags.as_ref()));
        root.insert("tvm-ffi", Item::Table(table));
    }
    if !file.dependencies.is_empty() {
        let mut dependencies = Table::new();
        dependencies.set_implicit(true);
        for archive in &file.dependencies {
            let mut table = Table::new();
            put(&mut table, "url", string(archive.url.as_ref()));
            put(&mut table, "package", string(archive.package.as_ref()));
            put(&mut table, "file", string(archive.file.as_ref()));
            put(&mut table, "sha256", string(archive.sha256.as_ref()));
            put(&mut table, "include", strings(archive.include.as_ref()));
            dependencies.insert(&archive.name.value, Item::Table(table));
        }
        root.insert("dependencies", Item::Table(dependencies));
    }
    if !file.kernel.is_empty() {
        let mut sections = Table::new();
        sections.set_implicit(true);
        for section in &file.kernel {
            sections.insert(&section.name.value, Item::Table(kernel(section)));
        }
        root.insert("kernel", Item::Table(sections));
    }
    root
}

/// Keys that are read in two spellings keep the one that `have` uses.
pub fn spell_as(want: &mut Table, have: &Table) {
    let Some(have) = have.get("torch-noarch").and_then(Item::as_table_like) else {
        return;
    };
    let Some(want) = want.get_mut("torch-noarch").and_then(Item::as_table_mut) else {
        return;
    };
    for (used, documented) in [
        ("cuda_capabilities", "cuda-capabilities"),
        ("rocm_archs", "rocm-archs"),
    ] {
        if have.contains_key(documented)
            && let Some(item) = want.remove(used)
        {
            want.insert(documented, item);
        }
    }
}

fn general(general: &General) -> Table {
    let mut table = Table::new();
    put(&mut table, "name", string(general.name.as_ref()));
    put(
        &mut table,
        "version",
        general.version.as_ref().map(|v| integer(v.value)),
    );
    put(&mut table, "edition", Some(integer(v5::EDITION)));
    put(&mut table, "license", string(general.license.as_ref()));
    put(&mut table, "upstream", string(general.upstream.as_ref()));
    put(&mut table, "source", string(general.source.as_ref()));
    put(&mut table, "backends", words(general.backends.as_ref()));
    put(
        &mut table,
        "kernel-depends",
        kernels(general.kernel_depends.as_ref()),
    );
    put(
        &mut table,
        "python-depends",
        strings(general.python_depends.as_ref()),
    );
    for (key, options) in [
        ("cuda", &general.cuda),
        ("neuron", &general.neuron),
        ("tpu", &general.tpu),
        ("xpu", &general.xpu),
    ] {
        put_table(&mut table, key, backend_options(options));
    }
    let mut hub = Table::new();
    put(&mut hub, "repo-id", string(general.hub.repo_id.as_ref()));
    put(&mut hub, "branch", string(general.hub.branch.as_ref()));
    put_table(&mut table, "hub", hub);
    table
}

fn backend_options(options: &BackendOptions) -> Table {
    let mut table = Table::new();
    put(&mut table, "minver", version(options.minver.as_ref()));
    put(&mut table, "maxver", version(options.maxver.as_ref()));
    put(
        &mut table,
        "kernel-depends",
        kernels(options.kernel_depends.as_ref()),
    );
    put(
        &mut table,
        "python-depends",
        strings(options.python_depends.as_ref()),
    );
    table
}

fn kernel(section: &WrittenSection) -> Table {
    let mut table = Table::new();
    let backend = section.backend.as_ref().map(|backend| &backend.value);
    let word = backend.map(|backend| Value::from(backend.backend().as_str()));
    put(&mut table, "backend", word);
    put(&mut table, "depends", words(section.depends.as_ref()));
    put(&mut table, "src", strings(section.src.as_ref()));
    put(&mut table, "include", strings(section.include.as_ref()));
    put(&mut table, "cxx-flags", strings(section.cxx_flags.as_ref()));
    put(
        &mut table,
        "lean-headers",
        boolean(section.lean_headers.as_ref()),
    );
    match backend {
        Some(WrittenBackend::Cuda {
            capabilities,
            flags,
            minver,
        }) => {
            put(
                &mut table,
                "cuda-capabilities",
                strings(capabilities.as_ref()),
            );
            put(&mut table, "cuda-flags", strings(flags.as_ref()));
            put(&mut table, "cuda-minver", version(minver.as_ref()));
        }
        Some(WrittenBackend::Rocm { archs, flags }) => {
            put(&mut table, "rocm-archs", strings(archs.as_ref()));
            put(&mut table, "hip-flags", strings(flags.as_ref()));
        }
        Some(WrittenBackend::Xpu { flags }) => {
            put(&mut table, "sycl-flags", strings(flags.as_ref()));
        }
        Some(WrittenBackend::Cpu | WrittenBackend::Metal) | None => {}
    }
    table
}

fn put(table: &mut Table, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        table.insert(key, Item::Value(value));
    }
}

fn put_table(table: &mut Table, key: &str, content: Table) {
    if !content.is_empty() {
        table.insert(key, Item::Table(content));
    }
}

/// The reader rejects numbers that do not fit.
fn integer(number: u64) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn string(text: Option<&Spanned<String>>) -> Option<Value> {
    Some(Value::from(text?.value.as_str()))
}

fn boolean(boolean: Option<&Spanned<bool>>) -> Option<Value> {
    Some(Value::from(boolean?.value))
}

/// A version as written: "13.0" stays "13.0".
fn version(version: Option<&Spanned<Version>>) -> Option<Value> {
    Some(Value::from(version?.value.as_str()))
}

fn strings(list: Option<&List<String>>) -> Option<Value> {
    let texts = list?.value.iter().map(|text| text.value.as_str());
    Some(Value::Array(texts.collect()))
}

fn words<T: std::fmt::Display>(list: Option<&List<T>>) -> Option<Value> {
    let words = list?.value.iter().map(|word| word.value.to_string());
    Some(Value::Array(words.collect()))
}

fn kernels(list: Option<&List<WrittenKernelDependency>>) -> Option<Value> {
    let table = |dependency: &Spanned<WrittenKernelDependency>| {
        let WrittenKernelDependency { repo_id, pin } = &dependency.value;
        let mut table = InlineTable::new();
        table.insert("repo-id", Value::from(repo_id.value.as_str()));
        match pin {
            KernelPin::Version(version) => table.insert("version", integer(*version)),
            KernelPin::Revision(revision) => {
                table.insert("revision", Value::from(revision.as_str()))
            }
        };
        Value::InlineTable(table)
    };
    Some(Value::Array(
        list?.value.iter().map(table).collect::<Array>(),
    ))
}

fn stable_abi(abi: &StableAbi) -> Value {
    match abi {
        StableAbi::All(version) => Value::from(version.value.as_str()),
        StableAbi::PerBackend(versions) => {
            let mut table = InlineTable::new();
            for (backend, version) in versions {
                table.insert(backend.value.as_str(), Value::from(version.value.as_str()));
            }
            Value::InlineTable(table)
        }
    }
}
