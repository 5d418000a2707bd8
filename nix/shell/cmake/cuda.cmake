# Libraries of CUDA's shared runtime, without libcudadevrt, which is static (see toolchain.cmake).
set(CMAKE_CUDA_RUNTIME_LIBRARY_LINK_OPTIONS_SHARED cudart)
