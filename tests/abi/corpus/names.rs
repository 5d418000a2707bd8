//! Libraries that leave names undefined which something defines when they are loaded, or nothing.

use super::{CPU, CU126, CU132, CUDA, Case, NONE, STABLE, case};

const OLD_STRINGS: &str = "#include <string>\nnamespace c10 { namespace detail { void torchCheckFail(const char *, \
                           const char *, unsigned, const std::string &); } }\n\
                           void f() { c10::detail::torchCheckFail(\"\", \"\", 1, std::string()); }";

pub const CASES: &[Case] = &[
    // F2 of the attack: each was built, and failed to load.
    case(
        CPU,
        "torch_c.so",
        "extern \"C\" int torch_my_missing(); int f() { return torch_my_missing(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "torch_cpp.so",
        "namespace at { int my_missing(int); } int f() { return at::my_missing(1); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "blas.so",
        "extern \"C\" int compute_(); int f() { return compute_(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "cublas.so",
        "extern \"C\" int cublasDoesNotExist(); int f() { return cublasDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "py_missing.so",
        "extern \"C\" int Py_DoesNotExist(); int f() { return Py_DoesNotExist(); }",
        &["limited-api"],
    ),
    case(
        CPU,
        "old_strings.so",
        OLD_STRINGS,
        &["symbol-version", "undefined-symbol"],
    )
    .compile(&["-D_GLIBCXX_USE_CXX11_ABI=0"]),
    case(CPU, "new_strings.so", OLD_STRINGS, &[]),
    case(
        CPU,
        "binding.so",
        "extern \"C\" void *THPVariable_Wrap(); void *f() { return THPVariable_Wrap(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "torch_there.so",
        "namespace at { int get_num_threads(); } int f() { return at::get_num_threads(); }",
        &[],
    ),
    case(
        CPU,
        "cuda_torch_in_cpu.so",
        "namespace c10 { namespace cuda { signed char current_device(); } } int f() { return c10::cuda::current_device(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "cuda_torch_in_cuda.so",
        "namespace c10 { namespace cuda { signed char current_device(); } } int f() { return c10::cuda::current_device(); }",
        &[],
    ),
    case(
        CUDA,
        "cublas_in_cuda.so",
        "extern \"C\" int cublasCreate_v2(void *), ncclCommInitAll(); int f() { return cublasCreate_v2(0) + ncclCommInitAll(); }",
        &[],
    ),
    case(
        CUDA,
        "no_cublas_in_cuda.so",
        "extern \"C\" int cublasDoesNotExist(); int f() { return cublasDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    // Libraries of NVIDIA's, by their names: those that torch needs, and others that the file needs.
    case(
        CUDA,
        "nvidia_in_cuda.so",
        "extern \"C\" int cudnnCreate(), cufftPlan1d(), cusparseLtInit(), nvshmem_my_pe(), cuptiGetVersion(); \
         int f() { return cudnnCreate() + cufftPlan1d() + cusparseLtInit() + nvshmem_my_pe() + cuptiGetVersion(); }",
        &[],
    ),
    case(
        CPU,
        "cudnn_in_cpu.so",
        "extern \"C\" int cudnnCreate(); int f() { return cudnnCreate(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "no_cudnn_in_cuda.so",
        "extern \"C\" int cudnnDoesNotExist(); int f() { return cudnnDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "no_cufft_in_cuda.so",
        "extern \"C\" int cufftDoesNotExist(); int f() { return cufftDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "no_nccl_in_cuda.so",
        "extern \"C\" int ncclDoesNotExist(); int f() { return ncclDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "no_cusparselt_in_cuda.so",
        "extern \"C\" int cusparseLtDoesNotExist(); int f() { return cusparseLtDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "no_nvshmem_in_cuda.so",
        "extern \"C\" int nvshmem_does_not_exist(); int f() { return nvshmem_does_not_exist(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "nvrtc_needed.so",
        "extern \"C\" int nvrtcCompileProgram(); int f() { return nvrtcCompileProgram(); }",
        &[],
    )
    .link(&["-l:libnvrtc.so.13"]),
    case(
        CUDA,
        "no_nvrtc_needed.so",
        "extern \"C\" int nvrtcDoesNotExist(); int f() { return nvrtcDoesNotExist(); }",
        &["undefined-symbol"],
    )
    .link(&["-l:libnvrtc.so.13"]),
    case(
        CUDA,
        "nvrtc_unneeded.so",
        "extern \"C\" int nvrtcCompileProgram(); int f() { return nvrtcCompileProgram(); }",
        &["undefined-symbol"],
    ),
    case(
        CU132,
        "nvrtc_in_cu132.so",
        "extern \"C\" int nvrtcCompileProgram(); int f() { return nvrtcCompileProgram(); }",
        &[],
    ),
    case(
        CU132,
        "no_nvrtc_in_cu132.so",
        "extern \"C\" int nvrtcDoesNotExist(); int f() { return nvrtcDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CUDA,
        "driver_needed.so",
        "extern \"C\" int cuLaunchKernel(); int f() { return cuLaunchKernel(); }",
        &[],
    )
    .link(&["-l:libcuda.so.1"]),
    case(
        CUDA,
        "driver_unneeded.so",
        "extern \"C\" int cuLaunchKernel(); int f() { return cuLaunchKernel(); }",
        &["undefined-symbol"],
    ),
    // The cuDNN of a vendor's torch has no list, but cuFFT is that of the toolkit.
    case(
        CU126,
        "cudnn_of_vendor.so",
        "extern \"C\" int cudnnMayExist(); int f() { return cudnnMayExist(); }",
        &[],
    ),
    case(
        CU126,
        "no_cufft_of_vendor.so",
        "extern \"C\" int cufftDoesNotExist(); int f() { return cufftDoesNotExist(); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "own_missing.so",
        "int mine(int); int f() { return mine(1); }",
        &["undefined-symbol"],
    ),
    case(
        CPU,
        "hidden_users.so",
        "int mine(int); int f() { return mine(1); }",
        &["undefined-symbol"],
    )
    .compile(&["-fvisibility=hidden", "-fno-plt"])
    .link(&["-Wl,--hash-style=gnu", "-Wl,-u,f"]),
    case(
        CPU,
        "sysv_hash.so",
        "int mine(int); int f() { return mine(1); }",
        &["undefined-symbol"],
    )
    .link(&["-Wl,--hash-style=sysv"]),
    case(
        CPU,
        "weak.so",
        "__attribute__((weak)) int mine(int); int f() { return mine ? mine(1) : 0; }",
        &[],
    ),
    case(
        CPU,
        "openmp.so",
        "extern \"C\" int omp_get_max_threads(); int f() { return omp_get_max_threads(); }",
        &[],
    ),
    case(
        NONE,
        "unknown_variant.so",
        "int mine(int); int f() { return mine(1); }",
        &[],
    ),
    // F3 of the attack.
    case(
        STABLE,
        "stable_at.so",
        "namespace at { int get_num_threads(); } int f() { return at::get_num_threads(); }",
        &["stable-abi"],
    ),
    case(
        STABLE,
        "stable_missing.so",
        "namespace at { int not_there(int); } int f() { return at::not_there(1); }",
        &["stable-abi"],
    ),
    case(
        STABLE,
        "stable_c_missing.so",
        "extern \"C\" int aoti_torch_not_there(); int f() { return aoti_torch_not_there(); }",
        &["stable-abi"],
    ),
    case(
        STABLE,
        "stable.so",
        "extern \"C\" int aoti_torch_device_type_cpu(); int f() { return aoti_torch_device_type_cpu(); }",
        &[],
    ),
    // F4 of the attack.
    case(
        NONE,
        "state.abi3.so",
        "extern \"C\" void *_PyThreadState_UncheckedGet(); void *f() { return _PyThreadState_UncheckedGet(); }",
        &["limited-api"],
    ),
    case(
        NONE,
        "utf8.abi3.so",
        "extern \"C\" void *PyUnicode_AsUTF8(); void *f() { return PyUnicode_AsUTF8(); }",
        &["limited-api"],
    ),
    case(
        CPU,
        "buffer.abi3.so",
        "extern \"C\" void *PyObject_GetBuffer(); void *f() { return PyObject_GetBuffer(); }",
        &["limited-api"],
    ),
    case(
        CPU,
        "list.abi3.so",
        "extern \"C\" void *PyList_New(long); void *f() { return PyList_New(1); }",
        &[],
    ),
    case(
        CPU,
        "data.abi3.so",
        "extern \"C\" int _Py_NoneStruct; void *f() { return &_Py_NoneStruct; }",
        &[],
    ),
    case(
        NONE,
        "one_python.cpython-311-x86_64-linux-gnu.so",
        "extern \"C\" void *_PyThreadState_UncheckedGet(); void *f() { return _PyThreadState_UncheckedGet(); }",
        &[],
    ),
];
