//! A kernel in few lines: what is empty is left out. For snapshots of many kernels.

use std::fmt::Write;

use kernel_builder::kernel::{Bounds, Framework, Kernel, Section, SectionBackend};

/// One line per part of the kernel. Paths and names of the machine are not among them.
pub fn compact(kernel: &Kernel) -> String {
    let mut out = format!("{} {}, {}", kernel.name, kernel.version, kernel.license);
    list(&mut out, "for", &kernel.backends);
    option(&mut out, "upstream", kernel.upstream.as_ref());
    option(&mut out, "source", kernel.source.as_ref());
    option(&mut out, "hub", kernel.hub.repo_id.as_ref());
    option(&mut out, "branch", kernel.hub.branch.as_ref());
    bounds(&mut out, "CUDA", &kernel.cuda);
    let kernels = &kernel.kernel_depends;
    debug(&mut out, "kernels", &kernels.general);
    for (backend, list) in &kernels.backend {
        debug(&mut out, &format!("{backend} kernels"), list);
    }
    let packages = &kernel.python_depends;
    debug(&mut out, "packages", &packages.general);
    for (backend, list) in &packages.backend {
        debug(&mut out, &format!("{backend} packages"), list);
    }
    write!(out, "\n[{}]", kernel.framework.name()).expect("write");
    list(&mut out, "src", kernel.framework.src());
    match &kernel.framework {
        Framework::Torch(torch) => {
            list(&mut out, "include", &torch.include);
            list(&mut out, "pyext", &torch.pyext);
            list(&mut out, "flags", &torch.cxx_flags);
            bounds(&mut out, "torch", &torch.bounds);
            option(&mut out, "headers of torch", full(torch.lean_headers));
            for (backend, version) in &torch.stable_abi {
                write!(out, "; {backend} ABI of {version}").expect("write");
            }
        }
        Framework::TorchNoarch(noarch) => {
            list(&mut out, "pyext", &noarch.pyext);
            list(&mut out, "capabilities", &noarch.cuda_capabilities);
            list(&mut out, "archs", &noarch.rocm_archs);
        }
        Framework::TvmFfi(tvm_ffi) => {
            list(&mut out, "include", &tvm_ffi.include);
            list(&mut out, "pyext", &tvm_ffi.pyext);
            list(&mut out, "flags", &tvm_ffi.cxx_flags);
        }
    }
    for section in &kernel.sections {
        self::section(&mut out, section);
    }
    out + "\n"
}

fn section(out: &mut String, section: &Section) {
    let backend = section.backend.backend();
    write!(out, "\n[{}] {backend}", section.name).expect("write");
    list(out, "src", &section.src);
    list(out, "include", &section.include);
    list(out, "flags", &section.cxx_flags);
    list(out, "depends", &section.depends);
    option(out, "headers of torch", full(section.lean_headers));
    match &section.backend {
        SectionBackend::Cpu | SectionBackend::Metal => {}
        SectionBackend::Cuda { targets, flags } => {
            for target in targets {
                list(out, "capabilities", &target.archs);
            }
            list(out, "nvcc", flags);
            for target in targets {
                option(out, "from CUDA", target.minver.as_ref());
            }
        }
        SectionBackend::Rocm { targets, flags } => {
            for target in targets {
                list(out, "archs", &target.archs);
            }
            list(out, "hipcc", flags);
        }
        SectionBackend::Xpu { flags } => list(out, "sycl", flags),
    }
}

/// The word for units that get all of torch's headers.
fn full(lean: bool) -> Option<&'static str> {
    (!lean).then_some("all")
}

fn list<T: ToString>(out: &mut String, what: &str, items: impl IntoIterator<Item = T>) {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    if !items.is_empty() {
        write!(out, "; {what} {}", items.join(" ")).expect("write");
    }
}

fn debug<T: std::fmt::Debug>(out: &mut String, what: &str, items: &[T]) {
    list(out, what, items.iter().map(|item| format!("{item:?}")));
}

fn option<T: ToString>(out: &mut String, what: &str, item: Option<T>) {
    list(out, what, item);
}

fn bounds(out: &mut String, what: &str, bounds: &Bounds) {
    option(out, &format!("{what} from"), bounds.minver.as_ref());
    option(out, &format!("{what} up to"), bounds.maxver.as_ref());
}
